"""What reaches each code: one small call, or a few, in either language."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
import httpx2
import mcp_types as types
from mcp import Client
from mcp.client.context import ClientRequestContext

from engine.dataset import Language
from gateway.client import Bounds, fetch_all
from scripts.contracts.server import FRAGILE, IDLE_S, Server, Wire
from tests.engine.slow import ROWS

Trigger = Callable[["Agent"], Awaitable[Wire]]
"""Gives the answer or the problem that holds the code, in wire form."""

_EVERY_DAY: Mapping[str, object] = {"day": None}


@dataclass(frozen=True)
class Agent:
    """One caller in one language."""

    server: Server
    http: httpx2.AsyncClient
    language: Language

    def says(self, zh: str, en: str) -> str:
        return zh if self.language == "zh" else en

    async def post(self, tool: str, **arguments: Any) -> Wire:
        said: Wire = (await self.http.post(f"/v1/{tool}", json=arguments)).json()
        return said

    async def session(self, scene: str) -> str:
        query = self.says("看一下数据", "show me the data")
        return str((await self.post("intentRecognition", query=query, sceneId=scene))["sessionId"])

    async def call(self, scene: str, **arguments: Any) -> Wire:
        """apiCall in a session of its own, which the answer names."""
        session = await self.session(scene)
        return {**await self.post("apiCall", sessionId=session, **arguments), "sessionId": session}


# Reasons ------------------------------------------------------------------------------------------------------------


async def client_limit(agent: Agent) -> Wire:
    session = await agent.session("READINGS")
    fetched = await fetch_all(partial(_called, agent, session), {"pageSize": 20}, bounds=Bounds(pages=1))
    return {"completeness": fetched.completeness, "sessionId": session}


async def snapshot_changed(agent: Agent) -> Wire:
    """The session ends between two pages, and its frozen rows with it."""
    session, pages = await agent.session("READINGS"), 0

    async def call(arguments: Wire, /) -> Wire:
        nonlocal pages
        pages += 1
        if pages > 1:
            await anyio.sleep(IDLE_S + 1)
        return await _called(agent, session, arguments)

    fetched = await fetch_all(call, {"pageSize": 20})
    return {"completeness": fetched.completeness, "sessionId": await agent.session("READINGS")}


async def _called(agent: Agent, session: str, arguments: Wire, /) -> Wire:
    return await agent.post("apiCall", sessionId=session, **arguments)


@dataclass(frozen=True)
class Reached:
    """How a reason is reached, and a call that goes on as its continuation says."""

    trigger: Trigger
    onward: Mapping[str, Any]
    """Further arguments of apiCall; the answer's cursor and the continuation's budget are added to them."""
    waits: bool = False
    """Whether the continuation's time has to pass before."""


def _calling(scene: str, **arguments: Any) -> Trigger:
    return lambda agent: agent.call(scene, **arguments)


REASONS: Mapping[str, Reached] = {
    "MORE_PAGES_AVAILABLE": Reached(_calling("READINGS", pageSize=20), {}),
    "RESULT_LIMIT_REACHED": Reached(
        _calling("READINGS", filters=_EVERY_DAY), {"filters": {"day": "昨天"}, "pageSize": 200}
    ),
    "TIME_BUDGET_EXCEEDED": Reached(
        _calling("SLOW", timeBudgetMs=500), {"filters": {"id": {"gt": ROWS - 100}}, "pageSize": 200}
    ),
    "SOURCE_UNAVAILABLE": Reached(
        _calling("BROKEN", filters={"id": {"gte": 1_000}}), {"filters": {"id": {"lt": 100}}, "pageSize": 200}
    ),
    "VISIBILITY_RESTRICTED": Reached(_calling("SHOPS"), {"filters": {"region": "north"}}),
    "CLIENT_LIMIT_REACHED": Reached(client_limit, {}),
    "SNAPSHOT_CHANGED": Reached(snapshot_changed, {}),
}

# Warnings -----------------------------------------------------------------------------------------------------------


async def asked_twice(agent: Agent) -> Wire:
    query = agent.says("各地区11月的用量", "usage of each region in November")
    first = await agent.post("intentRecognition", query=query, sceneId="USAGE")
    return await agent.post("intentRecognition", query=query, sceneId="USAGE", sessionId=first["sessionId"])


