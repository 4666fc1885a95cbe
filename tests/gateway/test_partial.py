"""What a caller is told of rows that were read when the time was up or the store failed, in both languages."""

import asyncio
import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dataset import Language
from engine.errors import SourceUnavailable, TimeBudgetExceeded
from gateway.present.answers import called
from gateway.problems import problem_of
from gateway.tools import TOOLS
from tests.engine.moody import Moody, Row
from tests.engine.test_properties import BUDGET_MS, Asked, asked_of_a_table, caps, house_over, moods, rows_of_a_table
from tests.profile import GENERATED

ROWS: list[Row] = [(number, "a", number) for number in range(10)]
EVERYTHING = Asked(None, (), None, 50)

(OUTPUT,) = [schema for name, _, _, schema in TOOLS if name == "apiCall"]


def asked_of(store: Moody, asked: Asked, **caps: int) -> Any:
    return house_over(store, **caps).ask(("id", "tag", "amount"), time_budget_ms=BUDGET_MS, **asked.arguments())


def told(store: Moody, language: Language, **caps: int) -> dict[str, Any]:
    return called(asyncio.run(asked_of(store, EVERYTHING, **caps)), language)


@pytest.fixture
def store() -> Moody:
    store = Moody(yields=4)
    store.hold(ROWS)
    return store


@pytest.mark.parametrize("language", ["zh", "en"])
def test_when_the_time_is_up_the_answer_says_so_and_which_budget_may_do(store: Moody, language: Language) -> None:
    store.needs_ms = BUDGET_MS + 1
    wire = told(store, language)
    assert (wire["status"], wire["returned"]) == ("partial", 4)
    completeness = wire["completeness"]
    assert (completeness["complete"], completeness["truncated"]) == (False, True)
    assert completeness["workDone"] == {"rowsRead": 4}
    (reason,) = completeness["reasons"]
    assert reason["code"] == "TIME_BUDGET_EXCEEDED"
    assert reason["continuation"] == {"kind": "retryWithBudget", "minimumMs": 4 * BUDGET_MS}
    assert "timeBudgetMs" in reason["message"]
    assert "totalRows" not in wire


def test_a_role_without_more_time_is_told_to_narrow_the_query(store: Moody) -> None:
    store.needs_ms = BUDGET_MS + 1
    (reason,) = told(store, "en", timeMs=BUDGET_MS)["completeness"]["reasons"]
    assert reason["continuation"] == {"kind": "narrowQuery", "what": "time", "limit": BUDGET_MS}
    assert "timeBudgetMs" not in reason["message"]


@pytest.mark.parametrize("language", ["zh", "en"])
def test_when_the_store_fails_the_answer_says_when_to_ask_again(store: Moody, language: Language) -> None:
    store.failures = 1
    wire = told(store, language)
    (reason,) = wire["completeness"]["reasons"]
    assert reason["code"] == "SOURCE_UNAVAILABLE"
    assert reason["continuation"] == {"kind": "retryAfter", "seconds": 7}
    assert wire["completeness"]["workDone"] == {"rowsRead": 4, "share": 0.4}  # the count found the store back
    assert wire["totalRows"] == 10


@pytest.mark.parametrize(("language", "words"), [("zh", "不代表排在最前"), ("en", "the first of nothing")])
def test_some_rows_are_called_some_rows(store: Moody, language: Language, words: str) -> None:
    for mood in ({"needs_ms": BUDGET_MS + 1}, {"failures": 1, "needs_ms": 0}):
        vars(store).update(mood)
        assert words in told(store, language)["completeness"]["statement"]


def test_rows_beyond_a_cap_are_no_work_left_out_in_silence(store: Moody) -> None:
    wire = told(store, "en", rows=5)
    assert [it["code"] for it in wire["completeness"]["reasons"]] == ["RESULT_LIMIT_REACHED"]
    assert wire["completeness"]["workDone"] == {"rowsRead": 5, "share": 0.5}


def test_a_whole_answer_speaks_of_no_work(store: Moody) -> None:
    assert "workDone" not in told(store, "en")["completeness"]


def test_a_call_that_more_time_may_help_is_told_so_and_no_other() -> None:
    """FIELD_CASES 61."""
    more, spent = (problem_of(TimeBudgetExceeded(100, it), "en") for it in (400, None))
    assert (more.retryable, "timeBudgetMs to 400" in more.suggestion) == (True, True)
    assert (spent.retryable, "timeBudgetMs" in spent.suggestion) == (False, False)


def test_every_answer_fits_the_schema_that_clients_were_given(store: Moody) -> None:
    """As strict JSON, for any data, query, cap and mood of the store."""
    validator = jsonschema.Draft202012Validator(OUTPUT)

    @GENERATED
    @given(rows_of_a_table, asked_of_a_table, moods, caps, st.sampled_from(("zh", "en")))
    def check(rows: list[Row], asked: Asked, mood: dict[str, int], cap: dict[str, int], language: Language) -> None:
        store.hold(rows)
        vars(store).update(mood)
        try:
            answer = runner.run(asked_of(store, asked, **cap))
        except (TimeBudgetExceeded, SourceUnavailable):
            return
        wire = json.loads(json.dumps(called(answer, language), allow_nan=False))
        validator.validate(wire)
        assert (wire["status"] == "complete") is wire["completeness"]["complete"]
        assert wire["completeness"]["complete"] is (wire["completeness"]["reasons"] == [])
        assert all(it["message"] and it["continuation"]["kind"] for it in wire["completeness"]["reasons"])

    with asyncio.Runner() as runner:
        check()
