"""What every snapshot store promises, and one flight at a time. A new row in STORES enrols itself here."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from zoneinfo import ZoneInfo

import anyio
import pyarrow as pa
import pytest
from anyio.lowlevel import checkpoint

from engine.query import EmptyFinding, Snapshot
from engine.snapshots.base import STORES, SingleFlight, SnapshotStore, open_snapshots

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 30, 1, 2, 3, 456789, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
ROOM = 1 << 20

NASTY = pa.table(
    {
        "big": pa.array([2**63 - 1, None], pa.int64()),
        "unsigned": pa.array([2**64 - 1, 0], pa.uint64()),
        "exact": pa.array([Decimal("9" * 28 + ".0000000001"), None], pa.decimal128(38, 10)),
        "at": pa.array([datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
        "text": ["", "退货率★ \x00"],
        "nested": [[{"a": 1}], None],
        "年": pa.array([None, None], pa.null()),
    }
)


def url_of(scheme: str, folder: Path) -> str:
    return {"sqlite": f"sqlite:{folder / 'snapshots.sqlite'}"}[scheme]


@pytest.fixture(params=sorted(STORES))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, tmp_path)


@pytest.fixture
async def store(url: str) -> AsyncIterator[SnapshotStore]:
    store = open_snapshots(url, max_bytes=ROOM)
    yield store
    await store.close()


def frozen(identity: str = "1", *, at: datetime = NOW, key: str = "k", rows: pa.Table = NASTY) -> Snapshot:
    return Snapshot(identity, key, at, at + 15 * MINUTE, date(2026, 11, 29), rows, 5_000, "rows", "main", None)


def heavy(identity: str, at: datetime) -> Snapshot:
    """A quarter of the room, in bytes that do not compress."""
    noise = random.Random(identity).randbytes(ROOM // 4)
    return frozen(identity, at=at, rows=pa.table({"noise": [noise]}))


async def test_a_snapshot_comes_back_as_it_was(store: SnapshotStore) -> None:
    await store.keep(frozen())
    back = await store.load("1", now=NOW)
    assert back == frozen()
    assert back is not None
    assert back.rows.schema == NASTY.schema


@pytest.mark.parametrize(
    "as_of",
    [None, date(2026, 1, 1), datetime(2026, 1, 1, 3), datetime(2026, 1, 1, 3, tzinfo=ZoneInfo("Asia/Shanghai"))],
)
async def test_the_age_of_the_data_keeps_its_kind(url: str, as_of: date | datetime | None) -> None:
    writer = open_snapshots(url, max_bytes=ROOM)
    await writer.keep(replace(frozen(), data_as_of=as_of, data_since=as_of, total_rows=None, cut_by=None))
    await writer.close()
    reader = open_snapshots(url, max_bytes=ROOM)
    back = await reader.load("1", now=NOW)
    await reader.close()
    assert back is not None
    assert (back.data_as_of, back.data_since, back.total_rows, back.cut_by) == (as_of, as_of, None, None)


async def test_what_is_there_instead_of_nothing_is_kept_with_it(url: str) -> None:
    finding = EmptyFinding("2026-01-01", None, {"渠道": 3, "or": 0})
    writer = open_snapshots(url, max_bytes=ROOM)
    await writer.keep(replace(frozen(), rows=NASTY.slice(0, 0), empty=finding))
    await writer.close()
    reader = open_snapshots(url, max_bytes=ROOM)
    back = await reader.load("1", now=NOW)
    await reader.close()
    assert back is not None
    assert back.empty == finding


async def test_an_unknown_one_is_none(store: SnapshotStore) -> None:
    assert await store.load("1", now=NOW) is None
    assert await store.newest("k", not_before=NOW, now=NOW) is None


async def test_the_newest_of_a_key_is_found_if_it_is_young_enough(store: SnapshotStore) -> None:
    for minute in (0, 2, 1):
        await store.keep(frozen(str(minute), at=NOW + minute * MINUTE))
    await store.keep(frozen("other", at=NOW + 3 * MINUTE, key="another"))
    now = NOW + 3 * MINUTE
    newest = await store.newest("k", not_before=NOW, now=now)
    assert newest is not None
    assert newest.id == "2"
    assert await store.newest("k", not_before=NOW + 2 * MINUTE, now=now) is not None
    assert await store.newest("k", not_before=NOW + 2 * MINUTE + timedelta(microseconds=1), now=now) is None


async def test_one_that_has_expired_is_gone(store: SnapshotStore) -> None:
    await store.keep(frozen())
    last = NOW + 15 * MINUTE - timedelta(microseconds=1)
    assert await store.load("1", now=last) is not None
    assert await store.load("1", now=NOW + 15 * MINUTE) is None
    assert await store.newest("k", not_before=NOW, now=NOW + 15 * MINUTE) is None


async def test_it_lives_through_a_restart(url: str) -> None:
    before = open_snapshots(url, max_bytes=ROOM)
    await before.keep(frozen())
    await before.close()
    after = open_snapshots(url, max_bytes=ROOM)
    assert await after.load("1", now=NOW) == frozen()
    await after.close()


async def test_the_oldest_give_way_when_the_room_is_full(store: SnapshotStore) -> None:
    for minute in range(6):
        await store.keep(heavy(str(minute), NOW + minute * MINUTE))
    now = NOW + 6 * MINUTE
    left = [minute for minute in range(6) if await store.load(str(minute), now=now) is not None]
    assert left == [3, 4, 5]


async def test_one_that_is_larger_than_the_room_is_not_kept_and_drives_nothing_out(store: SnapshotStore) -> None:
    await store.keep(frozen())
    columns = {f"c{index}": heavy(str(index), NOW).rows["noise"] for index in range(5)}
    await store.keep(frozen("giant", at=NOW + MINUTE, rows=pa.table(columns)))
    assert await store.load("giant", now=NOW + MINUTE) is None
    assert await store.load("1", now=NOW + MINUTE) is not None


async def test_parallel_calls_lose_nothing(store: SnapshotStore) -> None:
    async with anyio.create_task_group() as group:
        for number in range(30):
            group.start_soon(store.keep, frozen(str(number), key=str(number % 3)))
    assert all([await store.load(str(number), now=NOW) is not None for number in range(30)])


# Single flight -----------------------------------------------------------------------------------------------------


class Runway:
    """Work that lands when it is told to, and counts its starts."""

    def __init__(self) -> None:
        self.started, self.cleared = 0, anyio.Event()

    async def __call__(self) -> Snapshot:
        self.started += 1
        number = self.started
        await self.cleared.wait()
        return frozen(str(number))


async def collect(into: list[Snapshot], call: Callable[[], Awaitable[Snapshot]]) -> None:
    into.append(await call())


async def all_waiting() -> None:
    for _ in range(10):
        await checkpoint()


async def test_equal_work_runs_once_and_all_get_its_result() -> None:
    flights, work, landed = SingleFlight(), Runway(), list[Snapshot]()
    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(collect, landed, lambda: flights.run("k", work))
        await all_waiting()
        work.cleared.set()
    assert work.started == 1
    assert [it.id for it in landed] == ["1"] * 20


async def test_other_work_does_not_wait() -> None:
    flights, slow, landed = SingleFlight(), Runway(), list[Snapshot]()
    async with anyio.create_task_group() as group:
        group.start_soon(collect, landed, lambda: flights.run("slow", slow))
        await all_waiting()
        quick = Runway()
        quick.cleared.set()
        await flights.run("quick", quick)
        assert landed == []
        slow.cleared.set()


async def test_a_landed_flight_is_not_shared_with_those_who_come_later() -> None:
    flights, work = SingleFlight(), Runway()
    work.cleared.set()
    assert [(await flights.run("k", work)).id, (await flights.run("k", work)).id] == ["1", "2"]


async def test_a_failure_is_not_shared() -> None:
    flights, second, landed = SingleFlight(), Runway(), list[Snapshot]()
    second.cleared.set()
    fails = anyio.Event()

    async def failing() -> Snapshot:
        await fails.wait()
        raise ConnectionError

    async def first() -> None:
        with pytest.raises(ConnectionError):
            await flights.run("k", failing)

    async with anyio.create_task_group() as group:
        group.start_soon(first)
        await all_waiting()
        for _ in range(3):
            group.start_soon(collect, landed, lambda: flights.run("k", second))
        await all_waiting()
        fails.set()
    assert second.started == 1
    assert len(landed) == 3


async def test_who_waits_goes_on_when_the_first_is_cancelled() -> None:
    flights, work, landed, leading = SingleFlight(), Runway(), list[Snapshot](), anyio.CancelScope()

    async def lead() -> None:
        with leading:
            await flights.run("k", work)

    async with anyio.create_task_group() as group:
        group.start_soon(lead)
        await all_waiting()
        group.start_soon(collect, landed, lambda: flights.run("k", work))
        await all_waiting()
        leading.cancel()
        await all_waiting()
        assert work.started == 2
        work.cleared.set()
    assert [it.id for it in landed] == ["2"]


async def test_the_first_goes_on_when_who_waits_is_cancelled() -> None:
    flights, work, landed = SingleFlight(), Runway(), list[Snapshot]()
    async with anyio.create_task_group() as group:
        group.start_soon(collect, landed, lambda: flights.run("k", work))
        await all_waiting()
        with anyio.move_on_after(0):
            await flights.run("k", work)
        work.cleared.set()
    assert (work.started, len(landed)) == (1, 1)
