"""`fetch_all` ends complete or with a stated reason, whatever the pages, the failures and its own bounds are."""

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import Client

from gateway.app import App
from gateway.client import Bounds, CallApi, CallRefused, Fetched, fetch_all, over_http, over_mcp
from gateway.http import http_app
from gateway.mcp import mcp_server

DETAILS = "2026年11月1日到3日每一笔订单"

Wire = Mapping[str, Any]


def problem(code: str, **more: Any) -> Wire:
    return {"error": code, "reason": "because", "retryable": False, **more}


BUSY = problem("busy", retryable=True, retryAfterSeconds=0)


@dataclass
class Paged:
    """A gateway's side with `total` rows, that many a page at most; what stands in `instead` is said before."""

    total: int
    page: int = 10
    instead: list[Any] = field(default_factory=list)
    reasons: list[Wire] = field(default_factory=list)
    snapshot: str = "s1"
    asked: list[Wire] = field(default_factory=list)

    async def __call__(self, arguments: Wire, /) -> Wire:
        self.asked.append(arguments)
        if self.instead and (said := self.instead.pop(0)) is not None:
            if isinstance(said, Exception):
                raise said
            return dict(said)
        start = int(arguments.get("cursor", 0))
        end = min(self.total, start + min(self.page, arguments["pageSize"]))
        more = {"kind": "nextPage", "cursor": str(end), "remaining": self.total - end}
        paging: Wire = {"code": "MORE_PAGES_AVAILABLE", "message": "more", "continuation": more}
        reasons = [*([paging] if end < self.total else []), *self.reasons]
        completeness = {
            "complete": not reasons,
            "truncated": False,
            "statement": "Complete: all rows.",
            "reasons": reasons,
            "scope": {"scene": "S@1"},
            "snapshot": {"id": self.snapshot},
        }
        rows = [[number] for number in range(start, end)]
        return {"completeness": completeness, "columns": [{"name": "n"}], "rows": rows, "warnings": []}


def fetched(call: CallApi, arguments: Wire | None = None, **bounds: Any) -> Fetched:
    return anyio.run(lambda: fetch_all(call, arguments or {"sessionId": "s"}, bounds=Bounds(**bounds)))


def numbers(result: Fetched) -> list[int]:
    return [row[0] for row in result.rows]


def last_reason(result: Fetched) -> Any:
    return result.completeness["reasons"][-1]


@settings(max_examples=2_000 if os.environ.get("HYPOTHESIS_PROFILE") == "slow" else 200, deadline=None)
@given(
    total=st.integers(0, 60),
    page=st.integers(1, 20),
    rows=st.integers(1, 70),
    pages=st.integers(1, 12),
    failures=st.lists(st.sampled_from([None, BUSY, problem("internal")]), max_size=8),
)
def test_the_rows_are_all_or_a_reason_says_how_to_get_the_rest(
    total: int, page: int, rows: int, pages: int, failures: list[Any]
) -> None:
    served = Paged(total, page, list(failures))
    collected: list[int] = []

    async def follow() -> None:
        arguments: Wire = {"sessionId": "s"}
        while True:
            try:
                result = await fetch_all(served, arguments, bounds=Bounds(rows=rows, pages=pages))
            except CallRefused:
                assert problem("internal") in failures
                continue
            collected.extend(numbers(result))
            assert len(result.rows) <= rows
            assert result.pages <= pages
            assert result.complete == (not result.completeness["reasons"])
            if result.complete:
                return
            assert last_reason(result)["code"] == "CLIENT_LIMIT_REACHED"
            arguments = {**arguments, "cursor": last_reason(result)["continuation"]["cursor"]}

    anyio.run(follow)
    assert collected == list(range(total))


