"""The tool list as a client receives it: what it costs, and that every client can read it."""

import json
from collections.abc import Iterator
from typing import Any

import bpe_openai
import jsonschema
import pytest
from mcp import Client
from mcp_types import Tool

from gateway.app import App
from gateway.mcp import mcp_server

pytestmark = pytest.mark.anyio

_MODES = ("legacy", "auto")


def tokens(value: object) -> int:
    """o200k tokens of compact JSON."""
    return len(
        bpe_openai.get_encoding("o200k_base").encode(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    )


async def listed(app: App, mode: str) -> list[Tool]:
    async with Client(mcp_server(app.gateway, lambda _: app.local), mode=mode) as client:
        return (await client.list_tools()).tools


def nodes(schema: Any) -> Iterator[Any]:
    """Every schema inside a schema, the outermost first."""
    yield schema
    if isinstance(schema, dict):
        for part in schema.get("properties", {}).values():
            yield from nodes(part)
        if "items" in schema:
            yield from nodes(schema["items"])


@pytest.mark.parametrize("mode", _MODES)
async def test_there_are_exactly_three_tools(app: App, mode: str) -> None:
    assert [tool.name for tool in await listed(app, mode)] == ["intentRecognition", "fieldSelection", "apiCall"]


@pytest.mark.parametrize("mode", _MODES)
async def test_the_list_stays_within_its_budget(app: App, mode: str) -> None:
    tools = await listed(app, mode)
    taken = sum(
        tokens({"name": it.name, "description": it.description, "input_schema": it.input_schema}) for it in tools
    )
    assert taken <= 1000
    assert tokens([it.model_dump(mode="json", by_alias=True, exclude_none=True) for it in tools]) <= 2800


@pytest.mark.parametrize("mode", _MODES)
async def test_schemas_keep_to_what_every_client_accepts(app: App, mode: str) -> None:
    """FIELD_CASES 54."""
    for tool in await listed(app, mode):
        for schema in (tool.input_schema, tool.output_schema):
            assert schema is not None
            jsonschema.Draft202012Validator.check_schema(schema)
            for node in nodes(schema):
                assert isinstance(node, dict), "a boolean subschema"
                assert isinstance(node.get("type"), str), f"no single type in {node}"
                assert not {"$ref", "$defs", "anyOf", "oneOf", "allOf", "additionalProperties", "default"} & set(node)


async def test_descriptions_say_when_to_use_a_tool_and_where_its_arguments_come_from(app: App) -> None:
    for tool in await listed(app, "auto"):
        assert tool.description
        assert "Use it" in tool.description
        assert "Safe to repeat" in tool.description or "safe to repeat" in tool.description
        for name, argument in tool.input_schema["properties"].items():
            assert argument.get("description") or "minimum" in argument, f"{tool.name}.{name} explains nothing"
    first = (await listed(app, "auto"))[0]
    assert first.description
    assert first.description.endswith("Dimensions: channel, book, order, refund.")


async def test_every_tool_is_read_only_idempotent_and_closed(app: App) -> None:
    for tool in await listed(app, "auto"):
        assert tool.annotations is not None
        assert (tool.annotations.read_only_hint, tool.annotations.idempotent_hint) == (True, True)
        assert tool.annotations.open_world_hint is False
