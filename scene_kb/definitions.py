"""A document's value as a frozen definition; where it is none, pydantic's findings as sentences with their lines."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from engine.dataset import Definition, LegalValue, Place, Words
from scene_kb.diagnostics import CatalogFault, Diagnostic, instead_of
from scene_kb.documents import Document

D = TypeVar("D", bound=Definition)

_EXPECTED: Mapping[str, str] = {
    # beginnings of pydantic's error types: what should stand there
    "string_type": "text",
    "int_": "a whole number",
    "float_": "a number",
    "bool_": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "mapping_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "date_": "a date such as 2026-11-30",
    "datetime_": "a time such as 2026-11-30T09:00:00+08:00",
    "timezone_": "a time such as 2026-11-30T09:00:00+08:00",
}

_SHORTHANDS: Mapping[type[BaseModel], str] = {
    Words: "text, or a mapping of zh and en,",
    LegalValue: "a value, or a mapping with value, label and aliases,",
}


@dataclass(frozen=True)
class Defined(Generic[D]):
    """A definition and where it was written."""

    it: D
    document: Document
    place: Place

    def fault(self, place: Place, message: str, fix: str) -> Diagnostic:
        """A diagnostic at `place`, counted from the definition itself."""
        return self.document.fault((*self.place, *place), message, fix)


def define(shape: type[D], document: Document, place: Place = ()) -> Defined[D]:
    """The definition that stands at `place`. Raises CatalogFault with all that keeps it from being one."""
    value = document.value
    for part in place:
        value = value[part]  # type: ignore[index]  # the caller took `place` from the document
    try:
        return Defined(shape.model_validate(value), document, place)
    except ValidationError as error:
        raise CatalogFault(_diagnostics(shape, document, place, error.errors(include_url=False))) from error


def _diagnostics(
    shape: type[Definition], document: Document, place: Place, errors: list[ErrorDetails]
) -> Iterator[Diagnostic]:
    expected: dict[Place, list[str]] = {}
    received: dict[Place, object] = {}
    for error in errors:
        loc = error["loc"]
        reached, line = document.locate((*place, *loc))
        noun = _noun(shape, error)
        if noun is None:
            yield Diagnostic(document.file, line, *_sentence(shape, error))
        else:  # a union finds one fault for each of its members; together they are one
            expected.setdefault(reached, []).append(noun)
            received[reached] = error["input"]
    for reached, nouns in expected.items():
        yield document.fault(reached, *_mistyped(reached, list(dict.fromkeys(nouns)), received[reached]))


def _noun(shape: type[Definition], error: ErrorDetails) -> str | None:
    """What should stand there; None where the type is right and something else is wrong."""
    at = _shape_at(shape, error["loc"])
    if error["type"] == "model_type" and at is not None and at in _SHORTHANDS:
        return _SHORTHANDS[at]
    return next((noun for kind, noun in _EXPECTED.items() if error["type"].startswith(kind)), None)


def _mistyped(place: Place, nouns: list[str], received: object) -> tuple[str, str]:
    wanted = " or ".join(nouns)
    message = f"{_named(place)} is {_described(received)}, where {wanted} is expected"
    if received is None:
        return message, "write its value, or delete the key"
    if "text" in nouns and isinstance(received, int | float):
        return message, f'put it in quotes: "{received}"' if not isinstance(received, bool) else "put it in quotes"
    if nouns == ["a list"] and isinstance(received, str | int | float):
        return message, f"write [{received}]"
    return message, f"write {wanted.rstrip(',')}"


def _sentence(shape: type[Definition], error: ErrorDetails) -> tuple[str, str]:
    """(message, fix) for everything but a wrong type."""
    loc, kind, context = error["loc"], error["type"], error.get("ctx", {})
    name = _named(loc)
    if kind == "missing":
        return f"{name} is missing", f"add it{_meaning(shape, loc)}"
    if kind == "extra_forbidden" and error["input"] is None and _shape_at(shape, loc[:-1]) is Words:
        return f"{name} is no key here", "quote the text whose comma makes it one"  # {en: weekdays, hours}
    if kind == "extra_forbidden":
        return f"{name} is no key here", instead_of(str(loc[-1]), _legal_keys(shape, loc[:-1]))
    if kind == "literal_error":
        return f"{name} cannot be '{error['input']}'", f"write {str(context['expected']).replace(chr(39), '')}"
    if kind == "string_pattern_mismatch":
        return f"{name} is '{error['input']}', which is no id", "begin with a letter, then letters, digits and _ only"
    if kind in ("too_short", "string_too_short"):
        return f"{name} is empty", "write at least one entry" if kind == "too_short" else "write its text"
    if kind == "string_too_long":
        return f"{name} is longer than {context['max_length']} characters", "shorten it"
    if kind in ("greater_than", "greater_than_equal", "less_than_equal"):
        bound = {"gt": "more than", "ge": "at least", "le": "at most"}
        limits = [f"{bound[key]} {limit}" for key, limit in context.items() if key in bound]
        return f"{name} is {error['input']}", f"write {' and '.join(limits)}"
    message, _, fix = error["msg"].removeprefix("Value error, ").rpartition("; ")
    if message:  # our own rules: what is wrong; what to do
        return message, fix
    return f"{name} is {_described(error['input'])}, which cannot be", fix[:1].lower() + fix[1:]


def _named(place: Place) -> str:
    """The nearest key: 'aliases' also for the third alias."""
    return next((f"'{part}'" for part in reversed(place) if isinstance(part, str)), "the content")


def _described(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping of keys to values"
    if isinstance(value, list | tuple):
        return "a list"
    return f"the text '{value}'" if isinstance(value, str) else f"the number {value}"


def _meaning(shape: type[Definition], loc: Place) -> str:
    owner = _shape_at(shape, loc[:-1])
    for name, field in owner.model_fields.items() if owner else ():
        if loc[-1] in (name, field.alias) and field.description:
            return f": {field.description}"
    return ""


def _legal_keys(shape: type[Definition], loc: Place) -> list[str]:
    owner = _shape_at(shape, loc)
    return [field.alias or name for name, field in owner.model_fields.items()] if owner else []


def _shape_at(shape: type[Definition], loc: Place) -> type[BaseModel] | None:
    """The model that stands at `loc`, found along the annotations."""
    at: Any = shape
    for part in loc:
        at = _unwrapped(at)
        if isinstance(at, type) and issubclass(at, BaseModel):
            named = [field for name, field in at.model_fields.items() if part in (name, field.alias)]
            at = named[0].annotation if named else None
        else:  # tuple[X, ...] or Mapping[str, X]
            members = [member for member in get_args(at) if member is not Ellipsis]
            at = members[-1] if members else None
    at = _unwrapped(at)
    return at if isinstance(at, type) and issubclass(at, BaseModel) else None


def _unwrapped(annotation: Any) -> Any:
    """X for X | None."""
    if get_origin(annotation) in (Union, UnionType):
        return next(member for member in get_args(annotation) if member is not type(None))
    return annotation
