"""The configuration files that the demo prints are right to the letter: each is parsed, and what it starts answers."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters

from gateway.connect import client_files
from gateway.settings import Settings
from tests.gateway.harness import environment

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("name", ["Claude Desktop", "Cursor", "VS Code"])
async def test_a_clients_file_starts_a_server_that_answers(name: str, settings: Settings) -> None:
    file = next(it for it in client_files(settings.catalog, "") if it.client == name)
    server = next(iter(next(iter(json.loads(file.text).values())).values()))
    started = StdioServerParameters(command=server["command"], args=server["args"], env=environment(settings))
    async with Client(started) as client:
        assert len((await client.list_tools()).tools) == 3


def test_the_python_agent_takes_what_the_scene_suggests(settings: Settings, tmp_path: Path) -> None:
    # A client hands none of its own environment on to the server: the clock is the real one, and no path is ours.
    agent = tmp_path / "agent.py"
    agent.write_text(client_files(settings.catalog, "top 3 best-selling books in November 2026")[-1].text)
    done = subprocess.run(
        [sys.executable, str(agent)],
        env={**environment(settings), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    status, _, rows = done.stdout.partition(" ")
    assert status == "complete"
    assert len(ast.literal_eval(rows)) == 3
