"""Required filters that a call lacks: the person is asked where the client can, and every outcome is told apart."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.client.context import ClientRequestContext

from engine.dataset import Field, LegalValue, Words
from gateway.app import App, open_app
from gateway.mcp import mcp_server
from gateway.missing import filled_in, form_of
from gateway.present.scene import ShownParameter
from gateway.questions import Asking
from gateway.settings import Settings
from scene_kb.models import Parameter
from sessions.models import Turn

pytestmark = pytest.mark.anyio

MODES = ("legacy", "auto")
META = "mcp-apps/elicitation"
NO_DAY = {"query": "各渠道的销售额", "sceneId": "SALES_BY_CHANNEL"}


@dataclass
class Person:
    """Answers each form in one way, and keeps what was asked."""

    action: Any
    """accept, decline or cancel; silence"""
    filled: dict[str, Any] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    slept: Callable[[], None] = lambda: None

    async def answer(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params)
        self.slept()
        if self.action == "silence":
            await anyio.sleep_forever()
        return types.ElicitResult(action=self.action, content=self.filled if self.action == "accept" else None)


async def called(
    app: App, mode: str, person: Person | None, *, asking: Asking | None = None, times: int = 1
) -> tuple[types.CallToolResult, Turn]:
    """apiCall without its day, `times` over: the last answer, and its turn."""
    gateway = replace(app.gateway, asking=asking) if asking else app.gateway
    callback = person.answer if person else None
    async with Client(mcp_server(gateway, lambda _: app.local), mode=mode, elicitation_callback=callback) as client:
        found = (await client.call_tool("intentRecognition", NO_DAY)).structured_content
        assert found
        for _ in range(times):
            result = await client.call_tool("apiCall", {"sessionId": found["sessionId"]})
    *_, turn = await app.gateway.steps.sessions.turns(found["sessionId"])
    return result, turn


def outcome(turn: Turn) -> str | None:
    return next((str(span.attributes["outcome"]) for span in turn.spans if span.name == "gateway.ask"), None)


@pytest.mark.parametrize("mode", MODES)
async def test_what_the_person_gives_is_the_filter_and_holds_for_the_session(app: App, mode: str) -> None:
    """FIELD_CASES 57."""
    person = Person("accept", {"day": " 昨天 ", "channel": "not asked for"})
    result, turn = await called(app, mode, person, times=2)
    said = result.structured_content
    assert said
    assert said["status"] == "complete"
    assert said["completeness"]["scope"]["filters"] == {"day": {"from": "2026-11-29", "to": "2026-11-29"}}
    [form] = person.asked
    assert list(form.requested_schema["properties"]) == form.requested_schema["required"] == ["day"]
    assert "各渠道销售额" in form.message
    turns = await app.gateway.steps.sessions.turns(turn.session_id)
    assert [outcome(it) for it in turns] == [None, "accepted", None]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("action", "filled", "became", "words"),
    [
        ("decline", {}, "declined", "拒绝"),
        ("cancel", {}, "cancelled", "关掉"),
        ("accept", {"day": " "}, "accepted", "没有都填"),
    ],
)
async def test_a_person_who_gives_nothing_is_told_apart(
    app: App, mode: str, action: str, filled: dict[str, Any], became: str, words: str
) -> None:
    """FIELD_CASES 57."""
    result, turn = await called(app, mode, Person(action, filled))
    said = result.structured_content
    assert result.is_error
    assert said
    assert (said["error"], said["legalValues"]) == ("missing_parameter", ["day"])
    assert words in said["reason"]
    assert outcome(turn) == became
    # Who does not want to answer is not shown the form again.
    assert (META in (result.meta or {})) == (became == "accepted")


@pytest.mark.parametrize("mode", MODES)
async def test_a_client_that_cannot_ask_reads_the_form_in_the_error(app: App, mode: str) -> None:
    """FIELD_CASES 57."""
    result, turn = await called(app, mode, None)
    assert result.structured_content
    assert result.structured_content["error"] == "missing_parameter"
    assert "这个客户端不能询问" in result.structured_content["reason"]
    assert outcome(turn) == "unable"
    assert result.meta
    form = result.meta[META]
    assert (form["mode"], form["requestedSchema"]["required"]) == ("form", ["day"])


async def test_a_client_that_never_answers_within_the_call_is_answered_without_it(app: App) -> None:
    """FIELD_CASES 56: 2025-11-25."""
    result, turn = await called(app, "legacy", Person("silence"), asking=Asking(within_s=0.05, keys=("a key",)))
    assert result.structured_content
    assert "没有及时得到回答" in result.structured_content["reason"]
    assert outcome(turn) == "timed out"


async def test_a_call_that_ends_with_a_question_holds_nothing_open(app: App) -> None:
    """FIELD_CASES 56: 2026-07-28, where a client that drops the question gets its answer by the next call."""
    person = Person("silence")
    async with Client(mcp_server(app.gateway, lambda _: app.local), elicitation_callback=person.answer) as client:
        found = (await client.call_tool("intentRecognition", NO_DAY)).structured_content
        assert found
        asked = {"sessionId": found["sessionId"]}
        with anyio.fail_after(5):
            first = await client.session.call_tool("apiCall", asked, allow_input_required=True)
            assert isinstance(first, types.InputRequiredResult)
            then = await client.session.call_tool("apiCall", asked, request_state=first.request_state)
    assert then.structured_content
    assert then.structured_content["error"] == "missing_parameter"
    assert not person.asked


async def test_an_answer_after_the_time_is_timed_out(app: App) -> None:
    """2026-07-28, where the answer comes with a later call."""
    now = datetime(2026, 11, 30, 1, tzinfo=UTC)

    def sleep() -> None:
        nonlocal now
        now += timedelta(seconds=21)

    ticking = replace(app, gateway=replace(app.gateway, steps=replace(app.gateway.steps, wall=lambda: now)))
    _, turn = await called(ticking, "auto", Person("accept", {"day": "昨天"}, slept=sleep))
    assert outcome(turn) == "timed out"


async def test_a_value_that_cannot_be_read_is_refused_as_the_agents_would_be(app: App) -> None:
    result, _ = await called(app, "auto", Person("accept", {"day": "whenever"}))
    assert result.structured_content
    assert (result.structured_content["error"], result.structured_content["field"]) == (
        "invalid_parameter",
        "filters.day",
    )


async def test_pages_after_an_answer_need_no_second_one(app: App) -> None:
    person = Person("accept", {"day": "2026-11-01"})
    async with Client(mcp_server(app.gateway, lambda _: app.local), elicitation_callback=person.answer) as client:
        found = (await client.call_tool("intentRecognition", NO_DAY)).structured_content
        assert found
        call = {"sessionId": found["sessionId"], "pageSize": 1}
        first = (await client.call_tool("apiCall", call)).structured_content
        assert first
        cursor = first["completeness"]["reasons"][0]["continuation"]["cursor"]
        second = (await client.call_tool("apiCall", {**call, "cursor": cursor})).structured_content
        assert second
    assert [row[0] for row in first["rows"] + second["rows"]] == ["A", "B"]
    assert len(person.asked) == 1


async def test_a_comparison_that_lacks_its_time_is_asked_for_it(app: App) -> None:
    """No parameter of the scene, but of what is asked of it."""
    person = Person("accept", {"day": "2026-11-02"})
    async with Client(mcp_server(app.gateway, lambda _: app.local), elicitation_callback=person.answer) as client:
        found = (await client.call_tool("intentRecognition", {**NO_DAY, "sceneId": "ORDER_DETAIL"})).structured_content
        assert found
        call = {"sessionId": found["sessionId"], "fields": ["amount_dod"], "groupBy": ["channel"]}
        result = await client.call_tool("apiCall", {**call, "filters": {"day": None}})
    assert not result.is_error, result.structured_content
    assert len(person.asked) == 1


async def test_nobody_is_asked_where_the_agent_is_set(app: App) -> None:
    person = Person("accept", {"day": "昨天"})
    asking = replace(app.gateway.asking, missing="agent")
    result, turn = await called(app, "auto", person, asking=asking)
    assert result.structured_content
    assert result.structured_content["reason"] == "缺少必填条件：day"
    assert outcome(turn) is None
    assert result.meta
    assert META in result.meta
    assert not person.asked


async def test_the_setting_says_who_gives_what_is_missing(settings: Settings) -> None:
    async with open_app(settings.model_copy(update={"missing": "agent"})) as app:
        assert app.gateway.asking.missing == "agent"
    assert settings.missing == "person"


# The form ------------------------------------------------------------------------------------------------------------


def shown(kind: str, legal: tuple[LegalValue, ...] = (), **more: Any) -> ShownParameter:
    described = Field(name="it", role="dimension", type=kind, about=Words(zh="它", en="it"), values=legal)
    return ShownParameter(Parameter(name="it", required=True, **more), described, (), (), legal)


def schema(app: App, parameter: ShownParameter) -> dict[str, Any]:
    scene = app.gateway.steps.catalog.scenes[0]
    fields = form_of(scene, [parameter], "en").schema()["properties"]
    return dict(fields["it"])


@pytest.mark.parametrize(
    ("kind", "json_type"),
    [
        ("date", "string"),
        ("string", "string"),
        ("int32", "integer"),
        ("int64", "string"),  # a double would lose digits of an id
        ("uint64", "string"),
        ("decimal(18,2)", "number"),
        ("float64", "number"),
        ("boolean", "boolean"),
    ],
)
async def test_each_type_of_parameter_is_a_field_that_every_client_can_show(
    app: App, kind: str, json_type: str
) -> None:
    assert schema(app, shown(kind))["type"] == json_type


async def test_legal_values_are_chosen_and_a_span_is_written(app: App) -> None:
    values = (LegalValue(value=1, label=Words(en="one")), LegalValue(value=2))
    chosen = schema(app, shown("int32", values))
    assert (chosen["type"], chosen["enum"], chosen["enumNames"]) == ("string", ["1", "2"], ["one", "2"])
    many = tuple(LegalValue(value=n) for n in range(101))
    assert "enum" not in schema(app, shown("int32", many))
    assert "at most 92 days" in schema(app, shown("date", max_days=92))["description"]


async def test_blanks_and_what_was_not_asked_for_are_no_filters(app: App) -> None:
    form = form_of(app.gateway.steps.catalog.scenes[0], [shown("string")], "zh")
    assert filled_in(form, {"it": " A ", "other": "B"}) == {"it": "A"}
    blanks: list[object] = ["", "  ", None, []]
    assert [filled_in(form, {"it": blank}) for blank in blanks] == [{}] * len(blanks)
    assert filled_in(form, {"it": False}) == {"it": False}
