"""Rows that were read when the time was up, or when the store failed, are an answer where no order was asked for."""

from dataclasses import replace
from datetime import timedelta
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any

import anyio
import pytest

from engine.backends.base import Backend, open_backend
from engine.dataset import Dataset
from engine.errors import SourceUnavailable, TimeBudgetExceeded
from engine.query import Answer, MorePages, PageBounds, ResultLimit, SourceBroken, TimeOver
from tests.engine import shop, slow
from tests.engine.house import House, open_house
from tests.engine.test_answers import capped, codes, pages_of, reasons

pytestmark = pytest.mark.anyio

SHORT_MS = 250
ALL = {"rows": slow.ROWS, "bytes": 1 << 30}


@pytest.fixture(scope="module")
def slow_dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return slow.slow(tmp_path_factory.mktemp("slow"))


@pytest.fixture
def slow_house(slow_dataset: Dataset) -> House:
    return open_house(slow_dataset, capped(**ALL))


@pytest.fixture
def broken_house(tmp_path: Path) -> House:
    return open_house(slow.broken(tmp_path), capped(**ALL))


async def some(house: House, **asked: Any) -> Answer:
    return await house.ask(("id", "worked"), **{"time_budget_ms": SHORT_MS, **asked})


def time_over(answer: Answer) -> TimeOver:
    (reason,) = [it for it in answer.completeness.reasons if isinstance(it, TimeOver)]
    return reason


# The time is up -------------------------------------------------------------------------------------------------------


async def test_rows_that_were_read_in_time_are_a_partial_answer(slow_house: House) -> None:
    answer = await some(slow_house)
    assert time_over(answer).budget_ms == SHORT_MS
    assert not answer.completeness.complete
    assert 0 < len(answer.page.rows) == answer.snapshot.rows.num_rows < slow.ROWS


async def test_some_rows_are_sorted_among_themselves_and_are_the_first_of_nothing(slow_house: House) -> None:
    keys = [int(str(row[0])) for row in (await some(slow_house)).page.rows]
    assert keys == sorted(keys)
    assert (keys[0] > 1, keys[-1]) == (True, slow.ROWS)


async def test_the_budget_that_may_suffice_follows_from_the_share_that_was_read(slow_house: House) -> None:
    budget_ms = 800  # so that time is left for the count
    answer = await some(slow_house, time_budget_ms=budget_ms, bounds=PageBounds(rows=1))
    assert answer.snapshot.total_rows == slow.ROWS
    needed_ms = budget_ms * slow.ROWS / answer.snapshot.rows.num_rows
    assert time_over(answer).minimum_ms == min(10_000, ceil(needed_ms * 1.25))


async def test_a_role_that_may_have_no_more_time_is_told_to_narrow_the_query(slow_dataset: Dataset) -> None:
    house = open_house(slow_dataset, capped(**ALL, timeMs=SHORT_MS))
    assert time_over(await some(house)) == TimeOver(SHORT_MS, None)
    with pytest.raises(TimeBudgetExceeded) as caught:
        await some(house, order_by=("id",))
    assert (caught.value.budget_ms, caught.value.suggested_ms) == (SHORT_MS, None)


@pytest.mark.parametrize(
    "asked",
    [
        {"order_by": ("id",)},
        {"order_by": ("-worked",), "limit": 3},
        {"limit": 3},
        {"group_by": ("id",)},
        {"group_by": ()},
    ],
    ids=str,
)
async def test_what_depends_on_every_row_is_an_error_and_no_part_of_an_answer(
    slow_house: House, asked: dict[str, Any]
) -> None:
    fields = ("worked",) if asked.get("group_by") == () else ("id", "worked")
    with pytest.raises(TimeBudgetExceeded) as caught:
        await slow_house.ask(fields, time_budget_ms=SHORT_MS, **asked)
    assert (caught.value.budget_ms, caught.value.suggested_ms) == (SHORT_MS, 4 * SHORT_MS)


