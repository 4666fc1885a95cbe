"""What the steps and a person's query share: everything handed in open, sessions, scenes as a caller sees them, clocks.

Nothing here reads settings or the environment.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from engine.budget import page_bytes
from engine.dataset import Dataset, Language
from engine.errors import EvidenceInvalid
from engine.evidence import Scope
from engine.folding import nearest
from engine.masks import seen_through
from engine.names import legal_values
from engine.permissions import caps_of
from engine.pipeline import Engine, Request
from engine.policy import Caps
from engine.query import Answer, Clock, DataQuery, Grant, PageBounds
from gateway.arguments import Arguments, CallArguments, QueryArguments
from gateway.audit import AuditLog, Disclosure
from gateway.errors import SessionExpired, SessionNotFound, StepOutOfOrder, UnknownScene
from gateway.identity import Caller
from gateway.limits import Quotas
from gateway.present.scene import ShownParameter
from gateway.told import Told, mapping
from scene_kb import recognise
from scene_kb.models import Catalog, Scene, SceneCard
from scene_kb.resolver import Resolver
from scene_kb.visibility import pinned_scene, visible_scenes
from sessions.models import Lifetime, Session
from sessions.models import fold as fold_turns
from sessions.stores.base import SessionStore


@dataclass(frozen=True)
class Reply:
    """What a step says, and what it leaves behind."""

    said: Mapping[str, Any]
    facts: Mapping[str, object]
    session_id: str | None
    """The session that the turn belongs to; None where none was opened."""
    told: Disclosure | None = None
    """For the audit log."""


@dataclass(frozen=True)
class House:
    """One catalog with all that answers from it."""

    catalog: Catalog
    cards: Mapping[str, SceneCard]
    """By ref: the scenes as retrieval sees them."""
    resolver: Resolver
    engine: Engine
    sessions: SessionStore
    lifetime: Lifetime
    bounds: PageBounds
    quotas: Quotas
    audit: AuditLog
    wall: Callable[[], datetime]
    """The real time, with offset."""
    fixed_now: datetime | None = None
    """Stands in for the real time where answers depend on it; a dataset's own clock gives way to it."""

    async def open_session(self, session_id: str, caller: Caller) -> Session:
        """Raises SessionNotFound for an unknown session and for another caller's alike, and SessionExpired."""
        session = fold_turns(await self.sessions.turns(session_id))
        if session is None or session.owner != caller.principal.id or "clock" not in session.facts:
            raise SessionNotFound(session_id)
        if session.has_expired(self.wall(), self.lifetime):
            raise SessionExpired(session_id, self.lifetime.idle.seconds)
        return session

    def visible_scenes(self, caller: Caller) -> Mapping[str, Scene]:
        """By ref: what the caller may find today. Touches no store."""
        today = self.now(self.clock_facts(None), None).date()
        return visible_scenes(self.catalog, caller.principal, today=today, granting=self.engine.grant)

    def visible_dimensions(self, caller: Caller) -> tuple[str, ...]:
        """The dimensions of the scenes that the caller may see, the most frequent first. Touches no store."""
        scenes = self.visible_scenes(caller)
        counts = Counter(name for scene in scenes.values() for name in scene.dimensions)
        return tuple(name for name, _ in sorted(counts.items(), key=lambda it: (-it[1], it[0])))

    def scene_named(self, name: str, caller: Caller, pinned: Mapping[str, object]) -> Scene:
        """Raises UnknownScene."""
        today = self.now(pinned, None).date()
        scene = pinned_scene(self.catalog, caller.principal, name, today=today, granting=self.engine.grant)
        if scene is None:
            seen = self.visible_scenes(caller)
            raise UnknownScene(name, nearest(name, {it.scene_id: it.title.every() for it in seen.values()}))
        return scene

    def chosen_scene(self, session: Session, caller: Caller, step: str) -> Scene:
        """The version that the session pinned. Raises StepOutOfOrder where nothing was chosen yet."""
        ref = session.facts.get("scene")
        if ref is None:
            raise StepOutOfOrder(step, "fieldSelection")
        return self.scene_named(str(ref), caller, self.clock_facts(session))

    def clock_facts(self, session: Session | None) -> Mapping[str, object]:
        """The session's clock, or a new one: one now for all of its steps, past midnight and through retries."""
        if session is not None:
            return mapping(session.facts, "clock")
        fixed = self.fixed_now is not None
        return {"now": (self.fixed_now or self.wall()).isoformat(), "fixed": fixed}

    def now(self, pinned: Mapping[str, object], dataset: Dataset | None) -> datetime:
        if dataset is not None and dataset.clock is not None and not pinned["fixed"]:
            return dataset.clock
        return datetime.fromisoformat(str(pinned["now"]))

    def grant(self, scene: Scene, caller: Caller) -> Grant:
        return self.engine.grant(scene.api_no, caller.principal)

    def seen(self, scene: Scene, caller: Caller) -> tuple[Dataset, Grant]:
        """The scene's dataset as the caller sees it, and the Grant by which that is so."""
        grant = self.grant(scene, caller)
        return seen_through(self.catalog.dataset_of(scene), grant.masks), grant

    def told(self, scene: Scene, query: str, caller: Caller, pinned: Mapping[str, object]) -> Told:
        dataset, grant = self.catalog.dataset_of(scene), self.grant(scene, caller)
        fields = {it.name: dataset.by_name[it.name] for it in scene.parameters if grant.allows(it.name, "filters")}
        legal = {name: legal_values(field, grant) for name, field in fields.items()}
        clock = Clock(self.now(pinned, dataset), dataset.zone, dataset.week_start, dataset.fiscal_year)
        temporal = (field for field in fields.values() if field.temporal)
        return Told(
            recognised=recognise.recognised(query, fields, legal, clock),
            unknown=recognise.unknown_values(query, fields, legal),
            ambiguous=tuple(
                (field.name, words, span)
                for field in temporal
                for words, span in recognise.ambiguous_times(query, field, clock)
            ),
        )

    def parameters(self, scene: Scene, told: Told, caller: Caller) -> list[ShownParameter]:
        dataset, grant = self.catalog.dataset_of(scene), self.grant(scene, caller)
        return [
            ShownParameter(
                it,
                dataset.by_name[it.name],
                told.recognised[it.name],
                told.unknown.get(it.name, ()),
                legal_values(dataset.by_name[it.name], grant),
            )
            for it in scene.parameters
            if it.name in told.recognised
        ]

    def disclosed(self, scene: Scene, caller: Caller) -> Disclosure:
        return Disclosure(scene.ref, self.grant(scene, caller).fingerprint, scene.api_no)

    def caps(self, caller: Caller) -> Caps:
        return caps_of(self.engine.policies, caller.principal)

    async def standing(
        self, asked: CallArguments | QueryArguments, caller: Caller, *, scene_ref: str | None
    ) -> Scope | None:
        """A `since` alone stands for the query that its evidence came from. None where the arguments say what is asked.

        Raises EvidenceInvalid.
        """
        if asked.since is None or asked.model_fields_set - {*NOT_REPEATED, "since", "api_no"}:
            return None
        evidence = await self.engine.evidence.read(asked.since, caller.principal.id, now=self.wall())
        scope = evidence.scope
        named = asked.api_no if isinstance(asked, QueryArguments) else None
        if scope.noted.get("scene") != scene_ref or (named or scope.query.api_no) != scope.query.api_no:
            raise EvidenceInvalid("otherArguments")
        self.engine.plan_of(scope, caller.principal)
        return scope

    def request(
        self,
        query: DataQuery,
        caller: Caller,
        asked: CallArguments | QueryArguments,
        session: Session | None,
        *,
        noted: Mapping[str, str],
        said_at: datetime | None,
    ) -> Request:
        """`said_at`: where the query was said earlier, in this session or another."""
        held = mapping(session.facts, "snapshots") if session else {}
        return Request(
            query=replace(query, time_budget_ms=asked.time_budget_ms),
            principal=caller.principal,
            now=self.now(self.clock_facts(session), self.engine.datasets.get(query.api_no)),
            owner=f"{caller.principal.id} {session.id if session else ''}",
            bounds=self.bounds,
            page_size=asked.page_size,
            token_budget=asked.token_budget,
            cursor=asked.cursor,
            held={str(digest): str(snapshot_id) for digest, snapshot_id in held.items()},
            since=asked.since,
            asked_at=said_at,
            noted=noted,
        )

    async def answer(self, request: Request, caller: Caller) -> Answer:
        """Within what the caller may still read. Raises QuotaReached, StoreDown and what the engine does."""
        caps = self.caps(caller)
        async with self.quotas.query(caller.principal.id, caps) as left:
            answer = await self.engine.run(replace(request, quota=left), wall=self.wall())
            await self.quotas.spend(caller.principal.id, caps, page_bytes(answer.page))
            return answer


NOT_REPEATED = {"session_id", "cursor", "page_size", "token_budget", "time_budget_ms"}
"""Arguments that belong to one call rather than to the rows that it asks for."""


def repeated(asked: Arguments) -> dict[str, Any]:
    """What a later page asks for again, as JSON."""
    return asked.model_dump(mode="json", exclude=NOT_REPEATED, exclude_none=True)


def language_in(session: Session) -> Language:
    return "zh" if session.facts.get("language") == "zh" else "en"
