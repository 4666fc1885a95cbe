"""intentRecognition in wire form: a scene, a choice among scenes, or none."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from engine.dataset import Dataset, Language
from engine.query import Grant
from gateway.choosing import Option, Question
from gateway.messages import say
from gateway.present.scene import ShownParameter, Wire, deprecation, fields, parameter, read_as, suggested
from gateway.questions import By
from scene_kb.fields import SelectedFields
from scene_kb.models import Candidate, Catalog, Match, Scene, Suggestion

_ALTERNATIVES_BESIDE_A_MATCH = 2
ALTERNATIVES = 4
_WHY = 3


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
    repeated: bool
    """The same question was asked before in this session, in whatever words."""
    chosen_by: By | None = None
    """Who chose among several scenes, where somebody was asked and did."""


def pinned_match(scene: Scene) -> Match:
    """A match that the caller made: the pinned scene, certain."""
    return Match("matched", (Candidate(scene.ref, 1.0, (), {}),), decisive=False, embedded=False)


def chosen_match(match: Match, ref: str) -> Match:
    """The ambiguous match with the chosen candidate in front; its confidence stays what retrieval gave it."""
    chosen = tuple(sorted(match.candidates, key=lambda it: it.ref != ref))
    return Match("matched", chosen, decisive=False, embedded=match.embedded)


def question(query: str, language: Language, match: Match, catalog: Catalog) -> Question:
    """The alternatives of an ambiguous match, for somebody to choose from."""
    scenes = [catalog.by_ref[it.ref] for it in match.candidates[:ALTERNATIVES]]
    options = (Option(it.ref, it.scene_id, it.title.said_in(language), _differs(it, language)) for it in scenes)
    return Question(query, language, tuple(options))


def matched(
    found: Found,
    scene: Scene,
    dataset: Dataset,
    grant: Grant,
    parameters: Sequence[ShownParameter],
    suggestion: Suggestion,
    chosen: SelectedFields | None,
    ambiguous: Iterable[tuple[str, str, Mapping[str, str]]],
) -> Wire:
    """`dataset` as the caller sees it."""
    best, *others = found.match.candidates
    beside = [it for it in others if it.ref in found.scenes][:_ALTERNATIVES_BESIDE_A_MATCH]
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
        "metrics": [name for name in scene.metrics if name in grant.fields],
        "parameters": [parameter(it, found.language) for it in parameters],
        "suggested": suggested(suggestion),
        "fields": fields(chosen, scene, dataset, found.language) if chosen else [],
        "alternatives": [_alternative(it, found) for it in beside],
        "completeness": _scenes_seen(found),
        "warnings": [
            *deprecation(scene, found.language),
            *_chosen(found),
            *_repeated(found),
            *read_as(ambiguous, found.language),
        ],
    }


def ambiguous(found: Found) -> Wire:
    shown = found.match.candidates[:ALTERNATIVES]
    return {
        "status": "ambiguous",
        "sessionId": found.session_id,
        "expiresInSeconds": found.seconds,
        "message": say("ambiguous", found.language),
        "alternatives": [_alternative(it, found) for it in shown],
        "completeness": _scenes_seen(found),
        "warnings": _repeated(found),
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
        "warnings": _repeated(found),
    }


def _repeated(found: Found) -> list[Wire]:
    return (
        [{"code": "REPEATED_QUESTION", "message": say("REPEATED_QUESTION", found.language)}] if found.repeated else []
    )


def _chosen(found: Found) -> list[Wire]:
    if found.chosen_by is None:
        return []
    message = say(f"CHOSEN_BY_CLIENT.{found.chosen_by}", found.language)
    return [{"code": "CHOSEN_BY_CLIENT", "message": message, "by": found.chosen_by}]


def _why(candidate: Candidate) -> list[str]:
    return [f"{reason.kind}: {reason.text}" for reason in candidate.why[:_WHY]]


def _alternative(candidate: Candidate, found: Found) -> Wire:
    scene = found.scenes[candidate.ref]
    return {
        "sceneId": scene.scene_id,
        "title": scene.title.said_in(found.language),
        "confidence": round(candidate.confidence, 2),
        "why": _why(candidate)[:1],
        "differs": _differs(scene, found.language),
    }


def _differs(scene: Scene, language: Language) -> str:
    return scene.differs.said_in(language) or scene.purpose.said_in(language)


def _scenes_seen(found: Found) -> Wire:
    reasons = []
    if found.hidden:
        message = say("VISIBILITY_RESTRICTED.scenes", found.language)
        reasons.append({"code": "VISIBILITY_RESTRICTED", "message": message, "continuation": {"kind": "requestAccess"}})
    return {"complete": not reasons, "scope": {"scenes": len(found.scenes)}, "reasons": reasons}


def _dimension_title(found: Found, name: str) -> str:
    known = found.catalog.synonyms.dimensions.get(name)
    return known.title.said_in(found.language) if known else name


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
