"""The three steps as a caller of any face sees them: what is said, what is refused, and what a session carries."""

import json
import zlib
from base64 import urlsafe_b64encode
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateway.app import App
from gateway.identity import Caller
from gateway.turns import Gateway
from tests.gateway.harness import NOW, caller

pytestmark = pytest.mark.anyio

YESTERDAY = {"from": "2026-11-29", "to": "2026-11-29"}


async def take(app: App, tool: Any, who: Caller | None = None, **arguments: object) -> dict[str, Any]:
    """The step's result. Fails where the step was refused."""
    answered = await app.gateway.answer(tool, arguments, who or app.local)
    assert not answered.is_error, answered.said
    return dict(answered.said)


async def refused(app: App, tool: Any, who: Caller | None = None, **arguments: object) -> dict[str, Any]:
    answered = await app.gateway.answer(tool, arguments, who or app.local)
    assert answered.is_error, answered.said
    return dict(answered.said)


async def session(
    app: App, query: str = "昨天各渠道的销售额", who: Caller | None = None, *, scene: str = "SALES_BY_CHANNEL"
) -> str:
    """A session whose scene is pinned, for what comes after routing."""
    return str((await take(app, "intentRecognition", who, query=query, sceneId=scene))["sessionId"])


# intentRecognition --------------------------------------------------------------------------------------------------


async def test_a_task_becomes_a_scene_with_its_day_and_its_named_values(app: App) -> None:
    found = await take(app, "intentRecognition", query="昨天渠道A的退款金额有多少")
    assert (found["status"], found["scene"]["sceneId"]) == ("matched", "REFUNDS")
    told = {parameter["name"]: parameter["recognised"] for parameter in found["parameters"]}
    assert told == {"day": [YESTERDAY], "channel": ["A"]}


async def test_an_english_task_is_answered_in_english(app: App) -> None:
    found = await take(app, "intentRecognition", query="top 3 best-selling books last week", sceneId="BESTSELLERS")
    assert found["scene"]["title"] == "Best-selling books"
    assert found["suggested"]["limit"] == 3
    assert found["parameters"][0]["recognised"] == [{"from": "2026-11-23", "to": "2026-11-29"}]


@pytest.mark.parametrize("query", ["帮我写一首诗", "9f86d081884c7d659a2feaa0c55ad015"])
async def test_what_no_scene_answers_ends_without_a_session(app: App, query: str) -> None:
    """FIELD_CASES 7."""
    found = await take(app, "intentRecognition", query=query)
    assert found["status"] == "no_match"
    assert "sessionId" not in found
    assert found["traceId"]
    assert {it["dimension"] for it in found["catalogue"]} == {"book", "channel", "order", "refund"}
    assert len(found["nearest"]) <= 2


async def test_a_pinned_scene_skips_recall(app: App) -> None:
    found = await take(app, "intentRecognition", query="随便看看", sceneId="BESTSELLERS@1")
    assert found["scene"]["sceneId"] == "BESTSELLERS"


async def test_a_dimension_filter_is_hard_and_its_names_are_folded(app: App) -> None:
    found = await take(app, "intentRecognition", query="昨天的销售额", dimensions=["图书"])
    shown = [found.get("scene", {}).get("sceneId"), *(it["sceneId"] for it in found.get("alternatives", []))]
    assert {it for it in shown if it} <= {"BESTSELLERS"}


async def test_an_unknown_dimension_names_the_legal_ones(app: App) -> None:
    problem = await refused(app, "intentRecognition", query="昨天的销售额", dimensions=["channell"])
    assert problem["error"] == "unknown_value"
    assert problem["legalValues"][0] == "channel"


async def test_the_same_question_in_other_words_is_noticed(app: App) -> None:
    first = await take(app, "intentRecognition", query="昨天渠道A的退款金额有多少")
    again = await take(app, "intentRecognition", query="渠道A昨日退款金额", sessionId=first["sessionId"])
    assert [warning["code"] for warning in again["warnings"]] == ["REPEATED_QUESTION"]
    assert again["scene"]["sceneId"] == first["scene"]["sceneId"] == "REFUNDS"


