"""The same three steps as JSON over HTTP, a person's query, MCP beside them, and what an operator's probes ask."""

import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gateway.app import App
from gateway.arguments import QueryArguments, input_schema
from gateway.errors import InvalidArguments
from gateway.mcp import mcp_server
from gateway.problems import problem_of
from gateway.tools import TOOLS
from gateway.turns import Tool

_MOST_BODY_BYTES = 1 << 20  # a query of 10,000 characters with its filters stays far below

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

_QUERY_DESCRIPTION = "A person's query on a dataset: the same engine under the same permissions as apiCall."


def http_app(app: App) -> Starlette:
    """The ASGI application. Its lifespan is MCP's; `app` is opened and closed by whoever serves it."""
    routes = [
        *(Route(f"/v1/{name}", _endpoint(app, name), methods=["POST"]) for name, *_ in TOOLS),
        Route("/v1/query", _endpoint(app, "query"), methods=["POST"]),
        Route("/openapi.json", lambda _: JSONResponse(openapi()), methods=["GET"]),
        Route("/livez", lambda _: JSONResponse({"status": "ok"}), methods=["GET"]),
    ]
    server = mcp_server(app.gateway, lambda _: app.local)
    return server.streamable_http_app(
        streamable_http_path="/mcp",
        custom_starlette_routes=routes,
        host=app.settings.host,
        max_request_body_size=_MOST_BODY_BYTES,
    )


def _endpoint(app: App, tool: Tool) -> Any:
    async def endpoint(request: Request) -> Response:
        try:
            given = await _body(request)
        except InvalidArguments as error:
            return JSONResponse(problem_of(error, "en").to_wire(""), status_code=400)
        answered = await app.gateway.answer(tool, given, app.local)
        status = _STATUS.get(str(answered.said.get("error")), 400) if answered.is_error else 200
        headers = {"Retry-After": str(seconds)} if (seconds := answered.said.get("retryAfterSeconds")) else None
        return JSONResponse(answered.said, status_code=status, headers=headers)

    return endpoint


async def _body(request: Request) -> Mapping[str, object]:
    """The JSON object in the body; an empty body is an empty object. Raises InvalidArguments."""
    read = bytearray()
    async for chunk in request.stream():
        read += chunk
        if len(read) > _MOST_BODY_BYTES:
            raise InvalidArguments("body", f"over {_MOST_BODY_BYTES} bytes", "tooLarge", (str(_MOST_BODY_BYTES),))
    try:
        body = json.loads(read or b"{}")
    except ValueError as error:
        raise InvalidArguments(
            "body", bytes(read[:100]).decode(errors="replace"), "type", ("a JSON object",)
        ) from error
    if not isinstance(body, dict):
        raise InvalidArguments("body", body, "type", ("a JSON object",))
    return body


def openapi() -> dict[str, Any]:
    """The OpenAPI 3.1 document of the endpoints under /v1."""
    problem = {
        "description": "what is wrong, and what to do next",
        "content": {"application/json": {"schema": _PROBLEM}},
    }
    paths = {
        f"/v1/{name}": _operation(name, description, taken, given, problem) for name, description, taken, given in TOOLS
    }
    answer = TOOLS[-1][3]
    paths["/v1/query"] = _operation("query", _QUERY_DESCRIPTION, input_schema(QueryArguments), answer, problem)
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
    codes = sorted({400, *_STATUS.values()})
    return {
        "post": {
            "operationId": name,
            "description": description,
            "requestBody": body,
            "responses": {"200": answer, **{str(code): problem for code in codes}},
        }
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
