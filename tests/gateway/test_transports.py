"""The same three steps through every transport and both protocol versions, with a real client."""

import json
import subprocess
import sys

import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError

from gateway.cli.ask import three_steps
from gateway.settings import Settings
from tests.gateway.harness import connected, environment

pytestmark = pytest.mark.anyio

TRANSPORTS = ("in-process", "stdio", "http")
MODES = ("legacy", "auto")


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_a_question_is_answered_in_three_steps(transport: str, mode: str, settings: Settings) -> None:
    async with connected(transport, mode, settings) as client:
        schemas = {tool.name: tool.output_schema or False for tool in (await client.list_tools()).tools}
        steps = await three_steps(client, {"query": "昨天各渠道的销售额"}, shown=lambda *_: None)
        for tool, said in steps.items():
            jsonschema.validate(said, schemas[tool])
        assert steps["apiCall"]["status"] == "complete"
        assert len(steps["apiCall"]["rows"]) == 3

        wrong = await client.call_tool("apiCall", {"sessionId": "nonsense"})
        assert wrong.is_error
        assert wrong.structured_content
        assert wrong.structured_content["error"] == "session_not_found"

        with pytest.raises(MCPError, match="Unknown tool"):
            await client.call_tool("dropTables", {})


@pytest.mark.parametrize("mode", MODES)
async def test_text_and_structure_say_the_same_with_what_matters_first(mode: str, settings: Settings) -> None:
    """FIELD_CASES 15, 31."""
    async with connected("in-process", mode, settings) as client:
        asked = {"query": "昨天各渠道的销售额", "sceneId": "SALES_BY_CHANNEL"}
        result = await client.call_tool("intentRecognition", asked)
        [block] = result.content
        assert block.type == "text"
        assert json.loads(block.text) == result.structured_content
        assert list(json.loads(block.text))[:2] == ["status", "completeness"]
        empty = await client.call_tool(
            "apiCall",
            {"sessionId": json.loads(block.text)["sessionId"], "filters": {"day": "2020-01-01"}},
        )
        assert not empty.is_error
        assert empty.content


@pytest.mark.parametrize("encoding", ["cp936", "cp950", "ascii"])
async def test_chinese_over_stdio_survives_any_locale(encoding: str, settings: Settings) -> None:
    """FIELD_CASES 39."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "gateway.cli", "serve", "--stdio"],
        env={**environment(settings), "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0", "LC_ALL": "C"},
    )
    async with Client(server) as client:
        result = await client.call_tool("intentRecognition", {"query": "昨天的退款率★"})
        assert result.structured_content
        assert result.structured_content["scene"]["title"] == "退款分析"


def test_stdout_carries_nothing_but_the_protocol(settings: Settings) -> None:
    """FIELD_CASES 59: at DEBUG, with a warning raised on the way."""
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    }
    process = subprocess.run(
        [sys.executable, "-W", "always", "-m", "gateway.cli", "serve", "--stdio", "--log-level", "DEBUG"],
        input=json.dumps(hello).encode() + b"\n",
        env=environment(settings),
        capture_output=True,
        timeout=120,
        check=False,
    )
    lines = process.stdout.splitlines()
    assert lines, process.stderr.decode()
    assert all(json.loads(line)["jsonrpc"] == "2.0" for line in lines)
