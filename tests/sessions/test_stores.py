"""What every session store promises. A new row in STORES enrols itself here."""

import multiprocessing
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from sessions.models import SpanRecord, Turn
from sessions.stores.base import STORES, SessionStore, StoreUnavailable, open_store

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 11, 30, 1, 2, 3, 456789, tzinfo=UTC)


def turn(session: str = "s1", *, at: datetime = NOW, trace: str = "t1", **said: object) -> Turn:
    span = SpanRecord("scene_kb.match", "apiCall", 0.5, 12.25, {"verdict": "matched", "rows": 3, "hit": True})
    return Turn(session, "me", at, "apiCall", "answered", {"fields": ["消耗"]}, {"scene": "A@1"}, said, (span,), trace)


def url_of(scheme: str, folder: Path) -> str:
    return {"sqlite": f"sqlite:{folder / 'sessions.sqlite'}"}[scheme]


@pytest.fixture(params=sorted(STORES))
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, tmp_path)


@pytest.fixture
async def store(url: str) -> AsyncIterator[SessionStore]:
    store = open_store(url)
    yield store
    await store.close()


async def test_a_turn_comes_back_as_it_was_with_its_number(store: SessionStore) -> None:
    kept = await store.append(turn(status="complete"))
    assert kept.number is not None
    assert await store.turns("s1") == (kept,)


async def test_turns_keep_the_order_of_their_adding(store: SessionStore) -> None:
    for number in range(20):
        await store.append(turn(n=number))
    assert [it.said["n"] for it in await store.turns("s1")] == list(range(20))


async def test_sessions_do_not_see_each_other(store: SessionStore) -> None:
    await store.append(turn("s1"))
    await store.append(turn("s2"))
    assert len(await store.turns("s1")) == 1
    assert await store.turns("s3") == ()


async def test_sessions_are_listed_by_their_last_use(store: SessionStore) -> None:
    later = NOW + timedelta(minutes=1)
    first = await store.append(turn("s1"))
    await store.append(turn("s2"))
    await store.append(turn("s1", at=later))
    listed = await store.sessions(limit=10)
    assert [(it.session_id, it.turns) for it in listed] == [("s1", 2), ("s2", 1)]
    assert (listed[0].first, listed[0].last_at) == (first, later)
    assert [it.session_id for it in await store.sessions(limit=1)] == ["s1"]


async def test_a_session_is_found_by_how_its_id_or_one_of_its_traces_begins(store: SessionStore) -> None:
    await store.append(turn("4f9a", trace="b001"))
    await store.append(turn("4f9a", trace="b002"))
    await store.append(turn("4f77", trace="c001"))
    for prefix, sessions in {
        "4f9": {"4f9a"}, "4f9a": {"4f9a"}, "b002": {"4f9a"}, "c": {"4f77"}, "4f": {"4f9a", "4f77"},
        "4f9ab": set(), "9a": set(), "%": set(), "": {"4f9a", "4f77"},
    }.items():  # fmt: skip
        assert {it.session_id for it in await store.sessions(prefix=prefix, limit=10)} == sessions, prefix


async def test_parallel_turns_are_all_kept(store: SessionStore) -> None:
    async with anyio.create_task_group() as group:
        for number in range(100):
            group.start_soon(store.append, turn(n=number))
    turns = await store.turns("s1")
    assert {it.said["n"] for it in turns} == set(range(100))
    assert len({it.number for it in turns}) == 100


async def test_only_whole_sessions_are_forgotten(store: SessionStore) -> None:
    old = NOW - timedelta(days=8)
    await store.append(turn("sleeping", at=old))
    await store.append(turn("waking", at=old))
    await store.append(turn("waking", at=NOW))
    assert await store.forget(NOW - timedelta(days=7)) == 1
    assert await store.turns("sleeping") == ()
    assert len(await store.turns("waking")) == 2


async def test_turns_outlive_the_process(url: str) -> None:
    first = open_store(url)
    await first.append(turn())
    await first.close()
    second = open_store(url)
    assert len(await second.turns("s1")) == 1
    await second.close()


def _append_many(url: str, start: int) -> None:
    async def main() -> None:
        store = open_store(url)
        for number in range(start, start + 50):
            await store.append(turn(n=number))
        await store.close()

    anyio.run(main)


async def test_processes_share_a_store_and_lose_nothing(url: str) -> None:
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_append_many, args=(url, start)) for start in (0, 50)]
    for writer in writers:
        writer.start()
    for writer in writers:
        await anyio.to_thread.run_sync(writer.join)
        assert writer.exitcode == 0
    store = open_store(url)
    assert {it.said["n"] for it in await store.turns("s1")} == set(range(100))
    await store.close()


@pytest.mark.parametrize("url", ["nonsense:x", "sqlite:/proc/nowhere/sessions.sqlite"])
def test_a_store_that_cannot_be_opened_says_which(url: str) -> None:
    with pytest.raises(StoreUnavailable) as caught:
        open_store(url)
    assert caught.value.url == url
