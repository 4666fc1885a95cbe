"""What may be rested on an answer, as whoever acts on it asks: every refusal told apart, in both languages."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.dataset import Dataset
from engine.policy import Caps
from gateway.app import App, open_app
from gateway.evidence import verify_evidence
from gateway.identity import Caller
from gateway.settings import Settings
from gateway.steps import Steps
from gateway.verdicts import REFUSALS, Verdict
from tests.gateway.harness import caller, orders_become, with_engine
from tests.gateway.test_steps import refused, session, take

pytestmark = pytest.mark.anyio

B_YESTERDAY: dict[str, Any] = {"day": "昨天", "channel": "B"}
NAMED, ALSO_NAMED, OF_A, NO_ORDER = (
    *("18446744073709551587", "18446744073709551500"),
    *("18446744073709551558", "1"),
)
"""Orders 28 and 115 of the fixture are of channel B, order 57 is of channel A; all are of yesterday."""


async def asked(app: App, who: Caller | None = None, **more: Any) -> dict[str, Any]:
    """Yesterday's orders of channel B, all on one page unless told otherwise."""
    query: dict[str, Any] = {"apiNo": "orders", "fields": ["order_id", "amount"], "filters": B_YESTERDAY}
    return await take(app, "query", who, **{**query, "pageSize": 500, **more})


async def verdict(
    app: App, token: str, *ids: Any, who: Caller | None = None, steps: Steps | None = None, **more: Any
) -> Verdict:
    return await verify_evidence(steps or app.gateway.steps, who or app.local, token, ids, **more)


async def codes(app: App, token: str, *ids: Any, **more: Any) -> list[str]:
    """Of the refusals; none where it is verified."""
    given = await verdict(app, token, *ids, **more)
    assert given.verified is (not given.refusals)
    return [refusal.code for refusal in given.refusals]


# Rows that were named -----------------------------------------------------------------------------------------------


async def test_rows_of_a_complete_answer_are_verified(app: App) -> None:
    token = (await asked(app))["evidence"]
    assert await codes(app, token, NAMED, ALSO_NAMED, require_complete=True) == []
    assert await codes(app, token, require_complete=True) == []


async def test_a_row_that_the_answer_did_not_name_is_refused_by_its_id(app: App) -> None:
    token = (await asked(app))["evidence"]
    given = await verdict(app, token, NAMED, OF_A, NO_ORDER)
    assert [(it.code, it.ids) for it in given.refusals] == [("idsNotInResult", (OF_A, NO_ORDER))]


async def test_an_incomplete_answer_speaks_for_the_rows_of_its_pages_so_far_and_for_no_whole(app: App) -> None:
    page = await asked(app, pageSize=1)
    assert page["rows"][0][0] == "18446744073709545671"
    first, cursor = page["evidence"], page["completeness"]["reasons"][0]["continuation"]["cursor"]
    second = await take(app, "query", cursor=cursor, pageSize=1)
    ids = [page["rows"][0][0], second["rows"][0][0]]
    assert await codes(app, first, *ids) == ["idsNotInResult"]
    assert await codes(app, second["evidence"], *ids) == []
    assert await codes(app, second["evidence"], *ids, require_complete=True) == ["incomplete"]


async def test_a_group_is_named_by_its_columns(app: App) -> None:
    grouped = (await asked(app, fields=["amount"], groupBy=["channel"], filters={"day": "昨天"}))["evidence"]
    assert await codes(app, grouped, "A", "B", "C") == []
    assert await codes(app, grouped, "a", "D") == ["idsNotInResult"]
    books = (await asked(app, fields=["copies"], groupBy=["book_id", "book"]))["evidence"]
    assert await codes(app, books, {"book_id": 4}, {"book_id": "4", "book": "书4"}, {"book": "书4"}) == []
    assert await codes(app, books, {"book_id": 4, "book": "书5"}) == ["idsNotInResult"]


async def test_an_id_is_the_value_whatever_json_writes_it_as(app: App) -> None:
    token = (await asked(app))["evidence"]
    assert await codes(app, token, int(NAMED), NAMED, {"order_id": NAMED}) == []


@pytest.mark.parametrize(
    "wrong",
    [
        float(NAMED),
        "abc",
        True,
        {"book": "书4"},
        {},
        {"order_id": [1]},
        1.5,
        "1e999999999",
        "NaN",
        "Infinity",
        {"order_id": {}},
    ],
)
async def test_what_no_row_could_be_called_is_no_id(app: App, wrong: Any) -> None:
    """A double rounds such a number: as an absent row it would be verified, and there it is."""
    token = (await asked(app))["evidence"]
    for argument in ("ids", "absent"):
        given: dict[str, Any] = {"token": token, argument: [wrong]}
        problem = await refused(app, "verifyEvidence", **given)
        assert (problem["error"], problem["field"]) == ("invalid_parameter", argument)
        assert "order_id" in problem["suggestion"]


