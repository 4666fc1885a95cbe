"""From the shapes of the knowledge base and the engine to what a caller reads: dictionaries in wire form.

Decides nothing; `status` and `completeness` come first, because some clients cut what comes later.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

from engine.dataset import Dataset, Field, Language, LegalValue
from engine.names import aggregations, legal_values
from engine.query import (
    Answer,
    EmptyFinding,
    Grant,
    Incompleteness,
    MorePages,
    Note,
    ResultLimit,
    VisibilityRestricted,
)
from gateway.messages import say
from scene_kb import recognise
from scene_kb.fields import SelectedFields
from scene_kb.models import Candidate, Catalog, Match, Parameter, RankedField, Scene

Wire = dict[str, Any]

_ALTERNATIVES_BESIDE_A_MATCH = 2
_ALTERNATIVES = 4
_WHY = 3
_LEGAL_VALUES = 12
_FILTERABLE = 8


@dataclass(frozen=True)
class Found:
    """All that presenting a match needs."""

    query: str
    language: Language
    match: Match
    scenes: Mapping[str, Scene]
    """The visible scenes by ref."""
    catalog: Catalog
    dimensions: frozenset[str]
    session_id: str
    seconds: int
    hidden: bool
    """The policy hides scenes from this caller, and wants that said."""


@dataclass(frozen=True)
class ShownParameter:
    """A scene's parameter with what the query says about it."""

    parameter: Parameter
    field: Field
    recognised: Sequence[object]
    legal: Sequence[LegalValue]


def pinned_match(scene: Scene) -> Match:
    """A match that the caller made: the pinned scene, certain."""
    return Match("matched", (Candidate(scene.ref, 1.0, (), {}),), decisive=False, embedded=False)


# intentRecognition --------------------------------------------------------------------------------------------------


def matched(
    found: Found, scene: Scene, parameters: Sequence[ShownParameter], chosen: SelectedFields | None, repeated: bool
) -> Wire:
    best, *others = found.match.candidates
    dataset = found.catalog.dataset_of(scene)
    beside = [it for it in others if it.ref in found.scenes][:_ALTERNATIVES_BESIDE_A_MATCH]
    warnings = [*_deprecation(scene, found.language)]
    if repeated:
        warnings.append({"code": "REPEATED_QUESTION", "message": say("REPEATED_QUESTION", found.language)})
    return {
        "status": "matched",
        "sessionId": found.session_id,
        "expiresInSeconds": found.seconds,
        "scene": {
            "sceneId": scene.scene_id,
            "version": scene.version,
            "title": scene.title.said_in(found.language),
            "apiNo": scene.api_no,
            "dimensions": list(scene.dimensions),
            "confidence": round(best.confidence, 2),
            "why": _why(best),
            "flags": [*scene.flags, *(["synthetic"] if dataset.synthetic else [])],
        },
        "metrics": [name for name in scene.metrics if any(name == shown.name for shown in dataset.fields)],
        "parameters": [_parameter(it, found.language) for it in parameters],
        "suggested": _suggested(scene, found.query),
        "fields": _fields(chosen, scene, dataset, found.language) if chosen else [],
        "alternatives": [_alternative(it, found) for it in beside],
        "completeness": _scenes_seen(found),
        "warnings": warnings,
    }


def ambiguous(found: Found) -> Wire:
    shown = found.match.candidates[:_ALTERNATIVES]
    return {
        "status": "ambiguous",
        "sessionId": found.session_id,
        "expiresInSeconds": found.seconds,
        "message": say("ambiguous", found.language),
        "alternatives": [_alternative(it, found) for it in shown],
        "completeness": _scenes_seen(found),
        "warnings": [],
    }


def no_match(found: Found) -> Wire:
    """Terminal: what there is instead, and why the nearest fall short."""
    counts = {name: 0 for scene in found.scenes.values() for name in scene.dimensions}
    for scene in found.scenes.values():
        for name in scene.dimensions:
            counts[name] += 1
    outside = sum(not found.dimensions.intersection(scene.dimensions) for scene in found.scenes.values())
    return {
        "status": "no_match",
        "message": say("no_match", found.language),
        "catalogue": [
            {"dimension": name, "title": _dimension_title(found, name), "scenes": count}
            for name, count in sorted(counts.items(), key=lambda it: (-it[1], it[0]))
        ],
        "excludedBy": {"dimensions": outside} if found.dimensions else {},
        "nearest": [
            {
                "title": found.scenes[it.ref].title.said_in(found.language),
                "why": say("nearest.score", found.language, confidence=round(it.confidence, 2)),
            }
            for it in found.match.candidates[:2]
        ],
        "completeness": _scenes_seen(found),
        "warnings": [],
    }