async def test_a_hidden_scene_is_as_good_as_absent(app: App) -> None:
    hidden = await refused(app, "intentRecognition", query="买家电话", sceneId="BUYER_CONTACTS")
    absent = await refused(app, "intentRecognition", query="买家电话", sceneId="NO_SUCH_SCENE")
    same = {"error", "field", "reason", "suggestion", "retryable"}
    assert {key: hidden[key] for key in same} == {key: absent[key] for key in same}
    assert "BUYER_CONTACTS" not in json.dumps(absent["legalValues"])
    found = await take(app, "intentRecognition", query="买家手机号回访")
    assert "BUYER_CONTACTS" not in json.dumps(found, ensure_ascii=False)
    assert found["completeness"]["scope"]["scenes"] == 5


async def test_hidden_scenes_are_said_where_the_policy_says_so(app: App) -> None:
    told = await take(app, "intentRecognition", caller("channel_b"), query="昨天的退款")
    assert [reason["code"] for reason in told["completeness"]["reasons"]] == ["VISIBILITY_RESTRICTED"]
    silent = await take(app, "intentRecognition", caller("clerk"), query="昨天的退款")
    assert silent["completeness"]["complete"]


async def test_a_question_asked_again_is_noticed_whatever_came_of_it(app: App) -> None:
    sid = await session(app)
    for query in ("销售额", "帮我写一首诗"):
        first = await take(app, "intentRecognition", query=query, sessionId=sid)
        again = await take(app, "intentRecognition", query=f"{query}。", sessionId=sid)
        assert first["status"] == again["status"] != "matched"
        assert [it["code"] for it in first["warnings"]] == []
        assert [it["code"] for it in again["warnings"]] == ["REPEATED_QUESTION"]


@pytest.mark.parametrize(
    ("query", "order", "limit"),
    [
        ("上周册数最少的三本书", ["copies"], 3),
        ("which 5 books had the highest sales amount last week", ["-amount"], 5),
        ("top 4 books last week", ["-copies"], 4),
        ("上周卖得最好的书", ["-copies"], 10),
    ],
)
async def test_rows_are_ordered_and_cut_as_the_task_says(app: App, query: str, order: list[str], limit: int) -> None:
    """What is called the top 3 must be: by the metric that is asked for, else by the scene's own."""
    found = await take(app, "intentRecognition", query=query, sceneId="BESTSELLERS")
    assert found["suggested"] == {"orderBy": order, "limit": limit}


@pytest.mark.parametrize("query", ["\ud800", "昨天\udfff的销售额", "销售额" * 3000])
async def test_no_text_breaks_a_step(app: App, query: str) -> None:
    found = await take(app, "intentRecognition", query=query)
    assert json.dumps(found, ensure_ascii=False).encode()


# fieldSelection -----------------------------------------------------------------------------------------------------


async def test_fields_come_with_what_decides_whether_to_trust_them(app: App) -> None:
    selected = await take(app, "fieldSelection", sessionId=await session(app, "昨天卖得最多的书", scene="BESTSELLERS"))
    fields = {it["name"]: it for it in selected["fields"]}
    assert fields["book"]["flags"] == ["freeText"]
    assert fields["copies"]["aggregations"][0] == "sum"
    assert selected["of"]["visible"] - selected["of"]["notRelevant"] == len(selected["fields"])


async def test_a_hidden_field_is_never_offered_nor_named(app: App) -> None:
    sid = await session(app)
    selected = await take(app, "fieldSelection", sessionId=sid, task="买家手机号 phone of the buyer")
    assert "buyer_phone" not in json.dumps(selected)
    problem = await refused(app, "fieldSelection", sessionId=sid, include=["buyer_phone"])
    assert problem["error"] == "unknown_field"
    assert "buyer_phone" not in problem["legalValues"]


async def test_fields_are_kept_and_dropped_by_what_people_call_them(app: App) -> None:
    sid = await session(app)
    selected = await take(app, "fieldSelection", sessionId=sid, include=["退款金额", "row_count"], exclude=["册数"])
    names = [it["name"] for it in selected["fields"]]
    assert {"refund", "row_count"} <= set(names)
    assert "copies" not in names


async def test_an_alternative_is_chosen_by_its_id(app: App) -> None:
    sid = await session(app)
    selected = await take(app, "fieldSelection", sessionId=sid, sceneId="REFUNDS")
    assert selected["sceneId"] == "REFUNDS"
    answer = await take(app, "apiCall", sessionId=sid)
    assert answer["completeness"]["scope"]["scene"] == "REFUNDS@1"


