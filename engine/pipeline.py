"""Engine.run: one straight line from a query to an answer.

authorize ▶ resolve and normalise ▶ route ▶ compile ▶ (snapshot hit, or fetch and freeze) ▶ page ▶ assess
"""

import hashlib
import json
from collections.abc import Hashable, Mapping, MutableMapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta
from time import monotonic

import anyio
from cachetools import LRUCache
from opentelemetry import trace

from engine.backends.base import Backend
from engine.budget import cut_page, within_quota
from engine.changes import frozen
from engine.compile import Target, Texts, compile_query, compile_unsorted
from engine.completeness import assess
from engine.cursors import Binding, Cursors, Position
from engine.dataset import Dataset
from engine.deadline import Deadline
from engine.encode import encode_rows, wire_value
from engine.errors import (
    CursorInvalid,
    EngineError,
    EvidenceInvalid,
    InvalidParameter,
    LimitExceeded,
    SourceUnavailable,
    UnknownDataset,
)
from engine.evidence import EvidenceBook, Scope
from engine.freeze import Ages, freeze, partial_key, still_says
from engine.ledger import ledger_of, missing_key
from engine.permissions import authorize
from engine.policy import Policies, Principal
from engine.query import Answer, ByteQuota, Clock, DataQuery, Grant, Note, PageBounds, Plan, Snapshot, columns_of
from engine.resolve import resolve
from engine.reuse import data_version, reads_through
from engine.route import route
from engine.snapshots.base import SingleFlight, SnapshotStore

_tracer = trace.get_tracer("sanbu.engine")

_KEPT_TEXTS = 1024  # shapes; a text is one to ten KB
_SILENT_RETRY_S = 30
_KEPT_GRANTS = 1024  # principals times datasets; a Grant over 300 fields is about 20 KB


@dataclass(frozen=True)
class Request:
    """A query with all that is not the query: who asks, when, and which part of the answer."""

    query: DataQuery
    principal: Principal
    now: datetime
    """The caller's pinned clock: what 昨天 is counted from."""
    owner: str
    """Caller and session in one text; cursors are bound to it."""
    bounds: PageBounds
    """What a page holds where the caller does not say."""
    quota: ByteQuota | None = None
    """What the caller may still be handed out; None: any number of bytes."""
    page_size: int | None = None
    token_budget: int | None = None
    cursor: str | None = None
    held: Mapping[str, str] = field(default_factory=dict)
    """Snapshot ids that the caller's session already holds, by statement digest."""
    since: str | None = None
    """Evidence of the same query: only what changed since is wanted, read afresh."""
    asked_at: datetime | None = None
    """Where the query was said earlier: what its words for times are counted from, instead of `now`."""
    noted: Mapping[str, str] = field(default_factory=dict)
    """Kept in the evidence for whoever reads it."""


