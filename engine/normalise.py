"""Filter values to canonical form, before anything is cached or run: equal meanings become equal conditions.

A changed value leaves a Note; an ambiguous or impossible one is an error or a marked note, never a silent guess.
"""

import sys
from collections.abc import Sequence
from datetime import time
from decimal import Decimal

from engine.dataset import Field, LegalValue
from engine.errors import Fault, InvalidParameter, UnknownValue
from engine.folding import fold, nearest
from engine.numerals import number_of
from engine.query import Canonical, Clock, Condition, Note, Operator, Scalar
from engine.timefilter import canonical_time

_TRUE = frozenset({"true", "yes", "y", "1", "是", "真", "有"})
_FALSE = frozenset({"false", "no", "n", "0", "否", "假", "无", "没有"})
_TEXT_OPERATORS = ("contains", "startsWith")
_GREATEST_SINGLE = (2 - 2**-23) * 2.0**127
_ORDERED_OPERATORS = ("gt", "gte", "lt", "lte", "between")


def canonical(field: Field, operator: Operator, raw: object, *, legal: Sequence[LegalValue], clock: Clock) -> Canonical:
    """`raw` as conditions on `field`.

    Raises InvalidParameter or UnknownValue.
    """
    if operator == "isNull":
        wanted = _boolean(field, raw)
        return Canonical(((Condition(field.name, "isNull", (wanted,)),),), {"isNull": wanted}, ())
    if operator in _TEXT_OPERATORS:
        return _text(field, operator, raw)
    if field.temporal:
        return canonical_time(field, operator, raw, clock=clock)
    return _values(field, operator, raw, legal)


def _fault(field: Field, raw: object, fault: Fault, *expected: str) -> InvalidParameter:
    return InvalidParameter(f"filters.{field.name}", raw, fault, expected)


def _text(field: Field, operator: Operator, raw: object) -> Canonical:
    if field.type != "string":
        raise _fault(field, operator, "operatorForType", "eq", "in", "between")
    if not isinstance(raw, str) or not raw:
        raise _fault(field, raw, "notText")
    return Canonical(((Condition(field.name, operator, (raw,)),),), {operator: raw}, ())


def _values(field: Field, operator: Operator, raw: object, legal: Sequence[LegalValue]) -> Canonical:
    """eq, ne, in, notIn and the ordered operators over anything that is not a time."""
    given = list(raw) if isinstance(raw, list | tuple) else [raw]
    if not given:
        raise _fault(field, raw, "emptyList")
    if field.type in ("binary", "json"):
        raise _fault(field, operator, "operatorForType", "isNull")
    if operator in _ORDERED_OPERATORS and (legal or field.type == "boolean"):
        raise _fault(field, operator, "operatorForType", "eq", "in")
    if operator == "between" and len(given) != 2:
        raise _fault(field, raw, "badShape", "[low, high]")
    if operator in ("gt", "gte", "lt", "lte") and len(given) != 1:
        raise _fault(field, raw, "badShape", "one value")
    values, notes = [], []
    for item in given:
        value = _value(field, item, legal)
        values.append(value)
        if _changed(item, value):
            notes.append(Note("VALUE_NORMALISED", field.name, received=item, used=value))
    if operator == "between" and values[0] > values[1]:  # type: ignore[operator]  # same field, so same type
        raise _fault(field, raw, "rangeReversed")
    if operator in ("eq", "in", "ne", "notIn"):
        unique = sorted(set(values), key=lambda value: (str(type(value)), str(value)))
        operator = "in" if operator in ("eq", "in") else "notIn"
        spoken: object = unique if operator == "in" else {"notIn": unique}
        return Canonical(((Condition(field.name, operator, tuple(unique)),),), spoken, tuple(notes))
    said = values if operator == "between" else values[0]
    return Canonical(((Condition(field.name, operator, tuple(values)),),), {operator: said}, tuple(notes))


def _value(field: Field, item: object, legal: Sequence[LegalValue]) -> Scalar:
    if legal:
        return _legal_value(field, item, legal)
    if field.type == "boolean":
        return _boolean(field, item)
    if field.numeric:
        return _number(field, item)
    if field.type == "time":
        return _time_of_day(field, item)
    if not isinstance(item, str):
        if isinstance(item, int) and not isinstance(item, bool) and field.type == "string":
            return str(item)
        raise _fault(field, item, "notText")
    return item


def _legal_value(field: Field, item: object, legal: Sequence[LegalValue]) -> Scalar:
    wanted = fold(str(item))
    for value in legal:
        if str(value.value) == str(item):
            return value.value
    hits = {value.value for value in legal if wanted in map(fold, value.names())}
    if len(hits) == 1:
        return hits.pop()
    if hits:
        raise _fault(field, item, "ambiguous", *map(str, sorted(hits, key=str)))
    by_value = {str(value.value): value.names() for value in legal}
    raise UnknownValue(field.name, item, nearest(str(item), by_value))


def _boolean(field: Field, item: object) -> bool:
    word = fold(str(item))
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise _fault(field, item, "notABoolean", "true", "false")


def _time_of_day(field: Field, item: object) -> str:
    try:
        return time.fromisoformat(str(item)).isoformat()
    except ValueError as error:
        raise _fault(field, item, "notADate", "10:30:00") from error


def _number(field: Field, item: object) -> Scalar:
    number = None if isinstance(item, bool) else number_of(str(item))
    if number is None:
        raise _fault(field, item, "notANumber")
    low, high = _bounds(field.type)
    if "int" in field.type and number != int(number):
        raise _fault(field, item, "notWhole")
    if not low <= number <= high:
        raise _fault(field, item, "notANumber", field.type)
    if "int" in field.type:
        return int(number)
    return Decimal(number) if field.type.startswith("decimal") else float(number)


def _bounds(number_type: str) -> tuple[int | Decimal | float, int | Decimal | float]:
    """The least and the greatest value of a type; a decimal's are those that fit beside its places into 38 digits."""
    if number_type.startswith("decimal"):
        greatest = Decimal(10) ** (38 - int(number_type.rstrip(")").rpartition(",")[2])) - 1
        return -greatest, greatest
    if number_type.startswith("float"):
        greatest_float = _GREATEST_SINGLE if number_type == "float32" else sys.float_info.max
        return -greatest_float, greatest_float
    bits = int(number_type.lstrip("uint"))
    return (0, 2**bits - 1) if number_type.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _changed(received: object, used: Scalar) -> bool:
    """Whether a caller would be surprised: 2 for 2.0 or "2" is no change of value."""
    if isinstance(used, int | float | Decimal) and not isinstance(used, bool):
        try:
            return Decimal(str(received)) != Decimal(str(used))
        except ArithmeticError:
            return True
    return str(received) != str(used) and not isinstance(received, bool)
