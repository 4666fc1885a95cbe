"""A naive evaluator over raw rows: what a query means, in plain Python, one row at a time.

Shares no code with the engine. Reads the same definitions (`shop.FIELDS`) and the wire's own query, with canonical
names and plain values.
"""

import ast
import calendar
import math
import re
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import partial
from operator import itemgetter
from typing import Any
from zoneinfo import ZoneInfo

Row = Mapping[str, Any]
Rule = tuple[str, tuple[Any, ...]]
"""(field, readable values)"""


class Oracle:
    def __init__(self, definition: Mapping[str, Any], rows: Sequence[Row]) -> None:
        self.fields = {field["name"]: field for field in definition["fields"]}
        self.key = definition["key"]
        self.time_column = definition["time_column"]
        self.zone = ZoneInfo(definition["time_zone"])
        self.week_start = definition.get("week_start", "monday")
        self.year_begins = definition.get("fiscal_year", {"start_month": 1})["start_month"]
        self.rows = rows

    def answer(self, asked: Mapping[str, Any], rules: Sequence[Sequence[Rule]] = ()) -> list[tuple[Any, ...]]:
        """Rows in order. `rules`: alternatives, one per role; empty where every row may be read."""
        readable = [row for row in self.rows if not rules or any(self._in_scope(row, role) for role in rules)]
        if asked.get("group_by") is None:
            return self._raw_rows(asked, readable)
        return self._grouped_rows(asked, readable)

    def _in_scope(self, row: Row, role: Sequence[Rule]) -> bool:
        return all(row[field] in values for field, values in role)

    # Raw rows -------------------------------------------------------------------------------------------------------

    def _raw_rows(self, asked: Mapping[str, Any], readable: Sequence[Row]) -> list[tuple[Any, ...]]:
        rows = [row for row in readable if self._matches(row, asked["filters"])]
        for name in reversed(self.key):
            rows = _sorted(rows, itemgetter(name), descending=False)
        for text in reversed(asked["order_by"]):
            label = text.removeprefix("-")
            rows = _sorted(rows, partial(self._cell, label=label), descending=text.startswith("-"))
        return [tuple(self._cell(row, label) for label in asked["fields"]) for row in rows[: asked.get("limit")]]

    def _cell(self, row: Row, label: str, period: str | None = None) -> Any:
        name, _, grain = label.partition(":")
        field = self.fields[name]
        value = row[field["column"]] if field["role"] == "metric" and "column" in field else row[name]
        if field["type"] not in ("date", "timestamp", "timestamptz") or value is None:
            return value
        if field["type"] == "timestamptz":
            value = value.astimezone(self.zone).replace(tzinfo=None)
        if period is not None and name == self.time_column:
            value = later(value, period)
        return cut(value, grain, self.week_start, self.year_begins) if grain else value

    # Filters --------------------------------------------------------------------------------------------------------

    def _matches(self, row: Row, filters: Mapping[str, Any], period: str | None = None) -> bool:
        for name, wanted in filters.items():
            if name == "or":
                if not any(self._matches(row, branch, period) for branch in wanted):
                    return False
            elif not self._holds(self._cell(row, name, period), wanted, self.fields[name]["type"]):
                return False
        return True

    def _holds(self, value: Any, wanted: Any, kind: str) -> bool:
        if kind in ("date", "timestamp", "timestamptz"):
            return _in_time(value, wanted)
        if isinstance(wanted, list):
            wanted = {"in": wanted}
        if not isinstance(wanted, Mapping):
            wanted = {"eq": wanted}
        return all(_compares(value, operator, operand, kind) for operator, operand in wanted.items())

    # Groups ---------------------------------------------------------------------------------------------------------

    def _grouped_rows(self, asked: Mapping[str, Any], readable: Sequence[Row]) -> list[tuple[Any, ...]]:
        groups: Sequence[str] = asked["group_by"]
        measures = [label for label in asked["fields"] if label not in groups]
        having = {name: wanted for name, wanted in asked["filters"].items() if self._is_measure(name)}
        where = {name: wanted for name, wanted in asked["filters"].items() if name not in having}
        sort_labels = [text.removeprefix("-") for text in asked["order_by"]]
        needed = [*measures, *having, *(label for label in sort_labels if label not in groups)]
        now = self._group([row for row in readable if self._matches(row, where)], groups)
        before = {
            period: self._group(self._earlier(readable, where, groups, period), groups, period)
            for period in ("day", "week", "month", "quarter", "year")
        }
        results = []
        for key, rows in now.items():
            earlier = {period: by_key.get(key) for period, by_key in before.items()}
            cells = dict(zip(groups, key, strict=True))
            cells.update({label: self._measure(label, rows, earlier) for label in needed})
            results.append(cells)
        self._fill_shares(results, [label for label in needed if self._is_share(label)], groups, now)
        results = [cells for cells in results if all(self._has(cells, name, wanted) for name, wanted in having.items())]
        for label in reversed(groups):
            results = _sorted(results, itemgetter(label), descending=False)
        for text in reversed(asked["order_by"]):
            label = text.removeprefix("-")
            results = _sorted(results, itemgetter(label), descending=text.startswith("-"))
        if per_group := asked.get("limit_per_group"):
            results = _top_of_each(results, lambda cells: tuple(cells[label] for label in groups[:-1]), per_group)
        labels = list(dict.fromkeys([*groups, *asked["fields"]]))
        return [tuple(cells[label] for label in labels) for cells in results[: asked.get("limit")]]

    def _group(self, rows: Iterable[Row], groups: Sequence[str], period: str | None = None) -> dict[Any, list[Row]]:
        found: dict[Any, list[Row]] = {} if groups else {(): []}
        for row in rows:
            found.setdefault(tuple(self._cell(row, label, period) for label in groups), []).append(row)
        return found

    def _earlier(
        self, readable: Sequence[Row], where: Mapping[str, Any], groups: Sequence[str], period: str
    ) -> list[Row]:
        """The rows that match once their time is moved a period on.

        A day that the later month lacks is left out, unless whole months are compared; so is what has no time.
        """
        whole = self._whole_months(where, groups)
        timed = [row for row in readable if row[self.time_column] is not None and self._matches(row, where, period)]
        return [row for row in timed if whole or self._stays_on_its_day(self._cell(row, self.time_column), period)]

    def _whole_months(self, where: Mapping[str, Any], groups: Sequence[str]) -> bool:
        grains = [label.partition(":")[2] for label in groups if label.partition(":")[0] == self.time_column]
        if grains:
            return all(grain in ("month", "quarter", "year") for grain in grains)
        bounds = [bound for span in spans_of(where.get(self.time_column)) for bound in span if bound is not None]
        return all(bound.day == 1 for bound in bounds)

    def _stays_on_its_day(self, value: Any, period: str) -> bool:
        return period in ("day", "week") or later(value, period).day == value.day

    # Measures -------------------------------------------------------------------------------------------------------

    def _is_measure(self, label: str) -> bool:
        if label in ("or", "row_count"):
            return label == "row_count"
        name, _, suffix = label.partition(":")
        return self.fields[name]["role"] == "metric" or suffix in ("count", "countDistinct", "min", "max")

    def _is_share(self, label: str) -> bool:
        return label in self.fields and "share" in self.fields[label]

    def _measure(self, label: str, rows: Sequence[Row], earlier: Mapping[str, Sequence[Row] | None]) -> Any:
        if label == "row_count":
            return len(rows)
        name, _, suffix = label.partition(":")
        field = self.fields[name]
        if comparison := field.get("comparison"):
            return self._comparison(comparison, rows, earlier[comparison["period"]], field["type"])
        if "share" in field:
            return None  # filled in once all groups are known
        if "expression" in field:
            value = self._expression(field["expression"], rows)
            return value if isinstance(value, float) and self._over_floats(name) else in_type(value, field["type"])
        return self._aggregate(suffix or field["aggregation"], [self._cell(row, name) for row in rows])

    def _aggregate(self, aggregation: str, cells: Sequence[Any]) -> Any:
        values = [value for value in cells if value is not None]
        if aggregation == "count":
            return len(values)
        if aggregation == "countDistinct":
            return len(set(values))
        if not values:
            return None
        match aggregation:
            case "sum":
                with localcontext(prec=60):
                    return sum(values[1:], start=values[0])
            case "avg":
                return sum(map(float, values)) / len(values)
            case "median":
                return float(statistics.median(map(float, values)))
            case "min":
                return min(values)
            case "max":
                return max(values)
        raise AssertionError(aggregation)

    def _comparison(self, comparison: Row, rows: Sequence[Row], earlier: Sequence[Row] | None, kind: str) -> Any:
        metric = comparison["metric"]
        now = self._unrounded(metric, rows)
        before = None if earlier is None else self._unrounded(metric, earlier)
        if comparison["measure"] == "previous":
            return in_type(before, kind)
        change = _arithmetic(ast.Sub(), now, before)
        if comparison["measure"] == "change":
            return in_type(change, kind)
        return _divided(change, None if before is None else abs(before))

    def _unrounded(self, name: str, rows: Sequence[Row]) -> Any:
        field = self.fields[name]
        if "expression" in field:
            return self._expression(field["expression"], rows)
        return self._measure(name, rows, {})

    def _fill_shares(
        self, results: Sequence[dict[str, Any]], labels: Sequence[str], groups: Sequence[str], now: Mapping[Any, Any]
    ) -> None:
        for label in labels:
            share = self.fields[label]["share"]
            parts = [self._unrounded(share["metric"], rows) for rows in now.values()]
            wholes: dict[Any, Any] = {}
            places = [tuple(cells[name] for name in share.get("within", ())) for cells in results]
            for place, part in zip(places, parts, strict=True):
                if part is not None:
                    wholes[place] = part if wholes.get(place) is None else wholes[place] + part
            for cells, place, part in zip(results, places, parts, strict=True):
                cells[label] = _divided(part, wholes.get(place))

    def _has(self, cells: Mapping[str, Any], label: str, wanted: Any) -> bool:
        return self._holds(cells[label], wanted, "decimal")

    def _over_floats(self, name: str) -> bool:
        field = self.fields[name]
        if "expression" in field:
            return any(self._over_floats(operand) for operand in _names_in(field["expression"]))
        return bool(field["type"].startswith("float"))

    def _expression(self, text: str, rows: Sequence[Row]) -> Any:
        names = _names_in(text)
        placeholders = {name: f"operand{index}" for index, name in enumerate(names)}
        spelled = _NAME.sub(lambda found: placeholders.get(found[1] or found[0], found[0]), text)
        values = {placeholders[name]: self._unrounded(name, rows) for name in names}
        return _evaluate(ast.parse(spelled, mode="eval").body, values)