def _why(candidate: Candidate) -> list[str]:
    return [f"{reason.kind}: {reason.text}" for reason in candidate.why[:_WHY]]


def _alternative(candidate: Candidate, found: Found) -> Wire:
    scene = found.scenes[candidate.ref]
    return {
        "sceneId": scene.scene_id,
        "title": scene.title.said_in(found.language),
        "confidence": round(candidate.confidence, 2),
        "why": _why(candidate)[:1],
        "differs": scene.differs.said_in(found.language) or scene.purpose.said_in(found.language),
    }


def _scenes_seen(found: Found) -> Wire:
    reasons = []
    if found.hidden:
        message = say("VISIBILITY_RESTRICTED.scenes", found.language)
        reasons.append({"code": "VISIBILITY_RESTRICTED", "message": message, "continuation": {"kind": "requestAccess"}})
    return {"complete": not reasons, "scope": {"scenes": len(found.scenes)}, "reasons": reasons}


def _dimension_title(found: Found, name: str) -> str:
    known = found.catalog.synonyms.dimensions.get(name)
    return known.title.said_in(found.language) if known else name


def _parameter(shown: ShownParameter, language: Language) -> Wire:
    parameter, field = shown.parameter, shown.field
    kind = "dateRange" if field.temporal else "enum" if field.values else field.type
    wire: Wire = {
        "name": parameter.name,
        "type": kind,
        "required": parameter.required,
        "recognised": list(shown.recognised),
    }
    if parameter.max_days is not None:
        wire["maxDays"] = parameter.max_days
    if parameter.default is not None and not shown.recognised:
        wire["default"] = parameter.default
    if shown.legal:
        wire["legalValues"] = [value.value for value in shown.legal[:_LEGAL_VALUES]]
        if len(shown.legal) > _LEGAL_VALUES:
            wire["more"] = len(shown.legal) - _LEGAL_VALUES
    return wire


def _suggested(scene: Scene, query: str) -> Wire:
    """How the scene is usually sorted and cut; a number in the query wins over the scene's own."""
    limit = recognise.limit(query) or scene.suggested.limit
    return {
        **({"orderBy": list(scene.suggested.order_by)} if scene.suggested.order_by else {}),
        **({"limit": limit} if limit else {}),
    }


def _deprecation(scene: Scene, language: Language) -> list[Wire]:
    if scene.status != "deprecated":
        return []
    successor = say("SCENE_DEPRECATED.successor", language, successor=scene.successor) if scene.successor else ""
    message = say("SCENE_DEPRECATED", language, until=scene.deprecated_until, successor=successor).strip()
    return [{"code": "SCENE_DEPRECATED", "message": message, **({"owner": scene.owner} if scene.owner else {})}]


# fieldSelection -----------------------------------------------------------------------------------------------------


def selected(
    scene: Scene,
    dataset: Dataset,
    chosen: SelectedFields,
    grant: Grant,
    language: Language,
    parameters: Sequence[ShownParameter],
    query: str,
) -> Wire:
    """`parameters` where the scene was chosen here: then what the query says about them has not been told yet."""
    told = {"parameters": [_parameter(it, language) for it in parameters], "suggested": _suggested(scene, query)}
    return {
        "status": "selected",
        "sceneId": scene.scene_id,
        "version": scene.version,
        **(told if parameters else {}),
        "fields": _fields(chosen, scene, dataset, language),
        "filterable": _filterable(scene, dataset, chosen, grant),
        "of": {"visible": len(chosen.names) + chosen.not_relevant, "notRelevant": chosen.not_relevant},
        "completeness": {"complete": True, "scope": {}, "reasons": []},
        "warnings": _deprecation(scene, language),
    }


def _fields(chosen: SelectedFields, scene: Scene, dataset: Dataset, language: Language) -> list[Wire]:
    return [_field(dataset.by_name[name], scene, language) for name in chosen.names]


