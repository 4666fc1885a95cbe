"""Answers as a whole: pages, completeness, snapshots, repeats. Each says how much of the truth it is."""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import anyio
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

from engine.dataset import Dataset
from engine.errors import CursorInvalid, SourceUnavailable, TimeBudgetExceeded
from engine.pipeline import statement_digest
from engine.policy import Policies
from engine.query import Answer, MorePages, PageBounds, ResultLimit
from engine.snapshots.base import open_snapshots
from tests.engine import queries, shop
from tests.engine.house import House, open_house
from tests.profile import EXAMPLES, GENERATED

pytestmark = pytest.mark.anyio


Run = Callable[[Awaitable[Any]], Any]


def capped(**caps: int) -> Policies:
    return Policies.model_validate({"roles": {"admin": {"datasets": {"*": {}}, "caps": {**shop.WIDE_PAGES, **caps}}}})


def a_table(folder: Path, rows: int, **columns: Sequence[Any]) -> Dataset:
    """A dataset of `rows` rows with a key, a moment that all share, and the given columns."""
    file = folder / "t.parquet"
    every = {"id": list(range(rows)), "at": ["2026-11-29"] * rows, **columns}
    pq.write_table(pa.table({name: pa.array(values) for name, values in every.items()}), file)
    fields = [{"name": name, "role": "dimension", "type": "int64" if name == "id" else "string"} for name in every]
    return shop.dataset(file, time_column=None, key=("id",), fields=fields)  # type: ignore[arg-type]


def reasons(answer: Answer) -> list[str]:
    return [type(reason).__name__ for reason in answer.completeness.reasons]


def codes(answer: Answer) -> list[tuple[str, str | None]]:
    return [(note.code, note.field) for note in answer.notes]


async def pages_of(house: House, *args: Any, **asked: Any) -> list[Answer]:
    """Every page, by following the cursors."""
    pages = [await house.ask(*args, **asked)]
    while (more := next((it for it in pages[-1].completeness.reasons if isinstance(it, MorePages)), None)) is not None:
        pages.append(await house.ask(*args, cursor=more.cursor, **asked))
    return pages


# Completeness ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "complete"), [(199, True), (200, True), (201, False), (5_000, False)])
async def test_a_cap_that_cut_rows_is_never_complete(tmp_path: Path, rows: int, complete: bool) -> None:
    """Case 10: 200 of 200 and 200 of 5,000 are told apart."""
    answer = await open_house(a_table(tmp_path, rows), capped(rows=200)).ask(("id",))
    assert answer.completeness.complete is complete
    assert len(answer.page.rows) == min(rows, 200)
    assert answer.snapshot.total_rows == rows
    assert answer.completeness.reasons == (() if complete else (ResultLimit("rows", 200),))


@pytest.mark.parametrize(
    ("limit", "obeyed", "complete", "noted"),
    [(None, 500, False, False), (300, 300, True, False), (500, 500, True, False), (900, 500, False, True)],
)
async def test_the_effective_limit_is_obeyed_and_said(
    tmp_path: Path, limit: int | None, obeyed: int, complete: bool, noted: bool
) -> None:
    """Case 11, the engine's part: what the caller asked narrows the scope, what a cap took away is said."""
    answer = await open_house(a_table(tmp_path, 700), capped(rows=500)).ask(("id",), order_by=("id",), limit=limit)
    assert len(answer.page.rows) == obeyed
    assert answer.completeness.complete is complete
    assert (("LIMIT_APPLIED", "limit") in codes(answer)) is noted


async def test_a_cap_on_bytes_is_said_with_the_bytes(tmp_path: Path) -> None:
    house = open_house(a_table(tmp_path, 1_000, text=["x" * 100] * 1_000), capped(bytes=10_000))
    answer = await house.ask(("id", "text"))
    assert answer.completeness.reasons == (ResultLimit("bytes", 10_000),)
    assert 0 < answer.snapshot.rows.num_rows < 1_000
    assert answer.snapshot.rows.nbytes <= 10_000
    assert answer.snapshot.total_rows == 1_000


