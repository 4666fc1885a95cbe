"""Measures as SQL over the layers of a grouped statement: expressions, comparisons and shares from what lies below."""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from engine import expressions
from engine.dataset import Dataset, Field, Period
from engine.errors import InvalidParameter
from engine.names import in_groups
from engine.query import Column
from engine.sqlparts import label_ref, typed

_ZERO = exp.Literal.number(0)


def before(period: Period) -> str:
    """The layer that aggregates the rows of one period earlier."""
    return f"before_{period}"


def leaves(measures: Iterable[Column], dataset: Dataset) -> tuple[Column, ...]:
    """The stored columns that the measures are computed from, with the aggregation of each, each once."""

    def walk(column: Column) -> Iterable[Column]:
        if column.field is None or column.field.stored:
            return (in_groups(column),)
        operands = (dataset.by_name[name] for name in column.field.operand_names())
        return (leaf for operand in operands for leaf in walk(Column(operand.name, operand)))

    return tuple({leaf.label: leaf for measure in measures for leaf in walk(measure)}.values())


class Measures:
    """The columns of the result layer, for one set of group columns."""

    base = "base"

    def __init__(self, groups: Sequence[Column], dataset: Dataset) -> None:
        self._groups, self._dataset = groups, dataset

    def value(self, column: Column) -> exp.Expr:
        """A column of the result layer. Raises InvalidParameter for a share within what is not grouped by."""
        if column.groups or column.field is None:
            return label_ref(column, self.base)
        if column.field.stored:
            return typed(label_ref(column, self.base), column, finite=self.finite(column))
        return typed(self._metric(column.field, self.base), column, finite=self.finite(column))

    def finite(self, column: Column) -> bool:
        """Whether the column can be neither NaN nor infinite: nothing that it is made from is a stored float."""
        made_from = leaves((column,), self._dataset)
        return not any(leaf.field is not None and leaf.field.type.startswith("float") for leaf in made_from)

    def _metric(self, field: Field, layer: str) -> exp.Expr:
        if field.expression is not None:
            return self._expression(field.expression, layer)
        if field.comparison is not None:
            return self._comparison(field)
        if field.share is not None:
            return self._share(field, layer)
        return exp.column(field.name, table=layer, quoted=True)

    def _named(self, name: str, layer: str) -> exp.Expr:
        return exp.paren(self._metric(self._dataset.by_name[name], layer))

    def _expression(self, expression: str, layer: str) -> exp.Expr:
        """The metric's arithmetic with each operand in its place."""
        tree = exp.paren(expressions.parse(expression).copy())
        # Innermost first, since what stands around a replaced node is built from a copy of it.
        for product in reversed(list(tree.find_all(exp.Mul))):
            if all(side.find(exp.Column) for side in (product.this, product.expression)):
                # Two decimals multiplied may need more than the 38 digits that there are.
                product.set("this", _double(product.this))
        for division in reversed(list(tree.find_all(exp.Div))):
            division.replace(_quotient(division.this, division.expression))
        for operand in list(tree.find_all(exp.Column)):
            operand.replace(self._named(operand.name, layer))
        inner: exp.Expr = tree.this
        return inner

    def _comparison(self, field: Field) -> exp.Expr:
        assert field.comparison is not None
        now = self._named(field.comparison.metric, self.base)
        earlier = self._named(field.comparison.metric, before(field.comparison.period))
        if field.comparison.measure == "previous":
            return earlier
        change = exp.Sub(this=now, expression=earlier)
        if field.comparison.measure == "change":
            return change
        return _quotient(exp.paren(change), exp.Abs(this=earlier.copy()))

    def _share(self, field: Field, layer: str) -> exp.Expr:
        assert field.share is not None
        groups = {column.field.name: column for column in self._groups if column.field}
        missing = [name for name in field.share.within if name not in groups]
        if missing:
            raise InvalidParameter("groupBy", [column.label for column in self._groups], "needsGroups", tuple(missing))
        part = self._named(field.share.metric, layer)
        within = [label_ref(groups[name], self.base) for name in field.share.within]
        return _quotient(part, exp.Window(this=exp.Sum(this=part.copy()), partition_by=within))


def _quotient(dividend: exp.Expr, divisor: exp.Expr) -> exp.Expr:
    """A double; null where the divisor is zero, on every backend."""
    return exp.Div(this=_double(dividend), expression=exp.func("NULLIF", divisor, _ZERO.copy()))


def _double(value: exp.Expr) -> exp.Expr:
    return exp.cast(value, exp.DataType.Type.DOUBLE)
