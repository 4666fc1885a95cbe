"""Conditions as SQL trees. Their values are names of parameters, so that no value ever becomes part of the text."""

from collections.abc import Iterable, Sequence

from sqlglot import exp

from engine.dataset import Dataset
from engine.masks import MaskedField
from engine.query import AnyOf, Condition
from engine.sqlparts import column_ref, conjunction, not_a_number, stored_ref


def clauses(conditions: Iterable[Condition | AnyOf], dataset: Dataset) -> list[exp.Expr]:
    """One clause a condition, on the columns of the dataset's table."""
    return [_clause(condition, dataset) for condition in conditions]


def readable(rules: Sequence[Sequence[Condition]], dataset: Dataset) -> list[exp.Expr]:
    """The clause by which the row rules of at least one role let a row be read; none where every row may be read.

    Rules look at what is stored, whatever the caller may know of it.
    """

    def lets(rule: Condition) -> exp.Expr:
        field = dataset.by_name[rule.field]
        stored = field.beneath if isinstance(field, MaskedField) else field
        return holds(stored_ref(stored), stored.type, rule)

    return [exp.or_(*(conjunction([lets(rule) for rule in scopes]) for scopes in rules))] if rules else []


def holds(column: exp.Expr, column_type: str, condition: Condition) -> exp.Expr:
    """The condition on a column of that wire type. A null fulfils nothing but isNull, ne and notIn."""
    values = [_parameter(str(name), column_type) for name in condition.values]
    match condition.operator:
        case "isNull":
            null = column.is_(exp.null())
            return null if condition.values[0] else exp.not_(null)
        case "in":
            # A rule over an attribute that the principal does not have lists nothing: no row.
            return exp.In(this=column, expressions=values) if values else exp.false()
        case "notIn":
            # SQL drops nulls from NOT IN; a row without a value is not one of the named ones.
            absent = exp.not_(exp.In(this=column, expressions=values))
            return exp.paren(exp.or_(absent, column.copy().is_(exp.null())))
        case "gt":
            return _a_number(column, column_type, exp.GT(this=column, expression=values[0]))
        case "gte":
            return _a_number(column, column_type, exp.GTE(this=column, expression=values[0]))
        case "lt":
            return exp.LT(this=column, expression=values[0])
        case "lte":
            return exp.LTE(this=column, expression=values[0])
        case "between":
            return exp.Between(this=column, low=values[0], high=values[1])
        case "contains":
            return exp.GT(this=exp.StrPosition(this=column, substr=values[0]), expression=exp.Literal.number(0))
        case "startsWith":
            return exp.StartsWith(this=column, expression=values[0])
    raise ValueError(f"{condition.operator} is no canonical operator")


def _clause(condition: Condition | AnyOf, dataset: Dataset) -> exp.Expr:
    if isinstance(condition, AnyOf):
        return exp.paren(exp.or_(*(conjunction(clauses(branch, dataset)) for branch in condition.branches)))
    field = dataset.by_name[condition.field]
    return holds(column_ref(field, dataset), field.type, condition)


def _a_number(column: exp.Expr, column_type: str, above: exp.Expr) -> exp.Expr:
    """Stores sort NaN above everything, and so would count it as more than any bound."""
    if not column_type.startswith("float"):
        return above
    return exp.and_(above, exp.NEQ(this=column.copy(), expression=not_a_number()))


def _parameter(name: str, column_type: str) -> exp.Expr:
    placeholder = exp.Placeholder(this=name)
    # A parameter is a double, and 0.1 as a double is not 0.1 as a float.
    return exp.cast(placeholder, exp.DataType.Type.FLOAT) if column_type == "float32" else placeholder