async def test_the_number_of_rows_is_no_more_than_was_asked_for(tmp_path: Path) -> None:
    house = open_house(a_table(tmp_path, 1_000, text=["x" * 100] * 1_000), capped(bytes=10_000))
    assert (await house.ask(("id", "text"), limit=300)).snapshot.total_rows == 300


async def test_one_row_larger_than_the_cap_on_bytes_is_whole_and_complete(tmp_path: Path) -> None:
    answer = await open_house(a_table(tmp_path, 1, text=["x" * 50_000]), capped(bytes=10_000)).ask(("text",))
    assert answer.completeness.complete
    assert answer.page.rows == (("x" * 50_000,),)


async def test_complete_or_not_and_empty_or_not_are_told_apart(house: House) -> None:
    whole = await house.ask(("order",), {"年": 2026})
    nothing = await house.ask(("order",), {"note": "nothing is called so"})
    part = await house.ask(("order",), bounds=PageBounds(rows=2))
    assert (whole.completeness.complete, len(whole.page.rows) > 0) == (True, True)
    assert (nothing.completeness.complete, len(nothing.page.rows)) == (True, 0)
    assert (part.completeness.complete, len(part.page.rows)) == (False, 2)


async def test_partial_and_empty_is_told_apart_from_complete_and_empty(shop_file: Path) -> None:
    roles = {"admin": {"datasets": {"*": {"rows": [{"rule": "line = 7"}]}}}}
    answer = await open_house(shop.dataset(shop_file), Policies.model_validate({"roles": roles})).ask(("order",))
    assert (answer.completeness.complete, answer.page.rows) == (False, ())


async def test_an_empty_answer_says_what_each_filter_alone_excludes(house: House) -> None:
    answer = await house.ask(
        ("order",), {"年": 2026, "line": 1, "note": "nothing is called so", "or": [{"open": True}]}
    )
    found = answer.snapshot.empty
    assert found is not None
    of_2026 = [row for row in shop.ROWS if row["年"] == 2026 and row["line"] == 1 and row["open"] is True]
    assert found.without == {"note": len(of_2026), "年": 0, "line": 0, "or": 0}
    assert (found.first, found.last) == ("2024-02-28", "2026-11-30")


async def test_a_limit_without_a_sort_is_no_top(house: House) -> None:
    assert ("SORT_DEFAULTED", "orderBy") in codes(await house.ask(("order",), limit=3))
    assert ("SORT_DEFAULTED", "orderBy") not in codes(await house.ask(("order",), limit=3, order_by=("line",)))