@dataclass(frozen=True)
class Engine:
    """The datasets behind one set of policies. Opens nothing: backends and stores are handed in."""

    datasets: Mapping[str, Dataset]
    policies: Policies
    backends: Mapping[str, Backend]
    """By source url."""
    snapshots: SnapshotStore
    cursors: Cursors
    evidence: EvidenceBook
    flights: SingleFlight = field(default_factory=SingleFlight)
    ages: Ages = field(default_factory=Ages)
    texts: Texts = field(default_factory=lambda: LRUCache(_KEPT_TEXTS))
    grants: MutableMapping[Hashable, tuple[Policies, Dataset, Grant]] = field(
        default_factory=lambda: LRUCache(_KEPT_GRANTS)
    )
    """What `authorize` said before, and of what: a millisecond for 300 fields."""

    def grant(self, api_no: str, principal: Principal) -> Grant:
        """Raises UnknownDataset."""
        if api_no not in self.datasets:
            raise UnknownDataset(api_no)
        key = (api_no, principal.id, principal.roles, tuple(sorted(principal.attributes.items())))
        dataset = self.datasets[api_no]
        policies, of, grant = self.grants.get(key, (None, None, None))
        if grant is None or policies is not self.policies or of is not dataset:
            grant = authorize(self.policies, dataset, principal)
            self.grants[key] = (self.policies, dataset, grant)
        return grant

    def explain(self, request: Request) -> Plan:
        """What the request would run, and where, without touching a store.

        Raises UnknownDataset, UnknownField, UnknownValue, InvalidParameter or LimitExceeded.
        """
        query = request.query
        grant = self.grant(query.api_no, request.principal)
        dataset = self.datasets[query.api_no]
        resolved = resolve(query, dataset, grant, clock=_clock(_said_at(request), dataset))
        chosen = route(resolved)
        backend = self.backends[chosen.source.url]
        row_cap = grant.caps.rows if query.limit is None else min(query.limit, grant.caps.rows)
        target = Target(backend.relation(chosen.source.table), backend.dialect)
        statement = compile_query(resolved, grant, target, row_cap=row_cap + 1, texts=self.texts)
        unsorted = None
        if not (resolved.grouped or resolved.order or resolved.limit):
            unsorted = compile_unsorted(resolved, grant, target, texts=self.texts)
        return Plan(resolved, grant, chosen.source, chosen.reason, statement, unsorted, row_cap)

    async def run(self, request: Request, *, wall: datetime) -> Answer:
        """The page that was asked for. `wall` is the real time, by which snapshots age.

        Raises what `explain` raises, and TimeBudgetExceeded, SourceUnavailable, Busy, CursorInvalid or EvidenceInvalid.
        """
        started = monotonic()
        with _tracer.start_as_current_span("engine.plan") as span:
            plan = self.explain(request)
            span.set_attributes(_plan_facts(plan))
        digest = statement_digest(plan)
        binding = Binding(request.owner, f"{digest}{request.since or ''}", plan.grant.fingerprint)
        scope = _scope(request, plan, digest)
        deadline = _deadline(request.query, plan.grant, started)
        with _tracer.start_as_current_span("engine.rows") as span:
            if request.since is None or request.cursor is not None:
                snapshot, hit, offset = await self._rows(request, plan, binding, deadline, wall)
            else:
                snapshot = await self._changes(request.since, request, plan, scope, deadline, wall)
                hit, offset = False, 0
            snapshot = _as_seen(snapshot, plan)
            span.set_attributes(_snapshot_facts(snapshot, hit))
        zone = plan.resolved.dataset.zone
        columns = columns_of(snapshot, plan.resolved)
        bounds = _page_bounds(request, plan.grant)
        rows, notes = encode_rows(snapshot.rows.slice(offset, bounds.rows), columns, zone=zone)
        page = cut_page(rows, columns, offset=offset, total=snapshot.rows.num_rows, bounds=bounds)
        page, over = (page, None) if request.quota is None else within_quota(page, request.quota)
        cursor = None
        if page.next_offset is not None:
            cursor = self.cursors.write(Position(snapshot.id, page.next_offset), binding)
        return Answer(
            plan=plan,
            digest=digest,
            snapshot=snapshot,
            snapshot_hit=hit,
            page=page,
            completeness=assess(plan, snapshot, page, cursor=cursor, over=over),
            evidence=await self._evidence(snapshot, plan, scope, named=offset + len(page.rows)),
            notes=(
                *_cap_notes(request, plan.grant),
                *plan.resolved.notes,
                *_age_notes(plan.resolved.dataset, snapshot, request.now),
                *notes,
                *page.notes,
            ),
        )

    def plan_of(self, scope: Scope, principal: Principal) -> Plan:
        """The plan of what was asked then, for whoever asked it, as it is today.

        Raises EvidenceInvalid: permissionChanged, or definitionChanged where the same query is another statement now.
        """
        try:
            if self.grant(scope.query.api_no, principal).fingerprint != scope.grant:
                raise EvidenceInvalid("permissionChanged")
        except UnknownDataset as gone:
            raise EvidenceInvalid("permissionChanged") from gone
        try:
            plan = self.explain(Request(scope.query, principal, scope.clock, owner="", bounds=PageBounds()))
        except EngineError as changed:
            raise EvidenceInvalid("definitionChanged") from changed
        if statement_digest(plan) != scope.statement:
            raise EvidenceInvalid("definitionChanged")
        return plan

    async def read_again(self, plan: Plan, *, wall: datetime, deadline: Deadline | None = None) -> Snapshot:
        """The plan's rows as they are now, up to the caps. Raises TimeBudgetExceeded, SourceUnavailable or Busy."""
        caps = plan.grant.caps
        deadline = deadline or Deadline(caps.time_ms, caps.time_ms, monotonic() + caps.time_ms / 1000)
        backend = self.backends[plan.source.url]
        version = await _version(plan, backend, deadline)
        key = snapshot_key(plan, version)

        async def fetch() -> Snapshot:
            whole = replace(plan, unsorted=None)
            fresh = await freeze(whole, key, backend, self.ages, version=version, deadline=deadline, wall=wall)
            await self.snapshots.keep(fresh)
            return fresh

        return _as_seen(await self.flights.run(f"{partial_key(key, deadline.budget_ms)} again", fetch), plan)

    async def _changes(
        self, since: str, request: Request, plan: Plan, scope: Scope, deadline: Deadline, wall: datetime
    ) -> Snapshot:
        """What changed since the evidence, read afresh.

        Raises LimitExceeded where there are more rows than may be read: one that is not among the first of them is not
        gone for that.
        """
        evidence = await self.evidence.read(since, request.principal.id, now=wall)
        if evidence.scope.grant != scope.grant:
            raise EvidenceInvalid("permissionChanged")
        if evidence.scope.statement != scope.statement:
            raise EvidenceInvalid("otherArguments")
        if missing := missing_key(plan.resolved):
            raise InvalidParameter("since", list(request.query.fields), "needsKey", missing)
        fresh = await self.read_again(plan, wall=wall, deadline=deadline)
        if fresh.cut_by is not None:
            limit = plan.grant.caps.rows if fresh.cut_by == "rows" else plan.grant.caps.bytes
            raise LimitExceeded("since", fresh.total_rows or fresh.rows.num_rows + 1, limit)
        changes = await frozen(evidence, fresh, plan.resolved, self.evidence, scope)
        await self.snapshots.keep(changes)
        return changes

    async def _evidence(self, snapshot: Snapshot, plan: Plan, scope: Scope, *, named: int) -> str:
        """For the pages that have named so many of the snapshot's rows."""
        if snapshot.since is not None:
            return self.evidence.token(snapshot.since.evidence, snapshot.since.unchanged + named)
        kept = self.evidence.known(snapshot, scope)
        if kept is None:
            kept = await self.evidence.keep(snapshot, ledger_of(snapshot.rows, plan.resolved), scope)
        return self.evidence.token(kept, named)

    async def _rows(
        self, request: Request, plan: Plan, binding: Binding, deadline: Deadline, wall: datetime
    ) -> tuple[Snapshot, bool, int]:
        """(the frozen rows, whether they were frozen before, the page's first row).

        A cursor and a pinned snapshot read stored rows alone; otherwise a young enough snapshot of the same data does.
        """
        if request.cursor is not None:
            position = self.cursors.read(request.cursor, binding)
            frozen = await self.snapshots.load(position.snapshot_id, now=wall)
            if frozen is None:
                raise CursorInvalid("expired")
            return frozen, True, position.offset
        budget_ms = deadline.budget_ms
        if held := request.held.get(binding.arguments):
            pinned = await self.snapshots.load(held, now=wall)
            if pinned is not None and still_says(pinned, budget_ms=budget_ms, wall=wall):
                return pinned, True, 0
        backend = self.backends[plan.source.url]
        version = await _version(plan, backend, deadline)
        key = snapshot_key(plan, version)
        if not reads_through(plan, request.now):
            reusable = await self._reusable(key, plan, budget_ms, wall)
            if reusable is not None:
                return reusable, True, 0

        async def fetch() -> Snapshot:
            fresh = await freeze(plan, key, backend, self.ages, version=version, deadline=deadline, wall=wall)
            await self.snapshots.keep(fresh)
            return fresh

        # By budget, too: nobody waits longer than asked, nor takes what a shorter time left unread.
        return await self.flights.run(partial_key(key, budget_ms), fetch), False, 0

    async def _reusable(self, key: str, plan: Plan, budget_ms: int, wall: datetime) -> Snapshot | None:
        """A young enough snapshot: of all rows, or of those that this very budget sufficed for."""
        oldest = wall - timedelta(seconds=plan.resolved.dataset.freshness.reuse_seconds)
        keys = (key,) if plan.unsorted is None else (key, partial_key(key, budget_ms))
        for each in keys:
            found = await self.snapshots.newest(each, not_before=oldest, now=wall)
            if found is not None and still_says(found, budget_ms=budget_ms, wall=wall):
                return found
        return None


