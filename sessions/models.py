"""Turn, which is only ever appended, and Session, which is a fold over its turns: nothing is read, changed and written.

Knows no scene and no query: what a step leaves for the next one is a mapping of facts that only the steps understand.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

Step = Literal["intentRecognition", "fieldSelection", "apiCall"]
Outcome = Literal["answered", "refused"]


@dataclass(frozen=True)
class SpanRecord:
    """One timed stage of a turn. Times are milliseconds, counted from the start of the turn."""

    name: str
    parent: str | None
    starts_ms: float
    took_ms: float
    attributes: Mapping[str, str | int | float | bool]


@dataclass(frozen=True)
class Turn:
    """One call of one step: what was asked, what came of it, and how."""

    session_id: str
    owner: str
    """The principal's id: a session is useless to anybody else."""
    at: datetime
    step: Step
    outcome: Outcome
    arguments: Mapping[str, object]
    facts: Mapping[str, object]
    """What later steps need. JSON values; a mapping under one key is merged with the one before, others replace it."""
    said: Mapping[str, object]
    """The answer as it left, without rows: those stay in their snapshot."""
    spans: tuple[SpanRecord, ...] = ()
    trace_id: str = ""
    number: int | None = None
    """Its place in the log; the store gives it."""


@dataclass(frozen=True)
class Lifetime:
    """A session sleeps at most `idle` between two turns and ends `age` after its first."""

    idle: timedelta = timedelta(minutes=5)
    age: timedelta = timedelta(hours=1)


@dataclass(frozen=True)
class Session:
    """What a session has come to: its turns folded into one mapping of facts."""

    id: str
    owner: str
    opened_at: datetime
    last_at: datetime
    facts: Mapping[str, object]

    def has_expired(self, now: datetime, lifetime: Lifetime) -> bool:
        return now - self.last_at > lifetime.idle or now - self.opened_at > lifetime.age

    def seconds_left(self, now: datetime, lifetime: Lifetime) -> int:
        """Whole seconds until it expires if nothing more is said."""
        left = min(lifetime.idle, self.opened_at + lifetime.age - now)
        return max(0, int(left.total_seconds()))


def new_session_id() -> str:
    """128 random bits in hex."""
    return secrets.token_hex(16)


def fold(turns: Sequence[Turn]) -> Session | None:
    """The session that the turns add up to, in their order; None where there are none.

    Refused turns leave no facts. They count for the time, but for one that was refused because it came too late.
    """
    if not turns:
        return None
    facts: dict[str, object] = {}
    for turn in turns:
        if turn.outcome == "answered":
            facts = _merged(facts, turn.facts)
    first = turns[0]
    in_time = (turn.at for turn in turns if turn.said.get("error") != "session_expired")
    return Session(first.session_id, first.owner, first.at, max(in_time, default=first.at), facts)


def _merged(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    merged = dict(before)
    for key, value in after.items():
        known = merged.get(key)
        merged[key] = {**known, **value} if isinstance(known, Mapping) and isinstance(value, Mapping) else value
    return merged