async def test_a_task_that_counts_is_offered_the_number_of_rows(app: App) -> None:
    sid = await session(app, "how many orders per channel yesterday", scene="CHANNEL_ORDERS")
    selected = await take(app, "fieldSelection", sessionId=sid)
    assert [it["name"] for it in selected["fields"]][:2] == ["channel", "row_count"]
    answer = await take(app, "apiCall", sessionId=sid)
    assert [column["name"] for column in answer["columns"]][:2] == ["channel", "row_count"]


# apiCall ------------------------------------------------------------------------------------------------------------


async def test_what_was_recognised_holds_unless_told_otherwise(app: App) -> None:
    sid = await session(app, "昨天渠道A和渠道B的销售额")
    answer = await take(app, "apiCall", sessionId=sid, fields=["channel", "amount"])
    assert answer["completeness"]["scope"]["filters"] == {"day": YESTERDAY, "channel": ["A", "B"]}
    assert [row[0] for row in answer["rows"]] == ["A", "B"]
    every = await take(app, "apiCall", sessionId=sid, fields=["channel", "amount"], filters={"channel": None})
    assert [row[0] for row in every["rows"]] == ["A", "B", "C"]


async def test_a_complete_answer_says_that_it_is_exhaustive(app: App) -> None:
    answer = await take(app, "apiCall", sessionId=await session(app))
    assert answer["status"] == "complete"
    assert answer["completeness"]["reasons"] == []
    assert "3" in answer["completeness"]["statement"]


@pytest.mark.parametrize(
    ("query", "first", "second"),
    [
        (
            "昨天的订单明细",
            "结果不完整：这里是第 1 到 90 行，共 206 行；其余在后面各页。",
            "结果不完整：这里是第 91 到 180 行，共 206 行；其余在后面各页。",
        ),
        (
            "yesterday's orders",
            "Partial: rows 1 to 90 of 206 are here; the rest follows on later pages.",
            "Partial: rows 91 to 180 of 206 are here; the rest follows on later pages.",
        ),
    ],
)
async def test_a_partial_answer_says_what_is_in_hand_of_how_many_and_why_it_stops(
    app: App, query: str, first: str, second: str
) -> None:
    sid = await session(app, query, scene="ORDER_DETAIL")
    page = await take(app, "apiCall", sessionId=sid, fields=["order_id"], pageSize=90)
    assert page["completeness"]["statement"] == first
    cursor = page["completeness"]["reasons"][0]["continuation"]["cursor"]
    page = await take(app, "apiCall", sessionId=sid, cursor=cursor, pageSize=90)
    assert page["completeness"]["statement"] == second


async def test_what_a_role_may_not_read_and_what_follows_are_said_in_one_sentence(app: App) -> None:
    who = caller("channel_b", channels=("B",))
    sid = await session(app, "昨天的订单明细", who, scene="ORDER_DETAIL")
    page = await take(app, "apiCall", who, sessionId=sid, fields=["order_id"], pageSize=50)
    assert page["completeness"]["statement"] == (
        "结果不完整：这里是第 1 到 50 行，可读的共 69 行；其余在后面各页；角色 channel_b 只能读范围内的部分行。"
    )
    none = await take(app, "apiCall", who, sessionId=sid, fields=["order_id"], filters={"day": "2020-01-01"})
    assert none["completeness"]["statement"] == "结果不完整：这里一行也没有；角色 channel_b 只能读范围内的部分行。"


async def test_a_comparison_says_that_a_group_of_the_earlier_period_alone_has_no_row(app: App) -> None:
    """An order is of one day: none of the day before is among those of yesterday."""

    async def stated(day: str = "昨天", **asked: Any) -> str:
        filters = {"day": day, "channel": "A"}
        answer = await take(app, "query", apiNo="orders", filters=filters, pageSize=90, **asked)
        return str(answer["completeness"]["statement"])

    by_order: dict[str, Any] = {"fields": ["amount_dod"], "groupBy": ["order_id"]}
    chinese = await stated(**by_order)
    assert chinese == "结果完整：范围内的 69 行都在这里。只在对比周期有数据、本期没有的分组不在结果里。"
    english = await stated("yesterday", **by_order)
    assert english.endswith("are here. Groups with rows only in the earlier period have no row here.")
    assert "对比周期" not in await stated(fields=["amount_dod"], groupBy=[])
    assert "对比周期" not in await stated(fields=["amount"], groupBy=["order_id"])


