"""The product in one file: find a scene, select its fields, call for data. Knows no MCP, no HTTP and no terminal.

Each step takes its arguments and a caller and returns a Reply: what is said, and the facts that the next step needs.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import anyio.to_thread
from opentelemetry import trace

from engine.budget import page_bytes
from engine.dataset import ROW_COUNT, Dataset, Field, Language, language_of
from engine.errors import (
    CursorInvalid,
    EvidenceInvalid,
    InvalidParameter,
    MissingParameter,
    UnknownField,
    UnknownValue,
)
from engine.evidence import Scope
from engine.folding import fold, nearest
from engine.masks import seen_through
from engine.names import Names, legal_values
from engine.permissions import caps_of
from engine.pipeline import Engine, Request
from engine.policy import Caps
from engine.query import Answer, Clock, DataQuery, Grant, PageBounds, Plan
from gateway import continuing
from gateway.arguments import Arguments, CallArguments, FindArguments, QueryArguments, SelectArguments, read
from gateway.audit import AuditLog, Disclosure, disclosure
from gateway.choosing import Choice, Choose
from gateway.errors import (
    InvalidArguments,
    NothingPermitted,
    ParameterNotGiven,
    SessionExpired,
    SessionNotFound,
    StepOutOfOrder,
    UnknownDimension,
    UnknownScene,
)
from gateway.identity import Caller
from gateway.limits import Quotas
from gateway.missing import filled_in, form_of
from gateway.present import answers, matches, selections
from gateway.present.link import links
from gateway.present.scene import ShownParameter
from gateway.questions import Ask
from scene_kb import asked as asked_text
from scene_kb import recognise
from scene_kb.fields import DEFAULT_LIMIT, SelectedFields, asked_groups, select_fields
from scene_kb.models import Candidate, Catalog, Match, Parameter, Scene, SceneCard, Suggestion
from scene_kb.order import suggestion
from scene_kb.resolver import Resolver
from scene_kb.visibility import (
    answering_scenes,
    permitted_fields,
    pinned_scene,
    says_restricted,
    scenes_are_hidden,
    visible_scenes,
)
from sessions.models import Lifetime, Session, new_session_id
from sessions.models import fold as fold_turns
from sessions.stores.base import SessionStore

_tracer = trace.get_tracer("sanbu.steps")


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
class Told:
    """What a query says about a scene's parameters, by name."""

    recognised: Mapping[str, list[object]]
    """Every parameter; an empty list where the query does not speak of it."""
    unknown: Mapping[str, Sequence[str]]
    """What stands where a value would, and is none."""
    ambiguous: tuple[tuple[str, str, Mapping[str, str]], ...]
    """(parameter, the words, the span that they are taken for) of each time that could be another."""

    def facts(self, before: Session | None) -> dict[str, object]:
        """What the session keeps. Facts of an earlier question stay beneath unless something is said in their place."""
        earlier = {*_mapping(before.facts, "recognised"), *_mapping(before.facts, "unknown")} if before else set()
        nothing: dict[str, list[object]] = {name: [] for name in (*self.recognised, *earlier)}
        return {"recognised": {**nothing, **self.recognised}, "unknown": {**nothing, **self.unknown}}


_NOTHING_TOLD = Told({}, {}, ())


