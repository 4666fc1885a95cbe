"""`sanbu trace`: the sessions that are kept, and the turns of one as an engineer reads them."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime

import anyio
from pydantic.alias_generators import to_camel
from rich.table import Table
from rich.text import Text

from gateway.cli.faults import Failure
from gateway.cli.steps import show_step
from gateway.cli.terminal import out, print_json, table
from gateway.settings import Settings, without_password
from sessions.models import SpanRecord, Turn
from sessions.stores.base import SessionSummary, open_store

_SHOWN_OF_AN_ID = 12  # enough to name a session among a week's
_SHORT = 40  # characters of a fact; what is longer stands in --json


def run_list(settings: Settings, *, limit: int, as_json: bool) -> None:
    """Prints the last used sessions, the last one first."""
    listed = anyio.run(_sessions, settings, "", limit)
    if as_json:
        print_json([_summary(it) for it in listed])
        return
    rows = [
        (it.session_id[:_SHOWN_OF_AN_ID], _stamp(it.last_at), it.turns, it.first.owner, _asked(it.first))
        for it in listed
    ]
    out.print(table(None, ("session", "last used", "turns", "by", "asked"), rows, right=(2,), whole=(0, 1)))


def run_show(settings: Settings, name: str, *, as_json: bool) -> None:
    """Prints every turn of the session, or the turn of the trace, whose id begins with `name`.

    Raises Failure where there is none, or more than one.
    """
    turns = anyio.run(_turns, settings, name)
    if as_json:
        print_json([_record(turn) for turn in turns])
        return
    for turn in turns:
        _show(turn)
    out.print(Text(f"every attribute of every span: sanbu trace show {name} --json", style="dim"), soft_wrap=True)


async def _sessions(settings: Settings, prefix: str, limit: int) -> tuple[SessionSummary, ...]:
    store = open_store(settings.session_url())
    try:
        return await store.sessions(prefix=prefix, limit=limit)
    finally:
        await store.close()


async def _turns(settings: Settings, name: str) -> tuple[Turn, ...]:
    found = await _sessions(settings, name, 2)
    if not found:
        raise Failure(
            f"nothing is kept under '{name}'; turns are kept for {settings.trace_days} days in"
            f" {without_password(settings.session_url())}, and sanbu trace list names them"
        )
    if len(found) > 1:
        raise Failure(f"several sessions begin with '{name}'; give more of the id")
    store = open_store(settings.session_url())
    try:
        turns = await store.turns(found[0].session_id)
    finally:
        await store.close()
    if found[0].session_id.startswith(name):
        return turns
    return tuple(turn for turn in turns if turn.trace_id.startswith(name))


def _record(turn: Turn) -> Mapping[str, object]:
    spans = [_camel(vars(span)) for span in turn.spans]
    return {**_camel(vars(turn)), "at": turn.at.isoformat(), "spans": spans}


def _camel(named: Mapping[str, object]) -> dict[str, object]:
    """As all JSON of this product names things; what stands inside is the caller's or a span's own."""
    return {to_camel(name): value for name, value in named.items()}


def _summary(it: SessionSummary) -> Mapping[str, object]:
    return {
        "sessionId": it.session_id,
        "lastUsed": it.last_at.isoformat(),
        "turns": it.turns,
        "owner": it.first.owner,
        "asked": _asked(it.first),
    }


def _asked(first: Turn) -> str:
    return str(first.arguments.get("query") or json.dumps(first.arguments, ensure_ascii=False))


def _show(turn: Turn) -> None:
    head = f"\n{_stamp(turn.at)} {turn.step} by {turn.owner}: {turn.outcome} (trace {turn.trace_id})"
    out.print(Text(head, style="bold"), soft_wrap=True)
    out.print(Text(json.dumps(turn.arguments, ensure_ascii=False)), soft_wrap=True)
    show_step(turn.step, {"rows": [], **turn.said})
    out.print(_spans(turn.spans))
    for span in turn.spans:
        if "candidates" in span.attributes:
            rows = [
                (it["scene"], f"{it['confidence']:.3f}", "; ".join(it["why"]))
                for it in json.loads(str(span.attributes["candidates"]))
            ]
            out.print(table(None, ("candidate", "confidence", "why"), rows, right=(1,), whole=(1,)))


def _spans(spans: Sequence[SpanRecord]) -> Table:
    """One line a span, below the one that it is part of."""
    made = Table.grid(padding=(0, 2, 0, 0))
    depth: dict[str, int] = {}
    for span in spans:
        depth[span.name] = depth.get(span.parent, 0) + 1 if span.parent else 0
        name = "  " * (depth[span.name] + 1) + span.name
        timed = f"at {span.starts_ms:.1f} ms", f"took {span.took_ms:.1f} ms"
        made.add_row(Text(name, no_wrap=True), *(Text(it, no_wrap=True) for it in timed), Text(_facts(span), "dim"))
    return made


def _facts(span: SpanRecord) -> str:
    """`verdict matched, rows 10`: what fits in a few words."""
    return ", ".join(
        f"{name} {str(value).lower() if isinstance(value, bool) else value}"
        for name, value in span.attributes.items()
        if not isinstance(value, str) or (len(value) <= _SHORT and not value.startswith(("{", "[")))
    )


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%SZ}"
