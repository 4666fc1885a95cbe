"""Small pieces of SQL trees that every statement is put together from. Knows no query and no Grant."""

from collections.abc import Sequence
from datetime import date, datetime, time

from dateutil.relativedelta import relativedelta
from sqlglot import exp

from engine.dataset import Dataset, Field, Period
from engine.masks import MaskedField
from engine.query import Column, Scalar
from engine.sqlmasks import masked_value

TABLE = "stored"
"""The alias of the dataset's table, by which its columns are told from labels of the same name."""

_STEP = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "quarter": relativedelta(months=3),
    "year": relativedelta(years=1),
}


def shifted_back(value: Scalar, period: Period) -> Scalar:
    """The first date or date-time that is at or after `value` once a period is added to it.

    A day that the earlier month lacks becomes the first of the month after it, as a bound: before March 31 lies all of
    February, not all but its last day.
    """
    if not isinstance(value, date):  # a date-time is a date too
        return value
    earlier: date = value - _STEP[period]
    if period in ("day", "week") or earlier.day == value.day:
        return earlier
    first: date = earlier + relativedelta(months=1, day=1)
    return datetime.combine(first, time(), first.tzinfo) if isinstance(first, datetime) else first


def column_ref(field: Field, dataset: Dataset) -> exp.Expr:
    """What the caller may know of the field's stored column: itself, or what its mask leaves of it."""
    if not isinstance(field, MaskedField):
        return stored_ref(field)
    stored = stored_ref(field.beneath)
    if field.mask.grain is not None:
        return exp.paren(time_bucket(stored, Column(field.name, field.beneath, grain=field.mask.grain), dataset))
    return masked_value(stored, field)


def stored_ref(field: Field) -> exp.Expr:
    """The field's stored column. A naive time that is declared as a moment is a moment of UTC, the session's zone."""
    column = exp.column(field.source_column, table=TABLE, quoted=True)
    return exp.cast(column, exp.DataType.Type.TIMESTAMPTZ) if field.type == "timestamptz" else column


def conjunction(clauses: Sequence[exp.Expr]) -> exp.Expr:
    return exp.and_(*clauses) if clauses else exp.true()


def label_ref(column: Column, layer: str | None = None) -> exp.Column:
    """A column of a layer, or of the only one in reach."""
    return exp.column(column.label, table=layer, quoted=True)


def ordered(value: exp.Expr, descending: bool, *, finite: bool) -> exp.Ordered:
    """Nulls stand last in both directions, and so does NaN: a missing value is never the top of anything."""
    known = value if finite else exp.func("NULLIF", value, not_a_number())
    return exp.Ordered(this=known, desc=descending, nulls_first=False)


def aggregate(column: Column, dataset: Dataset) -> exp.Expr:
    """The aggregation of a stored column, exact: sums of integers and decimals cannot overflow or round."""
    if column.field is None:
        return exp.Count(this=exp.Star())
    value = column_ref(column.field, dataset)
    match column.aggregation:
        case "sum":
            return exp.Sum(this=value)
        case "avg":
            return exp.Avg(this=exp.cast(value, exp.DataType.Type.DOUBLE))
        case "median":
            return exp.Median(this=exp.cast(value, exp.DataType.Type.DOUBLE))
        case "min":
            return exp.Min(this=value)
        case "max":
            return exp.Max(this=value)
        case "count":
            return exp.Count(this=value)
        case "countDistinct":
            return exp.Count(this=exp.Distinct(expressions=[value]))
    raise ValueError(f"{column.label} has no aggregation")