async def test_which_column_an_id_is_of_is_never_guessed(app: App) -> None:
    books = (await asked(app, fields=["copies"], groupBy=["book_id", "book"]))["evidence"]
    problem = await refused(app, "verifyEvidence", token=books, absent=["书4"])
    assert "book_id, book" in problem["suggestion"]


async def test_an_answer_without_its_key_names_no_row(app: App) -> None:
    total = (await asked(app, fields=["amount"], groupBy=[]))["evidence"]
    assert await codes(app, total, NAMED) == await codes(app, total, absent=[NAMED]) == ["noKey"]
    assert await codes(app, total, require_complete=True) == []
    keyless = (await asked(app, fields=["amount"], groupBy=None))["evidence"]
    said = await take(app, "verifyEvidence", token=keyless, ids=[NAMED])
    assert said["refusals"][0]["suggestion"] == "在 fields 里加上 order_id 重新查询"


# Rows that are said not to exist ------------------------------------------------------------------------------------


async def test_an_absence_follows_from_a_complete_answer_without_a_limit_alone(app: App) -> None:
    whole = (await asked(app))["evidence"]
    assert await codes(app, whole, absent=[OF_A, NO_ORDER]) == []
    assert await codes(app, whole, NAMED, absent=[NO_ORDER]) == []
    assert await codes(app, whole, absent=[NAMED]) == ["idsInResult"]
    page = (await asked(app, pageSize=1))["evidence"]
    assert await codes(app, page, absent=[NAMED]) == ["incomplete"]
    limited = await asked(app, limit=2)
    assert limited["status"] == "complete"
    assert await codes(app, limited["evidence"], absent=[NAMED]) == ["limitedScope"]
    per_group = await asked(
        app, fields=["amount"], groupBy=["channel", "book_id"], orderBy=["-amount"], limitPerGroup=1
    )
    assert await codes(app, per_group["evidence"], absent=[{"book_id": 39}]) == ["limitedScope"]


async def test_an_empty_complete_answer_proves_an_absence(app: App) -> None:
    none = await asked(app, filters={"day": "昨天", "channel": "B", "order_id": OF_A})
    assert (none["status"], none["rows"]) == ("complete", [])
    assert await codes(app, none["evidence"], absent=[OF_A]) == []


async def test_what_a_role_may_not_read_is_not_absent(app: App) -> None:
    who = caller("channel_b", channels=("B",))
    beyond = await asked(app, who, filters={"day": "昨天"})
    assert await codes(app, beyond["evidence"], who=who, absent=[OF_A]) == ["incomplete"]
    within = await asked(app, who)
    assert await codes(app, within["evidence"], who=who, absent=[OF_A]) == []


# The token itself ---------------------------------------------------------------------------------------------------


async def test_a_token_is_good_for_its_caller_under_the_same_permission_alone(app: App) -> None:
    token = (await asked(app, caller("clerk")))["evidence"]
    assert await codes(app, token, NAMED, who=caller("clerk")) == []
    assert await codes(app, token, NAMED, who=caller("clerk", name="else")) == ["otherCaller"]
    assert await codes(app, token, NAMED, who=caller("admin")) == ["permissionChanged"]
    assert await codes(app, token, NAMED, who=caller()) == ["permissionChanged"]
    assert await codes(app, f"{token}x", NAMED, who=caller("clerk")) == ["altered"]


async def test_a_scene_that_is_hidden_by_now_is_a_changed_permission(app: App) -> None:
    """Both roles read the same rows and fields: only the scene is hidden from one."""
    steps = app.gateway.steps
    policies = steps.catalog.policies
    sid = await session(app, "买家电话", caller("admin"), scene="BUYER_CONTACTS")
    token = (await take(app, "apiCall", caller("admin"), sessionId=sid, filters={"day": "昨天"}))["evidence"]
    assert await codes(app, token, who=caller("admin")) == []
    stricter = policies.roles["admin"].model_copy(update={"scenes": policies.roles["clerk"].scenes})
    changed = policies.model_copy(update={"roles": {**policies.roles, "admin": stricter}})
    today = replace(steps, catalog=replace(steps.catalog, policies=changed))
    assert await codes(app, token, who=caller("admin"), steps=today) == ["permissionChanged"]


async def test_it_ends_when_its_time_is_over_and_lives_through_a_restart(settings: Settings) -> None:
    short = settings.model_copy(update={"evidence_hours": 1})
    async with open_app(short) as before:
        token = (await asked(before))["evidence"]
    async with open_app(short) as after:
        assert await codes(after, token, NAMED) == []
        steps = after.gateway.steps
        later = replace(steps, wall=lambda: steps.wall() + timedelta(hours=1))
        assert await codes(after, token, NAMED, steps=later) == ["expired"]