# Expressions ---------------------------------------------------------------------------------------------------------

_NAME = re.compile(r'"([^"]+)"|[A-Za-z_]\w*')
_FUNCTIONS = ("abs", "coalesce", "nullif")


def _names_in(text: str) -> list[str]:
    found = [match[1] or match[0] for match in _NAME.finditer(text)]
    return list(dict.fromkeys(name for name in found if name not in _FUNCTIONS))


def _evaluate(node: ast.expr, values: Mapping[str, Any]) -> Any:
    match node:
        case ast.Name():
            return values[node.id]
        case ast.Constant():
            return node.value
        case ast.UnaryOp():
            inner = _evaluate(node.operand, values)
            return None if inner is None else -inner
        case ast.BinOp():
            left, right = _evaluate(node.left, values), _evaluate(node.right, values)
            return _divided(left, right) if isinstance(node.op, ast.Div) else _arithmetic(node.op, left, right)
        case ast.Call(func=ast.Name(id=function)):
            arguments = [_evaluate(argument, values) for argument in node.args]
            if function == "abs":
                return None if arguments[0] is None else abs(arguments[0])
            if function == "nullif":
                return None if arguments[0] == arguments[1] else arguments[0]
            return next((argument for argument in arguments if argument is not None), None)
    raise AssertionError(ast.dump(node))


