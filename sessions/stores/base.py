"""What may be relied on in every session store, and the table that opens one by the scheme of its url."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pkgutil import resolve_name
from typing import Protocol

from sessions.models import Turn

STORES: Mapping[str, str] = {
    "sqlite": "sessions.stores.embedded:SQLiteSessions",
}


@dataclass
class StoreUnavailable(Exception):
    """The store does not answer or cannot be opened. `detail` is for the log, never for a caller."""

    url: str
    detail: str


@dataclass(frozen=True)
class SessionSummary:
    """A session as it stands in a list; a question without a match, which opens none, stands there by its trace."""

    session_id: str
    first: Turn
    last_at: datetime
    turns: int


class SessionStore(Protocol):
    """An append-only log of turns. Safe for concurrent calls; nothing is ever changed in place."""

    async def append(self, turn: Turn) -> Turn:
        """Adds the turn and gives it its number. Turns of one session are numbered in the order of their adding.

        Raises StoreUnavailable.
        """
        ...

    async def turns(self, session_id: str) -> tuple[Turn, ...]:
        """The session's turns in order; empty for an unknown one. Raises StoreUnavailable."""
        ...

    async def sessions(self, *, prefix: str = "", limit: int) -> tuple[SessionSummary, ...]:
        """The sessions whose id, or the id of one of whose traces, begins with `prefix`; the last used first.

        Raises StoreUnavailable.
        """
        ...

    async def forget(self, before: datetime) -> int:
        """Deletes sessions whose last turn is older; returns how many turns went. Raises StoreUnavailable."""
        ...

    async def close(self) -> None: ...


def open_store(url: str) -> SessionStore:
    """`sqlite:PATH` or `sqlite::memory:`. Raises StoreUnavailable."""
    scheme = url.partition(":")[0].lower()
    if scheme not in STORES:
        raise StoreUnavailable(url, f"no session store for '{scheme}'; there are {', '.join(STORES)}")
    store: SessionStore = resolve_name(STORES[scheme])(url)
    return store
