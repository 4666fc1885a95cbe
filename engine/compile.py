"""Resolved x Grant -> a sqlglot tree -> SQL with named parameters. Values never become part of the text.

A grouped statement is built in layers, each a common table expression, so that every definition reads what the layer
below has made: `base` aggregates the readable rows, `before_*` does the same one period earlier, `result` computes
ratios, comparisons and shares, and the outermost SELECT filters groups, sorts and cuts. Row rules stand in the WHERE
of every layer that touches the table, beneath all else.
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp

from engine.dataset import ROW_COUNT, Dataset, Period
from engine.measures import Measures, before, leaves
from engine.query import MASK_KEY, AnyOf, Column, Condition, Grant, OrderKey, Resolved, Scalar, Statement
from engine.shape import Parameters, Shape, shape_of
from engine.sqlconditions import clauses, holds, readable
from engine.sqlparts import (
    TABLE,
    aggregate,
    column_ref,
    conjunction,
    day_of_month,
    label_ref,
    moved,
    ordered,
    time_bucket,
)

_RESULT = "result"
_RANK = f"{ROW_COUNT}:rank"  # row_count is no field's name
_MONTHS_AND_LONGER = ("month", "quarter", "year")


@dataclass(frozen=True)
class Target:
    """Where a statement is going to run."""

    relation: str
    """The FROM item, as SQL of the dialect."""
    dialect: str


Texts = MutableMapping[tuple[str, Target, Shape], str]
"""SQL by apiNo, target and shape: a tree takes milliseconds to build and write, a shape that is known takes none."""


def compile_query(resolved: Resolved, grant: Grant, target: Target, *, row_cap: int, texts: Texts) -> Statement:
    """The statement that yields the answer's rows in their final, total order, at most `row_cap` of them."""
    _check(resolved, grant)
    shape, parameters = shape_of(resolved, grant, limit=row_cap)
    key = (resolved.dataset.api_no, target, shape)
    text = texts.get(key)
    if text is None:
        texts[key] = text = _Writer(shape, resolved.dataset, target).query().sql(dialect=target.dialect)
    return _statement(text, parameters, grant)


def compile_unsorted(resolved: Resolved, grant: Grant, target: Target, *, texts: Texts) -> Statement:
    """The statement that yields all rows of a raw query in whatever order the store comes upon them.

    Columns: those of the answer, then what they lack of the dataset's key.
    """
    _check(resolved, grant)
    shape, parameters = shape_of(resolved, grant, limit=0)  # what is sorted has a limit of 1 or more
    key = (resolved.dataset.api_no, target, shape)
    text = texts.get(key)
    if text is None:
        texts[key] = text = _Writer(shape, resolved.dataset, target).unsorted().sql(dialect=target.dialect)
    return _statement(text, parameters, grant)


def compile_count(resolved: Resolved, grant: Grant, target: Target) -> Statement:
    """The statement that counts the answer's rows, without any limit but the query's own per group."""
    _check(resolved, grant)
    shape, parameters = shape_of(resolved, grant, limit=0)
    inner = _Writer(shape, resolved.dataset, target).query()
    inner.set("order", None)
    inner.set("limit", None)
    counted = exp.select(exp.alias_(exp.Count(this=exp.Star()), ROW_COUNT)).from_(inner.subquery("counted"))
    return _statement(counted.sql(dialect=target.dialect), parameters, grant)


def compile_latest(dataset: Dataset, grant: Grant, target: Target) -> Statement:
    """The statement that reads the latest value of the time column over the readable rows: the age of what is told.

    Raises ValueError for a dataset without a time column.
    """
    return _time_edge(exp.Max, dataset, grant, target)


def compile_first(dataset: Dataset, grant: Grant, target: Target) -> Statement:
    """The statement that reads the first one: what lies before it can be compared with nothing.

    Raises ValueError for a dataset without a time column.
    """
    return _time_edge(exp.Min, dataset, grant, target)


def _time_edge(edge: type[exp.Max] | type[exp.Min], dataset: Dataset, grant: Grant, target: Target) -> Statement:
    """Raises ValueError for a dataset without a time column."""
    if dataset.time_column is None:
        raise ValueError(f"{dataset.api_no} has no time column")
    parameters = Parameters()
    column = column_ref(dataset.by_name[dataset.time_column], dataset)
    tree = exp.select(exp.alias_(edge(this=column), "edge")).from_(_table(target))
    tree = tree.where(*readable(parameters.row_rules(grant), dataset))
    return _statement(tree.sql(dialect=target.dialect), parameters.values, grant)


def compile_version(column: str, target: Target) -> Statement:
    """The statement that reads the latest value of a stored column over all rows, whoever asks."""
    latest = exp.Max(this=exp.column(column, table=TABLE, quoted=True))
    return Statement(exp.select(exp.alias_(latest, "latest")).from_(_table(target)).sql(dialect=target.dialect), {})


