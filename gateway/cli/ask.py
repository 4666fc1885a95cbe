"""`sanbu ask`: the three steps through an in-process MCP client, as an agent would take them."""

from collections.abc import Callable, Mapping
from typing import Any

import anyio
from mcp import Client
from rich.text import Text

from gateway.app import open_app
from gateway.cli.steps import show_step
from gateway.cli.terminal import index_progress, out, print_json
from gateway.log import configure_logging
from gateway.mcp import mcp_server
from gateway.settings import Settings

Wire = dict[str, Any]


def run_ask(settings: Settings, query: str, *, scene: str | None, dimensions: list[str], as_json: bool) -> None:
    """Prints each step. Status 1 where a step was refused."""
    configure_logging("ERROR")
    first: Wire = {"query": query, "sceneId": scene, "dimensions": dimensions or None}

    async def main() -> Mapping[str, Wire]:
        with index_progress() as progress:
            async with (
                open_app(settings, progress=progress) as app,
                Client(mcp_server(app.gateway, lambda _: app.local)) as client,
            ):
                return await three_steps(client, first, shown=_silent if as_json else show_step)

    steps = anyio.run(main)
    if as_json:
        print_json(steps)
    else:
        found = steps["intentRecognition"]
        out.print(Text(f"\nsanbu trace show {found.get('sessionId') or found['traceId']}", style="dim"))
    if any("error" in said for said in steps.values()):
        raise SystemExit(1)


async def three_steps(client: Client, first: Wire, *, shown: Callable[[str, Wire], None]) -> dict[str, Wire]:
    """What each tool said, in order; the flow ends at a refusal or where nothing matches.

    Chooses the first alternative where the match is ambiguous, and follows what the scene suggests.
    """
    steps: dict[str, Wire] = {}

    async def take(tool: str, arguments: Wire) -> Wire:
        result = await client.call_tool(tool, arguments)
        said: Wire = dict(result.structured_content or {})
        steps[tool] = said
        shown(tool, said)
        return said

    found = await take("intentRecognition", first)
    if "error" in found or found["status"] == "no_match":
        return steps
    session = {"sessionId": found["sessionId"]}
    choice = {"sceneId": found["alternatives"][0]["sceneId"]} if found["status"] == "ambiguous" else {}
    selected = await take("fieldSelection", session | choice)
    if "error" in selected:
        return steps
    await take(
        "apiCall",
        session
        | {"fields": [it["name"] for it in selected["fields"]]}
        | (selected.get("suggested") or found.get("suggested", {})),
    )
    return steps


def _silent(tool: str, said: Wire) -> None:
    """Nothing is shown on the way where the whole is printed at the end."""
