"""fieldSelection in wire form."""

import json
from collections.abc import Iterable, Mapping, Sequence

from engine.dataset import ROW_COUNT, Dataset, Field, Language
from engine.names import legal_values
from engine.query import Grant
from gateway.present.scene import LEGAL_VALUES, ShownParameter, Wire, deprecation, fields, parameter, read_as, suggested
from scene_kb.fields import SelectedFields
from scene_kb.models import RankedField, Scene, Suggestion

_FILTERABLE = 8


def selected(
    scene: Scene,
    dataset: Dataset,
    chosen: SelectedFields,
    grant: Grant,
    language: Language,
    parameters: Sequence[ShownParameter],
    suggestion: Suggestion,
    ambiguous: Iterable[tuple[str, str, Mapping[str, str]]],
) -> Wire:
    """`parameters` where the scene was chosen here: then what the query says about them has not been told yet."""
    told = {"parameters": [parameter(it, language) for it in parameters], "suggested": suggested(suggestion)}
    return {
        "status": "selected",
        "sceneId": scene.scene_id,
        "version": scene.version,
        **(told if parameters else {}),
        "fields": fields(chosen, scene, dataset, language),
        "filterable": _filterable(scene, dataset, chosen, grant),
        "of": {"visible": len(chosen.names) + chosen.not_relevant, "notRelevant": chosen.not_relevant},
        "completeness": {"complete": True, "scope": {}, "reasons": []},
        "warnings": [*deprecation(scene, language), *read_as(ambiguous, language)],
    }


def _filterable(scene: Scene, dataset: Dataset, chosen: SelectedFields, grant: Grant) -> list[Wire]:
    """The scene's parameters first, then chosen dimensions that have legal values or are times."""
    known = (dataset.by_name[name] for name in chosen.names if name != ROW_COUNT)
    dimensions = [it.name for it in known if it.role == "dimension" and grant.allows(it.name, "filters")]
    names = dict.fromkeys([*(it.name for it in scene.parameters if grant.allows(it.name, "filters")), *dimensions])
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
        wire["legalValues"] = [value.value for value in legal[:LEGAL_VALUES]]
        wire["more"] = max(0, len(legal) - LEGAL_VALUES)
    return wire


def selection_facts(selected: SelectedFields, ranked: Sequence[RankedField]) -> dict[str, str | int]:
    """What was kept and what was dropped; the best ranked of both with their scores."""
    scores = {it.name: it.score for it in ranked[: 3 * len(selected.names)]}
    return {
        "kept": ", ".join(selected.names),
        "dropped": selected.not_relevant,
        "scores": json.dumps(scores, ensure_ascii=False),
    }
