"""`sanbu trace`: a session's turns, as an engineer reads them."""

import dataclasses
import json

import anyio
from rich.text import Text

from gateway.cli.faults import Failure
from gateway.cli.steps import show_step
from gateway.cli.terminal import out, print_json, table
from gateway.settings import Settings
from sessions.models import Turn
from sessions.stores.base import open_store


def run_show(settings: Settings, name: str, *, as_json: bool) -> None:
    """Prints every turn of a session, or of one trace. Raises Failure where nothing is kept under the name."""

    async def main() -> tuple[Turn, ...]:
        store = open_store(settings.session_url())
        try:
            return await store.turns(name) or await store.traced(name)
        finally:
            await store.close()

    turns = anyio.run(main)
    if not turns:
        raise Failure(
            f"nothing is kept under '{name}'; turns are kept for {settings.trace_days} days in {settings.session_url()}"
        )
    if as_json:
        print_json([dataclasses.asdict(turn) | {"at": turn.at.isoformat()} for turn in turns])
        return
    for turn in turns:
        _show(turn)


def _show(turn: Turn) -> None:
    head = f"\n{turn.at:%Y-%m-%d %H:%M:%S} {turn.step} by {turn.owner}: {turn.outcome} (trace {turn.trace_id})"
    out.print(Text(head, style="bold"))
    out.print(Text(json.dumps(turn.arguments, ensure_ascii=False)), soft_wrap=True)
    show_step(turn.step, {"rows": [], **turn.said})
    rows = [
        (
            ("  " if span.parent else "") + span.name,
            f"{span.starts_ms:.1f}",
            f"{span.took_ms:.1f}",
            _facts(span.attributes),
        )
        for span in turn.spans
    ]
    out.print(table(None, ("span", "at ms", "took ms", "what it saw"), rows, right=(1, 2)))


def _facts(attributes: object) -> str:
    return json.dumps(attributes, ensure_ascii=False) if attributes else ""
