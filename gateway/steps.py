"""The three steps: find a scene, select its fields, call for data. Knows no MCP, no HTTP and no terminal.

Each step takes its arguments and a caller and returns a Reply: what is said, and the facts that the next step needs.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import anyio.to_thread
from opentelemetry import trace

from engine.dataset import ROW_COUNT, Dataset, Field, Language, language_of
from engine.errors import (
    CursorInvalid,
    InvalidParameter,
    MissingParameter,
    UnknownField,
    UnknownValue,
)
from engine.folding import fold, nearest
from engine.names import Names, legal_values
from engine.query import DataQuery
from gateway.arguments import CallArguments, FindArguments, SelectArguments
from gateway.audit import disclosure
from gateway.choosing import Choice, Choose
from gateway.errors import NothingPermitted, ParameterNotGiven, UnknownDimension
from gateway.house import NOT_REPEATED, House, Reply, language_in, repeated
from gateway.identity import Caller
from gateway.missing import filled_in, form_of
from gateway.present import answers, matches, selections
from gateway.present.link import links
from gateway.present.scene import ShownParameter
from gateway.questions import Ask
from gateway.told import NOTHING_TOLD, mapping
from scene_kb import asked as asked_text
from scene_kb.fields import DEFAULT_LIMIT, SelectedFields, asked_groups, select_fields
from scene_kb.models import Candidate, Match, Parameter, Scene, Suggestion
from scene_kb.order import suggestion
from scene_kb.visibility import answering_scenes, permitted_fields, says_restricted, scenes_are_hidden
from sessions.models import Session, new_session_id

_tracer = trace.get_tracer("sanbu.steps")


@dataclass(frozen=True)
class Steps(House):
    """One catalog's three steps."""

    # intentRecognition ----------------------------------------------------------------------------------------------

    async def find(self, asked: FindArguments, caller: Caller, *, choose: Choose | None = None) -> Reply:
        """From a task in plain words to a scene. Opens a session unless nothing answers the task.

        `choose`: who is asked where several scenes may fit; without a choice the match stays ambiguous.

        Raises NothingPermitted, UnknownScene, UnknownDimension, SessionNotFound or SessionExpired, and AnswerAwaited
        where `choose` does.
        """
        before = await self.open_session(asked.session_id, caller) if asked.session_id else None
        language = language_of(asked.query)
        pinned = self.clock_facts(before)
        scenes = self.visible_scenes(caller)
        if not scenes and answering_scenes(self.catalog, today=self.now(pinned, None).date()):
            raise NothingPermitted(caller.principal.roles)
        dimensions = self._dimensions(asked.dimensions or caller.dimensions, scenes)
        if asked.scene_id is not None:
            match = matches.pinned_match(self.scene_named(asked.scene_id, caller, pinned))
        else:
            match = await self._match(asked.query, scenes, dimensions, caller)
        retrieved, choice = match, None
        if choose is not None and match.verdict == "ambiguous":
            choice = await self._choice(asked.query, language, match, choose)
            match = matches.chosen_match(match, choice.ref) if choice.ref else match
        scene = self.catalog.by_ref[match.candidates[0].ref] if match.verdict == "matched" else None
        told = self.told(scene, asked.query, caller, pinned) if scene else NOTHING_TOLD
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
            repeated=before is not None and question in mapping(before.facts, "asked"),
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
        shown = self.parameters(scene, told, caller)
        seen, granted = self.seen(scene, caller)
        decided = chosen if match.decisive else None
        said = matches.matched(found, scene, seen, granted, shown, order, decided, told.ambiguous)
        return Reply(said, facts, session_id, self.disclosed(scene, caller))

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
        seen = self.grant(self.catalog.by_ref[candidate.ref], caller).fields
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

    # fieldSelection --------------------------------------------------------------------------------------------------

    async def select(self, asked: SelectArguments, caller: Caller) -> Reply:
        """The few of the scene's fields that the task needs; with sceneId also the choice among alternatives.

        Raises SessionNotFound, SessionExpired, StepOutOfOrder, UnknownScene or UnknownField.
        """
        session = await self.open_session(asked.session_id, caller)
        pinned = self.clock_facts(session)
        scene = (
            self.scene_named(asked.scene_id, caller, pinned)
            if asked.scene_id
            else self.chosen_scene(session, caller, "fieldSelection")
        )
        query = str(session.facts["query"])
        chosen, order = await self._select(scene, asked.task or query, caller, asked)
        told = self.told(scene, query, caller, pinned)
        shown = self.parameters(scene, told, caller) if asked.scene_id else ()
        seen, granted = self.seen(scene, caller)
        said = selections.selected(
            scene,
            seen,
            chosen,
            granted,
            language_in(session),
            shown,
            order,
            told.ambiguous if asked.scene_id else (),
        )
        facts = {
            "scene": scene.ref,
            **told.facts(session),
            "fields": list(chosen.names),
        }
        return Reply(said, facts, session.id, self.disclosed(scene, caller))

    async def _select(
        self, scene: Scene, task: str, caller: Caller, asked: SelectArguments
    ) -> tuple[SelectedFields, Suggestion]:
        """The fields, and how the task wants rows ordered and cut.

        Raises UnknownField for a name in include or exclude that is hidden or absent.
        """
        card, dataset, grant = self.cards[scene.ref], self.catalog.dataset_of(scene), self.grant(scene, caller)
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

    # apiCall ---------------------------------------------------------------------------------------------------------

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
        session = await self.open_session(asked.session_id, caller)
        scene = self.chosen_scene(session, caller, "apiCall")
        dataset = self.catalog.dataset_of(scene)
        asked = self._continued(asked, session)
        standing = await self.standing(asked, caller, scene_ref=scene.ref)
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
        language = language_in(session)
        noted = {"scene": scene.ref, "language": language}
        said_at = standing.clock if standing else None
        request = self.request(query, caller, asked, session, noted=noted, said_at=said_at)
        answer = await self.answer(request, caller)
        said = answers.called(answer, language, scene=scene, defaulted=defaulted, withheld=withheld)
        said |= links(answer, caller.reached_at)
        facts: dict[str, object] = {"calls": {answer.snapshot.id: repeated(asked)}}
        if asked.since is None:  # what changed is no answer to the query without since
            facts["snapshots"] = {answer.digest: answer.snapshot.id}
        return Reply(said, facts, session.id, disclosure(answer, scene.ref))

    def _default_fields(self, scene: Scene, caller: Caller) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(what the scene shows by default, what of it the caller may not see and may be told of)"""
        permitted = {ROW_COUNT, *permitted_fields(scene, self.catalog, self.grant(scene, caller))}
        shown = tuple(name for name in scene.fields.default if name.partition(":")[0] in permitted)
        told = says_restricted(self.catalog, caller.principal)
        return shown or (ROW_COUNT,), tuple(name for name in scene.fields.default if name not in shown) if told else ()

    def _continued(self, asked: CallArguments, session: Session) -> CallArguments:
        """A cursor alone stands for the arguments that it came from."""
        if asked.cursor is None or asked.model_fields_set - {"session_id", "cursor", "page_size", "token_budget"}:
            return asked
        snapshot_id = self.engine.cursors.position(asked.cursor).snapshot_id
        before = mapping(session.facts, "calls").get(snapshot_id)
        if not isinstance(before, Mapping):
            raise CursorInvalid("otherCaller")
        return asked.model_copy(
            update=CallArguments.model_validate({**before, "sessionId": session.id}).model_dump(
                exclude={"session_id", *NOT_REPEATED}, exclude_unset=True
            )
        )

    def _refuse_unknown_values(self, dataset: Dataset, session: Session, asked: CallArguments, caller: Caller) -> None:
        """Raises UnknownValue where the query names a value that does not exist, and no filter says what is meant.

        An answer over all values would look like one about the value that was named.
        """
        for name, codes in mapping(session.facts, "unknown").items():
            if codes and name not in (asked.filters or {}):
                legal = legal_values(dataset.by_name[name], self.engine.grant(dataset.api_no, caller.principal))
                by_value = {str(value.value): value.names() for value in legal}
                raise UnknownValue(name, codes[0], nearest(str(codes[0]), by_value))

    async def _given_by_person(
        self, names: tuple[str, ...], asked: CallArguments, caller: Caller, ask: Ask | None
    ) -> dict[str, object]:
        """A filter for each of the names; the trace says what became of the question. Raises ParameterNotGiven."""
        session = await self.open_session(asked.session_id, caller)
        scene = self.chosen_scene(session, caller, "apiCall")
        form = form_of(scene, self._lacking(names, scene, caller), language_in(session))
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
        dataset, grant = self.catalog.dataset_of(scene), self.grant(scene, caller)
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
        told = {name: values for name, values in mapping(session.facts, "recognised").items() if values}
        given: Mapping[str, object] = asked.filters or {}
        grant = self.grant(scene, caller)
        known = [it for it in scene.parameters if grant.allows(it.name, "filters")]
        unsaid = [it for it in known if it.name not in given and it.name not in told]
        defaults: dict[str, object] = {it.name: it.default for it in unsaid if it.default is not None}
        filters = {name: value for name, value in {**defaults, **told, **given}.items() if value is not None}
        missing = tuple(it.name for it in scene.parameters if it.required and it.name not in filters)
        if missing:
            raise MissingParameter(missing)
        return filters, defaults


def _meaning(query: str, match: Match, told: Mapping[str, object]) -> str:
    """What two questions have in common that ask for the same."""
    if match.verdict == "matched":
        return f"{match.candidates[0].ref} {sorted(told.items())}"
    if match.verdict == "ambiguous":
        return " ".join(sorted(it.ref for it in match.candidates[: matches.ALTERNATIVES]))
    return " ".join(sorted(asked_text.read(query).tokens))


def _computable(field: Field, groups: Collection[str]) -> bool:
    """A share within something needs that something among the groups."""
    return field.share is None or set(field.share.within) <= set(groups)


def _sorts(key: str, names: Names) -> bool:
    """Whether the caller may sort so: a scene suggests what its curator sees."""
    try:
        names.column(key.removeprefix("-"), "orderBy")
    except (UnknownField, InvalidParameter):
        return False
    return True


def _names(value: object) -> tuple[str, ...]:
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _max_days(scene: Scene, dataset: Dataset) -> int | None:
    return next((it.max_days for it in scene.parameters if it.name == dataset.time_column), None)
