"""What holds of every answer, whatever the data does between two calls and however the store behaves."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from operator import itemgetter
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from engine.compile import Texts
from engine.errors import Busy, SourceUnavailable, TimeBudgetExceeded
from engine.query import Answer, MorePages, PageBounds, ResultLimit, SourceBroken, TimeOver
from tests.engine import moody
from tests.engine.house import House, open_house
from tests.engine.moody import Moody, Row
from tests.engine.test_answers import capped
from tests.profile import GENERATED

Run = Callable[[Awaitable[Any]], Any]

TAGS = ("a", "b", None)
MOST_CALLS = 200
BUDGET_MS = 2_000
"""Far more than an answer takes: whether it suffices is for the store to say, not for a busy machine."""
MOST_MS = 10 * BUDGET_MS
TEXTS: Texts = {}
"""What was compiled once is compiled for all examples."""

rows_of_a_table = st.lists(
    st.tuples(st.integers(0, 99), st.sampled_from(TAGS), st.none() | st.integers(-3, 3)),
    max_size=12,
    unique_by=lambda row: row[0],
)
orders = st.sampled_from(((), ("tag",), ("-amount",), ("-tag", "amount"), ("-id",)))
changes = st.sampled_from(
    (
        "INSERT INTO data SELECT coalesce(max(id), 0) + 1, 'a', 0 FROM data",
        "INSERT INTO data SELECT coalesce(min(id), 0) - 1, 'b', NULL FROM data",
        "DELETE FROM data WHERE id = (SELECT min(id) FROM data)",
        "DELETE FROM data",
        "UPDATE data SET amount = -coalesce(amount, 1), tag = 'b'",
        "UPDATE data SET id = -id",
    )
)


@dataclass(frozen=True)
class Asked:
    """A query over the moody table, and what a naive reader finds in its rows."""

    tag: str | None
    order_by: tuple[str, ...]
    limit: int | None
    page_rows: int

    def arguments(self) -> dict[str, Any]:
        filters = {} if self.tag is None else {"tag": self.tag}
        bounds = PageBounds(self.page_rows, 1 << 20, 1 << 20)
        return {"filters": filters, "order_by": self.order_by, "limit": self.limit, "bounds": bounds}

    def found_in(self, rows: Sequence[Row]) -> list[tuple[Any, ...]]:
        """As the wire writes them: by id, then by each asked key from the last one on; what is null stands last."""
        found = sorted((row for row in rows if self.tag in (None, row[1])), key=lambda row: row[0])
        for text in reversed(self.order_by):
            value: Callable[[Row], Any] = itemgetter(("id", "tag", "amount").index(text.removeprefix("-")))
            known = sorted((it for it in found if value(it) is not None), key=value, reverse=text.startswith("-"))
            found = [*known, *(it for it in found if value(it) is None)]
        return [(str(key), tag, None if amount is None else str(amount)) for key, tag, amount in found[: self.limit]]


asked_of_a_table = st.builds(
    Asked, st.sampled_from((None, "a", "b")), orders, st.none() | st.integers(1, 8), st.integers(3, 8)
)


@pytest.fixture(scope="module")
def store() -> Iterator[Moody]:
    store = Moody()
    yield store
    store.connection.close()


def house_over(store: Moody, **caps: int) -> House:
    """A new one, which has frozen nothing yet."""
    house = open_house(moody.dataset(), capped(**caps))
    return replace(house, engine=replace(house.engine, backends={"duckdb:moody": store}, texts=TEXTS))


def next_cursor(answer: Answer) -> str | None:
    return next((it.cursor for it in answer.completeness.reasons if isinstance(it, MorePages)), None)


def test_the_pages_are_the_rows_of_the_first_moment_whatever_happens_between_them(store: Moody, run: Run) -> None:
    """Under inserts, deletes and updates: each row once, none of a later moment, and afresh only when asked afresh."""
    house = house_over(store)

    @GENERATED
    @given(rows_of_a_table, asked_of_a_table, st.data())
    def check(rows: list[Row], asked: Asked, data: st.DataObject) -> None:
        store.hold(rows)
        page = run(house.ask(("id", "tag", "amount"), **asked.arguments()))
        handed_out = list(page.page.rows)
        while (cursor := next_cursor(page)) is not None:
            store.change(data.draw(changes))
            page = run(house.ask(("id", "tag", "amount"), cursor=cursor, **asked.arguments()))
            handed_out += page.page.rows
        assert handed_out == asked.found_in(rows)
        assert page.completeness.complete
        now = store.connection.execute("SELECT id, tag, amount FROM data").fetchall()
        afresh = run(house.ask(("id", "tag", "amount"), **asked.arguments()))
        assert list(afresh.page.rows) == asked.found_in(now)[: asked.page_rows]

    check()


moods = st.fixed_dictionaries(
    {
        "needs_ms": st.sampled_from((0, 0, BUDGET_MS + 1_000, 7 * BUDGET_MS, 600_000)),
        "failures": st.sampled_from((0, 0, 0, 1, 3)),
        "yields": st.integers(0, 8),
    }
)
caps = st.fixed_dictionaries({"rows": st.sampled_from((4, 8, 10_000)), "bytes": st.sampled_from((1_024, 1 << 20))})


def test_complete_is_never_said_of_less_than_everything(store: Moody, run: Run) -> None:
    """Nor partial without a reason: for any data, query, cap, and any moment at which time or the store gives out."""

    @GENERATED
    @given(rows_of_a_table, asked_of_a_table, moods, caps)
    def check(rows: list[Row], asked: Asked, mood: dict[str, int], cap: dict[str, int]) -> None:
        store.hold(rows)
        vars(store).update(mood)
        house = house_over(store, **cap)
        everything = asked.found_in(rows)
        try:
            page = run(house.ask(("id", "tag", "amount"), time_budget_ms=BUDGET_MS, **asked.arguments()))
        except (TimeBudgetExceeded, SourceUnavailable):
            assert mood["needs_ms"] > BUDGET_MS or mood["failures"]
            return
        handed_out = list(page.page.rows)
        while (cursor := next_cursor(page)) is not None:
            assert not page.completeness.complete
            page = run(house.ask(("id", "tag", "amount"), cursor=cursor, time_budget_ms=BUDGET_MS, **asked.arguments()))
            handed_out += page.page.rows
        whole = handed_out == everything
        event(f"complete {page.completeness.complete}, {[type(it).__name__ for it in page.completeness.reasons]}")
        assert len(handed_out) == len(set(handed_out))
        assert set(handed_out) <= set(everything)
        assert not page.completeness.complete or whole
        if page.snapshot.stopped is None and page.snapshot.cut_by is None:
            assert page.completeness.complete

    check()


def test_who_follows_continuations_ends_complete_or_knows_why_not(store: Moody, run: Run) -> None:
    """Each leads on: the next page, a budget that is granted, a time after which the store is asked again."""

    @GENERATED
    @given(rows_of_a_table, asked_of_a_table, moods, caps)
    def check(rows: list[Row], asked: Asked, mood: dict[str, int], cap: dict[str, int]) -> None:
        store.hold(rows)
        vars(store).update(mood)
        ended, handed_out = run(followed(house_over(store, **cap, timeMs=MOST_MS), asked))
        event(ended)
        if ended == "complete":
            assert handed_out == asked.found_in(rows)
        else:
            assert ended in ("narrow: time", "narrow: cap")
            assert ended == "narrow: cap" or mood["needs_ms"] > MOST_MS / 2

    check()


async def followed(house: House, asked: Asked) -> tuple[str, list[tuple[Any, ...]]]:
    """How it ends for a client that does as it is told, and the rows of its last result."""
    budget_ms, wall, cursor = BUDGET_MS, house.now, None
    handed_out: list[tuple[Any, ...]] = []
    arguments, held = asked.arguments(), dict[str, str]()  # held: as a session keeps what it was given
    for _ in range(MOST_CALLS):
        budget: dict[str, Any] = {"time_budget_ms": budget_ms, "wall": wall}
        try:
            page = await house.ask(("id", "tag", "amount"), cursor=cursor, held=held, **budget, **arguments)
        except TimeBudgetExceeded as late:
            if late.suggested_ms is None:
                return "narrow: time", handed_out
            budget_ms = late.suggested_ms
            continue
        except (SourceUnavailable, Busy) as down:
            wall += timedelta(seconds=down.retry_after_s)
            continue
        held[page.digest] = page.snapshot.id
        handed_out = [*(handed_out if cursor else ()), *page.page.rows]
        cursor = next_cursor(page)
        if cursor is not None:
            continue
        match page.completeness.reasons:
            case ():
                return "complete", handed_out
            case (*_, SourceBroken(seconds)):
                wall += timedelta(seconds=seconds)
            case (*_, TimeOver(_, None)):
                return "narrow: time", handed_out
            case (*_, TimeOver(_, int(minimum_ms))):
                assert budget_ms < minimum_ms <= MOST_MS
                budget_ms = minimum_ms
            case (ResultLimit(),):
                return "narrow: cap", handed_out
    pytest.fail("continuations go round in circles")