def compile_findings(
    resolved: Resolved, grant: Grant, target: Target, *, leave_one_out: Sequence[tuple[Condition | AnyOf, ...]]
) -> Statement:
    """One scan over the readable rows: the time column's range, and how many rows each set of conditions matches.

    Columns: first, last (both null without a time column), then without_0, without_1, … in the given order.
    """
    _check(resolved, grant)
    dataset, parameters = resolved.dataset, Parameters()
    time = dataset.time_column
    # Aggregates even without a time column: one row must come back from a table that has none.
    edges: list[exp.Expr] = [exp.Min(this=exp.null()), exp.Max(this=exp.null())]
    if time is not None:
        column = column_ref(dataset.by_name[time], dataset)
        edges = [exp.Min(this=column), exp.Max(this=column.copy())]
    counted = [
        exp.Sum(
            this=exp.Case()
            .when(conjunction(clauses(parameters.named(conditions), dataset)), exp.Literal.number(1))
            .else_(exp.Literal.number(0))
        )
        for conditions in leave_one_out
    ]
    names = ["first", "last", *(f"without_{index}" for index in range(len(counted)))]
    tree = exp.select(*(exp.alias_(it, name, quoted=True) for it, name in zip([*edges, *counted], names, strict=True)))
    tree = tree.from_(_table(target)).where(*readable(parameters.row_rules(grant), dataset))
    return _statement(tree.sql(dialect=target.dialect), parameters.values, grant)


def _check(resolved: Resolved, grant: Grant) -> None:
    if grant.api_no != resolved.dataset.api_no:
        raise ValueError("the Grant is for another dataset")
    if any(not resolved.dataset.by_name[name].masked for name in grant.masks):
        raise ValueError("the query was resolved without the Grant's masks")


def _statement(text: str, parameters: Mapping[str, Scalar], grant: Grant) -> Statement:
    """With the secret of pseudonyms where the text needs it: a store refuses what it is given for nothing."""
    return Statement(text, {**parameters, MASK_KEY: grant.mask_key} if f"${MASK_KEY}" in text else parameters)