def _arithmetic(operator: ast.operator, left: Any, right: Any) -> Any:
    if left is None or right is None:
        return None
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    with localcontext(prec=60):
        match operator:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
    raise AssertionError(operator)


def _divided(left: Any, right: Any) -> float | None:
    return None if left is None or right is None or right == 0 else float(left) / float(right)


def in_type(value: Any, kind: str) -> Any:
    """In the declared type: whole numbers, or a decimal's number of places, halves away from zero."""
    if value is None or not kind.startswith(("decimal", "int")):
        return value
    scale = int(kind.rstrip(")").rpartition(",")[2]) if kind.startswith("decimal") else 0
    if isinstance(value, float):
        scaled = value * 10**scale
        return Decimal(int(math.copysign(math.floor(abs(scaled) + 0.5), scaled))).scaleb(-scale)
    with localcontext(prec=60):
        return Decimal(value).quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP)


# Time -----------------------------------------------------------------------------------------------------------------


def cut(value: date, grain: str, week_start: str, year_begins: int) -> date:
    if grain == "hour":
        assert isinstance(value, datetime)
        return value.replace(minute=0, second=0, microsecond=0)
    day = date(value.year, value.month, value.day)
    match grain:
        case "day":
            return day
        case "week":
            while day.weekday() != (6 if week_start == "sunday" else 0):
                day -= timedelta(days=1)
            return day
        case "month":
            return day.replace(day=1)
        case "quarter":
            return _back_to(day, {(year_begins + months - 1) % 12 + 1 for months in (0, 3, 6, 9)})
        case "year":
            return _back_to(day, {year_begins})
    raise AssertionError(grain)