@pytest.mark.parametrize(
    ("bounds", "what", "limit", "cursor"), [({"rows": 25}, "rows", 25, "25"), ({"pages": 2}, "pages", 2, "20")]
)
def test_a_bound_of_the_clients_own_is_a_reason_with_the_cursor_to_go_on_from(
    bounds: dict[str, Any], what: str, limit: int, cursor: str
) -> None:
    result = fetched(Paged(40), **bounds)
    assert numbers(result) == list(range(int(cursor)))
    assert not result.complete
    assert last_reason(result)["continuation"] == {
        "kind": "nextPage",
        "cursor": cursor,
        "remaining": 40 - int(cursor),
        "what": what,
        "limit": limit,
    }
    assert result.completeness["statement"].startswith(f"Partial: {cursor} rows were fetched.")
    assert result.completeness["scope"] == {"scene": "S@1"}


def test_rows_that_just_fill_the_bound_are_complete() -> None:
    assert fetched(Paged(20), rows=20, pages=2).complete


def test_a_page_that_takes_too_long_ends_it_and_can_be_asked_for_again() -> None:
    served = Paged(30)

    async def slow(arguments: Wire, /) -> Wire:
        if "cursor" in arguments:
            await anyio.sleep_forever()
        return await served(arguments)

    result = fetched(slow, seconds=0.05)
    assert numbers(result) == list(range(10))
    assert last_reason(result)["continuation"]["cursor"] == "10"
    assert last_reason(result)["continuation"]["what"] == "seconds"


def test_without_a_first_page_the_reason_is_all_there_is() -> None:
    async def silent(arguments: Wire, /) -> Wire:
        await anyio.sleep_forever()
        raise AssertionError

    result = fetched(silent, seconds=0.02)
    assert (result.complete, result.pages, list(result.rows)) == (False, 0, [])
    assert last_reason(result)["continuation"] == {"kind": "raiseLimit", "what": "seconds", "limit": 0.02}


def test_a_lost_connection_is_tried_again() -> None:
    served = Paged(30, instead=[None, ConnectionError("lost")])
    assert fetched(served).complete
    assert [it.get("cursor") for it in served.asked] == [None, "10", "10", "20"]


def test_a_wait_beyond_the_time_is_not_begun() -> None:
    """FIELD_CASES 61."""
    served = Paged(30, instead=[None, problem("source_unavailable", retryable=True, retryAfterSeconds=3600)])
    result = fetched(served)
    assert numbers(result) == list(range(10))
    assert last_reason(result)["code"] == "CLIENT_LIMIT_REACHED"
    assert isinstance(result.error, CallRefused)
    assert result.error.problem["error"] == "source_unavailable"


def test_what_waiting_does_not_mend_is_asked_once() -> None:
    """FIELD_CASES 61: a query that takes too long takes too long again."""
    served = Paged(30, instead=[problem("time_budget_exceeded", retryable=True)])
    with pytest.raises(CallRefused, match="time_budget_exceeded"):
        fetched(served)
    assert len(served.asked) == 1


@pytest.mark.parametrize("code", ["cursor_invalid", "session_expired", "session_not_found"])
def test_a_snapshot_that_is_gone_is_never_joined_to_a_new_one(code: str) -> None:
    served = Paged(30, instead=[None, None, problem(code)])
    result = fetched(served)
    assert numbers(result) == list(range(20))
    assert not result.complete
    assert last_reason(result)["code"] == "SNAPSHOT_CHANGED"
    assert last_reason(result)["continuation"]["kind"] == "retryAfter"
    assert len(served.asked) == 3


def test_a_page_of_another_snapshot_is_left_out() -> None:
    served = Paged(30)

    async def changing(arguments: Wire, /) -> Wire:
        served.snapshot = "s2" if arguments.get("cursor") == "20" else "s1"
        return await served(arguments)

    result = fetched(changing)
    assert numbers(result) == list(range(20))
    assert last_reason(result)["code"] == "SNAPSHOT_CHANGED"
    assert result.completeness["snapshot"] == {"id": "s1"}