def _field(field: Field, scene: Scene, language: Language) -> Wire:
    wire: Wire = {"name": field.name, "role": field.role, "type": field.type}
    if field.unit:
        wire["unit"] = field.unit
    wire["about"] = scene.about(field).said_in(language)
    if field.role == "metric" and field.stored:
        wire["aggregations"] = _shown_aggregations(field)
    wire["flags"] = list(field.flags)
    return wire


def _shown_aggregations(field: Field) -> list[str]:
    """The metric's own first, then the usual ones."""
    usual = [it for it in ("sum", "avg", "min", "max") if it in aggregations(field)]
    return list(dict.fromkeys([str(field.aggregation), *usual]))


def _filterable(scene: Scene, dataset: Dataset, chosen: SelectedFields, grant: Grant) -> list[Wire]:
    """The scene's parameters first, then chosen dimensions that have legal values or are times."""
    dimensions = [name for name in chosen.names if dataset.by_name[name].role == "dimension"]
    names = dict.fromkeys([*(it.name for it in scene.parameters if it.name in grant.fields), *dimensions])
    return [_filter(dataset.by_name[name], grant) for name in list(names)[:_FILTERABLE]]


def _filter(field: Field, grant: Grant) -> Wire:
    legal = legal_values(field, grant)
    if field.temporal:
        return {"name": field.name, "operators": ["eq", "between", "gte", "lt"]}
    operators = (
        ["eq", "in"]
        if field.values
        else ["eq", "in", "contains"]
        if field.type == "string"
        else ["eq", "in", "between"]
    )
    wire: Wire = {"name": field.name, "operators": operators}
    if legal:
        wire["legalValues"] = [value.value for value in legal[:_LEGAL_VALUES]]
        wire["more"] = max(0, len(legal) - _LEGAL_VALUES)
    return wire


# apiCall ------------------------------------------------------------------------------------------------------------


def called(
    answer: Answer, language: Language, *, scene: Scene | None = None, defaulted: Mapping[str, object] | None = None
) -> Wire:
    resolved, snapshot, page = answer.plan.resolved, answer.snapshot, answer.page
    zone = resolved.dataset.zone
    wire: Wire = {
        "status": "complete" if answer.completeness.complete else "partial",
        "completeness": {
            "complete": answer.completeness.complete,
            "truncated": snapshot.cut_by is not None,
            "statement": _statement(answer, language),
            "reasons": [_reason(it, language) for it in answer.completeness.reasons],
            "scope": {
                **({"scene": scene.ref} if scene else {"apiNo": resolved.dataset.api_no}),
                "filters": dict(resolved.spoken_filters),
                "limit": resolved.limit,
                "visibility": _visibility(answer, language),
            },
            "snapshot": {
                "id": snapshot.id,
                "takenAt": _moment(snapshot.taken_at),
                "expiresAt": _moment(snapshot.expires_at),
                "dataAsOf": _as_of(snapshot.data_as_of, zone),
            },
        },
        "columns": [
            {"name": column.label, "type": column.type, **({"unit": column.unit} if column.unit else {})}
            for column in resolved.columns
        ],
        "rows": [list(row) for row in page.rows],
        "returned": len(page.rows),
        **({"totalRows": snapshot.total_rows} if snapshot.total_rows is not None else {}),
        "warnings": [*_defaulted(defaulted or {}, language), *(_warning(note, language) for note in answer.notes)],
    }
    if scene is not None:
        wire["warnings"] = [*_deprecation(scene, language), *wire["warnings"]]
    texts = [column.label for column in resolved.columns if column.field and "freeText" in column.field.flags]
    if texts and page.rows:
        wire["untrusted"] = {"columns": texts, "note": say("untrusted", language)}
    if snapshot.empty is not None:
        wire["empty"] = _empty(snapshot.empty, language)
    return wire


def _statement(answer: Answer, language: Language) -> str:
    """In words, what may be concluded from a complete answer; nothing where it is not complete."""
    if not answer.completeness.complete:
        return ""
    limit, total = answer.plan.resolved.limit, answer.snapshot.rows.num_rows
    if total == 0:
        return say("complete.empty", language)
    if limit is not None and total >= limit:
        return say("complete.limit", language, limit=limit, n=total)
    return say("complete.lastPage" if answer.page.offset else "complete", language, n=total)


