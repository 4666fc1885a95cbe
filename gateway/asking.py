"""Asks over MCP: the client's model by sampling, or the person by elicitation.

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

from gateway.questions import AnswerAwaited, Ask, Asking, Form, Prompt, Response

Context = ServerRequestContext[Any]

_ASKED = "asked"
"""The key of the one question that a call may end with."""
_MOST_TOKENS = 64  # of a model's answer: one sceneId
_REFUSED = -1
"""The error of a person who does not let the server use their model."""
_KEPT_S = 3600.0
"""A later answer is a protocol error; one within it, but after the time that is set, is `timed out`."""


def asker(
    asking: Asking, context: Context, params: types.CallToolRequestParams, wall: Callable[[], datetime]
) -> Ask | None:
    """How this call asks its one question; None where nobody is asked."""
    if not asking.keys:
        return None

    async def ask(question: Prompt | Form) -> Response:
        if not _offered(question, context.session.client_capabilities):
            return Response("unable")
        if context.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return await _asked_back(question, context, asking.within_s)
        if params.request_state is None:
            raise AnswerAwaited(question)
        waited = wall() - datetime.fromisoformat(params.request_state)
        if waited.total_seconds() > asking.within_s:
            return Response("timed out")
        return _understood(question, (params.input_responses or {}).get(_ASKED))

    return ask


def awaiting(awaited: AnswerAwaited, *, now: datetime) -> types.InputRequiredResult:
    """The end of a call whose answer is still to come."""
    return types.InputRequiredResult(input_requests={_ASKED: _request(awaited.question)}, request_state=now.isoformat())


def sealing(asking: Asking, principal_of: Callable[[Context], str]) -> RequestStateBoundary:
    """Seals the time of asking, bound to the caller and the arguments, and refuses a seal that is not ours."""
    # Derived: the library wants 32 bytes, and no token of one kind may pass for one of another.
    keys = [sha256(f"sanbu.choosing {key}".encode()).hexdigest() for key in dict.fromkeys(asking.keys)]
    security = RequestStateSecurity(keys=keys, ttl=_KEPT_S, bind_principal=principal_of)
    return RequestStateBoundary(security, default_audience="sanbu")


def form_params(form: Form) -> types.ElicitRequestFormParams:
    """The form as an elicitation request carries it."""
    return types.ElicitRequestFormParams(message=form.message, requested_schema=form.schema())


def _offered(question: Prompt | Form, capabilities: types.ClientCapabilities | None) -> bool:
    if capabilities is None:
        return False
    if isinstance(question, Prompt):
        return capabilities.sampling is not None
    elicitation = capabilities.elicitation
    # A bare {} is from before there were modes, and means forms.
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def _asked_back(question: Prompt | Form, context: Context, within_s: float) -> Response:
    session = context.session
    taken = types.CreateMessageResult if isinstance(question, Prompt) else types.ElicitResult
    if not session.can_send_request:
        return Response("unable")
    with anyio.move_on_after(within_s):
        try:
            answer = await session.send_request(
                _request(question), taken, metadata=ServerMessageMetadata(related_request_id=context.request_id)
            )
        except MCPError as error:
            return Response("declined" if error.code == _REFUSED else "unable")
        except ValidationError:
            return Response("unable")
        return _understood(question, answer)
    return Response("timed out")


def _request(question: Prompt | Form) -> types.CreateMessageRequest | types.ElicitRequest:
    if isinstance(question, Form):
        return types.ElicitRequest(params=form_params(question))
    text = types.TextContent(type="text", text=question.text)
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(
            messages=[types.SamplingMessage(role="user", content=text)], max_tokens=_MOST_TOKENS, temperature=0
        )
    )


def _understood(question: Prompt | Form, answer: object) -> Response:
    match answer:
        case types.ElicitResult(action="accept") if isinstance(question, Form):
            return Response("accepted", filled=answer.content or {})
        case types.ElicitResult() if isinstance(question, Form):
            return Response("declined" if answer.action == "decline" else "cancelled")
        case types.CreateMessageResult(content=types.TextContent(text=text)) if isinstance(question, Prompt):
            return Response("accepted", text=text)
    return Response("unable")
