"""Resolved x Grant -> a sqlglot tree -> SQL with named parameters. Values never become part of the text.

A grouped statement is built in layers, each a common table expression, so that every definition reads what the layer
below has made: `base` aggregates the readable rows, `before_*` does the same one period earlier, `result` computes
ratios, comparisons and shares, and the outermost SELECT filters groups, sorts and cuts. Row rules stand in the WHERE
of every layer that touches the table, beneath all else.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp

from engine import expressions
from engine.dataset import ROW_COUNT, Dataset, Field, Period
from engine.errors import InvalidParameter
from engine.query import AnyOf, Column, Condition, Grant, OrderKey, Resolved, Scalar, Statement
from engine.sqlparts import (
    aggregate,
    column_ref,
    conjunction,
    equal_or_both_null,
    ordered,
    shifted_back,
    time_bucket,
    typed,
)

_BASE, _RESULT, _RANK = "base", "result", "_rank"


@dataclass(frozen=True)
class Target:
    """Where a statement is going to run."""

    relation: str
    """The FROM item, as SQL of the dialect."""
    dialect: str


def compile_query(resolved: Resolved, grant: Grant, target: Target, *, row_cap: int) -> Statement:
    """The statement that yields the answer's rows in their final, total order, at most `row_cap` of them."""
    writer = _Writer(resolved, grant, target)
    tree = writer.grouped() if resolved.grouped else writer.rows()
    return writer.statement(tree.limit(row_cap))


def compile_count(resolved: Resolved, grant: Grant, target: Target) -> Statement:
    """The statement that counts the answer's rows, without any limit but the query's own per group."""
    writer = _Writer(resolved, grant, target)
    inner = writer.grouped() if resolved.grouped else writer.rows()
    inner.set("order", None)
    return writer.statement(
        exp.select(exp.alias_(exp.Count(this=exp.Star()), ROW_COUNT)).from_(inner.subquery("counted"))
    )


def compile_latest(dataset: Dataset, target: Target) -> Statement:
    """The statement that reads the latest value of the time column over all rows: the age of the data, whoever asks.

    Raises ValueError for a dataset without a time column.
    """
    if dataset.time_column is None:
        raise ValueError(f"{dataset.api_no} has no time column")
    latest = exp.Max(this=column_ref(dataset.by_name[dataset.time_column]))
    return Statement(exp.select(exp.alias_(latest, "latest")).from_(_table(target)).sql(dialect=target.dialect), {})


def compile_findings(
    resolved: Resolved, grant: Grant, target: Target, *, leave_one_out: Sequence[tuple[Condition | AnyOf, ...]]
) -> Statement:
    """One scan over the readable rows: the time column's range, and how many rows each set of conditions matches.

    Columns: first, last (both null without a time column), then without_0, without_1, … in the given order.
    """
    writer = _Writer(resolved, grant, target)
    time = resolved.dataset.time_column
    # Aggregates even without a time column: one row must come back from a table that has none.
    edges: list[exp.Expr] = [exp.Min(this=exp.null()), exp.Max(this=exp.null())]
    if time is not None and time in grant.fields:
        column = column_ref(resolved.dataset.by_name[time])
        edges = [exp.Min(this=column), exp.Max(this=column.copy())]
    counted = [
        exp.Sum(this=exp.Case().when(writer.where_of(conditions), exp.Literal.number(1)).else_(exp.Literal.number(0)))
        for conditions in leave_one_out
    ]
    names = ["first", "last", *(f"without_{index}" for index in range(len(counted)))]
    tree = exp.select(*(exp.alias_(it, name, quoted=True) for it, name in zip([*edges, *counted], names, strict=True)))
    return writer.statement(tree.from_(_table(target)).where(writer.row_rules()))


