"""Errors are part of the product: each class has a row, each row speaks both languages, none gives anything away."""

import json
from typing import get_args

import pytest

from engine import errors as engine
from gateway import errors as gateway
from gateway import messages
from gateway.problems import known_errors, problem_of
from gateway.questions import Outcome


def leaves(base: type[Exception]) -> set[type[Exception]]:
    below = base.__subclasses__()
    return {leaf for each in below for leaf in leaves(each)} if below else {base}


EXAMPLES: list[Exception] = [
    engine.UnknownDataset("x"),
    engine.UnknownField("cots", ("cost",)),
    engine.UnknownValue("channel", "Z", ("A",)),
    *(engine.InvalidParameter("filters.day", "x", fault, ("a",)) for fault in engine.FAULTS),
    engine.MissingParameter(("day",)),
    engine.LimitExceeded("filters.day", 400, 92),
    engine.TimeBudgetExceeded(100, 400),
    engine.SourceUnavailable("lake", 30, "secret path"),
    engine.Busy(2),
    *(engine.CursorInvalid(reason) for reason in engine.CURSOR_REASONS),
    *(engine.EvidenceInvalid(reason) for reason in engine.EVIDENCE_REASONS),
    gateway.SessionNotFound("x"),
    gateway.SessionExpired("x", 300),
    gateway.StepOutOfOrder("apiCall", "fieldSelection"),
    gateway.UnknownScene("X", ("Y",)),
    gateway.UnknownDimension("x", ("y",)),
    *(gateway.ParameterNotGiven(("day",), outcome, None) for outcome in (None, *get_args(Outcome))),
    gateway.NoSuchRoute("path", "/v2/query", ("POST /v1/query",)),
    gateway.NoSuchRoute("method", "GET", ("POST",)),
    gateway.NoSuchResult(("parquet", "csv")),
    gateway.NothingPermitted(("intern",)),
    gateway.ForeignRequest("Origin", "https://evil.example"),
    *(gateway.Unidentified(fault) for fault in ("missing", "invalid", "expired")),
    gateway.ScopeMissing(("data:read",)),
    *(gateway.QuotaReached(what, 60, 7) for what in ("calls", "bytes", "concurrent")),
    gateway.StoreDown("sessions", 5),
    *(gateway.InvalidArguments("limit", 0, fault, ("1",)) for fault in ("missing", "unknown", "type", "tooSmall")),
]


def test_every_error_class_has_a_row() -> None:
    assert leaves(engine.EngineError) | leaves(gateway.GatewayError) <= known_errors()


def test_every_error_class_has_an_example_here() -> None:
    assert leaves(engine.EngineError) | leaves(gateway.GatewayError) == {type(error) for error in EXAMPLES}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: f"{type(error).__name__}-{getattr(error, 'fault', '')}")
def test_a_problem_speaks_both_languages_and_says_what_to_do(error: Exception) -> None:
    zh, en = problem_of(error, "zh"), problem_of(error, "en")
    assert zh.code == en.code
    assert zh.reason != en.reason
    assert zh.suggestion != en.suggestion
    for problem in (zh, en):
        wire = json.dumps(problem.to_wire("t"), ensure_ascii=False)
        assert "{" not in problem.reason + problem.suggestion.replace('{"from"', "")
        assert "secret path" not in wire


def test_an_unforeseen_error_says_nothing_of_itself() -> None:
    problem = problem_of(RuntimeError("SELECT secret FROM /etc/passwd"), "en")
    assert problem.code == "internal"
    assert "secret" not in json.dumps(problem.to_wire("t"))


def test_retry_is_said_with_its_time() -> None:
    """FIELD_CASES 26, 61: waiting for a slot and a slow query want different things."""
    busy, slow = problem_of(engine.Busy(2), "en"), problem_of(engine.TimeBudgetExceeded(100, 400), "en")
    assert (busy.code, busy.retry_after_s) == ("busy", 2)
    assert (slow.code, slow.retryable) == ("time_budget_exceeded", True)
    assert "narrow" in slow.suggestion.lower()


def test_every_sentence_is_written_in_both_languages() -> None:
    for key, (zh, en) in messages.TEXTS.items():
        assert zh, key
        assert en, key
        assert zh.count("{") == en.count("{"), key
