"""An engine over the shop's table, opened the way the gateway opens it, with what a caller brings."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from engine.backends.base import open_backend
from engine.cursors import Cursors
from engine.dataset import Dataset
from engine.evidence import EvidenceBook
from engine.pipeline import Engine, Request
from engine.policy import Policies, Principal
from engine.query import Answer, DataQuery, PageBounds
from engine.snapshots.base import open_snapshots
from tests.engine import shop

_CARRIED = ("cursor", "held", "owner", "bounds", "page_size", "token_budget", "since", "asked_at", "noted")
"""What belongs to a request rather than to its query."""

EVERYTHING = PageBounds(rows=100_000, bytes=1 << 30, tokens=1 << 30)


@dataclass(frozen=True)
class House:
    """An engine with what a caller brings: policies, principal, clock."""

    engine: Engine
    principal: Principal = shop.ADMIN
    now: datetime = shop.NOW
    bounds: PageBounds = EVERYTHING

    def request(
        self, fields: tuple[str, ...] = (), filters: Mapping[str, object] | None = None, **more: Any
    ) -> Request:
        carried = {name: more.pop(name) for name in _CARRIED if name in more}
        query = DataQuery("shop", filters or {}, fields, **more)
        request = Request(query, self.principal, self.now, owner=self.principal.id, bounds=self.bounds)
        return replace(request, **carried)

    async def ask(self, *args: Any, wall: datetime | None = None, **more: Any) -> Answer:
        return await self.engine.run(self.request(*args, **more), wall=wall or self.now)

    def as_principal(self, principal: Principal) -> "House":
        return replace(self, principal=principal)


def open_house(dataset: Dataset, policies: Policies = shop.POLICIES, **more: Any) -> House:
    backends = {source.url: open_backend(source.url) for source in dataset.sources}
    engine = Engine(
        {dataset.api_no: dataset},
        policies,
        backends,
        open_snapshots("sqlite::memory:", max_bytes=64 << 20),
        Cursors(["key"]),
        EvidenceBook(open_snapshots("sqlite::memory:", max_bytes=64 << 20), ["key"]),
    )
    return House(engine, **more)