async def chosen_by_client(agent: Agent) -> Wire:
    """The client's model is asked over MCP; JSON over HTTP has no way to ask."""

    async def model(
        context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult:
        text = types.TextContent(type="text", text="SHOPS")
        return types.CreateMessageResult(role="assistant", content=text, model="none")

    query = agent.says("有多少员工", "the shops and their staff")
    async with Client(f"{agent.server.address}/mcp", sampling_callback=model) as client:
        return (await client.call_tool("intentRecognition", {"query": query})).structured_content or {}


WARNINGS: Mapping[str, Trigger] = {
    "VALUE_NORMALISED": lambda agent: agent.call("USAGE", filters={"day": agent.says("昨天", "yesterday")}),
    "DEFAULT_SCOPE_APPLIED": _calling("READINGS"),
    "STALE_DATA": _calling("READINGS"),
    "PARTIAL_FIELD_SET": _calling("READINGS"),
    "SCENE_DEPRECATED": _calling("OLD_USAGE"),
    "SORT_DEFAULTED": _calling("READINGS", limit=3),
    "VALUE_NOT_FINITE": _calling("READINGS", filters={"id": 57, "day": None}, fields=["id", "pressure"]),
    "CELL_TRUNCATED": _calling("READINGS", filters={"id": 28, "day": None}, fields=["id", "note"]),
    "LIMIT_APPLIED": _calling("READINGS", limit=50_000, orderBy=["id"]),
    "REPEATED_QUESTION": asked_twice,
    "CHOSEN_BY_CLIENT": chosen_by_client,
}

# Errors -------------------------------------------------------------------------------------------------------------


async def out_of_order(agent: Agent) -> Wire:
    """An ambiguous match leaves no scene chosen."""
    found = await agent.post("intentRecognition", query=agent.says("有多少员工", "the shops and their staff"))
    return await agent.post("apiCall", sessionId=found["sessionId"])


async def altered_cursor(agent: Agent) -> Wire:
    first = await agent.call("READINGS", pageSize=20)
    [onward] = [it["continuation"] for it in first["completeness"]["reasons"] if "cursor" in it["continuation"]]
    return await agent.post("apiCall", sessionId=first["sessionId"], cursor=onward["cursor"][:-1])


async def slept(agent: Agent) -> Wire:
    session = await agent.session("SHOPS")
    await anyio.sleep(IDLE_S + 1)
    return await agent.post("apiCall", sessionId=session)


async def source_gone(agent: Agent) -> Wire:
    (agent.server.data / "gone.parquet").unlink(missing_ok=True)
    return await agent.call("GONE")


async def all_slots_taken(agent: Agent) -> Wire:
    """More slow queries than run at once, each of other rows, and one that has no time to wait."""
    async with anyio.create_task_group() as others:
        for least in range(8):
            others.start_soon(partial(agent.call, "SLOW", filters={"id": {"gt": least}}, **_SUM))
        await anyio.sleep(1)
        problem = await agent.call("SLOW", filters={"id": {"gt": -1}}, **{**_SUM, "timeBudgetMs": 300})
        others.cancel_scope.cancel()
    return problem


_SUM: Mapping[str, Any] = {"fields": ["worked"], "groupBy": [], "timeBudgetMs": 6000}


def _asking(tool: str, zh: Mapping[str, Any], en: Mapping[str, Any]) -> Trigger:
    return lambda agent: agent.post(tool, **(zh if agent.language == "zh" else en))


ERRORS: Mapping[str, Trigger] = {
    "invalid_parameter": _calling("USAGE", filters={"day": "at some time"}),
    "unknown_field": _calling("USAGE", filters={"day": "昨天"}, fields=["usages"]),
    "unknown_value": _calling("USAGE", filters={"day": "昨天", "region": "nort"}),
    "missing_parameter": _calling("USAGE"),
    "unknown_scene": _asking(
        "intentRecognition", {"query": "用量", "sceneId": "USAGES"}, {"query": "usage", "sceneId": "USAGES"}
    ),
    "session_not_found": _asking("apiCall", {"sessionId": "没有"}, {"sessionId": "none"}),
    "step_out_of_order": out_of_order,
    "cursor_invalid": altered_cursor,
    "limit_exceeded": _calling("USAGE", filters={"day": ["2026-01-01", "2026-11-29"]}),
    "time_budget_exceeded": _calling("SLOW", **{**_SUM, "timeBudgetMs": 500}),
    "source_unavailable": source_gone,
    "busy": all_slots_taken,
    "internal": _asking("intentRecognition", {"query": f"用量 {FRAGILE}"}, {"query": f"usage {FRAGILE}"}),
    "session_expired": slept,
}
QUOTA = Reached(
    _calling("READINGS", filters={"id": {"between": [100, 160]}, **_EVERY_DAY}, pageSize=200), {}, waits=True
)
"""Of a caller who may have fewer bytes a minute than the answer has, on a server of its own."""
NOT_PERMITTED: Trigger = _asking("intentRecognition", {"query": "各地区用量"}, {"query": "usage by region"})
"""Of a caller whose roles allow nothing, on a server of its own."""
