"""Row rules: a short language for which rows a role may read. Parsed to values here, compiled into SQL elsewhere."""

from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

_PRINCIPAL = "principal"


class RowRuleFault(ValueError):
    """The text is no row rule."""


@dataclass(frozen=True)
class RowRule:
    """A row is readable where `field` is one of `values`, or one of the principal's values of `attribute`."""

    field: str
    values: tuple[str | int | bool, ...] = ()
    attribute: str | None = None


@lru_cache(maxsize=1024)
def parse_rule(text: str) -> RowRule:
    """`FIELD = 'x'`, `FIELD in ('x', 'y')`, `FIELD in principal.ATTRIBUTE`, `FIELD = principal.ATTRIBUTE`.

    Raises RowRuleFault.
    """
    try:
        tree = sqlglot.parse_one(text, dialect="duckdb")
    except SqlglotError as error:
        raise RowRuleFault(_advice(text)) from error
    if isinstance(tree, exp.EQ):
        return _rule(text, tree.this, [tree.expression])
    if isinstance(tree, exp.In) and not tree.args.get("query"):
        field = tree.args.get("field")
        return _rule(text, tree.this, [field] if field is not None else tree.expressions)
    raise RowRuleFault(_advice(text))


def _rule(text: str, left: exp.Expr, right: list[exp.Expr]) -> RowRule:
    if not isinstance(left, exp.Column) or left.table:
        raise RowRuleFault(_advice(text))
    if len(right) == 1 and isinstance(right[0], exp.Column) and right[0].table == _PRINCIPAL:
        return RowRule(left.name, attribute=right[0].name)
    return RowRule(left.name, values=tuple(_literal(text, node) for node in right))


def _literal(text: str, node: exp.Expr) -> str | int | bool:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if isinstance(node, exp.Neg) and isinstance(node.this, exp.Literal) and node.this.is_int:
        return -int(node.this.this)
    if isinstance(node, exp.Literal) and (node.is_string or node.is_int):
        return str(node.this) if node.is_string else int(node.this)
    raise RowRuleFault(_advice(text))


def _advice(text: str) -> str:
    return f"'{text}' is no row rule; write FIELD = 'value', FIELD in ('a', 'b') or FIELD in principal.ATTRIBUTE"