class _Writer:
    """Writes the statement of one shape."""

    def __init__(self, shape: Shape, dataset: Dataset, target: Target) -> None:
        self.shape, self.dataset, self.target = shape, dataset, target
        self.measures = Measures(shape.groups, dataset)

    def query(self) -> exp.Select:
        return (self.grouped() if self.shape.grouped else self.rows()).limit(self.shape.limit)

    # Layers ---------------------------------------------------------------------------------------------------------

    def rows(self) -> exp.Select:
        """Raw rows: the asked columns, sorted by the asked keys, then by the dataset's key: a total order."""
        key = [OrderKey(column, False) for column in self._key()]
        select = self._picked(self.shape.columns)
        return select.order_by(*(self._ordered(self._value(it.column), it) for it in _total(self.shape.order, key)))

    def unsorted(self) -> exp.Select:
        """Raw rows with their key, which is dropped once they are sorted."""
        asked = {column.label for column in self.shape.columns}
        return self._picked([*self.shape.columns, *(column for column in self._key() if column.label not in asked)])

    def _picked(self, columns: Iterable[Column]) -> exp.Select:
        select = exp.select(*(exp.alias_(self._value(column), column.label, quoted=True) for column in columns))
        return select.from_(_table(self.target)).where(*self._where(self.shape.where))

    def _key(self) -> list[Column]:
        return [Column(name, self.dataset.by_name[name]) for name in self.dataset.key]

    def grouped(self) -> exp.Select:
        """One row per combination of the group columns; one row in all where there are none."""
        measures = [column for column in self.shape.needed if not column.groups]
        parts = leaves(measures, self.dataset)
        layers = {self.measures.base: self._aggregated(parts)}
        for period, conditions in self.shape.earlier:
            layers[before(period)] = self._aggregated_earlier(parts, period, conditions)
        layers[_RESULT] = self._computed()
        return self._outermost(layers)

    def _aggregated(self, parts: Sequence[Column]) -> exp.Select:
        """The readable rows by group."""
        keys = {column.label: self._value(column) for column in self.shape.groups}
        return self._by_group(keys, parts).where(*self._where(self.shape.where))

    def _aggregated_earlier(
        self, parts: Sequence[Column], period: Period, conditions: Sequence[Condition | AnyOf]
    ) -> exp.Select:
        """The readable rows of one period earlier, under the groups that they fall into once moved by that period."""
        keys = {column.label: self._value(column, moved_by=period) for column in self.shape.groups}
        select = self._by_group(keys, parts).where(*self._where(conditions))
        return select if self._compares_whole_months(period) else select.where(self._day_exists_later(period))

    def _by_group(self, keys: dict[str, exp.Expr], parts: Sequence[Column]) -> exp.Select:
        picked = [exp.alias_(key, label, quoted=True) for label, key in keys.items()]
        picked += [exp.alias_(aggregate(part, self.dataset), part.label, quoted=True) for part in parts]
        if not picked:
            picked = [exp.alias_(exp.Count(this=exp.Star()), ROW_COUNT, quoted=True)]
        select = exp.select(*picked).from_(_table(self.target))
        return select.group_by(*(key.copy() for key in keys.values())) if keys else select

    def _computed(self) -> exp.Select:
        base = self.measures.base
        picked = (exp.alias_(self.measures.value(column), column.label, quoted=True) for column in self.shape.needed)
        select = exp.select(*picked).from_(base)
        for period, _ in self.shape.earlier:
            pairs = [self._same_group(it, base, before(period)) for it in self.shape.groups]
            select = select.join(before(period), on=exp.and_(*pairs) if pairs else exp.true(), join_type="left")
        return select

    def _same_group(self, column: Column, layer: str, other: str) -> exp.Expr:
        """Groups without a value are one group; but what has no time has no earlier time either."""
        left, right = label_ref(column, layer), label_ref(column, other)
        if column.field is not None and column.field.name == self.dataset.time_column:
            return exp.EQ(this=left, expression=right)
        return exp.NullSafeEQ(this=left, expression=right)

    def _outermost(self, layers: dict[str, exp.Select]) -> exp.Select:
        shape = self.shape
        order = _total(shape.order, [OrderKey(column, False) for column in shape.groups])
        keys = [self._ordered(label_ref(it.column), it) for it in order]
        kept = [holds(label_ref(column), column.type, condition) for column, condition in shape.having]
        select = exp.select(*map(label_ref, shape.columns))
        if shape.limit_per_group is None:
            select = select.from_(_RESULT).where(*kept)
        else:
            ranked = self._ranked_within_groups(keys).where(*kept).subquery(_RESULT)
            select = select.from_(ranked).where(
                exp.column(_RANK, quoted=True) <= exp.Literal.number(shape.limit_per_group)
            )
        for name, layer in layers.items():
            select = select.with_(name, as_=layer)
        return select.order_by(*keys) if keys else select  # one row for everything has no order

    def _ranked_within_groups(self, keys: Sequence[exp.Expr]) -> exp.Select:
        """Rows numbered within each combination of all group columns but the last."""
        rank = exp.Window(
            this=exp.RowNumber(),
            partition_by=[label_ref(column) for column in self.shape.groups[:-1]],
            order=exp.Order(expressions=[key.copy() for key in keys]),
        )
        return exp.select("*", exp.alias_(rank, _RANK, quoted=True)).from_(_RESULT)

    # Columns --------------------------------------------------------------------------------------------------------

    def _value(self, column: Column, *, moved_by: Period | None = None) -> exp.Expr:
        """A column of the table, cut to its grain; the time column `moved_by` a period, where that is asked."""
        assert column.field is not None  # row_count makes a query grouped
        value: exp.Expr = column_ref(column.field, self.dataset)
        if moved_by is not None and column.field.name == self.dataset.time_column:
            value = moved(column.field, moved_by, self.dataset)
        return time_bucket(value, column, self.dataset)

    def _ordered(self, value: exp.Expr, key: OrderKey) -> exp.Ordered:
        return ordered(value, key.descending, finite=self.measures.finite(key.column))

    # Conditions -----------------------------------------------------------------------------------------------------

    def _where(self, conditions: Iterable[Condition | AnyOf]) -> list[exp.Expr]:
        return [*clauses(conditions, self.dataset), *readable(self.shape.rows, self.dataset)]

    def _compares_whole_months(self, period: Period) -> bool:
        """Whether the days that a shorter month lacks count all the same: 31 days of January before 28 of February."""
        if period in ("day", "week"):
            return True
        time = self.dataset.time_column
        grains = [column.grain for column in self.shape.groups if column.field and column.field.name == time]
        return all(grain in _MONTHS_AND_LONGER for grain in grains) if grains else self.shape.whole_months

    def _day_exists_later(self, period: Period) -> exp.Expr:
        """Leaves out January 31 beside February 28: a day is compared with one day, not with four."""
        assert self.dataset.time_column is not None  # a comparison needs one
        field = self.dataset.by_name[self.dataset.time_column]
        later = day_of_month(moved(field, period, self.dataset), field, self.dataset)
        return exp.EQ(this=later, expression=day_of_month(column_ref(field, self.dataset), field, self.dataset))


def _table(target: Target) -> exp.Expr:
    parsed = sqlglot.parse_one(f"SELECT 1 FROM {target.relation}", dialect=target.dialect)
    table: exp.Expr = parsed.args["from_"].this
    return exp.alias_(table, TABLE, table=True)


def _total(order: Sequence[OrderKey], key: Sequence[OrderKey]) -> list[OrderKey]:
    """The asked order made total by the key."""
    asked = {it.column.label for it in order}
    return [*order, *(it for it in key if it.column.label not in asked)]
