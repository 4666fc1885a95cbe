"""What the engine may rely on in every snapshot store, and one flight at a time for equal queries."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import anyio

from engine.query import Snapshot


class SnapshotStore(Protocol):
    """Keeps frozen results until they expire. Bounded: the oldest give way, and a lost one reads as expired."""

    async def newest(self, key: str, *, not_before: datetime, now: datetime) -> Snapshot | None:
        """The latest snapshot with this key taken at or after `not_before` and not yet expired."""
        ...

    async def load(self, snapshot_id: str, *, now: datetime) -> Snapshot | None:
        """This very snapshot, unless it has expired or has given way."""
        ...

    async def keep(self, snapshot: Snapshot) -> None: ...

    async def close(self) -> None: ...


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
