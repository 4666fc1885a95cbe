"""Where a match is ambiguous, the client's model or the person is asked if that is set: every outcome, with real
clients of both protocol versions.
"""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.context import ClientRequestContext
from mcp.shared.exceptions import MCPError

from gateway.app import App, open_app
from gateway.choosing import Option, Question, from_model, from_person
from gateway.mcp import mcp_server
from gateway.questions import Asking
from gateway.settings import Settings
from sessions.models import Turn
from tests.gateway.harness import environment, http_server

pytestmark = pytest.mark.anyio

MODES = ("legacy", "auto")
UNCLEAR = "渠道的情况"
"""Two scenes of the bookshop are about channels and nothing else."""
CHOSEN, TITLE = "CHANNEL_ORDERS", "各渠道订单量"


@dataclass
class Answering:
    """A client's side: answers each question in one way, and keeps what it was asked."""

    said: str
    """What the model says, or the title that the person chooses; or decline, cancel, error, refuse, silence."""
    asked: list[Any] = field(default_factory=list)

    async def model(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        self.asked.append(params)
        if failed := await self._failed():
            return failed
        content = types.TextContent(type="text", text=self.said)
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async def person(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        self.asked.append(params)
        if failed := await self._failed():
            return failed
        if self.said == "decline":
            return types.ElicitResult(action="decline")
        if self.said == "cancel":
            return types.ElicitResult(action="cancel")
        return types.ElicitResult(action="accept", content={"scene": self.said})

    async def _failed(self) -> types.ErrorData | None:
        if self.said == "silence":
            await anyio.sleep_forever()
        codes = {"error": types.INTERNAL_ERROR, "refuse": -1}
        return types.ErrorData(code=codes[self.said], message=self.said) if self.said in codes else None


def callbacks(by: str, answering: Answering | None) -> dict[str, Any]:
    if answering is None:
        return {}
    return {"sampling_callback": answering.model} if by == "client" else {"elicitation_callback": answering.person}


@dataclass
class Clock:
    now: datetime = datetime(2026, 11, 30, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


async def found(
    app: App, by: Any, mode: str, answering: Answering | None, *, within_s: float = 60, clock: Clock | None = None
) -> tuple[dict[str, Any], Turn]:
    """What intentRecognition says to an unclear query, and the turn that it leaves."""
    gateway = replace(app.gateway, asking=Asking(by, within_s=within_s, keys=("a key",)))
    if clock is not None:
        gateway = replace(gateway, steps=replace(gateway.steps, wall=clock))
    server = mcp_server(gateway, lambda _: app.local)
    async with Client(server, mode=mode, **callbacks(by, answering)) as client:
        result = await client.call_tool("intentRecognition", {"query": UNCLEAR})
    said = dict(result.structured_content or {})
    [turn] = await app.gateway.steps.sessions.turns(said["sessionId"])
    return said, turn


def outcome(turn: Turn) -> str | None:
    """As the trace has it."""
    return next((str(span.attributes["outcome"]) for span in turn.spans if span.name == "gateway.choose"), None)


@pytest.mark.parametrize("mode", MODES)
async def test_the_calling_agent_chooses_unless_somebody_else_is_set(app: App, mode: str) -> None:
    asked = Answering(CHOSEN)
    async with Client(
        mcp_server(app.gateway, lambda _: app.local),
        mode=mode,
        sampling_callback=asked.model,
        elicitation_callback=asked.person,
    ) as client:
        said = (await client.call_tool("intentRecognition", {"query": UNCLEAR})).structured_content
    assert said
    assert said["status"] == "ambiguous"
    assert not asked.asked


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("by", "answer"), [("client", f"`{CHOSEN}`\n"), ("person", TITLE)])
async def test_the_chosen_scene_is_matched_and_who_chose_is_said(app: App, by: str, answer: str, mode: str) -> None:
    answering = Answering(answer)
    said, turn = await found(app, by, mode, answering)
    assert said["status"] == "matched"
    assert said["scene"]["sceneId"] == CHOSEN
    assert [it["sceneId"] for it in said["alternatives"]][:1] == ["SALES_BY_CHANNEL"]
    [warning] = [it for it in said["warnings"] if it["code"] == "CHOSEN_BY_CLIENT"]
    assert warning["by"] == by
    assert outcome(turn) == "chosen"
    assert turn.facts["scene"] == f"{CHOSEN}@1"
    assert len(answering.asked) == 1


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("by", "answer", "became"),
    [
        ("client", "none", "declined"),
        ("client", "I would take the first one", "unable"),
        ("client", "BUYER_CONTACTS", "unable"),  # a scene, but none of the alternatives
        ("person", "decline", "declined"),
        ("person", "cancel", "declined"),
        ("person", "something else", "unable"),
    ],
)
async def test_without_a_choice_the_answer_is_the_one_without_asking(
    app: App, by: str, answer: str, became: str, mode: str
) -> None:
    said, turn = await found(app, by, mode, Answering(answer))
    unasked, _ = await found(app, "agent", mode, None)
    assert said["status"] == "ambiguous"
    assert {**said, "sessionId": ""} == {**unasked, "sessionId": ""}
    assert outcome(turn) == became


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("by", ["client", "person"])
async def test_a_client_that_offers_no_way_to_ask_is_not_asked(app: App, by: str, mode: str) -> None:
    said, turn = await found(app, by, mode, None)
    assert said["status"] == "ambiguous"
    assert outcome(turn) == "unable"


@pytest.mark.parametrize(("by", "answer", "became"), [("client", "error", "unable"), ("client", "refuse", "declined")])
async def test_a_client_that_answers_by_an_error_within_the_call(app: App, by: str, answer: str, became: str) -> None:
    """2026-07-28: the client ends the call itself."""
    said, turn = await found(app, by, "legacy", Answering(answer))
    assert said["status"] == "ambiguous"
    assert outcome(turn) == became


@pytest.mark.parametrize("by", ["client", "person"])
async def test_silence_within_the_call_is_timed_out(app: App, by: str) -> None:
    said, turn = await found(app, by, "legacy", Answering("silence"), within_s=0.05)
    assert said["status"] == "ambiguous"
    assert outcome(turn) == "timed out"


@pytest.mark.parametrize(("seconds", "became"), [(19, "chosen"), (21, "timed out")])
async def test_an_answer_that_comes_with_a_later_call_counts_within_the_time(
    app: App, seconds: int, became: str
) -> None:
    clock = Clock()

    class Slow(Answering):
        async def model(self, context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
            clock.now += timedelta(seconds=seconds)
            return await super().model(context, params)

    _, turn = await found(app, "client", "auto", Slow(CHOSEN), within_s=20, clock=clock)
    assert outcome(turn) == became


async def test_a_time_of_asking_that_is_not_ours_is_refused(app: App) -> None:
    gateway = replace(app.gateway, asking=Asking("client", keys=("a key",)))
    async with Client(mcp_server(gateway, lambda _: app.local), sampling_callback=Answering(CHOSEN).model) as client:
        with pytest.raises(MCPError, match="requestState"):
            await client.session.call_tool(
                "intentRecognition", {"query": UNCLEAR}, request_state="2026-11-30T01:00:00+00:00"
            )


@pytest.mark.parametrize("mode", MODES)
async def test_a_question_that_one_scene_answers_asks_nobody(app: App, mode: str) -> None:
    gateway = replace(app.gateway, asking=Asking("client", keys=("a key",)))
    answering = Answering("none")
    server = mcp_server(gateway, lambda _: app.local)
    async with Client(server, mode=mode, sampling_callback=answering.model) as client:
        for asked in (
            {"query": "昨天渠道A的退款金额"},
            {"query": UNCLEAR, "sceneId": "REFUNDS"},
            {"query": "写一首诗"},
        ):
            said = (await client.call_tool("intentRecognition", asked)).structured_content
            assert said
            assert said["status"] != "ambiguous"
    assert not answering.asked


@pytest.mark.parametrize("mode", MODES)
async def test_the_tools_are_the_same_whoever_chooses(app: App, mode: str) -> None:
    listed = []
    for asking in (Asking(), Asking("person", keys=("a key",))):
        server = mcp_server(replace(app.gateway, asking=asking), lambda _: app.local)
        async with Client(server, mode=mode) as client:
            listed.append([tool.model_dump() for tool in (await client.list_tools()).tools])
    assert listed[0] == listed[1]


@asynccontextmanager
async def served(transport: str, mode: str, settings: Settings, answering: Answering) -> AsyncIterator[Client]:
    if transport == "stdio":
        arguments = ["-m", "gateway.cli", "serve", "--stdio"]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=environment(settings))
        async with Client(server, mode=mode, elicitation_callback=answering.person) as client:
            yield client
    else:
        with http_server(settings) as address:
            async with Client(f"{address}/mcp", mode=mode, elicitation_callback=answering.person) as client:
                yield client


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_served_gateway_asks_and_goes_on_to_the_data(
    transport: str, mode: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SANBU_AMBIGUOUS", "person")
    answering = Answering(TITLE)
    async with served(transport, mode, settings, answering) as client:
        said = (await client.call_tool("intentRecognition", {"query": f"昨天{UNCLEAR}"})).structured_content
        assert said
        assert said["scene"]["sceneId"] == CHOSEN
        data = (await client.call_tool("apiCall", {"sessionId": said["sessionId"]})).structured_content
        assert data
        assert data["status"] == "complete"
    [form] = answering.asked
    assert TITLE in form.requested_schema["properties"]["scene"]["enum"]


async def test_the_settings_say_who_is_asked_and_for_how_long(settings: Settings) -> None:
    chosen = settings.model_copy(update={"ambiguous": "client", "choice_seconds": 5.0})
    async with open_app(chosen) as app:
        assert (app.gateway.asking.scene, app.gateway.asking.within_s) == ("client", 5.0)
    async with open_app(settings) as app:
        assert (app.gateway.asking.scene, app.gateway.asking.within_s) == ("agent", 20)


def question(*titles: str) -> Question:
    options = (Option(f"S{at}@1", f"S{at}", title, f"differs {at}") for at, title in enumerate(titles))
    return Question("spend", "en", tuple(options))


def test_the_message_to_a_model_names_every_id_and_what_separates_it() -> None:
    message = question("Spend", "Refunds").for_model()
    for part in ("spend", "S0: differs 0", "S1: differs 1", "none"):
        assert part in message


def test_two_scenes_of_one_title_can_be_told_apart() -> None:
    asked = question("Spend", "Spend", "Refunds")
    assert list(asked.by_label()) == ["Spend (S0)", "Spend (S1)", "Refunds"]
    assert from_person(asked, "Spend (S1)").ref == "S1@1"
    assert from_person(asked, "Spend").outcome == "unable"
    assert from_person(asked, None).outcome == "unable"


@pytest.mark.parametrize(
    ("answer", "became"), [("S1", "S1@1"), (' "s1". ', "S1@1"), ("None.", None), ("S1 or S0", None), ("", None)]
)
def test_a_models_answer_is_one_id_or_no_choice(answer: str, became: str | None) -> None:
    assert from_model(question("Spend", "Refunds"), answer).ref == became