async def test_where_no_row_came_in_time_there_is_no_answer(slow_house: House) -> None:
    with pytest.raises(TimeBudgetExceeded):
        await some(slow_house, filters={"worked": {"lt": 0}})


async def test_rows_beyond_the_cap_whose_first_were_not_found_in_time_are_some_of_them(slow_dataset: Dataset) -> None:
    """Which rows come first by key is known to the store alone, and it would have to compute them all."""
    answer = await some(open_house(slow_dataset, capped(rows=500)), filters={"worked": {"gte": 0}})
    assert reasons(answer) == ["ResultLimit", "TimeOver"]
    assert ResultLimit("rows", 500) in answer.completeness.reasons
    keys = [int(str(row[0])) for row in answer.page.rows]
    assert len(keys) == 500
    assert keys == sorted(keys)


async def test_a_partial_answer_has_pages_and_its_last_one_is_not_complete(slow_house: House) -> None:
    pages = await pages_of(
        replace(slow_house, bounds=PageBounds(1_500, 1 << 20, 1 << 20)), ("id", "worked"), time_budget_ms=SHORT_MS
    )
    assert len(pages) > 2
    assert sum(len(page.page.rows) for page in pages) == pages[0].snapshot.rows.num_rows
    assert {page.snapshot.id for page in pages} == {pages[0].snapshot.id}
    assert reasons(pages[0]) == ["MorePages", "TimeOver"]
    assert reasons(pages[-1]) == ["TimeOver"]


async def test_the_same_budget_has_the_same_answer_and_a_greater_one_reads_again(slow_house: House) -> None:
    first = await some(slow_house)
    held = {first.digest: first.snapshot.id}
    for again in (await some(slow_house), await some(slow_house, held=held)):
        assert again.snapshot_hit
        assert again.page == first.page
    for more in ({}, {"held": held}):
        longer = await some(slow_house, time_budget_ms=SHORT_MS + 100, **more)
        assert longer.snapshot.id != first.snapshot.id


async def test_a_whole_answer_serves_every_budget(house: House) -> None:
    whole = await house.ask(("order",), time_budget_ms=5_000)
    assert (await house.ask(("order",), time_budget_ms=4_000)).snapshot.id == whole.snapshot.id


# The store fails ------------------------------------------------------------------------------------------------------


async def test_rows_that_came_before_the_store_failed_are_a_partial_answer(broken_house: House) -> None:
    """Case 61, in the middle of a result: what came is handed on, with when to try again."""
    answer = await broken_house.ask(("id", "text"))
    assert SourceBroken(30) in answer.completeness.reasons
    assert 0 < answer.snapshot.rows.num_rows < 20_000


@pytest.mark.parametrize("asked", [{"order_by": ("-id",), "limit": 3}, {"group_by": ("text",)}], ids=str)
async def test_a_store_that_fails_gives_no_order_and_no_sum(broken_house: House, asked: dict[str, Any]) -> None:
    with pytest.raises(SourceUnavailable) as caught:
        await broken_house.ask(("id:countDistinct",) if "group_by" in asked else ("id", "text"), **asked)
    assert caught.value.retry_after_s == 30


async def test_what_a_failing_store_gave_is_the_answer_until_it_is_time_to_try_again(broken_house: House) -> None:
    first = await broken_house.ask(("id", "text"))
    held = {first.digest: first.snapshot.id}
    for later_s, same in ((29, True), (30, False)):
        again = await broken_house.ask(("id", "text"), held=held, wall=shop.NOW + timedelta(seconds=later_s))
        assert (again.snapshot.id == first.snapshot.id) is same


class Silent:
    """A store that accepts and then says nothing: a real backend whose every answer is on its way for ever."""

    dialect = "duckdb"

    def __init__(self, beneath: Backend, *, silent: str) -> None:
        self._beneath, self._silent = beneath, silent

    def __getattr__(self, name: str) -> Any:
        async def never(*_: object, **__: object) -> None:
            await anyio.sleep_forever()

        return never if name == self._silent else getattr(self._beneath, name)


