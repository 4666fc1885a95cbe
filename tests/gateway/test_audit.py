"""The audit log: every call of every face leaves one line, and no line holds a value of a row."""

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.app import App
from gateway.audit import digest
from gateway.cli.audit import run_export
from gateway.cli.faults import Failure
from gateway.cli.query import run_query
from gateway.links import fetched
from gateway.settings import Settings, local_user
from tests.gateway.harness import caller
from tests.gateway.test_links import first_page, name_in
from tests.gateway.test_steps import refused, session, take

pytestmark = pytest.mark.anyio

DETAIL: dict[str, Any] = {
    "apiNo": "orders",
    "fields": ["order_id", "book"],
    "filters": {"day": "2026-11-01", "channel": "B"},
}


def lines(app: App) -> list[dict[str, Any]]:
    return [json.loads(line) for line in app.gateway.steps.audit.lines()]


async def test_an_answer_leaves_who_asked_what_under_which_grant_and_a_hash_of_the_keys_that_left(app: App) -> None:
    who = caller("clerk", name="agent")
    sid = await session(app, "昨天的订单明细", who, scene="ORDER_DETAIL")
    asked: dict[str, Any] = {"sessionId": sid, "fields": ["order_id", "book"], "filters": {"day": "昨天"}}
    page = await take(app, "apiCall", who, **asked)
    found, called = lines(app)
    assert (found["what"], found["outcome"], found["scene"]) == ("intentRecognition", "matched", "ORDER_DETAIL@1")
    assert found["grant"] == called["grant"] == app.gateway.steps.engine.grant("orders", who.principal).fingerprint
    assert (called["what"], called["principal"], called["roles"]) == ("apiCall", "agent", ["clerk"])
    assert (called["outcome"], called["apiNo"]) == (page["status"], "orders")
    assert called["filters"] == page["completeness"]["scope"]["filters"]
    assert called["snapshot"] == page["completeness"]["snapshot"]["id"]
    assert called["arguments"] == digest(asked)
    assert called["rows"] == page["returned"]
    assert called["bytes"] == len(json.dumps(page["rows"], ensure_ascii=False, separators=(",", ":")).encode())
    assert called["keys"] == digest([[row[0]] for row in page["rows"]])
    assert len(called["traceId"]) == 32


async def test_no_line_holds_a_value_that_left(app: App) -> None:
    page = await take(app, "query", **DETAIL)
    text = "\n".join(app.gateway.steps.audit.lines())
    assert page["rows"]
    for row in page["rows"]:
        for value in row:
            assert str(value) not in text


async def test_what_is_refused_is_recorded_with_its_error(app: App) -> None:
    await refused(app, "query", apiNo="orders", fields=["buyer_phone"])
    await refused(app, "verifyEvidence")
    wrong = (await take(app, "verifyEvidence", token="nonsense"))["verified"]
    assert not wrong
    assert [(it["what"], it["outcome"], it["rows"]) for it in lines(app)] == [
        ("query", "unknown_field", 0),
        ("verifyEvidence", "missing_parameter", 0),
        ("verifyEvidence", "refused", 0),
    ]


async def test_a_fetched_file_is_recorded_with_all_its_rows(app: App) -> None:
    name = name_in(await first_page(app))
    file = await fetched(app.gateway.steps, app.local, name)
    last = lines(app)[-1]
    assert (last["what"], last["outcome"], last["rows"]) == ("result", "complete", 207)
    assert last["bytes"] == len(file.body)
    assert last["keys"] not in {it.get("keys") for it in lines(app)[:-1]}


async def test_what_cannot_be_recorded_does_not_leave(app: App) -> None:
    path = app.gateway.steps.audit.path
    name = name_in(await first_page(app))
    path.unlink()
    path.mkdir()
    problem = await refused(app, "query", **DETAIL)
    assert (problem["error"], problem["retryable"]) == ("source_unavailable", True)
    assert "rows" not in problem
    with pytest.raises(Exception, match="audit"):
        await fetched(app.gateway.steps, app.local, name)


async def test_a_log_that_was_moved_away_is_begun_anew_for_its_owner_alone(app: App, tmp_path: Path) -> None:
    path = app.gateway.steps.audit.path
    await take(app, "query", **DETAIL)
    path.rename(tmp_path / "audit.1.jsonl")
    await take(app, "query", **DETAIL)
    assert len(lines(app)) == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_command_line_is_recorded_too_and_exports_since_a_moment(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    run_query(settings, {"apiNo": "orders", "fields": ["order_id"]}, ["day=2026-11-01"], explain=False, as_json=True)
    capsys.readouterr()
    run_export(settings, since="2026-01-01")
    [line] = capsys.readouterr().out.splitlines()
    assert (json.loads(line)["what"], json.loads(line)["principal"]) == ("query", f"local:{local_user()}")
    run_export(settings, since="2999-01-01T00:00:00+08:00")
    assert capsys.readouterr().out == ""
    with pytest.raises(Failure, match="--since"):
        run_export(settings, since="last week")