@dataclass(frozen=True)
class Steps:
    """One catalog's three steps. Everything is handed in open; nothing here reads settings or the environment."""

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

    # intentRecognition ----------------------------------------------------------------------------------------------

    async def find(self, asked: FindArguments, caller: Caller, *, choose: Choose | None = None) -> Reply:
        """From a task in plain words to a scene. Opens a session unless nothing answers the task.

        `choose`: who is asked where several scenes may fit; without a choice the match stays ambiguous.

        Raises NothingPermitted, UnknownScene, UnknownDimension, SessionNotFound or SessionExpired, and AnswerAwaited
        where `choose` does.
        """
        before = await self._open_session(asked.session_id, caller) if asked.session_id else None
        language = language_of(asked.query)
        pinned = self._clock_facts(before)
        scenes = self.visible_scenes(caller)
        if not scenes and answering_scenes(self.catalog, today=self._now(pinned, None).date()):
            raise NothingPermitted(caller.principal.roles)
        dimensions = self._dimensions(asked.dimensions or caller.dimensions, scenes)
        if asked.scene_id is not None:
            match = matches.pinned_match(self._scene(asked.scene_id, caller, pinned))
        else:
            match = await self._match(asked.query, scenes, dimensions, caller)
        retrieved, choice = match, None
        if choose is not None and match.verdict == "ambiguous":
            choice = await self._choice(asked.query, language, match, choose)
            match = matches.chosen_match(match, choice.ref) if choice.ref else match
        scene = self.catalog.by_ref[match.candidates[0].ref] if match.verdict == "matched" else None
        told = self._told(scene, asked.query, caller, pinned) if scene else _NOTHING_TOLD
        question = _meaning(asked.query, retrieved, told.recognised)
        session_id = before.id if before else new_session_id()
        found = matches.Found(
            query=asked.query,
            language=language,
            match=match,
            scenes={**scenes, **{it.ref: self.catalog.by_ref[it.ref] for it in match.candidates}},
            catalog=self.catalog,
            dimensions=dimensions,
            session_id=session_id,
            seconds=self.lifetime.idle.seconds,
            hidden=scenes_are_hidden(self.catalog, caller.principal),
            repeated=before is not None and question in _mapping(before.facts, "asked"),
            chosen_by=choice.by if choice and choice.ref else None,
        )
        facts: dict[str, object] = {"asked": {question: True}}
        if match.verdict == "no_match":
            return Reply(matches.no_match(found), facts, asked.session_id)
        facts |= {"query": asked.query, "language": language, "clock": pinned, "fields": None, "scene": None}
        if scene is None:
            return Reply(matches.ambiguous(found), facts, session_id)
        chosen, order = await self._select(scene, asked.query, caller, SelectArguments(session_id=session_id))
        facts |= {"scene": scene.ref, **told.facts(before)}
        if match.decisive:
            facts["fields"] = list(chosen.names)
        shown = self._parameters(scene, told, caller)
        seen, granted = self._seen(scene, caller)
        decided = chosen if match.decisive else None
        said = matches.matched(found, scene, seen, granted, shown, order, decided, told.ambiguous)
        return Reply(said, facts, session_id, self._told_of(scene, caller))

    async def _match(
        self, query: str, scenes: Mapping[str, Scene], dimensions: frozenset[str], caller: Caller
    ) -> Match:
        """What retrieval finds, without reasons that name a field which the caller may not see."""
        with _tracer.start_as_current_span("scene_kb.match") as span:
            visible = frozenset(scenes)
            match = await anyio.to_thread.run_sync(
                lambda: self.resolver.match(query, visible=visible, dimensions=dimensions)
            )
            span.set_attributes(matches.match_facts(match))
        return replace(match, candidates=tuple(self._explained(it, caller) for it in match.candidates))

    def _explained(self, candidate: Candidate, caller: Caller) -> Candidate:
        seen = self._grant(self.catalog.by_ref[candidate.ref], caller).fields
        why = tuple(it for it in candidate.why if it.kind not in ("field", "metric") or it.text in seen)
        return replace(candidate, why=why)

    async def _choice(self, query: str, language: Language, match: Match, choose: Choose) -> Choice:
        """What became of the question: the trace says who was asked, and with which outcome."""
        with _tracer.start_as_current_span("gateway.choose") as span:
            choice = await choose(matches.question(query, language, match, self.catalog))
            span.set_attributes({"by": choice.by, "outcome": choice.outcome, "scene": choice.ref or ""})
            return choice

    def _dimensions(self, wanted: tuple[str, ...], scenes: Mapping[str, Scene]) -> frozenset[str]:
        """Names or what people call them, to the catalog's dimension names. Raises UnknownDimension."""
        legal = sorted({name for scene in scenes.values() for name in scene.dimensions})
        spoken = {name: self.catalog.dimension_names(name) for name in legal}
        known = {fold(called): name for name in reversed(legal) for called in (*spoken[name], name)}
        for name in wanted:
            if fold(name) not in known:
                raise UnknownDimension(name, nearest(name, spoken))
        return frozenset(known[fold(name)] for name in wanted)

    # fieldSelection -------------------------------------------------------------------------------------------------

    async def select(self, asked: SelectArguments, caller: Caller) -> Reply:
        """The few of the scene's fields that the task needs; with sceneId also the choice among alternatives.

        Raises SessionNotFound, SessionExpired, StepOutOfOrder, UnknownScene or UnknownField.
        """
        session = await self._open_session(asked.session_id, caller)
        pinned = self._clock_facts(session)
        scene = (
            self._scene(asked.scene_id, caller, pinned)
            if asked.scene_id
            else self._chosen_scene(session, caller, "fieldSelection")
        )
        query = str(session.facts["query"])
        chosen, order = await self._select(scene, asked.task or query, caller, asked)
        told = self._told(scene, query, caller, pinned)
        shown = self._parameters(scene, told, caller) if asked.scene_id else ()
        seen, granted = self._seen(scene, caller)
        said = selections.selected(
            scene,
            seen,
            chosen,
            granted,
            _language(session),
            shown,
            order,
            told.ambiguous if asked.scene_id else (),
        )
        facts = {
            "scene": scene.ref,
            **told.facts(session),
            "fields": list(chosen.names),
        }
        return Reply(said, facts, session.id, self._told_of(scene, caller))

    async def _select(
        self, scene: Scene, task: str, caller: Caller, asked: SelectArguments
    ) -> tuple[SelectedFields, Suggestion]:
        """The fields, and how the task wants rows ordered and cut.

        Raises UnknownField for a name in include or exclude that is hidden or absent.
        """
        card, dataset, grant = self.cards[scene.ref], self.catalog.dataset_of(scene), self._grant(scene, caller)
        permitted = permitted_fields(scene, self.catalog, grant)
        names = Names(dataset, tuple(permitted), grant)
        include, exclude = names.listed(asked.include or (), "include"), names.listed(asked.exclude or (), "exclude")
        groups = {*scene.grain_fields, *asked_groups(card, task), *include}
        offered = frozenset(name for name in permitted if name in include or _computable(dataset.by_name[name], groups))
        # A pinned version may not be the one that is found; its own statistics count all the same.
        visible = frozenset({scene.ref, *self.visible_scenes(caller)})
        with _tracer.start_as_current_span("scene_kb.fields") as span:
            ranked = await anyio.to_thread.run_sync(
                lambda: self.resolver.rank_fields(task, scene.ref, visible=visible, permitted=offered)
            )
            limit = asked.limit or DEFAULT_LIMIT
            selected = select_fields(card, ranked, task=task, include=include, exclude=exclude, limit=limit)
            span.set_attributes(selections.selection_facts(selected, ranked))
            left_out = len(permitted) - len(set(selected.names).intersection(permitted))
            order = suggestion(scene, dataset, task, ranked)
            sorted_by = tuple(it for it in order.order_by if _sorts(it, names))
            return replace(selected, not_relevant=left_out), Suggestion(order_by=sorted_by, limit=order.limit)

    # apiCall --------------------------------------------------------------------------------------------------------

    async def call(self, asked: CallArguments, caller: Caller, *, ask: Ask | None = None) -> Reply:
        """The data of the session's scene. What the query said about parameters holds unless told otherwise.

        `ask`: how the person is asked for required filters that are absent; what they give holds for the session.

        Raises SessionNotFound, SessionExpired, StepOutOfOrder, ParameterNotGiven, QuotaReached and every EngineError,
        and AnswerAwaited where `ask` does.
        """
        try:
            return await self._call(asked, caller)
        except MissingParameter as missing:
            given = await self._given_by_person(missing.names, asked, caller, ask)
        reply = await self._call(asked.model_copy(update={"filters": {**(asked.filters or {}), **given}}), caller)
        return replace(reply, facts={**reply.facts, "recognised": {name: [value] for name, value in given.items()}})

    async def _call(self, asked: CallArguments, caller: Caller) -> Reply:
        """Raises what `call` does, and MissingParameter."""
        session = await self._open_session(asked.session_id, caller)
        scene = self._chosen_scene(session, caller, "apiCall")
        dataset = self.catalog.dataset_of(scene)
        asked = self._continued(asked, session)
        standing = await self._standing(asked, caller, scene_ref=scene.ref)
        defaulted: dict[str, object] = {}
        withheld: tuple[str, ...] = ()
        if standing is not None:
            query = standing.query
        else:
            self._refuse_unknown_values(dataset, session, asked, caller)
            filters, defaulted = self._filters(scene, session, asked, caller)
            fields = asked.fields or _names(session.facts.get("fields"))
            if not fields:
                fields, withheld = self._default_fields(scene, caller)
            query = DataQuery(
                api_no=scene.api_no,
                filters=filters,
                fields=fields,
                group_by=asked.group_by,
                grain=scene.grain,
                order_by=asked.order_by or (),
                limit=asked.limit,
                limit_per_group=asked.limit_per_group,
                within=scene.field_names(dataset),
                max_days=_max_days(scene, dataset),
            )
        language = _language(session)
        noted = {"scene": scene.ref, "language": language}
        said_at = standing.clock if standing else None
        request = self._request(query, caller, asked, session, noted=noted, said_at=said_at)
        answer = await self._answer(request, caller)
        said = answers.called(answer, language, scene=scene, defaulted=defaulted, withheld=withheld)
        said |= links(answer, caller.reached_at)
        facts: dict[str, object] = {"calls": {answer.snapshot.id: _repeated(asked)}}
        if asked.since is None:  # what changed is no answer to the query without since
            facts["snapshots"] = {answer.digest: answer.snapshot.id}
        return Reply(said, facts, session.id, disclosure(answer, scene.ref))

    async def _answer(self, request: Request, caller: Caller) -> Answer:
        """Within what the caller may still read. Raises QuotaReached, StoreDown and what the engine does."""
        caps = self.caps(caller)
        async with self.quotas.query(caller.principal.id, caps) as left:
            answer = await self.engine.run(replace(request, quota=left), wall=self.wall())
            await self.quotas.spend(caller.principal.id, caps, page_bytes(answer.page))
            return answer

    def caps(self, caller: Caller) -> Caps:
        return caps_of(self.engine.policies, caller.principal)

    def _default_fields(self, scene: Scene, caller: Caller) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(what the scene shows by default, what of it the caller may not see and may be told of)"""
        permitted = {ROW_COUNT, *permitted_fields(scene, self.catalog, self._grant(scene, caller))}
        shown = tuple(name for name in scene.fields.default if name.partition(":")[0] in permitted)
        told = says_restricted(self.catalog, caller.principal)
        return shown or (ROW_COUNT,), tuple(name for name in scene.fields.default if name not in shown) if told else ()

    async def _standing(
        self, asked: CallArguments | QueryArguments, caller: Caller, *, scene_ref: str | None
    ) -> Scope | None:
        """A `since` alone stands for the query that its evidence came from. None where the arguments say what is asked.

        Raises EvidenceInvalid.
        """
        if asked.since is None or asked.model_fields_set - {*_NOT_REPEATED, "since", "api_no"}:
            return None
        evidence = await self.engine.evidence.read(asked.since, caller.principal.id, now=self.wall())
        scope = evidence.scope
        named = asked.api_no if isinstance(asked, QueryArguments) else None
        if scope.noted.get("scene") != scene_ref or (named or scope.query.api_no) != scope.query.api_no:
            raise EvidenceInvalid("otherArguments")
        self.engine.plan_of(scope, caller.principal)
        return scope

    def _continued(self, asked: CallArguments, session: Session) -> CallArguments:
        """A cursor alone stands for the arguments that it came from."""
        if asked.cursor is None or asked.model_fields_set - {"session_id", "cursor", "page_size", "token_budget"}:
            return asked
        snapshot_id = self.engine.cursors.position(asked.cursor).snapshot_id
        before = _mapping(session.facts, "calls").get(snapshot_id)
        if not isinstance(before, Mapping):
            raise CursorInvalid("otherCaller")
        return asked.model_copy(
            update=CallArguments.model_validate({**before, "sessionId": session.id}).model_dump(
                exclude={"session_id", *_NOT_REPEATED}, exclude_unset=True
            )
        )

    def _refuse_unknown_values(self, dataset: Dataset, session: Session, asked: CallArguments, caller: Caller) -> None:
        """Raises UnknownValue where the query names a value that does not exist, and no filter says what is meant.

        An answer over all values would look like one about the value that was named.
        """
        for name, codes in _mapping(session.facts, "unknown").items():
            if codes and name not in (asked.filters or {}):
                legal = legal_values(dataset.by_name[name], self.engine.grant(dataset.api_no, caller.principal))
                by_value = {str(value.value): value.names() for value in legal}
                raise UnknownValue(name, codes[0], nearest(str(codes[0]), by_value))

    async def _given_by_person(
        self, names: tuple[str, ...], asked: CallArguments, caller: Caller, ask: Ask | None
    ) -> dict[str, object]:
        """A filter for each of the names; the trace says what became of the question. Raises ParameterNotGiven."""
        session = await self._open_session(asked.session_id, caller)
        scene = self._chosen_scene(session, caller, "apiCall")
        form = form_of(scene, self._lacking(names, scene, caller), _language(session))
        if ask is None:
            raise ParameterNotGiven(names, None, form)
        with _tracer.start_as_current_span("gateway.ask") as span:
            response = await ask(form)
            span.set_attributes({"by": "person", "outcome": response.outcome, "names": names})
        given = filled_in(form, response.filled)
        if absent := tuple(name for name in names if name not in given):
            unwilling = response.outcome in ("declined", "cancelled")
            raise ParameterNotGiven(absent, response.outcome, None if unwilling else form)
        return given

    def _lacking(self, names: tuple[str, ...], scene: Scene, caller: Caller) -> list[ShownParameter]:
        """A comparison may need the time column where the scene does not."""
        dataset, grant = self.catalog.dataset_of(scene), self._grant(scene, caller)
        known = {it.name: it for it in scene.parameters}
        fields = [dataset.by_name[name] for name in names if grant.allows(name, "filters")]
        return [
            ShownParameter(known.get(it.name, Parameter(name=it.name)), it, (), (), legal_values(it, grant))
            for it in fields
        ]

    def _filters(
        self, scene: Scene, session: Session, asked: CallArguments, caller: Caller
    ) -> tuple[dict[str, object], dict[str, object]]:
        """(all filters, those of them that are defaults). Raises MissingParameter with every name at once."""
        told = {name: values for name, values in _mapping(session.facts, "recognised").items() if values}
        given: Mapping[str, object] = asked.filters or {}
        grant = self._grant(scene, caller)
        known = [it for it in scene.parameters if grant.allows(it.name, "filters")]
        unsaid = [it for it in known if it.name not in given and it.name not in told]
        defaults: dict[str, object] = {it.name: it.default for it in unsaid if it.default is not None}
        filters = {name: value for name, value in {**defaults, **told, **given}.items() if value is not None}
        missing = tuple(it.name for it in scene.parameters if it.required and it.name not in filters)
        if missing:
            raise MissingParameter(missing)
        return filters, defaults

    def visible_dimensions(self, caller: Caller) -> tuple[str, ...]:
        """The dimensions of the scenes that the caller may see, the most frequent first. Touches no store."""
        scenes = self.visible_scenes(caller)
        counts = Counter(name for scene in scenes.values() for name in scene.dimensions)
        return tuple(name for name, _ in sorted(counts.items(), key=lambda it: (-it[1], it[0])))

    async def query(self, asked: QueryArguments, caller: Caller) -> Reply:
        """A person's query on a dataset: the same engine under the same permissions, without scene or session.

        Raises InvalidArguments without a dataset, QuotaReached, and every EngineError.
        """
        asked, said_at = _as_begun(asked)
        standing = await self._standing(asked, caller, scene_ref=None)
        request = self._person_request(asked, caller, standing, said_at)
        answer = await self._answer(request, caller)
        told = disclosure(answer, None)
        answer = continuing.carrying(answer, continuing.Begun(_repeated(asked), said_at or request.now))
        said = answers.called(answer, _spoken(asked, standing))
        return Reply(said | links(answer, caller.reached_at), {}, None, told)

    def explain(self, asked: QueryArguments, caller: Caller) -> Plan:
        """What a person's query would run, without running it.

        Raises InvalidArguments without a dataset, and every EngineError that comes before a store.
        """
        return self.engine.explain(self._person_request(asked, caller))

    def _person_request(
        self,
        asked: QueryArguments,
        caller: Caller,
        standing: Scope | None = None,
        said_at: datetime | None = None,
    ) -> Request:
        noted = {"language": _spoken(asked, standing)}
        if standing is not None:
            return self._request(standing.query, caller, asked, None, noted=noted, said_at=standing.clock)
        if asked.api_no is None:
            raise InvalidArguments("apiNo", None, "missing")
        query = DataQuery(
            api_no=asked.api_no,
            filters={name: value for name, value in (asked.filters or {}).items() if value is not None},
            fields=asked.fields or (),
            group_by=asked.group_by,
            order_by=asked.order_by or (),
            limit=asked.limit,
            limit_per_group=asked.limit_per_group,
        )
        return self._request(query, caller, asked, None, noted=noted, said_at=said_at)

    def _request(
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
        held = _mapping(session.facts, "snapshots") if session else {}
        return Request(
            query=replace(query, time_budget_ms=asked.time_budget_ms),
            principal=caller.principal,
            now=self._now(self._clock_facts(session), self.engine.datasets.get(query.api_no)),
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

    # What the steps share -------------------------------------------------------------------------------------------

    async def _open_session(self, session_id: str, caller: Caller) -> Session:
        """Raises SessionNotFound for an unknown session and for another caller's alike, and SessionExpired."""
        session = fold_turns(await self.sessions.turns(session_id))
        if session is None or session.owner != caller.principal.id or "clock" not in session.facts:
            raise SessionNotFound(session_id)
        if session.has_expired(self.wall(), self.lifetime):
            raise SessionExpired(session_id, self.lifetime.idle.seconds)
        return session

    def visible_scenes(self, caller: Caller) -> Mapping[str, Scene]:
        """By ref: what the caller may find today. Touches no store."""
        today = self._now(self._clock_facts(None), None).date()
        return visible_scenes(self.catalog, caller.principal, today=today, granting=self.engine.grant)

    def _scene(self, name: str, caller: Caller, pinned: Mapping[str, object]) -> Scene:
        """Raises UnknownScene."""
        today = self._now(pinned, None).date()
        scene = pinned_scene(self.catalog, caller.principal, name, today=today, granting=self.engine.grant)
        if scene is None:
            seen = self.visible_scenes(caller)
            raise UnknownScene(name, nearest(name, {it.scene_id: it.title.every() for it in seen.values()}))
        return scene

    def _chosen_scene(self, session: Session, caller: Caller, step: str) -> Scene:
        """The version that the session pinned. Raises StepOutOfOrder where nothing was chosen yet."""
        ref = session.facts.get("scene")
        if ref is None:
            raise StepOutOfOrder(step, "fieldSelection")
        return self._scene(str(ref), caller, self._clock_facts(session))

    def _told_of(self, scene: Scene, caller: Caller) -> Disclosure:
        return Disclosure(scene.ref, self._grant(scene, caller).fingerprint, scene.api_no)

    def _grant(self, scene: Scene, caller: Caller) -> Grant:
        return self.engine.grant(scene.api_no, caller.principal)

    def _seen(self, scene: Scene, caller: Caller) -> tuple[Dataset, Grant]:
        """The scene's dataset as the caller sees it, and the Grant by which that is so."""
        grant = self._grant(scene, caller)
        return seen_through(self.catalog.dataset_of(scene), grant.masks), grant

    def _told(self, scene: Scene, query: str, caller: Caller, pinned: Mapping[str, object]) -> Told:
        dataset, grant = self.catalog.dataset_of(scene), self._grant(scene, caller)
        fields = {it.name: dataset.by_name[it.name] for it in scene.parameters if grant.allows(it.name, "filters")}
        legal = {name: legal_values(field, grant) for name, field in fields.items()}
        clock = Clock(self._now(pinned, dataset), dataset.zone, dataset.week_start, dataset.fiscal_year)
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

    def _parameters(self, scene: Scene, told: Told, caller: Caller) -> list[ShownParameter]:
        dataset, grant = self.catalog.dataset_of(scene), self._grant(scene, caller)
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

    def _clock_facts(self, session: Session | None) -> Mapping[str, object]:
        """The session's clock, or a new one: one now for all of its steps, past midnight and through retries."""
        if session is not None:
            return _mapping(session.facts, "clock")
        fixed = self.fixed_now is not None
        return {"now": (self.fixed_now or self.wall()).isoformat(), "fixed": fixed}

    def _now(self, pinned: Mapping[str, object], dataset: Dataset | None) -> datetime:
        if dataset is not None and dataset.clock is not None and not pinned["fixed"]:
            return dataset.clock
        return datetime.fromisoformat(str(pinned["now"]))


