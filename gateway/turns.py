"""The frame around every step: read the arguments, take the step, keep the turn, and name what goes wrong.

MCP, HTTP and the command line all call `Gateway.answer`; none of them sees an exception.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import structlog
from opentelemetry import trace

from engine.dataset import Language, language_of
from gateway import evidence, personal
from gateway.arguments import CallArguments, FindArguments, QueryArguments, SelectArguments, VerifyArguments, read
from gateway.audit import Disclosure
from gateway.choosing import chooser
from gateway.errors import ParameterNotGiven, StoreDown
from gateway.house import Reply
from gateway.identity import Caller
from gateway.problems import known_errors, problem_of
from gateway.questions import NOBODY_ASKED, AnswerAwaited, Ask, Asking, Form
from gateway.steps import Steps
from sessions.models import Outcome, Session, Turn, fold
from sessions.stores.base import StoreUnavailable
from sessions.trace import collecting, records

Tool = Literal["intentRecognition", "fieldSelection", "apiCall", "query", "verifyEvidence"]

_tracer = trace.get_tracer("sanbu.gateway")
_log = structlog.get_logger("sanbu")


@dataclass(frozen=True)
class Answered:
    """What leaves the house: a result in wire form, or a problem in wire form."""

    said: Mapping[str, Any]
    is_error: bool
    form: Form | None = None
    """What would have to be filled in, where nobody could be asked."""


@dataclass(frozen=True)
class Gateway:
    steps: Steps
    asking: Asking = NOBODY_ASKED

    async def answer(
        self, tool: Tool, given: Mapping[str, object], caller: Caller, *, ask: Ask | None = None
    ) -> Answered:
        """The step's result, with its turn kept. `ask`: how this connection asks back; None: it does not.

        Never raises but for cancellation, and AnswerAwaited where `ask` does; then no turn is kept.
        """
        given = _as_json(given)
        with collecting() as spans:
            with _tracer.start_as_current_span(tool) as span:
                trace_id = format(span.get_span_context().trace_id, "032x")
                reply, error = await self._take(tool, given, caller, trace_id, ask)
                if reply is not None:
                    said, session_id = dict(reply.said), reply.session_id
                else:
                    assert error is not None
                    session = await self._own_session(given, caller)
                    said = problem_of(error, _language(given, session)).to_wire(trace_id)
                    session_id = session.id if session else None
                span.set_attributes(
                    {"principal": caller.principal.id, "status": str(said.get("status", said.get("error")))}
                )
            outcome: Outcome = "answered" if reply else "refused"
            if said.get("status") == "no_match":
                said["traceId"] = trace_id
            if tool != "query" and tool != "verifyEvidence":
                turn = Turn(
                    session_id=session_id or trace_id,
                    owner=caller.principal.id,
                    at=self.steps.wall(),
                    step=tool,
                    outcome=outcome,
                    arguments=given,
                    facts=reply.facts if reply else {},
                    said={key: value for key, value in said.items() if key != "rows"},
                    spans=records(spans),
                    trace_id=trace_id,
                )
                try:
                    await self.steps.sessions.append(turn)
                except StoreUnavailable as down:
                    # Without its turn a session would not exist for the next step: better to say so now.
                    said, outcome = problem_of(down, _language(given, None)).to_wire(trace_id), "refused"
            told = reply.told if reply is not None and outcome == "answered" else None
            try:
                self._record(tool, given, caller, said, told, trace_id)
            except StoreDown as down:  # what cannot be recorded does not leave
                said, outcome = problem_of(down, _language(given, None)).to_wire(trace_id), "refused"
        return Answered(said, outcome == "refused", error.form if isinstance(error, ParameterNotGiven) else None)

    def _record(
        self,
        tool: Tool,
        given: Mapping[str, object],
        caller: Caller,
        said: Mapping[str, Any],
        told: Disclosure | None,
        trace_id: str,
    ) -> None:
        outcome = said.get("error") or said.get("status") or ("verified" if said.get("verified") else "refused")
        self.steps.audit.record(
            tool,
            caller,
            at=self.steps.wall(),
            arguments=given,
            outcome=str(outcome),
            told=told,
            trace_id=trace_id,
        )

    async def _take(
        self, tool: Tool, given: Mapping[str, object], caller: Caller, trace_id: str, ask: Ask | None
    ) -> tuple[Reply | None, Exception | None]:
        try:
            await self.steps.quotas.call(caller.principal.id, self.steps.caps(caller))
            return await self._step(tool, given, caller, ask), None
        except AnswerAwaited:
            raise
        except Exception as error:
            if type(error) not in known_errors():
                _log.exception("step failed", tool=tool, principal=caller.principal.id, trace_id=trace_id)
            return None, error

    async def _step(self, tool: Tool, given: Mapping[str, object], caller: Caller, ask: Ask | None) -> Reply:
        present = {name: value for name, value in given.items() if value is not None}
        match tool:
            case "intentRecognition":
                return await self.steps.find(read(FindArguments, present), caller, choose=chooser(self.asking, ask))
            case "fieldSelection":
                return await self.steps.select(read(SelectArguments, present), caller)
            case "apiCall":
                ask_person = ask if self.asking.missing == "person" else None
                return await self.steps.call(read(CallArguments, present), caller, ask=ask_person)
            case "query":
                return await personal.query(self.steps, read(QueryArguments, present), caller)
            case "verifyEvidence":
                return await evidence.verified(self.steps, read(VerifyArguments, present), caller)

    async def _own_session(self, given: Mapping[str, object], caller: Caller) -> Session | None:
        """The caller's session that the arguments name; a refused call is told in its language and kept with it."""
        session_id = given.get("sessionId")
        if not isinstance(session_id, str):
            return None
        try:
            session = fold(await self.steps.sessions.turns(session_id))
        except StoreUnavailable:
            return None
        return session if session is not None and session.owner == caller.principal.id else None


def _language(given: Mapping[str, object], session: Session | None) -> Language:
    if session is not None and session.facts.get("language") in ("zh", "en"):
        return "zh" if session.facts["language"] == "zh" else "en"
    return language_of(json.dumps(given, ensure_ascii=False))


def _as_json(given: Mapping[str, object]) -> dict[str, Any]:
    """The arguments as plain JSON values, whatever a client sent: half a character becomes a question mark, and what is
    nested too deeply to be read stands as a text.
    """

    def plain(value: object) -> Any:
        return json.loads(json.dumps(value, ensure_ascii=False, default=str).encode(errors="replace"))

    try:
        return {str(name): plain(value) for name, value in given.items()}
    except RecursionError:
        return {str(name): "…" for name in given}
