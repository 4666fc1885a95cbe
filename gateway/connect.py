"""How to connect a client: the configuration file of each, with the command of this very installation in it."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class ClientFile:
    """One client's configuration: where it goes, and its text."""

    client: str
    path: str
    text: str


def client_files(catalog: str, query: str) -> tuple[ClientFile, ...]:
    """Claude Desktop, Cursor and VS Code start the gateway themselves; a Python agent does so and asks `query`.

    Formats as documented in November 2026 at modelcontextprotocol.io/quickstart/user, cursor.com/docs/mcp and
    code.visualstudio.com/docs/agents/reference/mcp-configuration.
    """
    command, arguments = server_command(catalog)
    server = {"command": command, "args": arguments}
    desktop = "~/Library/Application Support/Claude/claude_desktop_config.json (Windows: %APPDATA%\\Claude\\…)"
    return (
        ClientFile("Claude Desktop", desktop, _json({"mcpServers": {"sanbu": server}})),
        ClientFile("Cursor", ".cursor/mcp.json, or ~/.cursor/mcp.json", _json({"mcpServers": {"sanbu": server}})),
        ClientFile("VS Code", ".vscode/mcp.json", _json({"servers": {"sanbu": {"type": "stdio", **server}}})),
        ClientFile("Python agent", "agent.py", _AGENT.format(command=command, arguments=arguments, query=query)),
    )


def server_command(catalog: str) -> tuple[str, list[str]]:
    """(program, arguments) that serve the catalog over stdio from this installation, wherever it is started."""
    place = str(Path(catalog).resolve()) if Path(catalog).is_dir() else catalog
    return sys.executable, ["-m", "gateway.cli", "serve", "--stdio", "--catalog", place]


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


_AGENT = """\
import asyncio

from mcp import Client, StdioServerParameters


async def main() -> None:
    server = StdioServerParameters(command={command!r}, args={arguments!r})
    async with Client(server) as client:
        found = (await client.call_tool("intentRecognition", {{"query": {query!r}}})).structured_content
        if found["status"] == "no_match":
            return print(found["message"])
        session = {{"sessionId": found["sessionId"]}}
        chosen = {{"sceneId": found["alternatives"][0]["sceneId"]}} if found["status"] == "ambiguous" else {{}}
        selected = (await client.call_tool("fieldSelection", session | chosen)).structured_content
        query = {{"fields": [field["name"] for field in selected["fields"]]}}
        query |= selected.get("suggested") or found.get("suggested", {{}})  # the order and limit that the task asks for
        answer = (await client.call_tool("apiCall", session | query)).structured_content
        print(answer["status"], answer["rows"])


asyncio.run(main())
"""
