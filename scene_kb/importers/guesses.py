"""What a column probably is, by its name first and its values second: a draft for a curator, never a verdict.

Pure: looks at descriptions of columns, never at a store.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from engine.backends.base import ColumnInfo, ColumnProfile
from engine.dataset import Aggregation, Flag, LegalValue, Role
from engine.query import Scalar
from scene_kb.importers.names import is_other_time, is_personal, kind_of

_FEW_CODES = 20  # a whole number with no more different values than this, each met often, is a code, no quantity
_FEW_VALUES = 30  # a text with no more than this is chosen from a list
_SPARSE = 2  # ids leave fewer gaps than half of their range
_LARGE = 10**9
_LONG_TEXT = 40  # from so many characters on a text is written rather than chosen
_PERSONAL_LOOKS = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+|(?:\+?86)?1[3-9]\d{9}|\d{17}[\dXx]")
"""An e-mail address, a Chinese mobile number, a Chinese identity number."""


@dataclass(frozen=True)
class Guess:
    role: Role
    type: str
    """Of the field: that of the column, widened to what its aggregation yields."""
    aggregation: Aggregation | None = None
    flags: tuple[Flag, ...] = ()
    check: str = ""
    """What a curator should look at; empty where the name says enough."""


def guess(column: ColumnInfo, profile: ColumnProfile | None, *, rows: int) -> Guess:
    """`profile` is None for a column whose values were not looked at."""
    kind = kind_of(column.name)
    if _personal(column, profile):
        return Guess("dimension", column.type, flags=("sensitive",))
    if not is_number(column.type):
        written = profile is not None and profile.distinct * 2 > rows and _longest(profile.samples) > _LONG_TEXT
        nothing = profile is not None and rows > 0 and not profile.distinct
        check = "empty in every row; is it a text?" if nothing else ""
        return Guess("dimension", column.type, flags=("freeText",) if written else (), check=check)
    if kind == "code":
        return Guess("dimension", column.type)
    if kind is not None:
        return Guess("metric", _widened(column.type, kind), kind)
    return _by_values(column, profile, rows)


def _by_values(column: ColumnInfo, profile: ColumnProfile | None, rows: int) -> Guess:
    """For a number whose name says nothing. The average of a measurement always means something, its sum does not."""
    numbers = [value for value in profile.samples if isinstance(value, int | float | Decimal)] if profile else []
    if profile is None or not numbers:
        return _metric(column, "avg", "averaged, for want of values to look at")
    whole, filled = all(value == value // 1 for value in numbers), rows - profile.nulls
    if whole and profile.distinct <= _FEW_CODES and profile.distinct * 5 <= filled:
        return Guess("dimension", column.type, check="a number with few values, taken for a code")
    if whole and profile.distinct == filled > _FEW_CODES and _numbered(profile):
        return Guess("dimension", column.type, check="a number that differs in every row, taken for an id")
    counted = whole and not column.type.startswith("float") and profile.minimum in (0, 1)
    if counted or (column.type.startswith("decimal") and not whole):
        return _metric(column, "sum", "summed, as an amount or count; is it a rate or a measurement?")
    return _metric(column, "avg", "averaged, as a measurement; is it an amount or a count?")


def _numbered(profile: ColumnProfile) -> bool:
    """Ids are given out one after the other, or are far larger than what people measure and count."""
    low, high = profile.minimum, profile.maximum
    if not isinstance(low, int | float | Decimal) or not isinstance(high, int | float | Decimal):
        return False
    return float(high) - float(low) < _SPARSE * profile.distinct or low > _LARGE


def _metric(column: ColumnInfo, aggregation: Aggregation, check: str) -> Guess:
    return Guess("metric", _widened(column.type, aggregation), aggregation, check=check)


def _widened(declared: str, aggregation: Aggregation) -> str:
    """The type that the aggregation's result needs."""
    if aggregation in ("min", "max"):
        return declared
    if declared.startswith("decimal"):
        precision, scale = map(int, declared.removeprefix("decimal(").rstrip(")").split(","))
        scale = scale if aggregation == "sum" else max(scale, 4)
        return f"decimal({min(38, max(18, precision, scale))},{scale})"
    if declared.startswith("float") or aggregation == "avg":
        return "float64"
    return "decimal(38,0)" if declared == "uint64" else "int64"


def _personal(column: ColumnInfo, profile: ColumnProfile | None) -> bool:
    """By its name, unless that counts or classifies; or because most values look like it."""
    if column.type == "boolean" or column.type.startswith(("float", "decimal")):
        return False
    if is_personal(column.name) and not (is_number(column.type) and kind_of(column.name) in ("sum", "avg")):
        return True
    samples = [str(value) for value in profile.samples] if profile else []
    looks = sum(_PERSONAL_LOOKS.fullmatch(text.strip()) is not None for text in samples)
    return looks * 2 > len(samples)


def _longest(samples: Sequence[Scalar]) -> int:
    return max((len(value) for value in samples if isinstance(value, str)), default=0)


def is_number(declared: str) -> bool:
    return declared.startswith(("int", "uint", "float", "decimal"))


def legal_values(column: ColumnInfo, profile: ColumnProfile, found: Guess, *, rows: int) -> tuple[LegalValue, ...]:
    """The values of a text that is chosen from a short list, in their order; none where that is doubtful.

    The engine refuses every other value of an enumerated field, so each must be met several times; and it compares
    such values by equality alone, so numbers are never listed.
    """
    values = [value for value in profile.samples if isinstance(value, str)]
    listed = 1 < profile.distinct == len(values) <= _FEW_VALUES and profile.distinct * 3 <= rows - profile.nulls
    if column.type != "string" or found.flags or not listed:
        return ()
    return tuple(LegalValue(value=value) for value in sorted(values))


def time_column(columns: Sequence[ColumnInfo], profiles: Sequence[ColumnProfile]) -> str | None:
    """The column that says when a row happened: filled, varied, and not a birthday or the time of the last change."""
    by_name = {profile.name: profile for profile in profiles}
    temporal = [it for it in columns if it.type in ("date", "timestamp", "timestamptz") and it.name in by_name]

    def unlikely(column: ColumnInfo) -> tuple[bool, int, bool, int]:
        profile = by_name[column.name]
        return is_other_time(column.name), profile.nulls, profile.distinct < 2, columns.index(column)

    return min(temporal, key=unlikely).name if temporal else None
