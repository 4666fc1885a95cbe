"""The same three steps as JSON over HTTP, a person's query, MCP beside them, and what an operator's probes ask.

Without an identity, whoever reaches this port is taken for the person who runs the gateway. So that no web page in that
person's browser does, a request must name this machine as its host, come from no other origin, and carry JSON that
says so; see `hardening`, also for who calls where there is an identity.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pydantic_core
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from pydantic import AnyHttpUrl, ConfigDict, TypeAdapter
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from engine.errors import LimitExceeded
from engine.folding import nearest
from gateway.app import App
from gateway.errors import InvalidArguments, NoSuchResult, NoSuchRoute, QuotaReached, StoreDown
from gateway.hardening import (
    UNAVAILABLE,
    WRONG_MEDIA_TYPE,
    Identified,
    OnlyByKnownNames,
    SecurityHeaders,
    caller_in,
    known_names,
    refused,
)
from gateway.identity import Caller
from gateway.links import fetched
from gateway.mcp import mcp_server
from gateway.openapi import STATUS, VERIFY, openapi
from gateway.present.link import RESULTS
from gateway.tools import TOOLS
from gateway.turns import Tool

_MOST_BODY_BYTES = 1 << 20  # a query of 10,000 characters with its filters stays far below

_UNKNOWN, _WRONG_METHOD, _TOO_LARGE, _BUSY = 404, 405, 413, 429

MCP = "/mcp"

LIVE = {"status": "ok"}
"""What /livez says."""


_AS_WRITTEN = TypeAdapter(AnyHttpUrl, config=ConfigDict(url_preserve_empty_path=True))

_CORS: Mapping[str, Any] = {
    "allow_methods": ("GET", "POST", "DELETE"),
    "allow_headers": (
        "Authorization",
        "Content-Type",
        "Accept",
        "Last-Event-ID",
        "Mcp-Session-Id",
        "Mcp-Protocol-Version",
    ),
    "expose_headers": ("WWW-Authenticate", "Mcp-Session-Id", "Retry-After", "Sanbu-Complete", "Sanbu-Reasons"),
}
"""What pages of allowed sites may send and read. No cookies: a token comes in its header."""


def http_app(app: App) -> Starlette:
    """The ASGI application. Its lifespan is MCP's; `app` is opened and closed by whoever serves it."""
    routes = [
        *(Route(f"/v1/{name}", _endpoint(app, name), methods=["POST"]) for name, *_ in TOOLS),
        Route("/v1/query", _endpoint(app, "query"), methods=["POST"]),
        Route(VERIFY, _endpoint(app, "verifyEvidence"), methods=["POST"]),
        Route(RESULTS, _result(app), methods=["GET"]),
        Route("/openapi.json", lambda _: JSONResponse(openapi()), methods=["GET"]),
        Route("/livez", lambda _: JSONResponse(LIVE), methods=["GET"]),
    ]
    server = mcp_server(app.gateway, lambda context: _caller(app, context.request))
    names = known_names(app.settings.known_hosts, app.settings.allowed_origins)
    served = server.streamable_http_app(
        streamable_http_path=MCP,
        custom_starlette_routes=routes,
        transport_security=names,
        max_request_body_size=_MOST_BODY_BYTES,
    )
    # The last one added is the first that a request passes.
    if app.identity is not None:
        metadata_url, described = _resource_metadata(app)
        served.router.routes.extend(described)
        served.add_middleware(Identified, identity=app.identity, metadata_url=metadata_url)
    if app.settings.allowed_origins:
        served.add_middleware(CORSMiddleware, allow_origins=app.settings.allowed_origins, **_CORS)
    served.add_middleware(OnlyByKnownNames, names=names)
    served.add_middleware(SecurityHeaders, encrypted=app.settings.public_url.startswith("https://"))
    served.add_exception_handler(HTTPException, _unrouted(routes))
    return served


def _unrouted(routes: Sequence[Route]) -> Callable[[Request, Exception], JSONResponse]:
    """What Starlette refuses before any endpoint is reached: a path that nothing stands at, or another method."""
    methods = {route.path: tuple(sorted({*(route.methods or ())} - {"HEAD"})) for route in routes}
    methods[MCP] = ("POST",)

    def answer(request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)  # the only class that it is registered for
        path = str(request.scope["path"])
        if error.status_code == _WRONG_METHOD:
            here = next((route.path for route in routes if route.path_regex.match(path)), MCP)
            wrong = NoSuchRoute("method", request.method, methods[here])
        else:
            legal = tuple(f"{'/'.join(methods[it])} {it}" for it in nearest(path, {it: () for it in methods}))
            wrong = NoSuchRoute("path", path, legal)
        refusal = refused(wrong, status=error.status_code)
        refusal.headers.update(error.headers or {})
        return refusal

    return answer


def _endpoint(app: App, tool: Tool) -> Any:
    async def endpoint(request: Request) -> Response:
        media_type = request.headers.get("content-type", "").partition(";")[0].strip()
        if media_type.lower() != "application/json":  # any other type a page may post without asking the server first
            wrong = InvalidArguments("Content-Type", media_type, "type", ("application/json",))
            return refused(wrong, status=WRONG_MEDIA_TYPE)
        try:
            given = await _body(request)
        except InvalidArguments as error:
            return refused(error, status=400)
        answered = await app.gateway.answer(tool, given, _caller(app, request))
        status = STATUS.get(str(answered.said.get("error")), 400) if answered.is_error else 200
        headers = {"Retry-After": str(seconds)} if (seconds := answered.said.get("retryAfterSeconds")) else None
        return JSONResponse(answered.said, status_code=status, headers=headers)

    return endpoint


def _caller(app: App, request: Request | None) -> Caller:
    """Who sent the request, by its connection. Raises LookupError for one without where callers are identified."""
    if app.identity is None:
        caller = app.local
    elif request is None:
        raise LookupError("a message without its request")
    else:
        caller = caller_in(request.scope)
    if request is None:
        return caller
    return replace(caller, reached_at=app.settings.public_url or str(request.base_url).rstrip("/"))


def _resource_metadata(app: App) -> tuple[str | None, Sequence[BaseRoute]]:
    """(where a client reads which authorization server gives tokens, the route), by RFC 9728; none without one."""
    settings = app.settings
    if not settings.oauth_issuer:
        return None, ()
    resource = AnyHttpUrl(settings.public_url + MCP)
    # As they are written: an issuer with a slash more is another one.
    issuer = _AS_WRITTEN.validate_python(settings.oauth_issuer)
    routes = create_protected_resource_routes(
        resource, [issuer], list(settings.oauth_scopes) or None, resource_name="Sanbu data gateway"
    )
    return str(build_resource_metadata_url(resource)), routes


def _result(app: App) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            file = await fetched(app.gateway.steps, _caller(app, request), request.path_params["name"])
        except NoSuchResult as error:
            return refused(error, status=_UNKNOWN)
        except LimitExceeded as error:
            return refused(error, status=_TOO_LARGE)
        except QuotaReached as error:
            return refused(error, status=_BUSY)
        except StoreDown as error:
            return refused(error, status=UNAVAILABLE)
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
