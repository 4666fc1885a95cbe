"""Arrow rows to wire values. The encoding is a column's, never a row's, and loses nothing that JSON could keep.

int64, uint64 and decimal become text, since a double holds no more than 53 bits; smaller integers stay numbers; times
are ISO 8601, with the dataset's offset where the column has none of its own. NaN, infinities and times outside the
years 1 to 9999 become null.
"""

import base64
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.query import Column, Note

_SUM_DIGITS = 12  # sums of doubles differ in the last digits between identical calls
_EXACT = Context(prec=120)  # the widest decimal has 38 digits, and rounding one must not cut any
_EPOCH = datetime(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def encode_rows(
    rows: pa.Table, columns: Sequence[Column], *, zone: ZoneInfo
) -> tuple[list[tuple[object, ...]], tuple[Note, ...]]:
    """The table's rows as wire values, with a VALUE_NOT_FINITE note for each column that held what became null."""
    encoded, notes = [], []
    for column, stored in zip(columns, rows.columns, strict=True):
        values = python_values(in_calendar(stored))
        encode = encoder(column, zone, single=pa.types.is_float32(stored.type))
        encoded.append([None if value is None else encode(value) for value in values])
        nested = pa.types.is_nested(stored.type) and any(map(_holds_not_finite, values))
        if nested or encoded[-1].count(None) > stored.null_count:
            notes.append(Note("VALUE_NOT_FINITE", column.label))
    return list(zip(*encoded, strict=True)), tuple(notes)


def encoder(column: Column, zone: ZoneInfo, *, single: bool = False) -> Callable[[object], object]:
    """How a column's values are written; `single` where they are floats of 32 bits."""
    kind = column.type
    if kind in ("int64", "uint64"):
        return lambda value: _decimal(value, 0)
    if kind.startswith("decimal"):
        scale = int(kind.rstrip(")").rpartition(",")[2])
        return lambda value: _decimal(value, scale)
    if "int" in kind:
        return lambda value: int(text) if (text := _decimal(value, 0)) else text
    if kind.startswith("float"):
        digits = None if _is_as_stored(column) else _SUM_DIGITS
        return lambda value: _float(value, digits, single=single)
    if kind == "string":
        return lambda value: value if isinstance(value, str) else str(wire_value(value, zone))
    return lambda value: wire_value(value, zone)


def wire_value(value: object, zone: ZoneInfo) -> object:
    """A value by its own type: for booleans, times, binaries, and what lists and structs hold."""
    match value:
        case None | bool() | str():
            return value
        case float():
            return value if math.isfinite(value) else None
        case int():
            return value if abs(value) < 2**53 else str(value)
        case Decimal():
            return format(value, "f")
        case datetime():
            return _with_offset(value, zone)
        case date() | time():
            return value.isoformat()
        case timedelta():
            return value.total_seconds()
        case bytes():
            return base64.b64encode(value).decode()
        case dict():
            return {str(key): wire_value(item, zone) for key, item in value.items()}
        case list() | tuple():
            return [wire_value(item, zone) for item in value]
    return str(value)


def python_values(values: pa.ChunkedArray) -> list[object]:
    """As `to_pylist`, but that a time outside the calendar within a list or a struct is NaN: nothing on the wire."""
    if not pa.types.is_nested(values.type):
        plain: list[object] = values.to_pylist()
        return plain
    return [_python_value(scalar) for scalar in values]


def _python_value(scalar: pa.Scalar) -> object:
    if isinstance(scalar, pa.UnionScalar):
        return _python_value(scalar.value)
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.MapScalar):
        return [[_python_value(pair["key"]), _python_value(pair["value"])] for pair in scalar.values]
    if isinstance(scalar, pa.ListScalar):
        return [_python_value(item) for item in scalar.values]
    if isinstance(scalar, pa.StructScalar):
        return {name: _python_value(item) for name, item in scalar.items()}
    if pa.types.is_timestamp(scalar.type) and scalar.type.unit == "ns":
        scalar = scalar.cast(pa.timestamp("us", scalar.type.tz), safe=False)
    try:
        value: object = scalar.as_py()
    except OverflowError:
        return math.nan
    return value


def _holds_not_finite(value: object) -> bool:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return any(map(_holds_not_finite, value))
    return isinstance(value, float) and not math.isfinite(value)


def _is_as_stored(column: Column) -> bool:
    """Whether each value stands in the store as it is, so that every digit of it means something."""
    return column.field is not None and column.field.stored and column.aggregation in (None, "min", "max")


def _float(value: object, digits: int | None, *, single: bool) -> float | None:
    number = float(value)  # type: ignore[arg-type]  # a column declared as a float holds numbers
    if not math.isfinite(number):
        return None
    if single:
        return float(str(np.float32(number)))  # 0.1, not the double that lies nearest to the float that lies nearest
    return number if digits is None else float(f"{number:.{digits}g}")


def _decimal(value: object, scale: int) -> str | None:
    if not isinstance(value, int | float | Decimal):
        return str(value)  # the source holds something else than the catalog says: handed on as it is
    exact = Decimal(f"{value:.{_SUM_DIGITS}g}") if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        return None
    return format(exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT), "f")


def _with_offset(moment: datetime, zone: ZoneInfo) -> str:
    """ISO 8601 in the dataset's zone; in UTC where that offset has seconds, as before railways, or leaves 9999."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=zone)
    for target in (zone, UTC):
        with suppress(OverflowError):
            local = aware.astimezone(target)
            if (local.utcoffset() or timedelta()) % timedelta(minutes=1) == timedelta():
                return local.isoformat()
    return aware.isoformat()


def in_calendar(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Times as Python can hold them: to the microsecond, and null outside the years 1 to 9999."""
    if pa.types.is_date(values.type):
        values = values.cast(pa.date32())
        numbers, first, last = values.cast(pa.int32()), _days(date.min), _days(date.max)
    elif pa.types.is_timestamp(values.type):
        values = values.cast(pa.timestamp("us", values.type.tz), safe=False)
        numbers, first, last = values.cast(pa.int64()), _microseconds(datetime.min), _microseconds(datetime.max)
    else:
        return values
    return pc.if_else(pc.and_(pc.greater_equal(numbers, first), pc.less_equal(numbers, last)), values, None)


def _days(day: date) -> int:
    return (day - _EPOCH.date()).days


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND
