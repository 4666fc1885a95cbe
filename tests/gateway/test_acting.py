"""Evidence in the hands of those who use it: the tool that acts, as the documentation has it, and who approves."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client

from gateway.app import App, open_app
from gateway.cli.evidence import run_evidence
from gateway.cli.faults import Failure
from gateway.client import CallRefused, fetch_all, over_http, verify_evidence
from gateway.http import http_app
from gateway.settings import Settings
from tests.gateway.harness import orders_become
from tests.gateway.test_docs import samples
from tests.gateway.test_steps import session, take

NAMED, OF_A = "18446744073709551587", "18446744073709551558"
"""Orders of yesterday, 28 and 57 of the fixture: of channel B and of channel A."""


@pytest.fixture
async def gateway(live: App) -> AsyncIterator[httpx2.AsyncClient]:
    transport = httpx2.ASGITransport(app=http_app(live))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        yield client


@pytest.fixture
def acting(gateway: httpx2.AsyncClient) -> dict[str, Any]:
    """The names of the documentation's sample, once it has run; its gateway is the one of this test."""
    [sample] = [it for it in samples("agent-builder.md", "python") if "verify_evidence" in it]
    names: dict[str, Any] = {"__name__": "sample"}
    exec(compile(sample, "agent-builder.md", "exec"), names)
    names["gateway"] = gateway
    return names


async def archive(acting: dict[str, Any], ids: list[str], evidence: str) -> dict[str, Any]:
    async with Client(acting["server"]) as client:
        result = await client.call_tool("archive_orders", {"ids": ids, "evidence": evidence})
    assert not result.is_error, result.content
    return dict(result.structured_content or {})


@pytest.mark.anyio
async def test_the_tool_archives_what_a_complete_list_named_and_nothing_else(
    live: App, gateway: httpx2.AsyncClient, acting: dict[str, Any]
) -> None:
    sid = await session(live, "昨天的订单明细", scene="ORDER_DETAIL")
    asked: dict[str, Any] = {
        "sessionId": sid,
        "fields": ["order_id", "amount"],
        "filters": {"day": "昨天", "channel": "B"},
    }
    page = await take(live, "apiCall", **asked, pageSize=5)
    listed = [row[0] for row in page["rows"]]
    refused = await archive(acting, [*listed, NAMED], page["evidence"])
    assert [(it["code"], it.get("ids")) for it in refused["refusals"]] == [
        ("incomplete", None),
        ("idsNotInResult", [NAMED]),
    ]
    assert acting["archived"] == []

    fetched = await fetch_all(over_http(gateway), {**asked, "pageSize": 30})
    assert fetched.complete
    assert fetched.last_page is not None
    token = fetched.last_page["evidence"]
    beyond = await archive(acting, [*listed, OF_A], token)
    assert [(it["code"], it["ids"]) for it in beyond["refusals"]] == [("idsNotInResult", [OF_A])]
    assert acting["archived"] == []
    assert await archive(acting, [*listed, NAMED], token) == {"archived": [*listed, NAMED], "refusals": []}

    orders_become(live, f"SELECT * FROM {{orders}} WHERE order_id <> {NAMED}")
    assert [it["code"] for it in (await archive(acting, [NAMED], token))["refusals"]] == ["idsVanished"]


@pytest.mark.anyio
async def test_without_a_verdict_nothing_is_verified(live: App, gateway: httpx2.AsyncClient) -> None:
    token = (await take(live, "query", apiNo="orders", fields=["order_id"], filters={"day": "昨天"}))["evidence"]
    with pytest.raises(CallRefused) as refused:
        await verify_evidence(gateway, token, ["abc"])
    assert refused.value.problem["error"] == "invalid_parameter"
    async with httpx2.AsyncClient(base_url="http://127.0.0.1:9") as nobody:
        with pytest.raises(ConnectionError):
            await verify_evidence(nobody, token, [NAMED])


# Who must approve ---------------------------------------------------------------------------------------------------


def evidence_of(settings: Settings, **asked: Any) -> str:
    async def main() -> str:
        async with open_app(settings) as app:
            query: dict[str, Any] = {"apiNo": "orders", "fields": ["order_id"], **asked}
            return str((await take(app, "query", filters={"day": "昨天", "channel": "B"}, **query))["evidence"])

    return anyio.run(main)


def shown(
    settings: Settings,
    capsys: pytest.CaptureFixture[str],
    token: str,
    ids: tuple[str, ...] = (),
    absent: tuple[str, ...] = (),
    **given: Any,
) -> tuple[int, list[str]]:
    """(status, lines) of `sanbu evidence show`."""
    capsys.readouterr()
    status = 0
    try:
        run_evidence(settings, {"token": token, **given}, list(ids), list(absent), whole=True, as_json=False)
    except SystemExit as ended:
        status = int(str(ended.code))
    return status, capsys.readouterr().out.splitlines()


def test_who_approves_reads_what_is_proposed_on_what_and_what_is_missing(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    token = evidence_of(settings, pageSize=2)
    status, lines = shown(settings, capsys, token, ("18446744073709545671", NAMED), requireComplete=True)
    assert status == 1
    assert lines[0] == f"提议：18446744073709545671, {NAMED}"
    assert lines[1].startswith("查询：图书订单（orders），查询者 local:")
    assert lines[2:5] == [
        "范围：channel: B; day: 2026-11-29",
        "指认：2 行，开头是 18446744073709545671, 18446744073709545758",
        "缺少：后面还有 67 行没有取。取完各页再提议。",
    ]
    assert lines[5].endswith("数据截至 2026-11-29")
    assert lines[6] == "可见：角色 clerk 可读的行与字段"
    assert lines[7].startswith("可验证到 ")
    assert lines[8:] == [
        "拒绝：答案不完整：没有指认范围内的所有行。按 reasons 所说取得完整答案，再用那个答案的 evidence",
        f"拒绝：答案没有指认这些行 ({NAMED})。去掉这些行，或查询包含它们的范围",
    ]


def test_it_is_said_in_english_too_and_a_limit_is_no_whole(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    token = evidence_of(settings, limit=1)
    status, lines = shown(settings, capsys, token, absent=(OF_A,), language="en")
    assert status == 1
    assert lines[0] == f"Said not to exist: {OF_A}"
    assert "Scope: channel: B; day: 2026-11-29; at most 1 rows, as asked" in lines
    assert "All that was asked for; there may be other rows in the scope" in lines
    assert lines[-1].startswith("Refused: the answer was limited to its first rows, as asked")
    assert f"({OF_A})" in lines[-1]


def test_nothing_is_called_verified_where_nothing_is_proposed(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    token = evidence_of(settings, pageSize=500)
    assert shown(settings, capsys, token)[1][-1] == "evidence 有效；没有提议可核实"
    status, lines = shown(settings, capsys, token, (f"[{NAMED}]",), requireComplete=True)
    assert (status, lines[-1]) == (0, "核实无误：提议有据可依")
    status, lines = shown(settings, capsys, f"{token}x", (NAMED,))
    assert (status, lines[1].partition(".")[0]) == (1, "Refused: the evidence is altered or incomplete")


def test_ids_that_are_no_json_say_how_they_are_written(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Failure, match="--ids"):
        shown(settings, capsys, "token", ("[1,",))
