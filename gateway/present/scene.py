"""What several steps say about one scene: its parameters, fields, usual order and end of life."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.dataset import ROW_COUNT, Dataset, Field, Language, LegalValue
from engine.names import aggregations
from gateway.messages import say
from scene_kb.fields import SelectedFields
from scene_kb.models import Parameter, Scene, Suggestion

Wire = dict[str, Any]

LEGAL_VALUES = 12


@dataclass(frozen=True)
class ShownParameter:
    """A scene's parameter with what the query says about it."""

    parameter: Parameter
    field: Field
    recognised: Sequence[object]
    unknown: Sequence[str]
    """Values that the query names and that do not exist."""
    legal: Sequence[LegalValue]


def parameter(shown: ShownParameter, language: Language) -> Wire:
    parameter, field = shown.parameter, shown.field
    kind = "dateRange" if field.temporal else "enum" if field.values else field.type
    wire: Wire = {
        "name": parameter.name,
        "type": kind,
        "required": parameter.required,
        "recognised": list(shown.recognised),
    }
    if shown.unknown:
        wire["unknown"] = list(shown.unknown)
    if parameter.max_days is not None:
        wire["maxDays"] = parameter.max_days
    if parameter.default is not None and not shown.recognised:
        wire["default"] = parameter.default
    if shown.legal:
        wire["legalValues"] = [value.value for value in shown.legal[:LEGAL_VALUES]]
        if len(shown.legal) > LEGAL_VALUES:
            wire["more"] = len(shown.legal) - LEGAL_VALUES
    return wire


def read_as(ambiguous: Iterable[tuple[str, str, Mapping[str, str]]], language: Language) -> list[Wire]:
    """A warning for each (parameter, words, span) that could have been read otherwise."""
    return [
        {
            "code": "VALUE_NORMALISED",
            "message": say("VALUE_NORMALISED.ambiguous", language, field=name, received=words, used=spoken(span)),
            **{"field": name, "from": words, "to": dict(span)},
        }
        for name, words, span in ambiguous
    ]


def spoken(value: object) -> object:
    """A span of one day as that day."""
    if isinstance(value, Mapping) and set(value) == {"from", "to"}:
        return value["from"] if value["from"] == value["to"] else f"{value['from']} – {value['to']}"
    return value


def suggested(suggestion: Suggestion) -> Wire:
    return {
        **({"orderBy": list(suggestion.order_by)} if suggestion.order_by else {}),
        **({"limit": suggestion.limit} if suggestion.limit else {}),
    }


def deprecation(scene: Scene, language: Language) -> list[Wire]:
    if scene.status != "deprecated":
        return []
    successor = say("SCENE_DEPRECATED.successor", language, successor=scene.successor) if scene.successor else ""
    message = say("SCENE_DEPRECATED", language, until=scene.deprecated_until, successor=successor).strip()
    return [{"code": "SCENE_DEPRECATED", "message": message, **({"owner": scene.owner} if scene.owner else {})}]


def fields(chosen: SelectedFields, scene: Scene, dataset: Dataset, language: Language) -> list[Wire]:
    return [
        _row_count(language) if name == ROW_COUNT else _field(dataset.by_name[name], scene, dataset, language)
        for name in chosen.names
    ]


def _row_count(language: Language) -> Wire:
    return {"name": ROW_COUNT, "role": "metric", "type": "int32", "about": say("row_count", language), "flags": []}


def _field(field: Field, scene: Scene, dataset: Dataset, language: Language) -> Wire:
    wire: Wire = {"name": field.name, "role": field.role, "type": field.type}
    if field.unit:
        wire["unit"] = field.unit
    wire["about"] = scene.about(field).said_in(language)
    if field.role == "metric" and field.stored:
        wire["aggregations"] = _shown_aggregations(field)
    wire["flags"] = list(dataset.flags_of(field))
    return wire


def _shown_aggregations(field: Field) -> list[str]:
    """The metric's own first, then the usual ones."""
    usual = [it for it in ("sum", "avg", "min", "max") if it in aggregations(field)]
    return list(dict.fromkeys([str(field.aggregation), *usual]))
