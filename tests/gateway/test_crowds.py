"""Several calls at one time, through the gateway: nobody hangs, nobody waits for somebody else's slow query."""

from typing import Any

import anyio
import pytest

from engine.backends.base import Backend
from engine.errors import TimeBudgetExceeded
from gateway.app import App
from tests.engine.test_backends import SLOW

pytestmark = pytest.mark.anyio

QUESTION = "昨天渠道A的退款金额有多少"


async def answered(app: App, tool: Any, **arguments: object) -> dict[str, Any]:
    found = await app.gateway.answer(tool, arguments, app.local)
    assert not found.is_error, found.said
    return dict(found.said)


async def test_two_loops_on_one_session_do_not_hang_and_agree(app: App) -> None:
    """FIELD_CASES 20. Each step of each loop is a turn of the session, and none is lost."""
    session = (await answered(app, "intentRecognition", query=QUESTION))["sessionId"]
    said: list[list[Any]] = [[], []]

    async def loop(mine: list[Any]) -> None:
        for channel in "ABCABC":
            mine.append((await answered(app, "apiCall", sessionId=session, filters={"channel": channel}))["rows"])

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            for mine in said:
                group.start_soon(loop, mine)
    assert said[0] == said[1]
    assert said[0][:3] == said[0][3:]
    assert len(await app.gateway.steps.sessions.turns(session)) == 13


async def test_questions_are_answered_while_queries_run_away(app: App) -> None:
    """FIELD_CASES 22: with every place of the store taken, the steps that need no store go on beside them."""
    (backend,) = app.gateway.steps.engine.backends.values()
    await answered(app, "intentRecognition", query=QUESTION)
    ended: list[str] = []

    async def runaway(backend: Backend) -> None:
        try:
            await backend.fetch(SLOW[backend.dialect], {}, timeout_s=60)
        except TimeBudgetExceeded:
            ended.append("runaway")

    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(runaway, backend)
        await anyio.sleep(0.05)
        with anyio.fail_after(20):
            for day in ("昨天", "前天", "上周"):
                found = await answered(app, "intentRecognition", query=f"{day}渠道B的退款金额")
                await answered(app, "fieldSelection", sessionId=found["sessionId"])
        assert ended == []
        group.cancel_scope.cancel()
