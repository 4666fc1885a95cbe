"""Asks over MCP who is to choose a scene: the client's model by sampling, or the person by elicitation.

2025-11-25 asks back while the call runs. In 2026-07-28 the call ends with the question and the time of asking, sealed;
the client answers by the same call again. A client that does not offer what is needed is not asked.
"""

from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Any

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from gateway.choosing import AnswerAwaited, By, Choice, Choose, Choosing, Question, from_model, from_person

Context = ServerRequestContext[Any]

_ASKED = "scene"
"""The key of the one question, and of the one field of its form."""
_MOST_TOKENS = 64  # of an answer: one sceneId
_REFUSED = -1
"""The error of a person who does not let the server use their model."""
_KEPT_S = 3600.0
"""A later answer is a protocol error; one within it, but after the time that is set, is `timed out`."""


def chooser(
    choosing: Choosing, context: Context, params: types.CallToolRequestParams, wall: Callable[[], datetime]
) -> Choose | None:
    """Who chooses for this call; None where that is the calling agent."""
    by = choosing.by
    if by == "agent":
        return None

    async def choose(question: Question) -> Choice:
        if not _offered(by, context.session.client_capabilities):
            return Choice(by, "unable")
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await _asked_back(by, question, context, choosing.within_s)
        if params.request_state is None:
            raise AnswerAwaited(by, question)
        waited = wall() - datetime.fromisoformat(params.request_state)
        if waited.total_seconds() > choosing.within_s:
            return Choice(by, "timed out")
        return _understood(by, question, (params.input_responses or {}).get(_ASKED))

    return choose


def awaiting(awaited: AnswerAwaited, *, now: datetime) -> types.InputRequiredResult:
    """The end of a call whose answer is still to come."""
    request = _request(awaited.by, awaited.question)
    return types.InputRequiredResult(input_requests={_ASKED: request}, request_state=now.isoformat())


def sealing(choosing: Choosing, principal_of: Callable[[Context], str]) -> RequestStateBoundary:
    """Seals the time of asking, bound to the caller and the arguments, and refuses a seal that is not ours."""
    # Derived: the library wants 32 bytes, and no token of one kind may pass for one of another.
    keys = [sha256(f"sanbu.choosing {key}".encode()).hexdigest() for key in dict.fromkeys(choosing.keys)]
    security = RequestStateSecurity(keys=keys, ttl=_KEPT_S, bind_principal=principal_of)
    return RequestStateBoundary(security, default_audience="sanbu")


def _offered(by: By, capabilities: types.ClientCapabilities | None) -> bool:
    if capabilities is None:
        return False
    if by == "client":
        return capabilities.sampling is not None
    elicitation = capabilities.elicitation
    # A bare {} is from before there were modes, and means forms.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def _asked_back(by: By, question: Question, context: Context, within_s: float) -> Choice:
    request, session = _request(by, question), context.session
    taken = types.CreateMessageResult if by == "client" else types.ElicitResult
    if not session.can_send_request:
        return Choice(by, "unable")
    with anyio.move_on_after(within_s):
        try:
            answer = await session.send_request(
                request, taken, metadata=ServerMessageMetadata(related_request_id=context.request_id)
            )
        except MCPError as error:
            return Choice(by, "declined" if error.code == _REFUSED else "unable")
        except ValidationError:
            return Choice(by, "unable")
        return _understood(by, question, answer)
    return Choice(by, "timed out")


def _request(by: By, question: Question) -> types.CreateMessageRequest | types.ElicitRequest:
    if by == "client":
        text = types.TextContent(type="text", text=question.for_model())
        return types.CreateMessageRequest(
            params=types.CreateMessageRequestParams(
                messages=[types.SamplingMessage(role="user", content=text)], max_tokens=_MOST_TOKENS, temperature=0
            )
        )
    schema = {
        "type": "object",
        "properties": {_ASKED: {"type": "string", "enum": list(question.by_label())}},
        "required": [_ASKED],
    }
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=question.for_person(), requested_schema=schema)
    )


def _understood(by: By, question: Question, answer: object) -> Choice:
    match answer:
        case types.ElicitResult(action="accept") if by == "person":
            return from_person(question, (answer.content or {}).get(_ASKED))
        case types.ElicitResult() if by == "person":
            return Choice(by, "declined")
        case types.CreateMessageResult(content=types.TextContent(text=text)) if by == "client":
            return from_model(question, text)
    return Choice(by, "unable")