def test_the_servers_own_reasons_stay_each_once() -> None:
    capped = {"code": "RESULT_LIMIT_REACHED", "message": "Cut.", "continuation": {"kind": "narrowQuery"}}
    result = fetched(Paged(30, reasons=[capped]))
    assert len(result.rows) == 30
    assert result.completeness["reasons"] == [capped]
    assert not result.complete


@pytest.mark.parametrize("bounds", [{"rows": 0}, {"pages": 0}, {"seconds": -1}])
def test_a_bound_is_above_zero(bounds: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="above 0"):
        Bounds(**bounds)


def test_the_client_loads_nothing_of_the_server() -> None:
    loaded = "import sys, gateway.client; print(*{name.partition('.')[0] for name in sys.modules})"
    modules = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True).stdout.split()
    assert "gateway" in modules
    assert not {"engine", "scene_kb", "sessions", "mcp", "pydantic", "pyarrow", "starlette"} & set(modules)


# Against a gateway ---------------------------------------------------------------------------------------------------


@pytest.mark.anyio
@pytest.mark.parametrize("face", ["mcp", "http"])
async def test_a_whole_result_over_each_face(app: App, face: str) -> None:
    asked = {"query": DETAILS, "sceneId": "ORDER_DETAIL"}
    if face == "mcp":
        async with Client(mcp_server(app.gateway, lambda _: app.local)) as client:
            found = await client.call_tool("intentRecognition", asked)
            await in_pages(over_mcp(client), dict(found.structured_content or {}))
    else:
        transport = httpx2.ASGITransport(app=http_app(app))
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8722") as http:
            answer = await http.post("/v1/intentRecognition", json=asked)
            await in_pages(over_http(http), answer.json())


async def in_pages(call: CallApi, found: Wire) -> None:
    arguments = {"sessionId": found["sessionId"], "fields": ["order_id", "channel"]}
    whole = await fetch_all(call, arguments)
    assert whole.complete, whole.completeness
    assert whole.pages > 1
    assert len(whole.rows) == len({row[0] for row in whole.rows}) == 621
    some = await fetch_all(call, arguments, bounds=Bounds(rows=400))
    assert "取满了 400 行" in some.completeness["statement"]
    rest = await fetch_all(call, {**arguments, "cursor": last_reason(some)["continuation"]["cursor"]})
    assert [*some.rows, *rest.rows] == whole.rows
    with pytest.raises(CallRefused, match="unknown_field"):
        await fetch_all(call, {**arguments, "fields": ["nothing"]})


@pytest.mark.anyio
async def test_the_last_pages_evidence_stands_for_every_row(app: App) -> None:
    transport = httpx2.ASGITransport(app=http_app(app))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8722") as http:
        asked = {"query": DETAILS, "sceneId": "ORDER_DETAIL"}
        found = (await http.post("/v1/intentRecognition", json=asked)).json()
        call = {"sessionId": found["sessionId"], "fields": ["order_id"]}
        for bounds, verified in ((Bounds(), True), (Bounds(rows=400), False)):
            fetched = await fetch_all(over_http(http), call, bounds=bounds)
            assert fetched.last_page
            claim = {"token": fetched.last_page["evidence"], "ids": [row[0] for row in fetched.rows]}
            verdict = (await http.post("/evidence/verify", json={**claim, "requireComplete": True})).json()
            assert verdict["verified"] is verified
            assert verdict["named"] == len(fetched.rows)
            assert [it["code"] for it in verdict["refusals"]] == ([] if verified else ["incomplete"])


@pytest.mark.anyio
async def test_a_gateway_that_is_not_there_is_waited_for_within_the_time() -> None:
    async with httpx2.AsyncClient(base_url="http://127.0.0.1:9") as http:
        result = await fetch_all(over_http(http), {"sessionId": "s"}, bounds=Bounds(seconds=0.05))
    assert isinstance(result.error, ConnectionError)
    assert last_reason(result)["code"] == "CLIENT_LIMIT_REACHED"