async def test_a_store_that_accepts_and_stays_silent_ends_with_the_budget(slow_dataset: Dataset) -> None:
    """Case 25."""
    house = open_house(slow_dataset)
    (url,) = house.engine.backends
    silent = replace(house.engine, backends={url: Silent(open_backend(url), silent="version")})
    started = monotonic()
    with pytest.raises(SourceUnavailable):
        await some(replace(house, engine=silent), time_budget_ms=100)
    assert monotonic() - started < 1


# Budgets --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [{}, {"order_by": ("-worked",)}], ids=["rows so far", "error"])
async def test_an_answer_stays_within_a_tenth_of_its_budget(slow_house: House, asked: dict[str, Any]) -> None:
    """Beside a sleep of the same length, which a busy machine delays as well. The best of a few counts."""
    await slow_house.engine.backends[slow_house.engine.datasets["shop"].sources[0].url].version(None)
    ratios = []
    for attempt in range(4):
        took: dict[str, float] = {}
        budget_ms = 400 + attempt

        async def answered(budget_ms: int = budget_ms, took: dict[str, float] = took) -> None:
            started = monotonic()
            try:
                await some(slow_house, time_budget_ms=budget_ms, **asked)
            except TimeBudgetExceeded:
                assert asked
            took["answer"] = monotonic() - started

        async def slept(budget_ms: int = budget_ms, took: dict[str, float] = took) -> None:
            started = monotonic()
            await anyio.sleep(budget_ms / 1000)
            took["sleep"] = monotonic() - started

        async with anyio.create_task_group() as group:
            group.start_soon(answered)
            group.start_soon(slept)
        ratios.append(took["answer"] / took["sleep"])
        if ratios[-1] <= 1.1:
            return
    pytest.fail(f"took {ratios} of the budget")


async def test_who_waits_for_the_same_rows_waits_no_longer_than_asked(slow_house: House) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: some(slow_house, time_budget_ms=1_500))
        await anyio.sleep(0.05)
        started = monotonic()
        assert time_over(await some(slow_house)).budget_ms == SHORT_MS
        assert monotonic() - started < 1
        group.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("argument", "cap", "asked", "effective"),
    [
        ("limit", {"rows": 5}, {"limit": 9}, 5),
        ("pageSize", {"pageRows": 5}, {"page_size": 9}, 5),
        ("timeBudgetMs", {"timeMs": 5_000}, {"time_budget_ms": 60_000}, 5_000),
        ("tokenBudget", {"pageTokens": 200}, {"token_budget": 900}, 200),
    ],
)
async def test_an_argument_that_a_cap_cut_is_said_with_what_is_obeyed(
    shop_file: Path, argument: str, cap: dict[str, int], asked: dict[str, int], effective: int
) -> None:
    """Case 11: the effective limit is shown and obeyed."""
    house = open_house(shop.dataset(shop_file), capped(**cap))
    answer = await house.engine.run(house.request(("order", "line"), None, **asked), wall=house.now)
    (note,) = [note for note in answer.notes if note.code == "LIMIT_APPLIED"]
    assert (note.field, note.received, note.used) == (argument, *asked.values(), effective)
    if argument != "timeBudgetMs":
        assert len(answer.page.rows) <= effective


async def test_an_argument_within_its_cap_is_obeyed_without_a_word(house: House) -> None:
    answer = await house.ask(("order",), page_size=7, time_budget_ms=5_000, token_budget=5_000)
    assert len(answer.page.rows) == 7
    assert ("LIMIT_APPLIED", "pageSize") not in codes(answer)
    assert isinstance(answer.completeness.reasons[0], MorePages)


async def test_a_page_that_nobody_asked_for_is_cut_to_the_cap_without_a_word(shop_file: Path) -> None:
    answer = await open_house(shop.dataset(shop_file), capped(pageRows=3)).ask(("order",))
    assert len(answer.page.rows) == 3
    assert not [note for note in answer.notes if note.code == "LIMIT_APPLIED"]
