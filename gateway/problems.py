"""Every error as the one shape that callers see: what is wrong, with what was received, and what to do next.

A row per error class; a test walks the classes and fails for one without a row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from zoneinfo import ZoneInfo

from engine import errors as engine
from engine.dataset import Language
from engine.encode import wire_value
from gateway import errors as gateway
from gateway.messages import TEXTS, say
from sessions.stores.base import StoreUnavailable

Code = Literal[
    "invalid_parameter",
    "unknown_field",
    "unknown_value",
    "missing_parameter",
    "unknown_scene",
    "session_not_found",
    "session_expired",
    "step_out_of_order",
    "cursor_invalid",
    "not_permitted",
    "limit_exceeded",
    "time_budget_exceeded",
    "source_unavailable",
    "busy",
    "internal",
]

_UTC = ZoneInfo("UTC")
_SHOWN = 12  # legal values, nearest first: enough to correct a slip, too few to be a catalogue
_RECEIVED_CHARACTERS = 200


@dataclass(frozen=True)
class Problem:
    code: Code
    reason: str
    suggestion: str
    field: str | None = None
    received: object = None
    legal: tuple[object, ...] = ()
    retryable: bool = False
    retry_after_s: int | None = None

    def to_wire(self, trace_id: str) -> dict[str, object]:
        wire: dict[str, object] = {
            "error": self.code,
            "field": self.field,
            "received": _shortened(self.received),
            "reason": self.reason,
            "suggestion": self.suggestion,
            "retryable": self.retryable,
            "traceId": trace_id,
        }
        if self.legal:
            wire["legalValues"] = list(self.legal[:_SHOWN])
        if self.retry_after_s is not None:
            wire["retryAfterSeconds"] = self.retry_after_s
        return wire


def problem_of(error: Exception, language: Language) -> Problem:
    """The row for the error's class; `internal` for one that has none, with nothing of the error's own text."""
    row = _ROWS.get(type(error))
    if row is None:
        return Problem("internal", say("internal", language), say("internal.do", language))
    return row(error, language)


def known_errors() -> frozenset[type[Exception]]:
    return frozenset(_ROWS)


def _shortened(received: object) -> object:
    received = wire_value(received, _UTC)
    text = received if isinstance(received, str) else repr(received)
    return received if len(text) <= _RECEIVED_CHARACTERS else text[:_RECEIVED_CHARACTERS] + "…"


def _invalid_parameter(error: engine.InvalidParameter, language: Language) -> Problem:
    expected = ", ".join(error.expected[:_SHOWN])
    key = f"invalid.{error.fault}.do"
    bare = f"{key}.bare"
    return Problem(
        "invalid_parameter",
        say(f"invalid.{error.fault}", language),
        say(bare if not expected and bare in TEXTS else key, language, expected=expected),
        field=error.argument,
        received=error.received,
        legal=error.expected,
    )


def _invalid_arguments(error: gateway.InvalidArguments, language: Language) -> Problem:
    expected = ", ".join(error.expected)
    if error.fault == "missing" and error.argument == "sessionId":
        return _step_out_of_order(gateway.StepOutOfOrder("sessionId", "intentRecognition"), language)
    key = f"argument.{error.fault}"
    what_to_do = f"{key}.do" if f"{key}.do" in TEXTS else "argument.bound.do"
    return Problem(
        "missing_parameter" if error.fault == "missing" else "invalid_parameter",
        say(key, language, expected=expected),
        say(what_to_do, language, expected=expected, field=error.argument),
        field=error.argument,
        received=error.received,
        legal=error.expected if error.fault == "unknown" else (),
    )


def _step_out_of_order(error: gateway.StepOutOfOrder, language: Language) -> Problem:
    what_to_do = "step_out_of_order.choose" if error.first == "fieldSelection" else "step_out_of_order.do"
    return Problem(
        "step_out_of_order",
        say("step_out_of_order.unchosen", language)
        if error.step == error.first
        else say("step_out_of_order", language, step=error.step, first=error.first),
        say(what_to_do, language, first=error.first),
        field="sessionId",
    )


def _unknown_field(error: engine.UnknownField, language: Language) -> Problem:
    reason, suggestion = say("unknown_field", language), say("unknown_field.do", language)
    return Problem("unknown_field", reason, suggestion, error.argument, error.name, error.legal)


def _unknown_value(error: engine.UnknownValue, language: Language) -> Problem:
    reason, suggestion = say("unknown_value", language), say("unknown_value.do", language)
    return Problem("unknown_value", reason, suggestion, f"filters.{error.field}", error.received, error.legal)


def _unknown_dataset(error: engine.UnknownDataset, language: Language) -> Problem:
    reason, suggestion = say("unknown_dataset", language), say("unknown_dataset.do", language)
    return Problem("unknown_scene", reason, suggestion, "apiNo", error.api_no)


def _unknown_scene(error: gateway.UnknownScene, language: Language) -> Problem:
    reason, suggestion = say("unknown_scene", language), say("unknown_scene.do", language)
    return Problem("unknown_scene", reason, suggestion, "sceneId", error.scene_id, error.legal)


def _unknown_dimension(error: gateway.UnknownDimension, language: Language) -> Problem:
    reason, suggestion = say("unknown_value", language), say("unknown_dimension.do", language)
    return Problem("unknown_value", reason, suggestion, "dimensions", error.name, error.legal)


def _missing_parameter(error: engine.MissingParameter, language: Language) -> Problem:
    names = ", ".join(error.names)
    reason = say("missing_parameter", language, names=names)
    return Problem(
        "missing_parameter", reason, say("missing_parameter.do", language, names=names), "filters", legal=error.names
    )


def _parameter_not_given(error: gateway.ParameterNotGiven, language: Language) -> Problem:
    problem = _missing_parameter(engine.MissingParameter(error.names), language)
    if error.outcome is None:
        return problem
    reason = problem.reason + say(f"missing_parameter.{error.outcome}", language)
    unwilling = error.outcome in ("declined", "cancelled")
    return replace(problem, reason=reason, suggestion=_unwilling(error, language) if unwilling else problem.suggestion)


def _unwilling(error: gateway.ParameterNotGiven, language: Language) -> str:
    return say("missing_parameter.unwilling.do", language, names=", ".join(error.names))


def _limit_exceeded(error: engine.LimitExceeded, language: Language) -> Problem:
    facts = {"received": error.received, "limit": error.limit}
    key = "limit_exceeded.days" if error.argument.startswith("filters.") else "limit_exceeded"
    reason, suggestion = say(key, language, **facts), say(f"{key}.do", language, **facts)
    return Problem("limit_exceeded", reason, suggestion, error.argument, error.received)


def _time_budget_exceeded(error: engine.TimeBudgetExceeded, language: Language) -> Problem:
    key = "time_budget_exceeded.do" if error.suggested_ms is not None else "time_budget_exceeded.do.narrow"
    return Problem(
        "time_budget_exceeded",
        say("time_budget_exceeded", language, budget=error.budget_ms),
        say(key, language, suggested=error.suggested_ms),
        field="timeBudgetMs",
        received=error.budget_ms,
        retryable=error.suggested_ms is not None,
    )


def _source_unavailable(error: engine.SourceUnavailable, language: Language) -> Problem:
    return _retry("source_unavailable", error.retry_after_s, language)


def _no_such_route(error: gateway.NoSuchRoute, language: Language) -> Problem:
    reason = say(f"no_such_route.{error.what}", language)
    suggestion = say(f"no_such_route.{error.what}.do", language, legal=", ".join(error.legal))
    return Problem("invalid_parameter", reason, suggestion, error.what, error.received, error.legal)


def _no_such_result(error: gateway.NoSuchResult, language: Language) -> Problem:
    suggestion = say("no_such_result.do", language, endings=", ".join(error.endings))
    return Problem("cursor_invalid", say("no_such_result", language), suggestion, "path")


def _nothing_permitted(error: gateway.NothingPermitted, language: Language) -> Problem:
    reason = say("not_permitted", language)
    return Problem("not_permitted", reason, say("not_permitted.do", language), "roles", list(error.roles))


def _foreign_request(error: gateway.ForeignRequest, language: Language) -> Problem:
    reason = say("foreign_request", language, header=error.header)
    return Problem("not_permitted", reason, say("foreign_request.do", language), error.header, error.received)


def _unidentified(error: gateway.Unidentified, language: Language) -> Problem:
    reason = say(f"unidentified.{error.fault}", language)
    return Problem("not_permitted", reason, say("unidentified.do", language), "Authorization")


def _scope_missing(error: gateway.ScopeMissing, language: Language) -> Problem:
    names = " ".join(error.names)
    reason, suggestion = say("scope_missing", language, names=names), say("scope_missing.do", language, names=names)
    return Problem("not_permitted", reason, suggestion, "Authorization")


def _quota_reached(error: gateway.QuotaReached, language: Language) -> Problem:
    problem = _retry("busy", error.retry_after_s, language)
    reason = say(f"busy.{error.what}", language, limit=error.limit)
    if error.what != "concurrent":
        return replace(problem, reason=reason)
    return replace(problem, reason=reason, suggestion=say("busy.concurrent.do", language, seconds=error.retry_after_s))


def _store_down(error: gateway.StoreDown, language: Language) -> Problem:
    return _retry("source_unavailable", error.retry_after_s, language)


def _store_unavailable(error: StoreUnavailable, language: Language) -> Problem:
    return _retry("source_unavailable", 5, language)


def _busy(error: engine.Busy, language: Language) -> Problem:
    return _retry("busy", error.retry_after_s, language)


def _retry(code: Literal["source_unavailable", "busy"], seconds: int, language: Language) -> Problem:
    suggestion = say(f"{code}.do", language, seconds=seconds)
    return Problem(code, say(code, language), suggestion, retryable=True, retry_after_s=seconds)


def _cursor_invalid(error: engine.CursorInvalid, language: Language) -> Problem:
    return Problem(
        "cursor_invalid", say(f"cursor_invalid.{error.reason}", language), say("cursor_invalid.do", language), "cursor"
    )


def _evidence_invalid(error: engine.EvidenceInvalid, language: Language) -> Problem:
    reason = say(f"evidence.{error.reason}", language)
    return Problem("cursor_invalid", reason, say("evidence_invalid.do", language), "since")


def _session_not_found(error: gateway.SessionNotFound, language: Language) -> Problem:
    reason, suggestion = say("session_not_found", language), say("session_not_found.do", language)
    return Problem("session_not_found", reason, suggestion, "sessionId", error.session_id)


def _session_expired(error: gateway.SessionExpired, language: Language) -> Problem:
    reason = say("session_expired", language, idle=error.idle_seconds)
    return Problem("session_expired", reason, say("session_expired.do", language), "sessionId", error.session_id)


_ROWS: Mapping[type[Exception], Callable[[Any, Language], Problem]] = {
    engine.UnknownDataset: _unknown_dataset,
    engine.UnknownField: _unknown_field,
    engine.UnknownValue: _unknown_value,
    engine.InvalidParameter: _invalid_parameter,
    engine.MissingParameter: _missing_parameter,
    engine.LimitExceeded: _limit_exceeded,
    engine.TimeBudgetExceeded: _time_budget_exceeded,
    engine.SourceUnavailable: _source_unavailable,
    engine.Busy: _busy,
    engine.CursorInvalid: _cursor_invalid,
    engine.EvidenceInvalid: _evidence_invalid,
    gateway.SessionNotFound: _session_not_found,
    gateway.SessionExpired: _session_expired,
    gateway.StepOutOfOrder: _step_out_of_order,
    gateway.UnknownScene: _unknown_scene,
    gateway.UnknownDimension: _unknown_dimension,
    gateway.ParameterNotGiven: _parameter_not_given,
    gateway.InvalidArguments: _invalid_arguments,
    gateway.NoSuchRoute: _no_such_route,
    gateway.NoSuchResult: _no_such_result,
    gateway.NothingPermitted: _nothing_permitted,
    gateway.ForeignRequest: _foreign_request,
    gateway.Unidentified: _unidentified,
    gateway.ScopeMissing: _scope_missing,
    gateway.QuotaReached: _quota_reached,
    gateway.StoreDown: _store_down,
    StoreUnavailable: _store_unavailable,
}