@pytest.mark.parametrize(("row_cap", "byte_cap"), [(10_000, 16 << 20), (20, 16 << 20), (10_000, 2_000)])
def test_complete_is_never_said_when_anything_was_cut(shop_file: Path, run: Run, row_cap: int, byte_cap: int) -> None:
    """And always when nothing was: for any query, page and cap."""
    free = open_house(shop.dataset(shop_file))
    house = open_house(shop.dataset(shop_file), capped(rows=row_cap, bytes=byte_cap))

    @settings(GENERATED, max_examples=EXAMPLES // 3)
    @given(queries.queries(time_column="day", legal_groups=("A", "B", "C")), st.integers(1, 60))
    def check(asked: queries.Asked, page_rows: int) -> None:
        everything = run(free.ask(**said(asked)))
        pages = run(pages_of(replace(house, bounds=PageBounds(page_rows, 1 << 20, 1 << 20)), **said(asked)))
        handed_out = [row for page in pages for row in page.page.rows]
        assert tuple(handed_out) == everything.page.rows[: len(handed_out)]
        assert not any(page.completeness.complete for page in pages[:-1])
        assert pages[-1].completeness.complete is (len(handed_out) == len(everything.page.rows))

    check()


def said(asked: queries.Asked) -> dict[str, Any]:
    """A generated query as the house takes it."""
    lists = {name: tuple(asked[name]) for name in ("fields", "group_by", "order_by") if asked.get(name) is not None}
    rest = {name: asked[name] for name in ("filters", "limit", "limit_per_group") if asked.get(name) is not None}
    return {**lists, **rest}


# Pages ----------------------------------------------------------------------------------------------------------------


async def test_rows_that_tie_at_the_edge_of_a_page_are_not_lost(tmp_path: Path) -> None:
    """Case 13: seven rows of one moment, three to a page."""
    house = open_house(a_table(tmp_path, 7), bounds=PageBounds(rows=3))
    pages = await pages_of(house, ("id", "at"), order_by=("-at",))
    assert [len(page.page.rows) for page in pages] == [3, 3, 1]
    assert [row[0] for page in pages for row in page.page.rows] == [str(number) for number in range(7)]
    remaining = [it.remaining for page in pages for it in page.completeness.reasons if isinstance(it, MorePages)]
    assert remaining == [4, 1]


def test_the_union_of_the_pages_is_the_unpaged_answer(shop_file: Path, run: Run) -> None:
    """For any query, any sort with nulls and ties, and pages cut by rows, bytes or tokens."""
    house = open_house(shop.dataset(shop_file))

    @GENERATED
    @given(
        queries.queries(time_column="day", legal_groups=("A", "B", "C")),
        st.builds(PageBounds, st.integers(1, 50), st.integers(1_500, 5_000), st.integers(800, 4_000)),
    )
    def check(asked: queries.Asked, bounds: PageBounds) -> None:
        whole = run(house.ask(**said(asked)))
        pages = run(pages_of(replace(house, bounds=bounds), **said(asked)))
        assert tuple(row for page in pages for row in page.page.rows) == whole.page.rows
        assert all(page.page.rows for page in pages[:-1])

    check()


async def test_later_pages_are_the_frozen_rows_whatever_becomes_of_the_source(tmp_path: Path) -> None:
    house = open_house(a_table(tmp_path, 10), bounds=PageBounds(rows=4))
    first = await house.ask(("id",))
    (tmp_path / "t.parquet").unlink()
    (more,) = first.completeness.reasons
    assert isinstance(more, MorePages)
    second = await house.ask(("id",), cursor=more.cursor)
    assert [row[0] for row in second.page.rows] == ["4", "5", "6", "7"]
    with pytest.raises(SourceUnavailable):
        await house.ask(("at",))


async def test_later_pages_do_not_mix_in_rows_that_came_later(tmp_path: Path) -> None:
    house = open_house(a_table(tmp_path, 6), bounds=PageBounds(rows=4))
    first = await house.ask(("id",))
    a_table(tmp_path, 3)
    (more,) = first.completeness.reasons
    assert isinstance(more, MorePages)
    rest = await house.ask(("id",), cursor=more.cursor)
    assert [row[0] for row in rest.page.rows] == ["4", "5"]


async def test_a_cursor_is_refused_with_its_reason(house: House) -> None:
    paged = replace(house, bounds=PageBounds(rows=5))
    (more,) = (await paged.ask(("order",))).completeness.reasons
    assert isinstance(more, MorePages)

    async def refused(it: House, *fields: str, **asked: Any) -> str:
        with pytest.raises(CursorInvalid) as caught:
            await it.ask(fields, cursor=more.cursor, **asked)
        return caught.value.reason

    assert await refused(paged, "order", owner="somebody else") == "otherCaller"
    assert await refused(paged, "line") == "otherArguments"
    assert await refused(paged, "order", wall=shop.NOW + timedelta(minutes=15)) == "expired"
    tighter = open_house(shop.dataset(Path("x.parquet")), capped(rows=100), bounds=PageBounds(rows=5))
    assert await refused(tighter, "order") == "permissionChanged"


# Repeats --------------------------------------------------------------------------------------------------------------


async def test_the_same_call_again_is_the_same_answer(house: House) -> None:
    first, second = [await house.ask(("order", "weight"), {"day": "昨天"}, limit=3) for _ in range(2)]
    assert second.snapshot_hit
    assert (first.page, first.notes, first.completeness) == (second.page, second.notes, second.completeness)
    assert first.snapshot.id == second.snapshot.id


async def test_the_same_empty_answer_again_finds_the_same_reasons(tmp_path: Path) -> None:
    house = open_house(a_table(tmp_path, 5))
    first = await house.ask(("id",), {"at": "nowhere"})
    await anyio.to_thread.run_sync(lambda: a_table(tmp_path, 50))
    again = await house.ask(("id",), {"at": "nowhere"}, held={first.digest: first.snapshot.id})
    assert first.snapshot.empty == again.snapshot.empty
    assert first.snapshot.empty is not None
    assert first.snapshot.empty.without == {"at": 5}


async def test_a_result_is_reused_for_as_long_as_the_dataset_allows(shop_file: Path) -> None:
    house = open_house(shop.dataset(shop_file, freshness={"reuse_seconds": 60}))
    await house.ask(("order",))
    assert (await house.ask(("order",), wall=shop.NOW + timedelta(seconds=60))).snapshot_hit
    assert not (await house.ask(("order",), wall=shop.NOW + timedelta(seconds=61))).snapshot_hit


async def test_changed_data_is_a_miss(tmp_path: Path) -> None:
    house = open_house(a_table(tmp_path, 5))
    await house.ask(("id",))
    a_table(tmp_path, 6)
    answer = await house.ask(("id",))
    assert not answer.snapshot_hit
    assert len(answer.page.rows) == 6


@pytest.mark.parametrize("time_column", ["day", "sold_at", "seen_at"])
@pytest.mark.parametrize(
    ("span", "anew"),
    [
        (None, True),
        ("今天", True),
        ("昨天", True),
        ({"gte": "2026-11-01"}, True),
        ({"from": "2026-11-01", "to": "2026-11-29"}, True),
        ({"from": "2026-11-01", "to": "2026-11-28"}, False),
        ("上个月", False),
    ],
    ids=str,
)
async def test_what_reaches_into_days_that_still_come_in_is_read_anew(
    shop_file: Path, time_column: str, span: object, anew: bool
) -> None:
    """The clock stands at November 30; two days are open. Equal calls of one session keep their answer all the same."""
    house = open_house(shop.dataset(shop_file, time_column, freshness={"read_through_days": 2}))
    filters = {} if span is None else {time_column: span}
    first, again = [await house.ask(("order",), filters) for _ in range(2)]
    assert again.snapshot_hit is not anew
    held = await house.ask(("order",), filters, held={first.digest: first.snapshot.id})
    assert held.snapshot.id == first.snapshot.id


async def test_the_column_that_a_source_declares_tells_the_version_of_its_data(tmp_path: Path) -> None:
    """A file that is written again with the same loads is the same data; with a later load it is not."""
    file, loads = tmp_path / "t.parquet", ["2026-11-28", "2026-11-29"]
    source = {"name": "main", "url": f"duckdb:{file}", "version_column": "load's day"}
    plain = a_table(tmp_path, 2)
    dataset = plain.model_copy(update={"sources": (plain.sources[0].model_validate(source),)})

    def load(*days: str) -> None:
        pq.write_table(pa.table({"id": range(len(days)), "at": days, "load's day": days}), file)

    load(*loads)
    house = open_house(dataset)
    first = await house.ask(("id",))
    load(*reversed(loads))
    assert (await house.ask(("id",))).snapshot.id == first.snapshot.id
    load(*loads, "2026-11-30")
    assert len((await house.ask(("id",))).page.rows) == 3


async def test_later_pages_live_through_a_restart(tmp_path: Path) -> None:
    """Cursor and rows alike, with the source gone meanwhile."""

    def opened() -> House:
        house = open_house(a_table(tmp_path, 10), bounds=PageBounds(rows=4))
        store = open_snapshots(f"sqlite:{tmp_path / 'snapshots.sqlite'}", max_bytes=1 << 20)
        return replace(house, engine=replace(house.engine, snapshots=store))

    before = opened()
    (more,) = (await before.ask(("id",))).completeness.reasons
    assert isinstance(more, MorePages)
    await before.engine.snapshots.close()
    after = opened()
    (tmp_path / "t.parquet").unlink()
    rest = await after.ask(("id",), cursor=more.cursor)
    assert [row[0] for row in rest.page.rows] == ["4", "5", "6", "7"]
    await after.engine.snapshots.close()


async def test_what_a_session_holds_stays_for_it(tmp_path: Path) -> None:
    house = open_house(a_table(tmp_path, 5))
    first = await house.ask(("id",))
    a_table(tmp_path, 6)
    held = {first.digest: first.snapshot.id}
    assert len((await house.ask(("id",), held=held)).page.rows) == 5
    assert len((await house.ask(("id",), held=held, wall=shop.NOW + timedelta(minutes=15))).page.rows) == 6


async def test_equal_calls_at_one_time_read_the_store_once(shop_file: Path) -> None:
    house = open_house(shop.dataset(shop_file))
    answers: list[Answer] = []

    async def ask() -> None:
        answers.append(await house.ask(("units",), group_by=("group",)))

    async with anyio.create_task_group() as group:
        for _ in range(20):
            group.start_soon(ask)
    assert len({answer.snapshot.id for answer in answers}) == 1


LABELS = ("A", "a", "Ａ", " A ", "东区体育", "東區體育", "East", "EAST", "ｅａｓｔ", "East Sports")
NAMES = ("渠道", "Channel", "channel", "CHAN", "ｃｈａｎ")
YESTERDAY = ("昨天", "昨日", "yesterday", "2026-11-29", "2026/11/29", "２０２６-１１-２９", ["昨天"], {"eq": "昨天"})
EQUAL_MEANINGS: tuple[list[dict[str, Any]], ...] = (
    [{"group": word} for word in (*LABELS, ["A"], ["A", "东区体育"], {"eq": "A"}, {"in": ["East", "A"]})],
    [{name: "A"} for name in NAMES],
    [{"day": said} for said in (*YESTERDAY, {"from": "2026-11-29", "to": "2026-11-29"}, {"between": ["昨天", "昨天"]})],
    [{"units": {"gt": said}} for said in (12000, "12k", "1.2万", "１２０００", "12,000", 12000.0)],
    [{"open": said} for said in (True, "true", "是", "yes", "TRUE")],
    [{"group": ["A", "B"], "年": 2026}, {"年": "2026", "渠道": ["西区", "东区体育", "B"]}],
    [{"or": [{"group": "A", "年": 2026}]}, {"or": [{"年": [2026], "渠道": "东区体育"}]}],
    [{"day": ["昨天", "2026-11-01"]}, {"day": ["2026-11-01", "昨天", "yesterday"]}],
)


@pytest.mark.parametrize("meanings", EQUAL_MEANINGS, ids=lambda it: str(it[0]))
async def test_equal_meanings_are_one_statement(house: House, meanings: list[dict[str, Any]]) -> None:
    answers = [await house.ask(("order",), filters) for filters in meanings]
    assert len({answer.digest for answer in answers}) == 1
    assert len({answer.snapshot.id for answer in answers}) == 1
    assert len({str(answer.plan.resolved.spoken_filters) for answer in answers}) == 1


def said_otherwise(filters: dict[str, Any], data: st.DataObject) -> dict[str, Any]:
    """The same filters in another order; the same values in another order and some twice, by operator or by list."""

    def value_of(wanted: Any) -> Any:
        if isinstance(wanted, list):
            again = [*data.draw(st.permutations(wanted)), wanted[0]]
            return data.draw(st.sampled_from((again, {"in": again})))
        if isinstance(wanted, dict):
            listed = {name: [*reversed(it), it[0]] for name, it in wanted.items() if name in ("in", "notIn")}
            return {**dict(data.draw(st.permutations(list(wanted.items())))), **listed}
        return data.draw(st.sampled_from((wanted, [wanted], {"eq": wanted}, {"in": [wanted, wanted]})))

    shuffled = dict(data.draw(st.permutations(list(filters.items()))))
    branches = shuffled.get("or", [])
    plain = {name: value_of(wanted) for name, wanted in shuffled.items() if name != "or"}
    if not branches:
        return plain
    return {**plain, "or": [said_otherwise(it, data) for it in (*reversed(branches), branches[0])]}


def test_another_way_to_say_the_same_shares_its_snapshot(house: House) -> None:
    @GENERATED
    @given(queries.queries(time_column="day", legal_groups=("A", "B", "C")), st.data())
    def check(asked: queries.Asked, data: st.DataObject) -> None:
        once = house.engine.explain(house.request(**said(asked)))
        again = {**said(asked), "filters": said_otherwise(asked["filters"], data)}
        note(str(again["filters"]))
        assert statement_digest(house.engine.explain(house.request(**again))) == statement_digest(once)

    check()


async def test_other_meanings_are_other_statements(house: House) -> None:
    asked: list[dict[str, Any]] = [
        *({"group": wanted} for wanted in ("A", "B", ["A", "B"], {"ne": "A"}, {"isNull": True}, {"isNull": False})),
        *({"end": wanted} for wanted in ("A", "a", {"contains": "a"}, {"startsWith": "a"})),
        *({"年": wanted} for wanted in (2026, {"gt": 2026}, {"gte": 2026}, {"between": [2026, 2026]})),
        *({"day": wanted} for wanted in ("昨天", "前天", {"gte": "昨天"})),
        {"or": [{"group": "A"}]},
        {},
    ]
    digests = {(await house.ask(("order",), filters)).digest for filters in asked}
    assert len(digests) == len(asked)


@pytest.mark.parametrize("time_column", ["day", "sold_at", "seen_at"])
def test_normalising_twice_changes_nothing(shop_file: Path, time_column: str) -> None:
    """What the answer states as its filters, sent back as JSON, is the same query, without another note."""
    house = open_house(shop.dataset(shop_file, time_column))

    @GENERATED
    @given(queries.queries(time_column=time_column, legal_groups=("A", "B", "C")))
    def check(asked: queries.Asked) -> None:
        arguments = said(asked)
        once = house.engine.explain(house.request(**arguments))
        stated = json.loads(json.dumps(once.resolved.spoken_filters, default=str))
        twice = house.engine.explain(house.request(**{**arguments, "filters": stated}))
        assert twice.statement == once.statement
        assert twice.resolved.spoken_filters == once.resolved.spoken_filters
        assert not [note for note in twice.resolved.notes if note.code == "VALUE_NORMALISED"]

    check()


@pytest.mark.parametrize(
    "said_time", ["昨天下午3点", "昨天10点到11点", "2026-11-29T10:00:00+08:00", "今天上午", "最近3小时"]
)
@pytest.mark.parametrize("field", ["day", "sold_at", "seen_at"])
async def test_a_time_of_day_is_stated_so_that_it_can_be_asked_again(house: House, said_time: str, field: str) -> None:
    once = house.engine.explain(house.request(("order",), {field: said_time}))
    twice = house.engine.explain(house.request(("order",), once.resolved.spoken_filters))
    assert twice.statement == once.statement


# Time budgets and age -------------------------------------------------------------------------------------------------


async def test_an_aggregate_that_was_not_all_read_is_an_error(tmp_path: Path) -> None:
    house = open_house(a_table(tmp_path, 300_000))
    with pytest.raises(TimeBudgetExceeded) as caught:
        await house.ask(("row_count",), group_by=("id", "at"), order_by=("-row_count",), time_budget_ms=1)
    assert (caught.value.budget_ms, caught.value.suggested_ms) == (1, 4)


async def test_a_time_budget_above_the_cap_is_cut_to_it_and_said(shop_file: Path) -> None:
    answer = await open_house(shop.dataset(shop_file), capped(timeMs=5_000)).ask(("order",), time_budget_ms=60_000)
    (note,) = [note for note in answer.notes if note.code == "LIMIT_APPLIED"]
    assert (note.field, note.received, note.used) == ("timeBudgetMs", 60_000, 5_000)


@pytest.mark.parametrize(("days_later", "stale"), [(0, False), (1, False), (2, True)])
async def test_data_older_than_the_dataset_allows_is_said_with_its_owner(
    shop_file: Path, days_later: int, stale: bool
) -> None:
    """Case 17, the engine's part: the latest row is of November 30, a day that counts until its end."""
    house = open_house(shop.dataset(shop_file, freshness={"late_after_hours": 24}))
    answer = await replace(house, now=shop.NOW + timedelta(days=days_later)).ask(("order",))
    assert str(answer.snapshot.data_as_of) == "2026-11-30"
    notes = [note for note in answer.notes if note.code == "STALE_DATA"]
    assert bool(notes) is stale
    assert all((note.used, note.owner) == ("2026-11-30", "shop-team") for note in notes)
    assert answer.completeness.complete
