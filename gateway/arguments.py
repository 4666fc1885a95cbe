"""The arguments of the three tools, as a client sends them: checked, forgiving in form, strict in names.

null is as good as absent; a JSON text is as good as what it holds; an unknown argument is refused by name.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from engine.folding import nearest
from gateway.errors import InvalidArguments

A = TypeVar("A", bound="Arguments")


def _from_json(value: object) -> object:
    """A text that holds JSON as what it holds; any other text as it is."""
    if isinstance(value, str) and value.strip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _listed(value: object) -> object:
    """A single name as a list of one; `a, b` as two."""
    value = _from_json(value)
    return [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value


Names = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Filters = Annotated[dict[str, Any], BeforeValidator(_from_json)]
SessionId = Annotated[str, Field(min_length=1, max_length=64, description="from intentRecognition")]


class Arguments(BaseModel):
    """Base of the three: frozen, camelCase on the wire."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)


class FindArguments(Arguments):
    query: Annotated[
        str,
        Field(
            min_length=1, max_length=10_000, description="the task in plain words, zh or en, with its dates and names"
        ),
    ]
    dimensions: Annotated[Names | None, Field(description="keep only scenes of these dimensions")] = None
    scene_id: Annotated[str | None, Field(description="pin a scene, ID or ID@version")] = None
    session_id: Annotated[SessionId | None, Field(description="start over inside this session")] = None


class SelectArguments(Arguments):
    session_id: SessionId
    task: Annotated[str | None, Field(max_length=10_000, description="default: the query")] = None
    scene_id: Annotated[str | None, Field(description="chooses among alternatives")] = None
    include: Annotated[Names | None, Field(description="field names to keep")] = None
    exclude: Annotated[Names | None, Field(description="field names to drop")] = None
    limit: Annotated[int | None, Field(ge=1, le=50, description="default 12")] = None


class CallArguments(Arguments):
    session_id: SessionId
    filters: Annotated[
        Filters | None,
        Field(
            description="{field: value | [values] | {op: value}}; op: eq ne in notIn gt gte lt lte between contains "
            "startsWith isNull; or: [filters]. Default: what was recognised; null drops one"
        ),
    ] = None
    fields: Annotated[Names | None, Field(description="from fieldSelection; name, name:avg, row_count")] = None
    group_by: Annotated[Names | None, Field(description="dimensions, date:week; [] for one total")] = None
    order_by: Annotated[Names | None, Field(description="name, or -name for descending")] = None
    limit: Annotated[int | None, Field(ge=1, description="for a top N; narrows the scope")] = None
    limit_per_group: Annotated[int | None, Field(ge=1, description="top N within each group")] = None
    page_size: Annotated[int | None, Field(ge=1, le=500, description="rows a page")] = None
    cursor: Annotated[str | None, Field(description="from the last answer, for the next page")] = None
    time_budget_ms: Annotated[int | None, Field(ge=50)] = None
    token_budget: Annotated[int | None, Field(ge=200, description="tokens a page")] = None
    since: Annotated[str | None, Field(description="evidence of an earlier answer; alone: what changed since")] = None


class QueryArguments(Arguments):
    """A person's query: the same as apiCall's, on a dataset instead of a session's scene."""

    api_no: Annotated[str | None, Field(description="the dataset; with cursor, default: that of the query")] = None
    filters: Filters | None = None
    fields: Names | None = None
    group_by: Names | None = None
    order_by: Names | None = None
    limit: Annotated[int | None, Field(ge=1)] = None
    limit_per_group: Annotated[int | None, Field(ge=1)] = None
    page_size: Annotated[int | None, Field(ge=1, le=500)] = None
    cursor: Annotated[str | None, Field(description="from the last answer; alone, it continues that query")] = None
    time_budget_ms: Annotated[int | None, Field(ge=50)] = None
    token_budget: Annotated[int | None, Field(ge=200)] = None
    since: Annotated[str | None, Field(description="evidence of an earlier answer; alone: what changed since")] = None


