"""A query without its values: all that the text of its statement depends on, and the values beside it.

Two queries of one shape are one text with other parameters, so that the text is written once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from operator import itemgetter

from engine.comparing import periods_of
from engine.dataset import Period
from engine.masks import Mask
from engine.query import AnyOf, Column, Condition, Grant, OrderKey, Resolved, Scalar
from engine.sqlparts import shifted_back


@dataclass(frozen=True)
class Shape:
    """In every condition the values are names of parameters; only `isNull` keeps its own, since it is no parameter."""

    columns: tuple[Column, ...]
    grouped: bool
    where: tuple[Condition | AnyOf, ...]
    earlier: tuple[tuple[Period, tuple[Condition | AnyOf, ...]], ...]
    """For each period that some measure compares with: `where`, with the time column's bounds one period back."""
    whole_months: bool
    """Whether every bound on the time column is the first moment of a month."""
    rows: tuple[tuple[Condition, ...], ...]
    """The Grant's row rules."""
    masks: tuple[tuple[str, Mask], ...]
    """The Grant's masks, by name."""
    having: tuple[tuple[Column, Condition], ...]
    order: tuple[OrderKey, ...]
    limit: int
    limit_per_group: int | None

    @property
    def groups(self) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.groups)

    @property
    def needed(self) -> tuple[Column, ...]:
        """Every column that is shown, sorted by or held against a bound, each once."""
        every = (*self.columns, *(it.column for it in self.order), *(column for column, _ in self.having))
        return tuple({column.label: column for column in every}.values())


@dataclass
class Parameters:
    """Hands out a name for each value, in the order in which they come."""

    values: dict[str, Scalar] = field(default_factory=dict)

    def named(self, conditions: Iterable[Condition | AnyOf]) -> tuple[Condition | AnyOf, ...]:
        return tuple(
            AnyOf(tuple(tuple(map(self.condition, branch)) for branch in it.branches))
            if isinstance(it, AnyOf)
            else self.condition(it)
            for it in conditions
        )

    def condition(self, condition: Condition) -> Condition:
        if condition.operator == "isNull":
            return condition
        return replace(condition, values=tuple(map(self._name, condition.values)))

    def row_rules(self, grant: Grant) -> tuple[tuple[Condition, ...], ...]:
        return tuple(
            tuple(self.condition(Condition(scope.field, "in", scope.values)) for scope in scopes)
            for scopes in grant.rows
        )

    def _name(self, value: Scalar) -> str:
        name = f"p{len(self.values)}"
        self.values[name] = value
        return name


def shape_of(resolved: Resolved, grant: Grant, *, limit: int) -> tuple[Shape, Mapping[str, Scalar]]:
    """The query's shape and its values by the names that they have in it. `limit` is how many rows may come."""
    time_column = resolved.dataset.time_column
    parameters = Parameters()
    shape = Shape(
        columns=resolved.columns,
        grouped=resolved.grouped,
        where=parameters.named(resolved.where),
        earlier=(),
        whole_months=all(map(_begins_month, _values_on(time_column, resolved.where))),
        rows=parameters.row_rules(grant),
        masks=tuple(sorted(grant.masks.items(), key=itemgetter(0))),
        having=tuple((column, parameters.condition(condition)) for column, condition in resolved.having),
        order=resolved.order,
        limit=limit,
        limit_per_group=resolved.limit_per_group,
    )
    earlier = tuple(
        (period, parameters.named(_one_period_back(it, time_column, period) for it in resolved.where))
        for period in periods_of(shape.needed)
    )
    return replace(shape, earlier=earlier), parameters.values


def _one_period_back(condition: Condition | AnyOf, time_column: str | None, period: Period) -> Condition | AnyOf:
    def back(it: Condition) -> Condition:
        if it.field != time_column or it.operator == "isNull":
            return it
        return replace(it, values=tuple(shifted_back(value, period) for value in it.values))

    if isinstance(condition, AnyOf):
        return AnyOf(tuple(tuple(map(back, branch)) for branch in condition.branches))
    return back(condition)


def _values_on(name: str | None, conditions: Iterable[Condition | AnyOf]) -> list[Scalar]:
    alternatives = [it.branches if isinstance(it, AnyOf) else ((it,),) for it in conditions]
    flat = [it for branches in alternatives for branch in branches for it in branch]
    return [value for it in flat if it.field == name and it.operator != "isNull" for value in it.values]


def _begins_month(value: Scalar) -> bool:
    return isinstance(value, date) and value.day == 1 and (not isinstance(value, datetime) or value.time() == time())
