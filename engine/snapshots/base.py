"""What the engine may rely on in every snapshot store, the table that opens one, and one flight for equal queries."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pkgutil import resolve_name
from typing import Protocol

import anyio
import anyio.lowlevel

from engine.query import Snapshot

STORES: Mapping[str, str] = {
    "sqlite": "engine.snapshots.embedded:EmbeddedSnapshots",
}


class SnapshotStore(Protocol):
    """Keeps frozen results until they expire. Bounded: the oldest give way, and a lost one reads as expired."""

    async def newest(self, key: str, *, not_before: datetime, now: datetime) -> Snapshot | None:
        """The latest snapshot with this key taken at or after `not_before` and not yet expired."""
        ...

    async def load(self, snapshot_id: str, *, now: datetime) -> Snapshot | None:
        """This very snapshot, unless it has expired or has given way."""
        ...

    async def keep(self, snapshot: Snapshot) -> None:
        """Stores it, unless it alone is larger than the store may be."""
        ...

    async def close(self) -> None: ...


def open_snapshots(url: str, *, max_bytes: int) -> SnapshotStore:
    """`sqlite:PATH` or `sqlite::memory:`, holding at most so many bytes. Raises ValueError for an unknown scheme."""
    scheme = url.partition(":")[0].lower()
    if scheme not in STORES:
        raise ValueError(f"no snapshot store for '{scheme}'; there are {', '.join(STORES)}")
    store: SnapshotStore = resolve_name(STORES[scheme])(url, max_bytes=max_bytes)
    return store


@dataclass
class SingleFlight:
    """Equal work runs once at a time: who comes second waits for the first one's result.

    A failed or cancelled flight is not shared: the next one waiting starts its own.
    """

    _flying: dict[str, anyio.Event] = field(default_factory=dict)
    _landed: dict[str, Snapshot] = field(default_factory=dict)

    async def run(self, key: str, work: Callable[[], Awaitable[Snapshot]]) -> Snapshot:
        while (flight := self._flying.get(key)) is not None:
            await flight.wait()
            if key in self._landed:
                return self._landed[key]
        self._flying[key] = flight = anyio.Event()
        try:
            self._landed[key] = result = await work()
            return result
        finally:
            del self._flying[key]
            flight.set()
            # Those who waited run before anything that is scheduled after this point.
            await anyio.lowlevel.cancel_shielded_checkpoint()
            self._landed.pop(key, None)