async def test_a_comparison_that_reaches_before_the_data_says_so(app: App) -> None:
    """The bookshop's orders begin on November 1: the day before that has none, and nothing is known of a month ago."""

    async def stated(day: object, field: str = "amount_dod", **asked: Any) -> str:
        asked = {"apiNo": "orders", "filters": {"day": day}, "fields": [field], "groupBy": [], **asked}
        return str((await take(app, "query", None, **asked))["completeness"]["statement"])

    assert "数据从 2026-11-01 才开始" in await stated("11月1日")
    assert "The data begins only at 2026-11-01" in await stated({"from": "2026-11-01", "to": "2026-11-05"})
    assert "begins only" not in await stated("2026-11-02")
    assert "begins only" not in await stated("2026-11-01", field="amount")
    assert "begins only" in await stated(None, fields=["amount"], groupBy=["day"], orderBy=["-amount_dod"])


async def test_pages_follow_by_cursor_alone_until_complete(app: App) -> None:
    sid = await session(app, "昨天的订单明细", scene="ORDER_DETAIL")
    page = await take(app, "apiCall", sessionId=sid, fields=["order_id"], pageSize=90)
    rows, pages = page["rows"], 1
    while page["status"] == "partial":
        [reason] = page["completeness"]["reasons"]
        assert reason["code"] == "MORE_PAGES_AVAILABLE"
        page = await take(app, "apiCall", sessionId=sid, cursor=reason["continuation"]["cursor"], pageSize=90)
        rows, pages = rows + page["rows"], pages + 1
    assert len(rows) == page["totalRows"] == len({row[0] for row in rows})
    assert pages == 3


async def test_a_persons_query_goes_on_by_its_cursor_alone(app: App) -> None:
    """Grouped, filtered and sorted as it was begun, in its language."""
    asked: dict[str, Any] = {"apiNo": "orders", "fields": ["amount"], "groupBy": ["book_id"], "orderBy": ["-amount"]}
    asked |= {"filters": {"日期": "昨天"}}
    whole = await take(app, "query", **asked)
    page = await take(app, "query", **asked, pageSize=15)
    rows = page["rows"]
    while page["status"] == "partial":
        cursor = page["completeness"]["reasons"][0]["continuation"]["cursor"]
        beside = await take(app, "query", **asked, cursor=cursor, pageSize=15)
        page = await take(app, "query", cursor=cursor, pageSize=15)
        assert page == beside
        rows = rows + page["rows"]
    assert rows == whole["rows"]
    assert len(rows) > 30
    assert page["completeness"]["statement"].startswith("连同前面各页")


async def test_a_persons_cursor_is_good_for_its_own_query_and_caller_only(app: App) -> None:
    page = await take(app, "query", apiNo="orders", fields=["order_id"], pageSize=5)
    cursor = str(page["completeness"]["reasons"][0]["continuation"]["cursor"])
    own, _, _ = cursor.partition(":")
    other = await take(app, "query", apiNo="orders", fields=["book_id"], pageSize=5)
    _, _, others = str(other["completeness"]["reasons"][0]["continuation"]["cursor"]).partition(":")
    for forged in (own, f"{own}:", f"{own}:AAAA", f"{own}:{others}", f"x{cursor}", "nonsense", "半:半"):
        assert (await refused(app, "query", cursor=forged))["error"] == "cursor_invalid", forged
    who = caller("clerk", name="another")
    assert (await refused(app, "query", who, cursor=cursor))["error"] == "cursor_invalid"


async def test_a_persons_yesterday_stays_one_day_from_page_to_page_past_midnight(app: App) -> None:
    """FIELD_CASES 60. The pages also share one ledger: their evidence differs in its count alone."""
    page = await take(app, "query", apiNo="orders", fields=["order_id"], filters={"day": "昨天"}, pageSize=100)
    cursor = page["completeness"]["reasons"][0]["continuation"]["cursor"]
    steps = replace(app.gateway.steps, fixed_now=NOW + timedelta(days=1))
    tomorrow = replace(app, gateway=Gateway(steps))
    following = await take(tomorrow, "query", cursor=cursor, pageSize=100)
    assert following["completeness"]["scope"] == page["completeness"]["scope"]
    assert following["evidence"].partition("~")[0] == page["evidence"].partition("~")[0]