class _Writer:
    """Writes one statement, and collects its parameters on the way."""

    def __init__(self, resolved: Resolved, grant: Grant, target: Target) -> None:
        if grant.api_no != resolved.dataset.api_no:
            raise ValueError("the Grant is for another dataset")
        self.resolved, self.grant, self.target = resolved, grant, target
        self.parameters: dict[str, Scalar] = {}

    def statement(self, tree: exp.Select) -> Statement:
        return Statement(tree.sql(dialect=self.target.dialect), self.parameters)

    # Layers ---------------------------------------------------------------------------------------------------------

    def rows(self) -> exp.Select:
        """Raw rows: the asked columns, sorted by the asked keys, then by the dataset's key: a total order."""
        resolved = self.resolved
        key = [OrderKey(Column(name, resolved.dataset.by_name[name]), False) for name in resolved.dataset.key]
        select = exp.select(*(exp.alias_(self._raw(column), column.label, quoted=True) for column in resolved.columns))
        select = select.from_(_table(self.target)).where(self.where_of(resolved.where), self.row_rules())
        return select.order_by(*(ordered(self._raw(it.column), it.descending) for it in _total(resolved.order, key)))

    def grouped(self) -> exp.Select:
        """One row per combination of the group columns; one row in all where there are none."""
        needed = _unique(
            (*self.resolved.columns, *(it.column for it in self.resolved.order), *(c for c, _ in self.resolved.having))
        )
        measures = [column for column in needed if not column.groups]
        leaves = _leaves(measures, self.resolved.dataset)
        periods = _periods(measures)
        layers = {_BASE: self._aggregated(leaves, None)}
        for period in periods:
            layers[_before(period)] = self._aggregated(leaves, period)
        layers[_RESULT] = self._computed(needed, periods)
        return self._outermost(layers)

    def _aggregated(self, leaves: Sequence[Column], period: Period | None) -> exp.Select:
        """The readable rows by group; with a period, the rows one period earlier under the group they compare with."""
        groups = self.resolved.groups
        picked = [exp.alias_(self._bucket(column, period), column.label, quoted=True) for column in groups]
        picked += [exp.alias_(aggregate(leaf), leaf.label, quoted=True) for leaf in leaves]
        if not picked:
            picked = [exp.alias_(exp.Count(this=exp.Star()), ROW_COUNT, quoted=True)]
        where = self.where_of(self._earlier(self.resolved.where, period) if period else self.resolved.where)
        select = exp.select(*picked).from_(_table(self.target)).where(where, self.row_rules())
        return select.group_by(*(self._bucket(column, period) for column in groups)) if groups else select

    def _computed(self, needed: Sequence[Column], periods: Sequence[Period]) -> exp.Select:
        select = exp.select(*(exp.alias_(self._value(column), column.label, quoted=True) for column in needed)).from_(
            _BASE
        )
        for period in periods:
            before = _before(period)
            pairs = [equal_or_both_null(_at(_BASE, it.label), _at(before, it.label)) for it in self.resolved.groups]
            select = select.join(before, on=exp.and_(*pairs) if pairs else exp.true(), join_type="left")
        return select

    def _outermost(self, layers: dict[str, exp.Select]) -> exp.Select:
        resolved = self.resolved
        order = _total(resolved.order, [OrderKey(column, False) for column in resolved.groups])
        keys = [ordered(_label(it.column), it.descending) for it in order]
        select = exp.select(*(_label(column) for column in resolved.columns)).from_(_RESULT)
        select = select.where(*(self._condition(_label(column), condition) for column, condition in resolved.having))
        if resolved.limit_per_group is not None:
            select = self._top_of_each_group(select, keys, resolved.limit_per_group)
        for name, layer in layers.items():
            select = select.with_(name, as_=layer)
        return select.order_by(*keys) if keys else select

    def _top_of_each_group(self, select: exp.Select, keys: Sequence[exp.Expr], limit: int) -> exp.Select:
        """Each combination of all group columns but the last keeps its first `limit` rows."""
        partition = [_label(column) for column in self.resolved.groups[:-1]]
        rank = exp.Window(
            this=exp.RowNumber(), partition_by=partition, order=exp.Order(expressions=[k.copy() for k in keys])
        )
        every = exp.select("*", exp.alias_(rank, _RANK)).from_(_RESULT)
        if where := select.args.get("where"):
            every.set("where", where.copy())
        picked = exp.select(*(_label(column) for column in self.resolved.columns)).from_(every.subquery(_RESULT))
        return picked.where(exp.column(_RANK) <= exp.Literal.number(limit))

    # Columns --------------------------------------------------------------------------------------------------------

    def _raw(self, column: Column) -> exp.Expr:
        assert column.field is not None  # row_count makes a query grouped
        return time_bucket(column_ref(column.field), column, self.resolved.dataset)

    def _bucket(self, column: Column, period: Period | None) -> exp.Expr:
        assert column.field is not None
        value: exp.Expr = column_ref(column.field)
        if period is not None and column.field.name == self.resolved.dataset.time_column:
            value = exp.cast(
                value + exp.Interval(this=exp.Literal.string("1"), unit=exp.var(period.upper())),
                _sql_type(column.field),
            )
        return time_bucket(value, column, self.resolved.dataset)

    def _value(self, column: Column) -> exp.Expr:
        """A column of the result layer from what the layers below hold."""
        if column.groups or column.field is None or column.field.stored:
            return typed(_at(_BASE, column.label), column)
        return typed(self._metric(column.field, _BASE), column)

    def _metric(self, field: Field, layer: str) -> exp.Expr:
        if field.expression is not None:
            return self._expression(field.expression, layer)
        if field.comparison is not None:
            return self._comparison(field)
        if field.share is not None:
            return self._share(field, layer)
        return _at(layer, field.name)

    def _expression(self, expression: str, layer: str) -> exp.Expr:
        """The metric's arithmetic with each operand in its place. A division by zero is null on every backend."""

        tree = exp.paren(expressions.parse(expression))  # paren copies, and gives the root a parent to be replaced in
        for division in list(tree.find_all(exp.Div)):
            division.set("this", exp.cast(division.this, exp.DataType.Type.DOUBLE))
            division.set("expression", exp.func("NULLIF", division.expression, exp.Literal.number(0)))
        for operand in list(tree.find_all(exp.Column)):
            operand.replace(exp.paren(self._metric(self.resolved.dataset.by_name[operand.name], layer)))
        return tree

    def _comparison(self, field: Field) -> exp.Expr:
        assert field.comparison is not None
        metric = self.resolved.dataset.by_name[field.comparison.metric]
        now = exp.paren(self._metric(metric, _BASE))
        before = exp.paren(self._metric(metric, _before(field.comparison.period)))
        if field.comparison.measure == "previous":
            return before
        change = now - before
        if field.comparison.measure == "change":
            return change
        size = exp.func("NULLIF", exp.Abs(this=before.copy()), exp.Literal.number(0))
        return exp.Div(this=exp.cast(exp.paren(change), exp.DataType.Type.DOUBLE), expression=size)

    def _share(self, field: Field, layer: str) -> exp.Expr:
        assert field.share is not None
        part = exp.paren(self._metric(self.resolved.dataset.by_name[field.share.metric], layer))
        groups = {column.field.name: column for column in self.resolved.groups if column.field}
        missing = [name for name in field.share.within if name not in groups]
        if missing:
            raise InvalidParameter(
                "groupBy", [column.label for column in self.resolved.groups], "needsGroups", tuple(missing)
            )
        within = [_at(_BASE, groups[name].label) for name in field.share.within]
        whole = exp.Window(this=exp.Sum(this=part.copy()), partition_by=within)
        return exp.Div(
            this=exp.cast(part, exp.DataType.Type.DOUBLE), expression=exp.func("NULLIF", whole, exp.Literal.number(0))
        )

    # Conditions -----------------------------------------------------------------------------------------------------

    def row_rules(self) -> exp.Expr:
        """True where the Grant lets every row be read."""
        dataset = self.resolved.dataset
        roles = [
            exp.and_(
                *(
                    self._condition(column_ref(dataset.by_name[it.field]), Condition(it.field, "in", it.values))
                    for it in scopes
                )
            )
            for scopes in self.grant.rows
        ]
        return exp.or_(*roles) if roles else exp.true()

    def where_of(self, conditions: Iterable[Condition | AnyOf]) -> exp.Expr:
        return conjunction([self._clause(condition) for condition in conditions])

    def _clause(self, condition: Condition | AnyOf) -> exp.Expr:
        if isinstance(condition, AnyOf):
            return exp.paren(
                exp.or_(*(conjunction([self._clause(it) for it in branch]) for branch in condition.branches))
            )
        return self._condition(column_ref(self.resolved.dataset.by_name[condition.field]), condition)

    def _condition(self, column: exp.Expr, condition: Condition) -> exp.Expr:
        if condition.operator == "isNull":
            null = column.is_(exp.null())
            return null if condition.values[0] else exp.not_(null)
        if condition.operator in ("in", "notIn"):
            if not condition.values:
                return exp.false()  # a rule over an attribute that the principal does not have: no row
            listed = exp.In(this=column, expressions=[self._parameter(value) for value in condition.values])
            # SQL drops nulls from NOT IN; a row without a value is not one of the named ones.
            return (
                listed
                if condition.operator == "in"
                else exp.paren(exp.or_(exp.not_(listed), column.copy().is_(exp.null())))
            )
        first = self._parameter(condition.values[0])
        match condition.operator:
            case "gt":
                return column > first
            case "gte":
                return column >= first
            case "lt":
                return column < first
            case "lte":
                return column <= first
            case "between":
                return exp.Between(this=column, low=first, high=self._parameter(condition.values[1]))
            case "contains":
                return exp.GT(this=exp.StrPosition(this=column, substr=first), expression=exp.Literal.number(0))
            case "startsWith":
                return exp.StartsWith(this=column, expression=first)
        raise ValueError(f"{condition.operator} is no canonical operator")

    def _earlier(self, conditions: Iterable[Condition | AnyOf], period: Period) -> tuple[Condition | AnyOf, ...]:
        """The same conditions with the time column's bounds one period back."""
        time = self.resolved.dataset.time_column

        def shift(condition: Condition | AnyOf) -> Condition | AnyOf:
            if isinstance(condition, AnyOf):
                return AnyOf(tuple(tuple(shift(it) for it in branch) for branch in condition.branches))  # type: ignore[misc]
            if condition.field != time or condition.operator == "isNull":
                return condition
            return replace(condition, values=tuple(shifted_back(value, period) for value in condition.values))

        return tuple(map(shift, conditions))

    def _parameter(self, value: Scalar) -> exp.Expr:
        name = f"p{len(self.parameters)}"
        self.parameters[name] = value
        return exp.Placeholder(this=name)


