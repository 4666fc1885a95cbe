"""Evidence says which rows the pages so far have named, outlives snapshot and session, and tells what changed since."""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.completeness import assess
from engine.errors import EvidenceInvalid, InvalidParameter, LimitExceeded, SourceUnavailable
from engine.evidence import Evidence, EvidenceBook
from engine.policy import Policies, Principal
from engine.query import Answer, Page, PageBounds, SourceBroken
from engine.snapshots.base import open_snapshots
from tests.engine import shop, slow
from tests.engine.house import House, open_house
from tests.engine.test_answers import capped

Run = Callable[[Awaitable[Any]], Any]

LINES: dict[str, Any] = {"fields": ("order", "line", "units", "weight")}
HOUR = timedelta(hours=1)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The shop's first rows, in a file of their own that a test may write again."""
    return shop.write(tmp_path / "shop.parquet", shop.ROWS[:12])


@pytest.fixture
def live(file: Path) -> House:
    return open_house(shop.dataset(file))


def pages(house: House, run: Run, rows: int, **asked: Any) -> Iterator[Answer]:
    """Every page of an answer."""
    bounds, cursor = PageBounds(rows=rows), None
    while True:
        answer: Answer = run(house.ask(**asked, bounds=bounds, cursor=cursor))
        yield answer
        if answer.page.next_offset is None:
            return
        cursor = answer.completeness.reasons[0].cursor  # type: ignore[union-attr]  # more pages come first


def read(house: House, run: Run, token: str, *, later: timedelta = timedelta(), by: str = "ada") -> Evidence:
    evidence: Evidence = run(house.engine.evidence.read(token, by, now=house.now + later))
    return evidence


def reason(of: Callable[[], object]) -> str:
    with pytest.raises(EvidenceInvalid) as caught:
        of()
    return caught.value.reason


# What a token stands for --------------------------------------------------------------------------------------------


def test_the_evidence_of_a_page_names_the_rows_up_to_and_with_it(live: House, run: Run) -> None:
    seen: list[tuple[int, int]] = []
    for answer in pages(live, run, 5, **LINES):
        seen += [(int(str(row[0])), int(str(row[1]))) for row in answer.page.rows]
        entries = read(live, run, answer.evidence).entries
        assert list(zip(entries["order"].to_pylist(), entries["line"].to_pylist(), strict=True)) == seen
    assert len(seen) == 12


def test_a_group_is_named_by_what_it_is_grouped_by(live: House, run: Run) -> None:
    answer = run(live.ask(("units",), group_by=("group",)))
    assert read(live, run, answer.evidence).entries["group"].to_pylist() == ["A", "B", "C", None]


def test_the_same_page_always_carries_the_same_evidence(file: Path, run: Run) -> None:
    ledgers = open_snapshots("sqlite::memory:", max_bytes=1 << 24)
    house = open_house(shop.dataset(file))
    books = [EvidenceBook(ledgers, ["key"]) for _ in range(2)]  # the second as after a restart
    first, again = (
        run(replace(house, engine=replace(house.engine, evidence=book)).ask(**LINES)).evidence for book in books
    )
    assert first == again


def test_it_outlives_its_snapshot_by_far_and_then_ends(live: House, run: Run) -> None:
    token = run(live.ask(**LINES)).evidence
    assert read(live, run, token, later=23 * HOUR).returned == 12
    assert reason(lambda: read(live, run, token, later=24 * HOUR)) == "expired"


def test_what_has_given_way_reads_as_expired(live: House, run: Run) -> None:
    """A ledger takes one to two thousand bytes here, so that there is room for a few of the twelve."""
    book = EvidenceBook(open_snapshots("sqlite::memory:", max_bytes=5_000), ["key"])
    crowded = replace(live, engine=replace(live.engine, evidence=book))
    tokens = [
        run(crowded.ask(**LINES, filters={"line": {"gte": -at}}, wall=live.now + timedelta(seconds=at))).evidence
        for at in range(12)
    ]
    assert reason(lambda: read(crowded, run, tokens[0])) == "expired"
    assert read(crowded, run, tokens[-1]).returned == 12


def test_it_is_of_no_use_to_another_caller(live: House, run: Run) -> None:
    token = run(live.ask(**LINES)).evidence
    assert reason(lambda: read(live, run, token, by="bob")) == "otherCaller"


