"""A metric's expression: arithmetic over other metrics, parsed once and held to a short list of operations.

The list is short because each entry must mean the same on every backend; nothing else ever reaches SQL.
"""

from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_ALLOWED: tuple[type[exp.Expr], ...] = (
    exp.Add,
    exp.Sub,
    exp.Mul,
    exp.Div,
    exp.Neg,
    exp.Paren,
    exp.Literal,
    exp.Column,
    exp.Identifier,
    exp.Abs,
    exp.Coalesce,
    exp.Nullif,
)


class ExpressionFault(ValueError):
    """The text is no expression, or uses something outside arithmetic, abs, coalesce and nullif."""


@lru_cache(maxsize=4096)
def parse(expression: str) -> exp.Expr:
    """The expression's tree. Shared through the cache: copy before changing it.

    Raises ExpressionFault.
    """
    try:
        tree = sqlglot.parse_one(expression, dialect="duckdb")
    except SqlglotError as error:
        raise ExpressionFault(f"'{expression}' cannot be read as an expression") from error
    for node in tree.walk():
        if not isinstance(node, _ALLOWED):
            raise ExpressionFault(
                f"'{expression}' uses {type(node).__name__}; allowed are + - * /, abs, coalesce and nullif over metrics"
            )
        if isinstance(node, exp.Column) and node.table:
            raise ExpressionFault(f"'{expression}' names a table; name metrics alone")
        if isinstance(node, exp.Literal) and node.is_string:
            raise ExpressionFault(f"'{expression}' holds a text; only numbers and metrics are allowed")
    return tree


def operands(expression: str) -> tuple[str, ...]:
    """The metric names in the expression, each once, in order."""
    return tuple(dict.fromkeys(column.name for column in parse(expression).find_all(exp.Column)))