async def test_another_definition_of_the_same_query_is_told_apart(app: App) -> None:
    token = (await asked(app, fields=["amount"], groupBy=["channel"]))["evidence"]
    orders = app.gateway.steps.engine.datasets["orders"]
    fields = [{**it.model_dump(), **({"aggregation": "max"} if it.name == "amount" else {})} for it in orders.fields]
    greatest = Dataset.model_validate({**orders.model_dump(), "fields": fields})
    redefined = with_engine(app, datasets={"orders": greatest})
    assert await codes(redefined, token, "B") == ["definitionChanged"]


# The rows as they are now -------------------------------------------------------------------------------------------


async def test_a_recheck_tells_what_changed_and_what_is_gone(live: App) -> None:
    token = (await asked(live))["evidence"]
    rest = "18446744073709551413"  # order 202
    assert await codes(live, token, NAMED, ALSO_NAMED, rest, recheck=True) == []
    orders_become(
        live,
        f"SELECT * REPLACE (CASE WHEN order_id = {NAMED} THEN 1 ELSE amount END AS amount,"
        f" CASE order_id WHEN {ALSO_NAMED} THEN 'C' WHEN {OF_A} THEN 'B' ELSE channel END AS channel) FROM {{orders}}",
    )
    assert await codes(live, token, NAMED, ALSO_NAMED) == []
    again = await verdict(live, token, NAMED, ALSO_NAMED, rest, absent=[OF_A, NO_ORDER], recheck=True)
    assert [(it.code, it.ids) for it in again.refusals] == [
        ("idsChanged", (NAMED,)),
        ("idsVanished", (ALSO_NAMED,)),
        ("idsAppeared", (OF_A,)),
    ]
    assert again.recheck is not None
    assert again.recheck.unchanged == (rest,)


async def test_what_a_recheck_could_not_read_is_neither_there_nor_gone(live: App) -> None:
    """The role may read as many rows as there were; now there are more, and one may be among the others."""
    policies = live.gateway.steps.catalog.policies
    capped = policies.roles["clerk"].model_copy(update={"caps": Caps(rows=69)})
    who = caller("clerk")
    live = with_engine(live, policies=policies.model_copy(update={"roles": {"clerk": capped}}), grants={})
    answer = await asked(live, who)
    assert (answer["status"], answer["returned"]) == ("complete", 69)
    orders_become(live, "SELECT * FROM {orders} UNION ALL SELECT * REPLACE (order_id - 6000 AS order_id) FROM {orders}")
    last, first = answer["rows"][-1][0], "18446744073709545671"
    given = await verdict(live, answer["evidence"], last, absent=[NO_ORDER], who=who, recheck=True)
    assert [(it.code, it.ids) for it in given.refusals] == [("idsNotReread", (last, NO_ORDER))]
    assert await codes(live, answer["evidence"], first, who=who, recheck=True) == ["idsNotReread"]


# In words -----------------------------------------------------------------------------------------------------------


async def test_a_verdict_says_what_the_evidence_is_of(app: App) -> None:
    page = await asked(app, pageSize=2)
    said = await take(app, "verifyEvidence", token=page["evidence"], ids=[NO_ORDER], requireComplete=True)
    assert said["verified"] is False
    assert [it["code"] for it in said["refusals"]] == ["incomplete", "idsNotInResult"]
    assert said["refusals"][1]["ids"] == [NO_ORDER]
    assert said["scope"] == page["completeness"]["scope"]
    snapshot = page["completeness"]["snapshot"]
    assert said["snapshot"] == {name: snapshot[name] for name in ("id", "takenAt", "dataAsOf")}
    assert (said["complete"], said["named"]) == (False, 2)
    assert said["first"] == [{"order_id": row[0]} for row in page["rows"]]
    assert said["reasons"] == [{"code": "MORE_PAGES_AVAILABLE", "message": "后面还有 67 行没有取。取完各页再提议。"}]
    assert said["asked"]["by"] == app.local.principal.id


async def test_a_verdict_speaks_the_answers_language_or_the_one_that_is_asked_for(app: App) -> None:
    token = (await asked(app, filters={"day": "yesterday"}, pageSize=1))["evidence"]
    for language, message in ((None, "the answer was not complete"), ("zh", "答案不完整"), ("en", "the answer was")):
        said = await take(app, "verifyEvidence", token=token, requireComplete=True, language=language)
        assert said["refusals"][0]["message"].startswith(message)


async def test_every_refusal_is_reached_by_a_test_here() -> None:
    here = Path(__file__).read_text()
    assert [code for code in REFUSALS if f'"{code}"' not in here] == []
