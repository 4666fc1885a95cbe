"""The three tools as a client sees them: names, descriptions, schemas. Short: every agent pays for them in context."""

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.arguments import CallArguments, FindArguments, SelectArguments, input_schema
from gateway.turns import Tool

_MOST_DIMENSIONS = 12

_FIND = (
    "Step 1: turns a task in plain Chinese or English into a data scene and opens a session. Use it first for any"
    " question about business data. matched: go on, straight to apiCall if fields are given. ambiguous: pick from"
    " alternatives. no_match: final, no data answers this; do not rephrase. Safe to repeat."
)
_SELECT = (
    "Step 2: the few fields of the session's scene that the task needs. Use it after step 1 when fields was empty, to"
    " choose among alternatives (sceneId), or for other fields (include). An empty list: none fits. Safe to repeat."
)
_CALL = (
    "Step 3: runs the query of the session's scene. Use it for the data itself; fields and filters come from steps 1"
    " and 2. Act on rows as a whole only when status is complete; partial says why and how to go on. No rows with"
    " complete: nothing matches, see empty. Same arguments give the same answer; safe to repeat."
)

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_OBJECT = {"type": "object"}
_TEXTS = {"type": "array", "items": _TEXT}
_OBJECTS = {"type": "array", "items": _OBJECT}


def _shape(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


_COMPLETENESS = _shape(complete={"type": "boolean"}, scope=_OBJECT, reasons=_OBJECTS)

_FOUND = _shape(
    status={"type": "string", "enum": ["matched", "ambiguous", "no_match"]},
    completeness=_COMPLETENESS,
    sessionId=_TEXT,
    expiresInSeconds=_NUMBER,
    scene=_OBJECT,
    metrics=_TEXTS,
    parameters=_OBJECTS,
    suggested=_OBJECT,
    fields=_OBJECTS,
    alternatives=_OBJECTS,
    message=_TEXT,
    catalogue=_OBJECTS,
    excludedBy=_OBJECT,
    nearest=_OBJECTS,
    traceId=_TEXT,
    warnings=_OBJECTS,
)
_SELECTED = _shape(
    status={"type": "string", "enum": ["selected"]},
    completeness=_COMPLETENESS,
    sceneId=_TEXT,
    version=_NUMBER,
    parameters=_OBJECTS,
    suggested=_OBJECT,
    fields=_OBJECTS,
    filterable=_OBJECTS,
    of=_OBJECT,
    warnings=_OBJECTS,
)
_CALLED = _shape(
    status={"type": "string", "enum": ["complete", "partial"]},
    completeness=_shape(
        complete={"type": "boolean"},
        truncated={"type": "boolean"},
        statement=_TEXT,
        reasons=_OBJECTS,
        scope=_OBJECT,
        snapshot=_OBJECT,
    ),
    columns=_OBJECTS,
    rows={"type": "array", "items": {"type": "array"}},
    returned=_NUMBER,
    totalRows=_NUMBER,
    warnings=_OBJECTS,
    untrusted=_OBJECT,
    empty=_OBJECT,
    since=_OBJECT,
    evidence=_TEXT,
    links=_OBJECT,
)

TOOLS: Sequence[tuple[Tool, str, dict[str, Any], dict[str, Any]]] = (
    ("intentRecognition", _FIND, input_schema(FindArguments), _FOUND),
    ("fieldSelection", _SELECT, input_schema(SelectArguments), _SELECTED),
    ("apiCall", _CALL, input_schema(CallArguments), _CALLED),
)
"""(name, description, input schema, output schema), in the order in which they are called."""


def described(tool: Tool, description: str, dimensions: Sequence[str]) -> str:
    """The description as this caller sees it: the first tool's ends with the dimensions there are."""
    if tool != "intentRecognition" or not dimensions:
        return description
    return f"{description} Dimensions: {', '.join(dimensions[:_MOST_DIMENSIONS])}."
