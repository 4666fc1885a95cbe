"""Arrow rows to wire values. The encoding is a column's, never a row's, and loses nothing that JSON could keep.

int64, uint64 and decimal become text, since a double holds no more than 53 bits; smaller integers stay numbers; times
are ISO 8601, with the dataset's offset where the column has none of its own; NaN and infinities become null.
"""

import base64
import math
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa

from engine.query import Column, Note

_FLOAT_DIGITS = 12  # sums of doubles differ in the last digits between identical calls


def encode_rows(
    rows: pa.Table, columns: Sequence[Column], *, zone: ZoneInfo
) -> tuple[list[tuple[object, ...]], tuple[Note, ...]]:
    """The table's rows as wire values, with a VALUE_NOT_FINITE note for each column that held NaN or an infinity."""
    encoded, notes = [], []
    for column, values in zip(columns, rows.columns, strict=True):
        encode = encoder(column.type, zone)
        raw = values.to_pylist()
        encoded.append([None if value is None else encode(value) for value in raw])
        if any(isinstance(value, float) and not math.isfinite(value) for value in raw):
            notes.append(Note("VALUE_NOT_FINITE", column.label))
    return list(zip(*encoded, strict=True)), tuple(notes)


def encoder(wire_type: str, zone: ZoneInfo) -> Callable[[object], object]:
    """How a value of one wire type is written."""
    if wire_type in ("int64", "uint64"):
        return lambda value: str(int(value)) if isinstance(value, int | Decimal | float) else str(value)
    if wire_type.startswith("decimal"):
        scale = int(wire_type.rstrip(")").rpartition(",")[2])
        return lambda value: _decimal(value, scale)
    if "int" in wire_type:
        return lambda value: int(value) if isinstance(value, int | Decimal) else value
    return lambda value: wire_value(value, zone)


def wire_value(value: object, zone: ZoneInfo) -> object:
    """A value by its own type: for texts, booleans, floats, times, binaries, and what lists and structs hold."""
    match value:
        case None | bool() | str():
            return value
        case float():
            return float(f"{value:.{_FLOAT_DIGITS}g}") if math.isfinite(value) else None
        case int():
            return value if abs(value) < 2**53 else str(value)
        case Decimal():
            return format(value, "f")
        case datetime():
            return (value if value.tzinfo else value.replace(tzinfo=zone)).astimezone(zone).isoformat()
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


def _decimal(value: object, scale: int) -> str:
    exact = value if isinstance(value, Decimal) else Decimal(str(value))
    return format(exact.quantize(Decimal(1).scaleb(-scale)) if exact.is_finite() else exact, "f")