def test_an_altered_token_is_refused_whatever_was_altered(live: House, run: Run) -> None:
    """Above all the count: a token for one page must not become one for all."""
    token = next(pages(live, run, 5, **LINES)).evidence
    for at in range(len(token)):
        other = token[:at] + ("0" if token[at] != "0" else "1") + token[at + 1 :]
        assert reason(lambda token=other: read(live, run, token)) == "altered"  # type: ignore[misc]
    cursor = next(pages(live, run, 5, **LINES)).completeness.reasons[0].cursor  # type: ignore[union-attr]
    assert reason(lambda: read(live, run, cursor)) == "altered"


def test_keys_rotate_without_breaking_the_evidence_of_the_key_before(live: House, run: Run) -> None:
    ledgers = open_snapshots("sqlite::memory:", max_bytes=1 << 24)

    def using(*keys: str) -> House:
        return replace(live, engine=replace(live.engine, evidence=EvidenceBook(ledgers, keys)))

    before = run(using("old").ask(**LINES)).evidence
    rotated = using("new", "old")
    assert read(rotated, run, before).returned == 12
    after = run(rotated.ask(**LINES)).evidence
    assert read(using("new"), run, after).returned == 12
    assert reason(lambda: read(using("new"), run, before)) == "altered"


def test_it_is_short(live: House, run: Run) -> None:
    """An agent pays for it in every answer."""
    assert len(run(live.ask(**LINES)).evidence) <= 80


# Whether it still holds ---------------------------------------------------------------------------------------------


def test_a_changed_grant_or_definition_are_told_apart(file: Path, live: House, run: Run) -> None:
    scope = read(live, run, run(live.ask(("units",), group_by=("group",))).evidence).scope
    assert live.engine.plan_of(scope, live.principal).statement.sql
    fewer = Policies.model_validate({"roles": {"admin": {"datasets": {"*": {"fields": {"deny": ["secret"]}}}}}})
    tightened = open_house(shop.dataset(file), fewer)
    assert reason(lambda: tightened.engine.plan_of(scope, live.principal)) == "permissionChanged"
    nobody = Principal(id="ada", roles=())
    assert reason(lambda: live.engine.plan_of(scope, nobody)) == "permissionChanged"
    fields = [{**it, "aggregation": "max"} if it["name"] == "units" else it for it in shop.FIELDS]
    redefined = open_house(shop.dataset(file, fields=fields))
    assert reason(lambda: redefined.engine.plan_of(scope, live.principal)) == "definitionChanged"


# What changed since -------------------------------------------------------------------------------------------------


def kinds(answer: Answer) -> list[tuple[object, ...]]:
    return [(row[0], int(str(row[1])) - 9007199254740993, row[2]) for row in answer.page.rows]


def rewritten(file: Path) -> None:
    """Rows 0 and 1 are gone, row 3 has other units, a row is new; the other eight are as they were."""
    rows = [dict(row) for row in shop.ROWS[2:13]]
    rows[1]["units"] = 99
    shop.write(file, tuple(rows))


def test_since_tells_what_was_removed_added_and_changed_and_nothing_else(file: Path, live: House, run: Run) -> None:
    before = run(live.ask(**LINES))
    rewritten(file)
    after = run(live.ask(**LINES, since=before.evidence, wall=live.now + HOUR))
    assert [column.label for column in after.columns] == ["since:change", "order", "line", "units", "weight"]
    assert kinds(after) == [("removed", 0, 0), ("removed", 0, 1), ("changed", 1, 0), ("added", 4, 0)]
    assert after.page.rows[0][3:] == (None, None)
    assert after.page.rows[2][3] == "99"
    since = after.snapshot.since
    assert (since.added, since.changed, since.removed, since.unchanged) == (1, 1, 2, 9)
    assert since.taken_at == before.snapshot.taken_at
    assert after.completeness.complete


def test_a_repeated_poll_reads_again_though_a_snapshot_is_young(file: Path, live: House, run: Run) -> None:
    before = run(live.ask(**LINES))
    assert run(live.ask(**LINES, since=before.evidence)).page.rows == ()
    rewritten(file)
    assert len(run(live.ask(**LINES, since=before.evidence)).page.rows) == 4


def test_the_evidence_of_changes_stands_for_all_that_its_reader_knows_then(file: Path, live: House, run: Run) -> None:
    """Also page by page: what stayed is known from before, what follows on later pages is not."""
    before = run(live.ask(**LINES))
    rewritten(file)
    named = []
    for answer in pages(live, run, 1, **LINES, since=before.evidence):
        named.append(len(read(live, run, answer.evidence).entries))
    assert named == [9, 9, 10, 11]
    assert run(live.ask(**LINES, since=answer.evidence)).page.rows == ()
    shop.write(file, shop.ROWS[2:13])
    again = run(live.ask(**LINES, since=answer.evidence))
    assert kinds(again) == [("changed", 1, 0)]


def test_rows_that_no_page_has_named_yet_count_as_added(file: Path, live: House, run: Run) -> None:
    first = next(pages(live, run, 10, **LINES))
    after = run(live.ask(**LINES, since=first.evidence))
    assert [row[0] for row in after.page.rows] == ["added", "added"]


def test_groups_and_a_total_have_changes_too(file: Path, live: House, run: Run) -> None:
    by_group: dict[str, Any] = {"fields": ("units",), "group_by": ("group",)}
    total: dict[str, Any] = {"fields": ("units",), "group_by": ()}
    groups, one = run(live.ask(**by_group)), run(live.ask(**total))
    assert run(live.ask(**total, since=one.evidence)).page.rows == ()
    rewritten(file)
    changed = run(live.ask(**by_group, since=groups.evidence))
    now = {row[0]: row[1] for row in run(live.ask(**by_group, wall=live.now + HOUR)).page.rows}
    then = {row[0]: row[1] for row in groups.page.rows}
    assert {row[1]: (row[0], row[2]) for row in changed.page.rows} == {
        group: ("changed", units) for group, units in now.items() if then[group] != units
    }
    assert [row[0] for row in run(live.ask(**total, since=one.evidence)).page.rows] == ["changed"]


def test_since_is_for_the_same_query_alone(live: House, run: Run) -> None:
    token = run(live.ask(**LINES)).evidence
    assert reason(lambda: run(live.ask(**LINES, filters={"line": 1}, since=token))) == "otherArguments"
    assert reason(lambda: run(live.ask(("order", "line"), since=token))) == "otherArguments"
    assert run(live.ask(**LINES, since=token, owner="another session")).page.rows == ()


def test_rows_that_cannot_be_told_apart_have_no_changes(live: House, run: Run) -> None:
    answer = run(live.ask(("order", "units")))
    with pytest.raises(InvalidParameter) as caught:
        run(live.ask(("order", "units"), since=answer.evidence))
    assert (caught.value.fault, caught.value.expected) == ("needsKey", ("line",))


def test_changes_of_more_rows_than_may_be_read_are_refused(file: Path, run: Run) -> None:
    """What is not among the first of them is perhaps among the others: it must not be called removed."""
    capped = Policies.model_validate({"roles": {"admin": {"datasets": {"*": {}}, "caps": {"rows": 12}}}})
    house = open_house(shop.dataset(file), capped)
    token = run(house.ask(**LINES)).evidence
    shop.write(file, shop.ROWS[:13])
    with pytest.raises(LimitExceeded) as caught:
        run(house.ask(**LINES, since=token))
    assert (caught.value.argument, caught.value.received, caught.value.limit) == ("since", 13, 12)


# Answers that stopped early -----------------------------------------------------------------------------------------


def test_some_rows_of_a_scope_stay_some_in_their_evidence_and_have_no_changes(tmp_path: Path, run: Run) -> None:
    """A row that was not read this time would be called removed."""
    most = {"rows": slow.ROWS, "bytes": 1 << 30}
    house = open_house(slow.broken(tmp_path), capped(**most))
    answer = run(house.ask(("id", "text")))
    evidence = read(house, run, answer.evidence)
    assert len(evidence.entries) == len(answer.page.rows) > 0
    whole = Page((), 0, None, ())
    assert assess(answer.plan, evidence.snapshot, whole, cursor=None).reasons == answer.completeness.reasons
    assert [type(it) for it in answer.completeness.reasons] == [SourceBroken]
    with pytest.raises(SourceUnavailable):
        run(house.ask(("id", "text"), since=answer.evidence))
