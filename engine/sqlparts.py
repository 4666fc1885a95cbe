"""Small pieces of SQL trees that every statement is put together from. Knows no query and no Grant."""

from collections.abc import Sequence
from datetime import date

from dateutil.relativedelta import relativedelta
from sqlglot import exp

from engine.dataset import Aggregation, Dataset, Field, Period
from engine.query import Column, Scalar

_STEP = {
    "day": relativedelta(days=1),
    "week": relativedelta(weeks=1),
    "month": relativedelta(months=1),
    "quarter": relativedelta(months=3),
    "year": relativedelta(years=1),
}


def shifted_back(value: Scalar, period: Period) -> Scalar:
    """A date or date-time one period earlier; the 31st becomes the month's last day."""
    if isinstance(value, date):  # also date-times
        earlier: date = value - _STEP[period]
        return earlier
    return value


def column_ref(field: Field) -> exp.Column:
    return exp.column(field.source_column, quoted=True)


def conjunction(clauses: Sequence[exp.Expr]) -> exp.Expr:
    return exp.and_(*clauses) if clauses else exp.true()


def equal_or_both_null(left: exp.Expr, right: exp.Expr) -> exp.Expr:
    return exp.NullSafeEQ(this=left, expression=right)


def ordered(column: exp.Expr, descending: bool) -> exp.Ordered:
    """Nulls stand last in both directions: a missing value is never the top of anything."""
    return exp.Ordered(this=column, desc=descending, nulls_first=False)


def aggregate(column: Column) -> exp.Expr:
    """The aggregation of a stored column, exact: sums of integers and decimals cannot overflow or round."""
    if column.field is None:
        return exp.Count(this=exp.Star())
    value = column_ref(column.field)
    aggregation: Aggregation | None = column.aggregation or column.field.aggregation
    match aggregation:
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


def typed(value: exp.Expr, column: Column) -> exp.Expr:
    """Values back in the column's declared type after a computation: decimals keep their scale, at full width."""
    if column.field is None or column.groups:
        return value
    if column.type.startswith("decimal"):
        scale = int(column.type.rstrip(")").rpartition(",")[2])
        return exp.cast(value, exp.DataType.build(f"DECIMAL(38, {scale})"))
    if "int" in column.type and column.aggregation not in ("count", "countDistinct"):
        return exp.cast(value, exp.DataType.build("DECIMAL(38, 0)"))
    return value


def time_bucket(value: exp.Expr, column: Column, dataset: Dataset) -> exp.Expr:
    """The column's value cut to its grain, in the dataset's zone and with its first day of the week."""
    field = column.field
    assert field is not None
    if field.type == "timestamptz":
        value = exp.AtTimeZone(this=value, zone=exp.Literal.string(dataset.time_zone)) if column.grain else value
    if column.grain is None:
        return value
    if column.grain == "hour":
        return exp.TimestampTrunc(this=value, unit=exp.var("HOUR"))
    day = exp.cast(value, exp.DataType.Type.DATE)
    if column.grain == "day":
        return day
    if column.grain == "week" and dataset.week_start == "sunday":
        # Truncation begins weeks on Monday: step a day forward into the week, and back from its start.
        return _days_later(exp.cast(_truncated(_days_later(day, 1), "WEEK"), exp.DataType.Type.DATE), -1)
    return exp.cast(_truncated(day, column.grain.upper()), exp.DataType.Type.DATE)


def _truncated(value: exp.Expr, unit: str) -> exp.Expr:
    return exp.func("DATE_TRUNC", exp.Literal.string(unit), value, dialect="duckdb")


def _days_later(day: exp.Expr, days: int) -> exp.Expr:
    moved = exp.Add(this=day, expression=exp.Interval(this=exp.Literal.string(str(days)), unit=exp.var("DAY")))
    return exp.cast(moved, exp.DataType.Type.DATE)
