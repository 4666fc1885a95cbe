"""The three tools over MCP, for clients of 2025-11-25 and 2026-07-28: arguments in, answers out, and nothing decided.

The low-level server is used because schemas, descriptions and error shapes are ours to the letter; see docs/decisions.
"""

import json
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import mcp_types as types
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from gateway.asking import asker, awaiting, form_params, sealing
from gateway.identity import Caller
from gateway.questions import AnswerAwaited
from gateway.tools import TOOLS, described
from gateway.turns import Answered, Gateway

CallerOf = Callable[[ServerRequestContext[Any]], Caller]

_ANNOTATIONS = types.ToolAnnotations(
    read_only_hint=True, idempotent_hint=True, destructive_hint=False, open_world_hint=False
)
_FORM = "mcp-apps/elicitation"
"""Where a client that is not asked may read the form."""
_FIRST = ("status", "error", "completeness")


def mcp_server(gateway: Gateway, caller_of: CallerOf) -> Server[Any]:
    """The server, not yet listening. `tools/list` touches no store."""
    names = {name for name, *_ in TOOLS}

    async def list_tools(
        context: ServerRequestContext[Any], _: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        dimensions = gateway.steps.visible_dimensions(caller_of(context))
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=described(name, description, dimensions),
                    input_schema=taken,
                    output_schema=given,
                    annotations=_ANNOTATIONS,
                )
                for name, description, taken, given in TOOLS
            ]
        )

    async def call_tool(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        tool = next((name for name, *_ in TOOLS if name == params.name), None)
        if tool is None:
            raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {params.name}. Tools are {', '.join(sorted(names))}.")
        ask = asker(gateway.asking, context, params, gateway.steps.wall)
        try:
            return tool_result(await gateway.answer(tool, params.arguments or {}, caller_of(context), ask=ask))
        except AnswerAwaited as awaited:
            return awaiting(awaited, now=gateway.steps.wall())

    server: Server[Any] = Server(
        "sanbu",
        title="Sanbu data gateway",
        version=version("sanbu"),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    if gateway.asking.keys:
        server.middleware.append(sealing(gateway.asking, lambda context: caller_of(context).principal.id))
    return server


def tool_result(answered: Answered) -> types.CallToolResult:
    """Structured content, and the same object as compact JSON text with what matters first."""
    said = dict(answered.said)
    ordered = {key: said[key] for key in _FIRST if key in said} | said
    text = json.dumps(ordered, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    form = answered.form and form_params(answered.form).model_dump(mode="json", by_alias=True, exclude_none=True)
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=ordered,
        is_error=answered.is_error,
        _meta={_FORM: form} if form else None,
    )


def headers_of(context: ServerRequestContext[Any]) -> Mapping[str, str]:
    """The HTTP headers that the message came with; none over stdio."""
    request = getattr(context, "request", None)
    return getattr(request, "headers", {}) if request is not None else {}