def _ids(value: object) -> object:
    """A single id as a list of one. A text is one id, whatever it holds, unless it is a JSON list or object."""
    value = _from_json(value)
    return value if isinstance(value, list | tuple) else [value]


Ids = Annotated[tuple[str | int | float | bool | dict[str, Any] | None, ...], BeforeValidator(_ids)]


class VerifyArguments(Arguments):
    """What is to be verified before something is done with rows that an answer named."""

    token: Annotated[str, Field(min_length=1, max_length=1000, description="the answer's evidence")]
    ids: Annotated[
        Ids, Field(description="rows that the answer must have named: values of its key, or {column: value}")
    ] = ()
    absent: Annotated[Ids, Field(description="rows that are said not to exist in the answer's scope")] = ()
    require_complete: Annotated[bool, Field(description="refuse where the answer was not complete")] = False
    recheck: Annotated[
        bool, Field(description="read the rows again, under the same filters and today's permission")
    ] = False
    language: Annotated[Literal["zh", "en"] | None, Field(description="default: the answer's")] = None


def read(shape: type[A], given: Mapping[str, object]) -> A:
    """`given` as the tool's arguments. Raises InvalidArguments with the first thing that is wrong."""
    try:
        return shape.model_validate(dict(given))
    except ValidationError as error:
        raise _first_fault(shape, given, error) from error


_FAULTS: Sequence[tuple[str, str]] = (
    ("missing", "missing"),
    ("extra_forbidden", "unknown"),
    ("string_too_long", "tooLong"),
    ("string_too_short", "tooShort"),
    ("greater_than", "tooSmall"),
    ("less_than", "tooLarge"),
)


def _first_fault(shape: type[Arguments], given: Mapping[str, object], error: ValidationError) -> InvalidArguments:
    first = error.errors(include_url=False, include_context=True)[0]
    argument = str(first["loc"][0]) if first["loc"] else ""
    fault = next((name for prefix, name in _FAULTS if first["type"].startswith(prefix)), "type")
    context = first.get("ctx", {})
    legal = tuple(field.alias or name for name, field in shape.model_fields.items())
    if fault == "unknown":
        return InvalidArguments(argument, argument, fault, nearest(argument, {name: () for name in legal}))
    if fault == "type":
        return InvalidArguments(argument, given.get(argument), fault, (_kind(shape, argument),))
    bounds = tuple(
        str(value) for key, value in context.items() if key in ("ge", "le", "gt", "lt", "max_length", "min_length")
    )
    return InvalidArguments(argument, given.get(argument), fault, bounds)


def _kind(shape: type[Arguments], argument: str) -> str:
    """What JSON type the argument wants, in the schema's word."""
    wanted = input_schema(shape)["properties"].get(argument, {})
    return str(wanted.get("type", "object"))


def input_schema(shape: type[Arguments]) -> dict[str, Any]:
    """The schema that a client sees: no $ref, no type arrays, no anyOf with null, no titles, no booleans.

    null is accepted all the same: clients that send it need no word in the schema, and some cannot read one.
    """
    schema = shape.model_json_schema(by_alias=True)
    properties = {name: _plain(prop) for name, prop in schema["properties"].items()}
    return {"type": "object", "properties": properties, "required": schema.get("required", [])}


def _plain(prop: Mapping[str, Any]) -> dict[str, Any]:
    kept = {
        key: value for key, value in prop.items() if key not in ("title", "default", "additionalProperties", "anyOf")
    }
    inner: Mapping[str, Any] = next((branch for branch in prop.get("anyOf", ()) if branch.get("type") != "null"), {})
    merged = {**{key: value for key, value in inner.items() if key not in ("title", "additionalProperties")}, **kept}
    merged.pop("minLength", None)
    if "maxLength" in merged and merged["maxLength"] <= 64:
        merged.pop("maxLength")
    return merged
