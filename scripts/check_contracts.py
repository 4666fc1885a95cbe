"""Every reason, warning and error code of a running server, reached in both languages, with its continuation."""

import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import anyio
from rich.console import Console
from rich.table import Table

from engine.dataset import Language
from gateway.client import fetch_all, over_http
from scene_kb.text import has_han
from scripts.contracts.server import Server, Wire, free_port, served
from scripts.contracts.triggers import ERRORS, NOT_PERMITTED, QUOTA, REASONS, WARNINGS, Agent, Reached, Trigger

Kind = Literal["reason", "warning", "error"]
LANGUAGES: Sequence[Language] = ("zh", "en")


@dataclass(frozen=True)
class Row:
    """One code in one language."""

    kind: Kind
    code: str
    language: Language
    message: str
    onward: str
    faults: tuple[str, ...]


async def check() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        rows: list[Row] = []
        with served(_new(folder, "clerk"), free_port()) as server:
            for language in LANGUAGES:
                rows += await _of_clerk(server, language)
        with served(_new(folder, "metered"), free_port(), roles="[metered]", idle_s=300) as server:
            for language in LANGUAGES:
                async with server.client() as http:
                    rows.append(await _reason("QUOTA_EXCEEDED", QUOTA, Agent(server, http, language)))
        with served(_new(folder, "nobody"), free_port(), roles="[]") as server:
            for language in LANGUAGES:
                async with server.client() as http:
                    rows.append(await _error("not_permitted", NOT_PERMITTED, Agent(server, http, language)))
        return rows


async def _of_clerk(server: Server, language: Language) -> list[Row]:
    async with server.client() as http:
        agent = Agent(server, http, language)
        reasons = [await _reason(code, reached, agent) for code, reached in REASONS.items()]
        warnings = [await _warning(code, trigger, agent) for code, trigger in WARNINGS.items()]
        errors = [await _error(code, trigger, agent) for code, trigger in ERRORS.items()]
        return [*reasons, *warnings, *errors]


async def _reason(code: str, reached: Reached, agent: Agent) -> Row:
    answer = await reached.trigger(agent)
    found = _named(answer.get("completeness", {}).get("reasons", ()), code)
    if found is None:
        return _unreached("reason", code, agent, answer)
    continuation = found["continuation"]
    faults = () if await _leads_on(continuation, reached, answer, agent) else ("does not lead on",)
    claimed = answer["completeness"]["complete"] is not False
    return _row("reason", code, agent, str(found["message"]), continuation["kind"], claimed, faults)


async def _leads_on(continuation: Wire, reached: Reached, answer: Wire, agent: Agent) -> bool:
    """Whether what the continuation says to do ends complete."""
    arguments: dict[str, Any] = {"sessionId": answer["sessionId"], **reached.onward}
    if not reached.onward:  # the same query: from where its page ended
        cursors = [it["continuation"].get("cursor") for it in answer["completeness"]["reasons"]]
        arguments["cursor"] = next(filter(None, cursors), None)
    if "minimumMs" in continuation:
        arguments["timeBudgetMs"] = continuation["minimumMs"]
    if reached.waits:
        await anyio.sleep(continuation["seconds"])
    fetched = await fetch_all(over_http(agent.http), arguments)
    return fetched.complete


async def _warning(code: str, trigger: Trigger, agent: Agent) -> Row:
    answer = await trigger(agent)
    found = _named(answer.get("warnings", ()), code)
    if found is None:
        return _unreached("warning", code, agent, answer)
    return _row("warning", code, agent, str(found["message"]), str(found.get("owner", "")))


async def _error(code: str, trigger: Trigger, agent: Agent) -> Row:
    problem = await trigger(agent)
    if problem.get("error") != code:
        return _unreached("error", code, agent, problem)
    faults = () if problem["traceId"] else ("no traceId",)
    said = f"{problem['reason']} ▶ {problem['suggestion']}"
    return _row("error", code, agent, said, "retryable" if problem["retryable"] else "", False, faults)


def _row(
    kind: Kind,
    code: str,
    agent: Agent,
    message: str,
    onward: str,
    claimed: bool = False,
    faults: tuple[str, ...] = (),
) -> Row:
    if claimed:
        faults = (*faults, "claims to be complete")
    if has_han(message) != (agent.language == "zh"):
        faults = (*faults, "in the other language")
    return Row(kind, code, agent.language, message, onward, faults)


def _unreached(kind: Kind, code: str, agent: Agent, answer: Wire) -> Row:
    came = {key: answer[key] for key in ("status", "error", "reason", "field") if key in answer}
    return Row(kind, code, agent.language, f"got {came}", "", ("not reached",))


def _named(said: Sequence[Mapping[str, Any]], code: str) -> Mapping[str, Any] | None:
    return next((it for it in said if it["code"] == code), None)


def _new(folder: str, name: str) -> Path:
    place = Path(folder) / name
    place.mkdir()
    return place


def main() -> int:
    rows = anyio.run(check)
    table = Table(title="codes")
    for heading in ("kind", "code", "lang", "message", "onward", ""):
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(row.kind, row.code, row.language, row.message, row.onward, ", ".join(row.faults) or "reached")
    console = Console()
    console.print(table, markup=False)
    failed = sum(bool(row.faults) for row in rows)
    console.print(f"{len(rows) - failed} of {len(rows)} reached", markup=False)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