def _back_to(day: date, months: set[int]) -> date:
    """The latest first of one of the months."""
    while day.day != 1 or day.month not in months:
        day -= timedelta(days=1)
    return day


def later(value: Any, period: str) -> Any:
    """One period on; a day that the month lacks becomes its last."""
    if period in ("day", "week"):
        return value + timedelta(days=7 if period == "week" else 1)
    year, month = value.year, value.month
    for _ in range({"month": 1, "quarter": 3, "year": 12}[period]):
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)
    return value.replace(year=year, month=month, day=min(value.day, calendar.monthrange(year, month)[1]))


def spans_of(wanted: Any) -> list[tuple[date | None, date | None]]:
    """Half-open spans of days; None is open."""
    if wanted is None or (isinstance(wanted, Mapping) and "isNull" in wanted):
        return []
    if isinstance(wanted, list):
        return [span for item in wanted for span in spans_of(item)]
    if isinstance(wanted, str):
        day = date.fromisoformat(wanted)
        return [(day, day + timedelta(days=1))]
    if set(wanted) <= {"from", "to"}:
        return [(date.fromisoformat(wanted["from"]), date.fromisoformat(wanted["to"]) + timedelta(days=1))]
    ((operator, text),) = wanted.items()
    day, after = date.fromisoformat(text), date.fromisoformat(text) + timedelta(days=1)
    return [{"gte": (day, None), "gt": (after, None), "lt": (None, day), "lte": (None, after)}[operator]]


def _in_time(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping) and "isNull" in wanted:
        return (value is None) is wanted["isNull"]
    if value is None:
        return False
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return any(
        (start is None or moment >= datetime.combine(start, time()))
        and (end is None or moment < datetime.combine(end, time()))
        for start, end in spans_of(wanted)
    )


# Values ---------------------------------------------------------------------------------------------------------------


def _compares(value: Any, operator: str, operand: Any, kind: str) -> bool:
    if operator == "isNull":
        return (value is None) is operand
    if operator in ("ne", "notIn"):
        given = operand if isinstance(operand, list) else [operand]
        return value is None or value not in [_read(item, kind) for item in given]
    if value is None:
        return False
    match operator:
        case "eq":
            return bool(value == _read(operand, kind))
        case "in":
            return value in [_read(item, kind) for item in operand]
        case "gt":
            return bool(value > _read(operand, kind))
        case "gte":
            return bool(value >= _read(operand, kind))
        case "lt":
            return bool(value < _read(operand, kind))
        case "lte":
            return bool(value <= _read(operand, kind))
        case "between":
            return bool(_read(operand[0], kind) <= value <= _read(operand[1], kind))
        case "contains":
            return operand in value
        case "startsWith":
            return bool(value.startswith(operand))
    raise AssertionError(operator)


def _read(item: Any, kind: str) -> Any:
    return Decimal(item) if isinstance(item, str) and kind.startswith(("int", "uint", "decimal")) else item


def _sorted(rows: Iterable[Any], key: Callable[[Any], Any], *, descending: bool) -> list[Any]:
    """Stable; what has no value stands last in both directions."""
    rows = list(rows)
    known = sorted((row for row in rows if key(row) is not None), key=key, reverse=descending)
    return [*known, *(row for row in rows if key(row) is None)]


def _top_of_each(rows: Iterable[Any], place: Callable[[Any], Any], count: int) -> list[Any]:
    seen: dict[Any, int] = {}
    kept = []
    for row in rows:
        seen[place(row)] = seen.get(place(row), 0) + 1
        if seen[place(row)] <= count:
            kept.append(row)
    return kept
