"""What stands before every route over HTTP: by which names and from which pages it may be called, and who calls.

A request passes these before anything reads its path or its body; what they refuse has the shape of every other error.
"""

import secrets
from collections.abc import Mapping

import structlog
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine.errors import EngineError
from gateway.errors import ForeignRequest, GatewayError, ScopeMissing, StoreDown, Unidentified
from gateway.identity import Caller, Identity
from gateway.problems import problem_of

_log = structlog.get_logger("sanbu")

_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")

UNIDENTIFIED, OUT_OF_SCOPE, UNAVAILABLE = 401, 403, 503
WRONG_HOST, WRONG_ORIGIN, WRONG_MEDIA_TYPE = 421, 403, 415
REFUSED = frozenset({UNIDENTIFIED, OUT_OF_SCOPE, UNAVAILABLE, WRONG_HOST, WRONG_ORIGIN, WRONG_MEDIA_TYPE})
"""Statuses with which any route may refuse."""

WELL_KNOWN = "/.well-known/"
_OPEN = ("/livez",)
"""Answered to whoever asks: that the gateway lives, and below WELL_KNOWN where to get a token."""

_CALLER = "sanbu.caller"

_HEADERS: Mapping[str, str] = {
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_TRANSPORT = "max-age=31536000"  # a year, which is what browsers take seriously


def refused(error: GatewayError | EngineError, *, status: int, detail: str | None = None) -> JSONResponse:
    """What reached no step has no turn: its trace is this line of the log, which alone has the detail."""
    trace_id = secrets.token_hex(16)
    problem = problem_of(error, "en")
    facts = {"field": problem.field, "received": problem.received, "detail": detail}
    _log.warning("request refused", trace_id=trace_id, status=status, **facts)
    headers = {"Retry-After": str(problem.retry_after_s)} if problem.retry_after_s else None
    return JSONResponse(problem.to_wire(trace_id), status_code=status, headers=headers)


def known_names(hosts: tuple[str, ...], origins: tuple[str, ...]) -> TransportSecuritySettings:
    """This machine's names with any port, beside those given; a browser leaves the port out where it is the usual."""
    return TransportSecuritySettings(
        allowed_hosts=[text for host in (*_THIS_MACHINE, *hosts) for text in (host, f"{host}:*")],
        allowed_origins=[
            *(text for host in _THIS_MACHINE for text in (f"http://{host}", f"http://{host}:*")),
            *origins,
        ],
    )


class SecurityHeaders:
    """On every response, but for what its route says itself."""

    def __init__(self, app: ASGIApp, *, encrypted: bool) -> None:
        self._app = app
        self._headers = {**_HEADERS, **({"Strict-Transport-Security": _TRANSPORT} if encrypted else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, sending if scope["type"] == "http" else send)


class OnlyByKnownNames:
    """Refuses what a page of another site may have sent, by the checks that MCP's own transport makes."""

    def __init__(self, app: ASGIApp, *, names: TransportSecuritySettings) -> None:
        self._app = app
        self._security = TransportSecurityMiddleware(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._app
        if scope["type"] == "http":
            request = Request(scope)
            refusal = await self._security.validate_request(request)
            if refusal is not None:
                header = "Host" if refusal.status_code == WRONG_HOST else "Origin"
                error = ForeignRequest(header, request.headers.get(header, ""))
                handler = refused(error, status=refusal.status_code)
        await handler(scope, receive, send)


class Identified:
    """Lets through who is identified, as the caller that `caller_in` finds; everybody else is refused."""

    def __init__(self, app: ASGIApp, *, identity: Identity, metadata_url: str | None) -> None:
        self._app = app
        self._identity = identity
        self._metadata_url = metadata_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or _is_open(scope):
            await self._app(scope, receive, send)
            return
        try:
            caller = await self._identity.caller(Request(scope).headers.getlist("authorization"))
        except (Unidentified, ScopeMissing, StoreDown) as error:
            await self._refusal(error)(scope, receive, send)
            return
        # MCP's transport binds its own sessions to this user. The token itself goes no further than here.
        user = AuthenticatedUser(AccessToken(token="", client_id=caller.principal.id, scopes=[]))
        await self._app({**scope, _CALLER: caller, "user": user}, receive, send)

    def _refusal(self, error: Unidentified | ScopeMissing | StoreDown) -> JSONResponse:
        if isinstance(error, StoreDown):
            return refused(error, status=UNAVAILABLE)
        if isinstance(error, Unidentified):
            refusal = refused(error, status=UNIDENTIFIED, detail=error.detail or error.fault)
        else:
            refusal = refused(error, status=OUT_OF_SCOPE)
        refusal.headers["WWW-Authenticate"] = self._challenge(error)
        return refusal

    def _challenge(self, error: Unidentified | ScopeMissing) -> str:
        """By RFC 6750 and RFC 9728; who brought nothing is told of no error."""
        told: dict[str, str] = {}
        if isinstance(error, ScopeMissing):
            told = {"error": "insufficient_scope", "scope": " ".join(error.names)}
        elif error.fault != "missing":
            told = {"error": "invalid_token", "error_description": f"the token is {error.fault}"}
        if self._metadata_url is not None:
            told["resource_metadata"] = self._metadata_url
        return "Bearer " + ", ".join(f'{name}="{value}"' for name, value in (told or {"realm": "sanbu"}).items())


def caller_in(scope: Scope) -> Caller:
    """Raises KeyError for a request that came past `Identified`, which there is none of."""
    caller: Caller = scope[_CALLER]
    return caller


def _is_open(scope: Scope) -> bool:
    path = str(scope.get("path", ""))
    return scope["type"] == "http" and (path in _OPEN or path.startswith(WELL_KNOWN))