async def _version(plan: Plan, backend: Backend, deadline: Deadline) -> str:
    """Raises SourceUnavailable, also where the store stays silent for all of the time."""
    with anyio.move_on_after(deadline.left_s()):
        return await data_version(plan, backend, deadline)
    raise SourceUnavailable(plan.source.name, retry_after_s=_SILENT_RETRY_S, detail="no answer within the time budget")


def _said_at(request: Request) -> datetime:
    return request.asked_at or request.now


def _scope(request: Request, plan: Plan, digest: str) -> Scope:
    query = replace(request.query, time_budget_ms=None)  # how long it may take is no part of what is asked
    return Scope(query, _said_at(request), digest, request.principal.id, plan.grant.fingerprint, request.noted)


def _clock(now: datetime, dataset: Dataset) -> Clock:
    return Clock(now, dataset.zone, dataset.week_start, dataset.fiscal_year)


def _as_seen(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """Without what tells of a time column that the caller may not see: it may have been frozen for another."""
    time_column = plan.resolved.dataset.time_column
    if time_column is None or time_column in plan.grant.fields:
        return snapshot
    empty = None if snapshot.empty is None else replace(snapshot.empty, first=None, last=None)
    return replace(snapshot, data_as_of=None, data_since=None, empty=empty)


def statement_digest(plan: Plan) -> str:
    """What is asked under which row rules, whatever words it came in and whatever the data holds now."""
    caps = (plan.row_cap, plan.grant.caps.bytes)
    parts = [plan.resolved.dataset.api_no, plan.source.name, plan.statement.sql, plan.statement.parameters, caps]
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def snapshot_key(plan: Plan, version: str) -> str:
    """What the frozen rows depend on and nothing else: the statement, and the version of the data."""
    return f"{statement_digest(plan)}:{version}"


def _deadline(query: DataQuery, grant: Grant, started: float) -> Deadline:
    budget_ms = min(query.time_budget_ms or grant.caps.time_ms, grant.caps.time_ms)
    return Deadline(budget_ms, grant.caps.time_ms, started + budget_ms / 1000)


def _page_bounds(request: Request, grant: Grant) -> PageBounds:
    caps, default = grant.caps, request.bounds
    return PageBounds(
        rows=min(request.page_size or default.rows, caps.page_rows),
        bytes=default.bytes,
        tokens=min(request.token_budget or default.tokens, caps.page_tokens),
    )


def _cap_notes(request: Request, grant: Grant) -> tuple[Note, ...]:
    """Every argument that a cap of the role cut, with what was asked and what is obeyed."""
    query, caps = request.query, grant.caps
    asked = (
        ("limit", query.limit, caps.rows),
        ("pageSize", request.page_size, caps.page_rows),
        ("timeBudgetMs", query.time_budget_ms, caps.time_ms),
        ("tokenBudget", request.token_budget, caps.page_tokens),
    )
    return tuple(
        Note("LIMIT_APPLIED", argument, received=value, used=cap)
        for argument, value, cap in asked
        if value and value > cap
    )


def _age_notes(dataset: Dataset, snapshot: Snapshot, now: datetime) -> tuple[Note, ...]:
    """STALE_DATA where the latest row is older than the dataset allows. A day counts until its end."""
    as_of, allowed = snapshot.data_as_of, dataset.freshness.late_after_hours
    if as_of is None or allowed is None:
        return ()
    if isinstance(as_of, datetime):
        moment = as_of if as_of.tzinfo else as_of.replace(tzinfo=dataset.zone)
    else:
        moment = datetime.combine(as_of + timedelta(days=1), time(), tzinfo=dataset.zone)
    if now.astimezone(UTC) - moment.astimezone(UTC) <= timedelta(hours=allowed):
        return ()
    return (Note("STALE_DATA", snapshot.source, used=wire_value(as_of, dataset.zone), owner=dataset.owner),)


def _plan_facts(plan: Plan) -> dict[str, str]:
    return {
        "grant": plan.grant.fingerprint,
        "principal": plan.grant.principal_id,
        "source": plan.source.name,
        "route": plan.route_reason,
        "sql": plan.statement.sql,
        "parameters": json.dumps(plan.statement.told, ensure_ascii=False, default=str),
    }


def _snapshot_facts(snapshot: Snapshot, hit: bool) -> dict[str, str | int | bool]:
    return {"snapshot": snapshot.id, "hit": hit, "rows": snapshot.rows.num_rows, "bytes": snapshot.rows.nbytes}