@pytest.mark.parametrize("said_at", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2026-11-30", "soon", 7])
async def test_a_cursor_that_was_said_at_no_time_is_altered(app: App, said_at: object) -> None:
    page = await take(app, "query", apiNo="orders", fields=["order_id"], filters={"day": "昨天"}, pageSize=5)
    own = str(page["completeness"]["reasons"][0]["continuation"]["cursor"]).partition(":")[0]
    for day in ("昨天", "明天", "近7天", "去年同期"):
        told = [{"apiNo": "orders", "fields": ["order_id"], "filters": {"day": day}}, said_at]
        payload = urlsafe_b64encode(zlib.compress(json.dumps(told).encode())).decode()
        assert (await refused(app, "query", cursor=f"{own}:{payload}"))["error"] == "cursor_invalid", day


async def test_a_persons_query_without_dataset_or_cursor_is_told_what_is_missing(app: App) -> None:
    problem = await refused(app, "query", fields=["amount"])
    assert (problem["error"], problem["field"]) == ("missing_parameter", "apiNo")


async def test_the_same_call_gives_the_same_bytes(app: App) -> None:
    sid = await session(app)
    arguments: dict[str, Any] = {"sessionId": sid, "fields": ["channel", "amount"], "filters": {"day": "昨天"}}
    first = await take(app, "apiCall", **arguments)
    again = await take(app, "apiCall", **arguments)
    assert json.dumps(first) == json.dumps(again)
    said_otherwise = await take(app, "apiCall", **arguments | {"filters": {"day": "2026-11-29"}})
    assert said_otherwise["completeness"]["snapshot"] == first["completeness"]["snapshot"]


async def test_an_empty_answer_is_complete_and_says_what_would_be_there(app: App) -> None:
    """FIELD_CASES 14."""
    sid = await session(app)
    answer = await take(app, "apiCall", sessionId=sid, filters={"day": "2020-01-01", "channel": "B"})
    assert (answer["status"], answer["rows"]) == ("complete", [])
    assert answer["empty"]["available"] == {"from": "2026-11-01", "to": "2026-11-29"}
    assert answer["empty"]["without"] == {"channel": 0, "day": 2000}


async def test_a_total_over_nothing_is_an_empty_answer(app: App) -> None:
    sid = await session(app)
    answer = await take(app, "apiCall", sessionId=sid, fields=["amount"], filters={"day": "2020-01-01"}, groupBy=[])
    assert answer["status"] == "complete"
    assert answer["empty"]["without"]["day"] > 0


async def test_what_a_metric_filter_alone_excludes_is_told_in_groups(app: App) -> None:
    sid = await session(app)
    filters = {"day": "昨天", "channel": "A", "amount": {"lt": -1}}
    answer = await take(app, "apiCall", sessionId=sid, fields=["channel", "amount"], filters=filters)
    assert answer["empty"]["without"] == {"amount": 1, "channel": 0, "day": 0}


@pytest.mark.parametrize(
    "condition",
    [{"gt": 1}, {"gte": "0.5"}, {"between": [0, "1.2万"]}, {"in": [1.5, "2"]}, {"ne": "3"}, 7, {"lt": 10**15}],
)
async def test_any_filter_on_a_decimal_is_said_back_in_plain_json(app: App, condition: object) -> None:
    sid = await session(app)
    answer = await take(app, "apiCall", sessionId=sid, fields=["amount"], filters={"day": "昨天", "amount": condition})
    said = json.loads(json.dumps(answer))["completeness"]["scope"]["filters"]["amount"]
    numbers = [said] if isinstance(said, str) else [*said.values()] if isinstance(said, dict) else said
    flat = [it for number in numbers for it in (number if isinstance(number, list) else [number])]
    assert all(isinstance(number, str) for number in flat), "exact numbers are text"


async def test_a_limit_within_groups_narrows_the_scope(app: App) -> None:
    sid = await session(app)
    asked: dict[str, Any] = {
        "fields": ["amount"],
        "groupBy": ["channel", "book"],
        "limitPerGroup": 1,
        "orderBy": ["-amount"],
    }
    answer = await take(app, "apiCall", sessionId=sid, filters={"day": "昨天"}, **asked)
    assert answer["completeness"]["scope"]["limitPerGroup"] == 1
    assert "-amount" in answer["completeness"]["statement"]


async def test_a_long_list_of_values_is_not_said_back_in_full(app: App) -> None:
    sid = await session(app, "昨天的订单明细", scene="ORDER_DETAIL")
    ids = [str(number) for number in range(5000)]
    answer = await take(app, "apiCall", sessionId=sid, fields=["order_id"], filters={"day": "昨天", "order_id": ids})
    assert len(json.dumps(answer)) < 20_000


async def test_an_expired_session_stays_expired(app: App) -> None:
    sid = await session(app)
    later = replace(app.gateway.steps, wall=lambda: datetime.now(UTC) + timedelta(minutes=6))
    for _ in range(2):
        answered = await Gateway(later).answer("apiCall", {"sessionId": sid}, app.local)
        assert answered.said["error"] == "session_expired"


async def test_a_value_that_does_not_exist_is_refused_unless_a_filter_says_what_is_meant(app: App) -> None:
    found = await take(app, "intentRecognition", query="昨天渠道F的销售额", sceneId="SALES_BY_CHANNEL")
    [channel] = [it for it in found["parameters"] if it["name"] == "channel"]
    assert (channel["recognised"], channel["unknown"]) == ([], ["F"])
    problem = await refused(app, "apiCall", sessionId=found["sessionId"])
    assert (problem["error"], problem["received"]) == ("unknown_value", "F")
    assert set(problem["legalValues"]) == {"A", "B", "C"}
    assert await take(app, "apiCall", sessionId=found["sessionId"], filters={"channel": None})


async def test_a_date_that_could_be_another_is_warned_of(app: App) -> None:
    found = await take(app, "intentRecognition", query="sales by channel on 05/06", sceneId="SALES_BY_CHANNEL")
    [warning] = found["warnings"]
    assert (warning["code"], warning["field"], warning["from"]) == ("VALUE_NORMALISED", "day", "05/06")


async def test_what_an_earlier_question_said_is_no_filter_of_the_next_scene(app: App) -> None:
    opened = await session(app, "昨天渠道A的销售额")
    await take(app, "intentRecognition", query="昨天的订单量", sceneId="CHANNEL_ORDERS", sessionId=opened)
    called = await take(app, "apiCall", sessionId=opened)
    assert called["completeness"]["scope"]["filters"] == {"day": YESTERDAY}
    assert len(called["rows"]) == 3


async def test_a_value_that_there_is_not_is_forgotten_with_its_question(app: App) -> None:
    opened = await session(app, "昨天渠道F的销售额")
    assert (await refused(app, "apiCall", sessionId=opened))["error"] == "unknown_value"
    await take(app, "intentRecognition", query="昨天渠道A的销售额", sceneId="SALES_BY_CHANNEL", sessionId=opened)
    assert len((await take(app, "apiCall", sessionId=opened))["rows"]) == 1


async def test_a_default_that_was_not_asked_for_is_said(app: App) -> None:
    sid = await session(app, "把订单一条条列出来", scene="ORDER_DETAIL")
    answer = await take(app, "apiCall", sessionId=sid, fields=["order_id"])
    assert "DEFAULT_SCOPE_APPLIED" in {warning["code"] for warning in answer["warnings"]}
    assert answer["completeness"]["scope"]["filters"]["day"] == YESTERDAY


async def test_large_ids_survive(app: App) -> None:
    """FIELD_CASES 27."""
    sid = await session(app, "昨天的订单明细", scene="ORDER_DETAIL")
    wanted = {"order_id": "18446744073709551615", "day": "2026-11-01"}
    answer = await take(app, "apiCall", sessionId=sid, fields=["order_id"], filters=wanted)
    assert answer["rows"] == [["18446744073709551615"]]


async def test_missing_required_filters_are_named_at_once(app: App) -> None:
    problem = await refused(app, "apiCall", sessionId=await session(app, "各渠道的销售额"))
    assert (problem["error"], problem["legalValues"]) == ("missing_parameter", ["day"])


async def test_a_row_rule_makes_an_answer_partial_whatever_the_rows(app: App) -> None:
    who = caller("channel_b", channels=("B",))
    sid = await session(app, who=who)
    answer = await take(app, "apiCall", who, sessionId=sid, fields=["channel", "amount"])
    assert [row[0] for row in answer["rows"]] == ["B"]
    assert [reason["code"] for reason in answer["completeness"]["reasons"]] == ["VISIBILITY_RESTRICTED"]
    within = await take(app, "apiCall", who, sessionId=sid, fields=["channel", "amount"], filters={"channel": "B"})
    assert within["status"] == "complete"
    problem = await refused(app, "apiCall", who, sessionId=sid, filters={"channel": "A"})
    assert (problem["error"], problem["legalValues"]) == ("unknown_value", ["B"])


# Sessions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tool", ["fieldSelection", "apiCall"])
async def test_without_a_session_the_first_step_is_named(app: App, tool: str) -> None:
    """FIELD_CASES 9."""
    problem = await refused(app, tool)
    assert problem["error"] == "step_out_of_order"
    assert "intentRecognition" in problem["suggestion"]


async def test_another_callers_session_reads_like_an_unknown_one(app: App) -> None:
    mine = await session(app, who=caller("clerk", name="me"))
    theirs = await refused(app, "apiCall", caller("clerk", name="you"), sessionId=mine)
    unknown = await refused(app, "apiCall", caller("clerk", name="you"), sessionId="0" * 32)
    different = {"traceId", "received"}
    assert {k: v for k, v in theirs.items() if k not in different} == {
        k: v for k, v in unknown.items() if k not in different
    }


async def test_an_ambiguous_match_wants_a_choice_before_data(app: App) -> None:
    found = await take(app, "intentRecognition", query="数据")
    if found["status"] == "ambiguous":
        problem = await refused(app, "apiCall", sessionId=found["sessionId"])
        assert problem["error"] == "step_out_of_order"
        assert "fieldSelection" in problem["suggestion"]
    else:
        assert found["status"] == "no_match"


async def test_every_turn_is_kept_without_rows(app: App) -> None:
    """FIELD_CASES 8: the trace shows each candidate with its scores."""
    found = await take(app, "intentRecognition", query="昨天渠道A的退款金额有多少")
    sid = found["sessionId"]
    await take(app, "apiCall", sessionId=sid)
    await refused(app, "apiCall", sessionId=sid, fields=["nonsense"])
    find, call, wrong = await app.gateway.steps.sessions.turns(sid)
    assert (find.step, call.step, wrong.outcome) == ("intentRecognition", "apiCall", "refused")
    assert "rows" not in call.said
    match = next(span for span in find.spans if span.name == "scene_kb.match")
    best = json.loads(str(match.attributes["candidates"]))[0]
    assert best["scene"] == "REFUNDS@1"
    assert best["scores"]
    plan = next(span for span in call.spans if span.name == "engine.plan")
    assert plan.attributes["principal"] == app.local.principal.id


async def test_one_session_keeps_one_clock(app: App, settings: Any) -> None:
    """FIELD_CASES 60: 昨天 means one day for the whole session."""
    sid = await session(app)
    [turn] = await app.gateway.steps.sessions.turns(sid)
    assert turn.facts["clock"] == {"now": "2026-11-30T09:00:00+08:00", "fixed": True}


# Forgiving in form, strict in names ---------------------------------------------------------------------------------


@pytest.mark.parametrize("filters", [None, {}, '{"channel": ["A", "B", "C"]}', {"channel": ["A", "B", "C"]}])
async def test_filters_may_be_left_out_null_empty_or_a_json_text(app: App, filters: object) -> None:
    """FIELD_CASES 55."""
    answer = await take(app, "apiCall", sessionId=await session(app), filters=filters, fields=["channel", "amount"])
    assert len(answer["rows"]) == 3


async def test_an_unknown_argument_is_refused_by_name(app: App) -> None:
    """FIELD_CASES 51."""
    problem = await refused(app, "apiCall", sessionId=await session(app), filter={"channel": "A"})
    assert (problem["error"], problem["field"]) == ("invalid_parameter", "filter")
    assert problem["legalValues"][0] == "filters"


async def test_a_field_by_its_chinese_name_is_taken_and_said(app: App) -> None:
    answer = await take(app, "apiCall", sessionId=await session(app), fields=["渠道", "销售额"])
    assert [column["name"] for column in answer["columns"]] == ["channel", "amount"]
    assert {warning["code"] for warning in answer["warnings"]} >= {"VALUE_NORMALISED"}


async def test_what_happens_below_never_reaches_a_caller(app: App, bookshop: Any) -> None:
    problem = await refused(app, "apiCall", sessionId=await session(app), fields=["amount:avg:sum"])
    assert problem["error"] in ("unknown_field", "invalid_parameter")
    assert "SELECT" not in json.dumps(problem)