def _reason(reason: Incompleteness, language: Language) -> Wire:
    match reason:
        case MorePages(cursor, remaining):
            return {
                "code": "MORE_PAGES_AVAILABLE",
                "message": say("MORE_PAGES_AVAILABLE", language, remaining=remaining),
                "continuation": {"kind": "nextPage", "cursor": cursor, "remaining": remaining},
            }
        case ResultLimit(what, limit):
            return {
                "code": "RESULT_LIMIT_REACHED",
                "message": say(f"RESULT_LIMIT_REACHED.{what}", language, limit=limit),
                "continuation": {"kind": "narrowQuery", "what": what, "limit": limit},
            }
        case VisibilityRestricted(roles):
            return {
                "code": "VISIBILITY_RESTRICTED",
                "message": say("VISIBILITY_RESTRICTED", language, roles=", ".join(roles)),
                "continuation": {"kind": "requestAccess"},
            }


def _visibility(answer: Answer, language: Language) -> str:
    grant = answer.plan.grant
    roles = ", ".join(grant.roles)
    bounds = {
        f"{scope.field} = {'|'.join(map(str, scope.values))}"
        for scopes in grant.rows
        for scope in scopes
        if scope.kind == "boundary"
    }
    if not bounds:
        return say("visibility", language, roles=roles)
    return say("visibility.boundary", language, roles=roles, bounds=", ".join(sorted(bounds)))


def _warning(note: Note, language: Language) -> Wire:
    key = "VALUE_NORMALISED.ambiguous" if note.ambiguous else note.code
    message = say(key, language, field=note.field, received=_spoken(note.received), used=_spoken(note.used))
    wire: Wire = {"code": note.code, "message": message}
    if note.field is not None:
        wire["field"] = note.field
    if note.received is not None:
        wire["from"] = note.received
    if note.used is not None:
        wire["to"] = _plain(note.used)
    if note.owner is not None:
        wire["owner"] = note.owner
    return wire


def _defaulted(defaulted: Mapping[str, object], language: Language) -> list[Wire]:
    return [
        {
            "code": "DEFAULT_SCOPE_APPLIED",
            "message": say("DEFAULT_SCOPE_APPLIED", language, field=name, used=value),
            "field": name,
            "to": value,
        }
        for name, value in defaulted.items()
    ]


def _spoken(value: object) -> object:
    if isinstance(value, Mapping) and set(value) == {"from", "to"}:
        return value["from"] if value["from"] == value["to"] else f"{value['from']} – {value['to']}"
    return value


def _plain(value: object) -> object:
    """JSON values as they are, exact numbers as text."""
    return value if isinstance(value, str | int | float | bool | list | dict) else str(value)


def _empty(finding: EmptyFinding, language: Language) -> Wire:
    hints = [
        say("empty.without", language, name=name, count=count) for name, count in finding.without.items() if count
    ] or [say("empty.nothing", language)]
    if finding.first is not None:
        hints.append(say("empty.range", language, first=finding.first, last=finding.last))
    separator = "" if language == "zh" else " "
    return {
        "message": say("empty", language, hint=separator.join(hints)),
        "available": {"from": finding.first, "to": finding.last} if finding.first is not None else None,
        "without": dict(finding.without),
    }


def _moment(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _as_of(moment: date | datetime | None, zone: Any) -> str | None:
    if isinstance(moment, datetime):
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).isoformat(timespec="seconds")
    return moment.isoformat() if moment else None


# Facts for the trace ------------------------------------------------------------------------------------------------


def match_facts(match: Match) -> dict[str, str | bool]:
    """Every candidate with every score, so that why a scene won or lost can be read from the trace."""
    shown = [
        {"scene": it.ref, "confidence": it.confidence, "scores": dict(it.scores), "why": _why(it)}
        for it in match.candidates
    ]
    return {
        "verdict": match.verdict,
        "decisive": match.decisive,
        "embedded": match.embedded,
        "candidates": json.dumps(shown, ensure_ascii=False),
    }


def selection_facts(selected: SelectedFields, ranked: Sequence[RankedField]) -> dict[str, str | int]:
    """What was kept and what was dropped; the best ranked of both with their scores."""
    scores = {it.name: it.score for it in ranked[: 3 * len(selected.names)]}
    return {
        "kept": ", ".join(selected.names),
        "dropped": selected.not_relevant,
        "scores": json.dumps(scores, ensure_ascii=False),
    }