def _meaning(query: str, match: Match, told: Mapping[str, object]) -> str:
    """What two questions have in common that ask for the same."""
    if match.verdict == "matched":
        return f"{match.candidates[0].ref} {sorted(told.items())}"
    if match.verdict == "ambiguous":
        return " ".join(sorted(it.ref for it in match.candidates[: matches.ALTERNATIVES]))
    return " ".join(sorted(asked_text.read(query).tokens))


_NOT_REPEATED = {"session_id", "cursor", "page_size", "token_budget", "time_budget_ms"}
"""Arguments that belong to one call rather than to the rows that it asks for."""


def _repeated(asked: Arguments) -> dict[str, Any]:
    """What a later page asks for again, as JSON."""
    return asked.model_dump(mode="json", exclude=_NOT_REPEATED, exclude_none=True)


def _as_begun(asked: QueryArguments) -> tuple[QueryArguments, datetime | None]:
    """A cursor alone stands for the query that it came from, and for when that was said; beside a query it must fit it.

    Raises CursorInvalid.
    """
    if asked.cursor is None:
        return asked, None
    own = {"cursor": continuing.own_cursor(asked.cursor)}
    if asked.model_fields_set - _NOT_REPEATED:
        return asked.model_copy(update=own), None
    begun = continuing.begun(asked.cursor)
    try:
        given = read(QueryArguments, {**begun.arguments, **asked.model_dump(exclude_none=True), **own})
    except InvalidArguments as error:
        raise CursorInvalid("altered") from error
    return given, begun.said_at


def _spoken(asked: QueryArguments, standing: Scope | None) -> Language:
    if standing is not None:
        return "zh" if standing.noted.get("language") == "zh" else "en"
    return language_of(str(asked.filters or ""))


def _computable(field: Field, groups: Collection[str]) -> bool:
    """A share within something needs that something among the groups."""
    return field.share is None or set(field.share.within) <= set(groups)


def _mapping(facts: Mapping[str, object], key: str) -> Mapping[str, Any]:
    value = facts.get(key)
    return value if isinstance(value, Mapping) else {}


def _sorts(key: str, names: Names) -> bool:
    """Whether the caller may sort so: a scene suggests what its curator sees."""
    try:
        names.column(key.removeprefix("-"), "orderBy")
    except (UnknownField, InvalidParameter):
        return False
    return True


def _names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _language(session: Session) -> Language:
    return "zh" if session.facts.get("language") == "zh" else "en"


def _max_days(scene: Scene, dataset: Dataset) -> int | None:
    return next((it.max_days for it in scene.parameters if it.name == dataset.time_column), None)
