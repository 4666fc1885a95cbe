"""The same three steps as JSON over HTTP, a person's query, MCP beside them, and what an operator's probes ask.

Whoever reaches this port is taken for the person who runs the gateway. So that no web page in that person's browser
does, a request must name this machine as its host, come from no other origin, and carry JSON that says so.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import pydantic_core
import structlog
from mcp.server.transport_security import TransportSecurityMiddleware, TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from engine.folding import nearest
from gateway.app import App
from gateway.arguments import QueryArguments, VerifyArguments, input_schema
from gateway.errors import ForeignRequest, GatewayError, InvalidArguments, NoSuchResult, NoSuchRoute
from gateway.identity import Caller
from gateway.links import MEDIA_TYPES, fetched
from gateway.mcp import mcp_server
from gateway.present.link import RESULTS
from gateway.problems import problem_of
from gateway.tools import TOOLS
from gateway.turns import Tool
from gateway.verdicts import REFUSALS

_log = structlog.get_logger("sanbu")

_MOST_BODY_BYTES = 1 << 20  # a query of 10,000 characters with its filters stays far below

_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")
_SECURITY = TransportSecuritySettings(
    allowed_hosts=[text for host in _THIS_MACHINE for text in (host, f"{host}:*")],
    allowed_origins=[text for host in _THIS_MACHINE for text in (f"http://{host}", f"http://{host}:*")],
)
"""For every route alike. A browser leaves out the port in both headers where it is 80."""

_UNKNOWN, _WRONG_METHOD, _WRONG_HOST, _WRONG_ORIGIN, _WRONG_MEDIA_TYPE = 404, 405, 421, 403, 415

_MCP = "/mcp"
_VERIFY = "/evidence/verify"

LIVE = {"status": "ok"}
"""What /livez says."""

_STATUS: Mapping[str, int] = {
    "not_permitted": 403,
    "unknown_scene": 404,
    "session_not_found": 404,
    "session_expired": 410,
    "step_out_of_order": 409,
    "cursor_invalid": 409,
    "busy": 429,
    "internal": 500,
    "source_unavailable": 503,
    "time_budget_exceeded": 504,
}
"""Codes that are not simply a bad request (400)."""

_VERIFY_DESCRIPTION = (
    "For whoever acts on rows: whether the answer that the evidence came with named them, and whether that was all."
)
_QUERY_DESCRIPTION = "A person's query on a dataset: the same engine under the same permissions as apiCall."


def http_app(app: App) -> Starlette:
    """The ASGI application. Its lifespan is MCP's; `app` is opened and closed by whoever serves it."""
    routes = [
        *(Route(f"/v1/{name}", _endpoint(app, name), methods=["POST"]) for name, *_ in TOOLS),
        Route("/v1/query", _endpoint(app, "query"), methods=["POST"]),
        Route(_VERIFY, _endpoint(app, "verifyEvidence"), methods=["POST"]),
        Route(RESULTS, _result(app), methods=["GET"]),
        Route("/openapi.json", lambda _: JSONResponse(openapi()), methods=["GET"]),
        Route("/livez", lambda _: JSONResponse(LIVE), methods=["GET"]),
    ]
    server = mcp_server(app.gateway, lambda context: _reached(app.local, context.request))
    served = server.streamable_http_app(
        streamable_http_path=_MCP,
        custom_starlette_routes=routes,
        transport_security=_SECURITY,
        max_request_body_size=_MOST_BODY_BYTES,
    )
    served.add_middleware(_OnlyFromThisMachine)
    served.add_exception_handler(HTTPException, _unrouted(routes))
    return served


class _OnlyFromThisMachine:
    """Refuses what a page of another site may have sent, by the checks that MCP's own transport makes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._security = TransportSecurityMiddleware(_SECURITY)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        handler = self._app
        if scope["type"] == "http":
            request = Request(scope)
            refusal = await self._security.validate_request(request)
            if refusal is not None:
                header = "Host" if refusal.status_code == _WRONG_HOST else "Origin"
                error = ForeignRequest(header, request.headers.get(header, ""))
                handler = _refused(error, status=refusal.status_code)
        await handler(scope, receive, send)


def _refused(error: GatewayError, *, status: int) -> JSONResponse:
    """What reached no step has no turn: its trace is this line of the log."""
    trace_id = secrets.token_hex(16)
    problem = problem_of(error, "en")
    _log.warning("request refused", trace_id=trace_id, status=status, field=problem.field, received=problem.received)
    return JSONResponse(problem.to_wire(trace_id), status_code=status)


def _unrouted(routes: Sequence[Route]) -> Callable[[Request, Exception], JSONResponse]:
    """What Starlette refuses before any endpoint is reached: a path that nothing stands at, or another method."""
    methods = {route.path: tuple(sorted({*(route.methods or ())} - {"HEAD"})) for route in routes}
    methods[_MCP] = ("POST",)

    def answer(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # the only class that it is registered for
        path = str(request.scope["path"])
        if error.status_code == _WRONG_METHOD:
            here = next((route.path for route in routes if route.path_regex.match(path)), _MCP)
            wrong = NoSuchRoute("method", request.method, methods[here])
        else:
            legal = tuple(f"{'/'.join(methods[it])} {it}" for it in nearest(path, {it: () for it in methods}))
            wrong = NoSuchRoute("path", path, legal)
        refusal = _refused(wrong, status=error.status_code)
        refusal.headers.update(error.headers or {})
        return refusal

    return answer


def _endpoint(app: App, tool: Tool) -> Any:
    async def endpoint(request: Request) -> Response:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if media_type.lower() != "application/json":  # any other type a page may post without asking the server first
            wrong = InvalidArguments("Content-Type", media_type, "type", ("application/json",))
            return _refused(wrong, status=_WRONG_MEDIA_TYPE)
        try:
            given = await _body(request)
        except InvalidArguments as error:
            return _refused(error, status=400)
        answered = await app.gateway.answer(tool, given, _reached(app.local, request))
        status = _STATUS.get(str(answered.said.get("error")), 400) if answered.is_error else 200
        headers = {"Retry-After": str(seconds)} if (seconds := answered.said.get("retryAfterSeconds")) else None
        return JSONResponse(answered.said, status_code=status, headers=headers)

    return endpoint


def _reached(caller: Caller, request: Request | None) -> Caller:
    """The caller, by this request's connection."""
    return caller if request is None else replace(caller, reached_at=str(request.base_url).rstrip("/"))


def _result(app: App) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            file = await fetched(app.gateway.steps, app.local, request.path_params["name"])
        except NoSuchResult as error:
            return _refused(error, status=_UNKNOWN)
        return Response(file.body, media_type=file.media_type, headers=file.headers)

    return endpoint


async def _body(request: Request) -> Mapping[str, object]:
    """The JSON object in the body; an empty body is an empty object.

    Raises InvalidArguments, also for what JSON cannot say back: NaN, a number beyond a float's, half a surrogate pair,
    and values nested deeper than 200.
    """
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > _MOST_BODY_BYTES:
            raise InvalidArguments("body", f"over {_MOST_BODY_BYTES} bytes", "tooLarge", (str(_MOST_BODY_BYTES),))
    try:
        body = pydantic_core.from_json(bytes(read) or b"{}", allow_inf_nan=False)
        json.dumps(body, allow_nan=False)  # 1e400 was read as infinity
    except ValueError as error:
        raise InvalidArguments(
            "body", bytes(read[:100]).decode(errors="replace"), "type", ("a JSON object",)
        ) from error
    if not isinstance(body, dict):
        raise InvalidArguments("body", body, "type", ("a JSON object",))
    return body


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 document of the endpoints under /v1 and /evidence."""
    problem = {
        "description": "what is wrong, and what to do next",
        "content": {"application/json": {"schema": _PROBLEM}},
    }
    paths = {
        f"/v1/{name}": _operation(name, description, taken, given, problem) for name, description, taken, given in TOOLS
    }
    answer = TOOLS[-1][3]
    paths["/v1/query"] = _operation("query", _QUERY_DESCRIPTION, input_schema(QueryArguments), answer, problem)
    taken = input_schema(VerifyArguments)
    paths[_VERIFY] = _operation("verifyEvidence", _VERIFY_DESCRIPTION, taken, _VERDICT, problem)
    paths[RESULTS] = {"get": _RESULT_OPERATION}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Sanbu data gateway", "version": version("sanbu"), "license": {"name": "Apache-2.0"}},
        "paths": paths,
    }


def _operation(
    name: str, description: str, taken: Mapping[str, Any], given: Mapping[str, Any], problem: Mapping[str, Any]
) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": taken}}}
    answer = {"description": "the answer", "content": {"application/json": {"schema": given}}}
    codes = sorted({400, _WRONG_HOST, _WRONG_MEDIA_TYPE, *_STATUS.values()})
    return {
        "post": {
            "operationId": name,
            "description": description,
            "requestBody": body,
            "responses": {"200": answer, **{str(code): problem for code in codes}},
        }
    }


_VERDICT: Mapping[str, Any] = {
    "type": "object",
    "required": ["verified", "refusals"],
    "properties": {
        "verified": {"type": "boolean"},
        "language": {"type": "string", "enum": ["zh", "en"]},
        "refusals": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["code", "message", "suggestion"],
                "properties": {
                    "code": {"type": "string", "enum": list(REFUSALS)},
                    "message": {"type": "string"},
                    "suggestion": {"type": "string"},
                    "ids": {"type": "array"},
                },
            },
        },
        "complete": {"type": "boolean"},
        "reasons": {"type": "array", "items": {"type": "object"}},
        "asked": {"type": "object"},
        "scope": {"type": "object"},
        "snapshot": {"type": "object"},
        "named": {"type": "integer"},
        "first": {"type": "array", "items": {"type": "object"}},
        "verifiableUntil": {"type": "string"},
        "recheck": {"type": "object"},
    },
}

_RESULT_OPERATION: Mapping[str, Any] = {
    "operationId": "result",
    "description": "All frozen rows of an answer of several pages, from its links: ends in .parquet, .csv or .arrow.",
    "parameters": [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}],
    "responses": {
        "200": {
            "description": "the file; the header Sanbu-Complete says whether it is complete, Sanbu-Reasons why not",
            "content": {media_type: {} for media_type in MEDIA_TYPES},
        },
        "404": {"description": "unknown, altered, expired, another caller's, or no longer permitted"},
    },
}

_PROBLEM: Mapping[str, Any] = {
    "type": "object",
    "required": ["error", "reason", "suggestion", "retryable", "traceId"],
    "properties": {
        "error": {"type": "string"},
        "field": {},
        "received": {},
        "reason": {"type": "string"},
        "suggestion": {"type": "string"},
        "legalValues": {"type": "array"},
        "retryable": {"type": "boolean"},
        "retryAfterSeconds": {"type": "integer"},
        "traceId": {"type": "string"},
    },
}