def _table(target: Target) -> exp.Expr:
    parsed = sqlglot.parse_one(f"SELECT 1 FROM {target.relation}", dialect=target.dialect)
    table: exp.Expr = parsed.args["from_"].this
    return table


def _at(layer: str, label: str) -> exp.Column:
    return exp.column(label, table=layer, quoted=True)


def _label(column: Column) -> exp.Column:
    return exp.column(column.label, quoted=True)


def _before(period: Period) -> str:
    return f"before_{period}"


def _total(order: Sequence[OrderKey], key: Sequence[OrderKey]) -> list[OrderKey]:
    """The asked order made total by the key."""
    asked = {it.column.label for it in order}
    return [*order, *(it for it in key if it.column.label not in asked)]


def _unique(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple({column.label: column for column in columns}.values())


def _leaves(measures: Iterable[Column], dataset: Dataset) -> tuple[Column, ...]:
    """The stored columns that the measures are computed from, with the aggregation of each."""

    def walk(column: Column) -> Iterable[Column]:
        if column.field is None or column.field.stored:
            return (column,)
        operands = (dataset.by_name[name] for name in column.field.operand_names())
        return (leaf for operand in operands for leaf in walk(Column(operand.name, operand)))

    return _unique(leaf for measure in measures for leaf in walk(measure))


def _periods(measures: Iterable[Column]) -> tuple[Period, ...]:
    periods = [column.field.comparison.period for column in measures if column.field and column.field.comparison]
    return tuple(dict.fromkeys(periods))


def _sql_type(field: Field) -> str:
    return "DATE" if field.type == "date" else "TIMESTAMP"
