"""What happened can be found and read afterwards, in a terminal of ordinary width."""

import json

import pytest

from gateway.settings import Settings
from tests.gateway.harness import fails_with, sanbu

QUESTION, UNANSWERABLE = "昨天各渠道的销售额", "帮我写一首诗"


@pytest.fixture
def session(settings: Settings) -> str:
    """The id of a session of three turns; beside it one question without a match was asked."""
    sanbu(settings, "ask", UNANSWERABLE)
    asked = json.loads(sanbu(settings, "ask", QUESTION, "--json").stdout)
    return str(asked["intentRecognition"]["sessionId"])


def test_sessions_are_listed_with_what_they_asked(settings: Settings, session: str) -> None:
    listed = json.loads(sanbu(settings, "trace", "list", "--json").stdout)
    assert [(it["asked"], it["turns"]) for it in listed] == [(QUESTION, 3), (UNANSWERABLE, 1)]
    assert listed[0]["sessionId"] == session
    shown = sanbu(settings, "trace", "list", "--limit", "1", COLUMNS="80").stdout
    assert session[:12] in shown
    assert UNANSWERABLE not in shown


def test_the_beginning_of_an_id_is_enough_where_no_other_begins_so(settings: Settings, session: str) -> None:
    turns = json.loads(sanbu(settings, "trace", "show", session[:12], "--json").stdout)
    assert [turn["step"] for turn in turns] == ["intentRecognition", "fieldSelection", "apiCall"]
    [turn] = json.loads(sanbu(settings, "trace", "show", turns[2]["traceId"][:12], "--json").stdout)
    assert turn == turns[2]
    fails_with(sanbu(settings, "trace", "show", "nonsense"), "nonsense", "sanbu trace list")
    fails_with(sanbu(settings, "trace", "show", ""), "several sessions")


def test_a_terminal_shows_short_facts_and_leaves_the_rest_to_json(settings: Settings, session: str) -> None:
    shown = sanbu(settings, "trace", "show", session, COLUMNS="80").stdout
    for fact in ("verdict matched", "engine.plan", "engine.rows", "rows 3", "SALES_BY_CHANNEL@1", "--json"):
        assert fact in shown
    for long in ("SELECT", "bm25", '\\"'):
        assert long not in shown
    whole = sanbu(settings, "trace", "show", session, "--json").stdout
    assert "SELECT" in whole
    assert "bm25" in whole
