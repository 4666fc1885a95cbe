"""What changed since an evidence, as an agent that polls asks for it: in any session, by the evidence alone."""

from dataclasses import replace
from typing import Any

import pytest

from gateway.app import App
from gateway.links import fetched
from tests.gateway.harness import caller, orders_become
from tests.gateway.test_steps import refused, session, take

pytestmark = pytest.mark.anyio

ONE_DAY: dict[str, Any] = {"fields": ["order_id", "amount"], "filters": {"day": "昨天", "channel": "A"}}


TOUCHED = """
SELECT * REPLACE (CASE WHEN order_id = 18446744073709551587 THEN 1 ELSE amount END AS amount)
FROM {orders} WHERE order_id <> 18446744073709551500
"""
"""Both orders are of channel B and of yesterday: numbers 28 and 115 of the fixture."""


async def polled(app: App, evidence: str, **more: Any) -> dict[str, Any]:
    """The changes, asked for in a session of their own."""
    sid = await session(app, "订单明细", scene="ORDER_DETAIL")
    return await take(app, "apiCall", sessionId=sid, since=evidence, **more)


async def first(app: App, channel: str = "B") -> dict[str, Any]:
    sid = await session(app, "昨天的订单明细", scene="ORDER_DETAIL")
    asked: dict[str, Any] = {"fields": ["order_id", "amount"], "filters": {"day": "昨天", "channel": channel}}
    return await take(app, "apiCall", sessionId=sid, pageSize=500, **asked)


async def test_changes_are_asked_for_by_the_evidence_alone_in_another_session(live: App) -> None:
    before = await first(live)
    nothing = await polled(live, before["evidence"])
    assert (nothing["status"], nothing["rows"], nothing["since"]["unchanged"]) == ("complete", [], before["returned"])
    orders_become(live, TOUCHED)
    after = await polled(live, nothing["evidence"])
    assert [column["name"] for column in after["columns"]] == ["since:change", "order_id", "amount"]
    assert after["rows"] == [
        ["removed", "18446744073709551500", None],
        ["changed", "18446744073709551587", "1.00"],
    ]
    unchanged = before["returned"] - 2
    counts = {"added": 0, "changed": 1, "removed": 1, "unchanged": unchanged}
    assert after["since"] == {"takenAt": nothing["completeness"]["snapshot"]["takenAt"], **counts}
    assert after["completeness"]["statement"] == (
        f"自 {after['since']['takenAt']} 以来：新增 0 行，变化 1 行，消失 1 行，不变 {unchanged} 行；变化都已在这里。"
    )
    assert after["completeness"]["scope"] == before["completeness"]["scope"]


async def test_changes_come_in_pages_by_cursor_alone(live: App) -> None:
    before = await first(live)
    orders_become(live, TOUCHED)
    sid = await session(live, "订单明细", scene="ORDER_DETAIL")
    page = await take(live, "apiCall", sessionId=sid, since=before["evidence"], pageSize=1)
    assert page["status"] == "partial"
    cursor = page["completeness"]["reasons"][0]["continuation"]["cursor"]
    last = await take(live, "apiCall", sessionId=sid, cursor=cursor, pageSize=1)
    assert [page["rows"][0][0], last["rows"][0][0], last["status"]] == ["removed", "changed", "complete"]
    assert (await polled(live, last["evidence"]))["rows"] == []


async def test_a_session_keeps_its_answer_though_it_polled(live: App) -> None:
    sid = await session(live, "昨天的订单明细", scene="ORDER_DETAIL")
    before = await take(live, "apiCall", sessionId=sid, **ONE_DAY)
    orders_become(live, "SELECT * FROM {orders} WHERE channel <> 'A'")
    after = await take(live, "apiCall", sessionId=sid, since=before["evidence"], **ONE_DAY)
    assert {row[0] for row in after["rows"]} == {"removed"}
    assert await take(live, "apiCall", sessionId=sid, **ONE_DAY) == before


async def test_a_person_polls_too(live: App) -> None:
    before = await take(live, "query", apiNo="orders", **ONE_DAY, pageSize=500)
    orders_become(live, "SELECT * FROM {orders} WHERE channel <> 'A'")
    page = await take(live, "query", since=before["evidence"], pageSize=1)
    assert page["since"]["removed"] == before["returned"]
    cursor = page["completeness"]["reasons"][0]["continuation"]["cursor"]
    rest = await take(live, "query", cursor=cursor, pageSize=500)
    assert page["rows"][0][0] == "removed"
    assert rest["returned"] == before["returned"] - 1


async def test_changes_of_several_pages_are_a_file_too(live: App) -> None:
    at = "http://127.0.0.1:8722"
    page = await take(live, "query", replace(live.local, reached_at=at), apiNo="orders", **ONE_DAY, pageSize=500)
    orders_become(live, "SELECT * FROM {orders} WHERE channel <> 'A'")
    page = await take(live, "query", replace(live.local, reached_at=at), since=page["evidence"], pageSize=1)
    name = page["links"]["parquet"].rpartition("/")[2].replace(".parquet", ".csv")
    lines = (await fetched(live.gateway.steps, live.local, name)).body.decode().splitlines()
    assert lines[0].lstrip("\ufeff").replace('"', "") == "since:change,order_id,amount"
    assert {line.replace('"', "").partition(",")[0] for line in lines[1:]} == {"removed"}
    assert len(lines) == 1 + page["totalRows"] == 1 + page["since"]["removed"]


@pytest.mark.parametrize(
    ("query", "altered", "other"),
    [
        ("订单明细", "evidence 被改动或不完整", "查询与产生 evidence 时不同"),
        ("single orders", "the evidence is altered", "the query differs from the one"),
    ],
)
async def test_what_does_not_fit_is_refused_with_its_reason(live: App, query: str, altered: str, other: str) -> None:
    token = (await first(live))["evidence"]
    sid = await session(live, query, scene="ORDER_DETAIL")
    elsewhere = await session(live, query, scene="SALES_BY_CHANNEL")
    for asked, reason in (
        ({"sessionId": sid, "since": f"{token}x"}, altered),
        ({"sessionId": sid, "since": token, "fields": ["order_id"]}, other),
        ({"sessionId": elsewhere, "since": token}, other),
    ):
        problem = await refused(live, "apiCall", **asked)
        assert (problem["error"], problem["field"]) == ("cursor_invalid", "since")
        assert problem["reason"].startswith(reason)
    person = await refused(live, "query", since=token)
    assert person["error"] == "cursor_invalid"


async def test_it_is_of_no_use_to_another_caller_nor_after_a_change_of_roles(live: App) -> None:
    token = (await take(live, "query", caller("clerk"), apiNo="orders", **ONE_DAY))["evidence"]
    for who, reason in (
        (caller("clerk", name="else"), "belongs to another caller"),
        (caller("admin"), "may read has changed"),
        (caller(), "may read has changed"),
    ):
        problem = await refused(live, "query", who, since=token)
        assert reason in problem["reason"]


async def test_rows_without_their_key_say_what_to_ask_for(live: App) -> None:
    answer = await take(live, "query", apiNo="orders", fields=["amount"], groupBy=None, filters={"day": "昨天"})
    problem = await refused(live, "query", since=answer["evidence"])
    assert (problem["error"], problem["legalValues"]) == ("invalid_parameter", ["order_id"])
    assert "order_id" in problem["suggestion"]