def typed(value: exp.Expr, column: Column, *, finite: bool) -> exp.Expr:
    """A measure in its column's type: decimals keep their scale, at full width, and whole numbers theirs.

    What may be NaN stays a float, since no decimal can hold that. So does an average: its last digits depend on the
    order of the sum, and would tip a half over or not; it is rounded when it is written.
    """
    if column.aggregation in ("avg", "median"):
        return value
    if column.type.startswith("decimal") and finite:
        scale = int(column.type.rstrip(")").rpartition(",")[2])
        return exp.cast(value, exp.DataType.build(f"DECIMAL(38, {scale})"))
    if "int" in column.type and finite and column.aggregation not in ("count", "countDistinct"):
        return exp.cast(value, exp.DataType.build("DECIMAL(38, 0)"))
    return value


def not_a_number() -> exp.Expr:
    return exp.cast(exp.Literal.string("NaN"), exp.DataType.Type.DOUBLE)


def wall_time(value: exp.Expr, field: Field, dataset: Dataset) -> exp.Expr:
    """A temporal field's value as the dataset's local date or time. A naive timestamp is that already."""
    return exp.AtTimeZone(this=value, zone=_zone(dataset)) if field.type == "timestamptz" else value


def moved(field: Field, period: Period, dataset: Dataset) -> exp.Expr:
    """The field one period later by the local calendar, in its own type; the 31st becomes a short month's last day."""
    wall = wall_time(column_ref(field, dataset), field, dataset)
    later = exp.Add(this=wall, expression=exp.Interval(this=exp.Literal.string("1"), unit=exp.var(period.upper())))
    if field.type == "date":
        return exp.cast(later, exp.DataType.Type.DATE)
    return exp.AtTimeZone(this=exp.paren(later), zone=_zone(dataset)) if field.type == "timestamptz" else later


def day_of_month(value: exp.Expr, field: Field, dataset: Dataset) -> exp.Expr:
    return exp.Extract(this=exp.var("DAY"), expression=wall_time(value, field, dataset))


def time_bucket(value: exp.Expr, column: Column, dataset: Dataset) -> exp.Expr:
    """The column's value cut to its grain, in the dataset's zone and with its first day of the week."""
    assert column.field is not None
    if column.grain is None:
        return value
    wall = wall_time(value, column.field, dataset)
    if column.grain == "hour":
        hour = exp.TimestampTrunc(this=wall, unit=exp.var("HOUR"))
        if column.field.type == "timestamp":
            return hour
        # By what it stands above its hour: when clocks go back, two hours have one name and stay two.
        return exp.Sub(this=value.copy(), expression=exp.paren(exp.Sub(this=wall.copy(), expression=hour)))
    day = exp.cast(wall, exp.DataType.Type.DATE)
    if column.grain == "day":
        return day
    if column.grain == "week" and dataset.week_start == "sunday":
        # Truncation begins weeks on Monday: step a day forward into the week, and back from its start.
        return _days_later(exp.cast(_truncated(_days_later(day, 1), "WEEK"), exp.DataType.Type.DATE), -1)
    late = dataset.months_late(column.grain)
    if late:
        # Truncation begins years in January: step back by as much as the fiscal year is late, and forward again.
        return _months_later(_truncated(_months_later(day, -late), column.grain.upper()), late)
    return exp.cast(_truncated(day, column.grain.upper()), exp.DataType.Type.DATE)


def _zone(dataset: Dataset) -> exp.Expr:
    return exp.Literal.string(dataset.time_zone)


def _truncated(value: exp.Expr, unit: str) -> exp.Expr:
    return exp.func("DATE_TRUNC", exp.Literal.string(unit), value, dialect="duckdb")


def _months_later(day: exp.Expr, months: int) -> exp.Expr:
    """A day that the month lacks becomes its last, and so stays in the month."""
    moved = exp.Add(this=day, expression=exp.Interval(this=exp.Literal.string(str(months)), unit=exp.var("MONTH")))
    return exp.cast(moved, exp.DataType.Type.DATE)


def _days_later(day: exp.Expr, days: int) -> exp.Expr:
    moved = exp.Add(this=day, expression=exp.Interval(this=exp.Literal.string(str(days)), unit=exp.var("DAY")))
    return exp.cast(moved, exp.DataType.Type.DATE)
