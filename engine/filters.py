"""The wire's filters read into conditions. A filter on a metric of a grouped query is held against groups, not rows."""

from collections.abc import Iterable, Mapping
from typing import get_args

from engine.dataset import ROW_COUNT, Field
from engine.errors import InvalidParameter
from engine.folding import nearest
from engine.names import Names, legal_values
from engine.normalise import canonical
from engine.query import AnyOf, Clock, Column, Condition, Note, Operator, RowFilter, TimeSpan

_OPERATORS: tuple[Operator, ...] = get_args(Operator)


class FilterReader:
    """Reads the wire's filters. Conditions on metrics of a grouped query are held against groups, not rows."""

    def __init__(self, names: Names, clock: Clock, grouped: bool) -> None:
        self._names, self._clock, self._grouped = names, clock, grouped
        self.filters: list[RowFilter] = []
        self.having: list[tuple[Column, Condition]] = []
        self.spoken: dict[str, object] = {}
        self.notes: list[Note] = []
        self.span: TimeSpan | None = None

    def read(self, filters: Mapping[str, object]) -> "FilterReader":
        for name in sorted(filters, key=str):
            if name == "or":
                self._read_or(filters["or"])
            elif filters[name] is not None:
                self._read_one(name, filters[name])
        return self

    def _read_one(self, name: str, raw: object) -> None:
        column = self._names.column(name, "filters")
        conditions: list[Condition | AnyOf] = []
        for operator, value in _operators(name, raw):
            if self._is_held_against_groups(column):
                self._read_having(column, operator, value)
                continue
            if column.field is None or column.label != column.field.name or not column.field.stored:
                raise InvalidParameter(f"filters.{name}", raw, "needsGroups")
            alternatives, spoken = self._canonical(column.field, operator, value)
            conditions.extend(alternatives[0] if len(alternatives) == 1 else (AnyOf(alternatives),))
            self._say(self.spoken, column.label, spoken)
            if column.field.name == self._names.dataset.time_column:
                self.span = _narrowed(self.span, _hull(alternatives))
        if conditions:
            self.filters.append(RowFilter(column.label, tuple(conditions)))

    def _is_held_against_groups(self, column: Column) -> bool:
        return self._grouped and not column.groups

    def _read_having(self, column: Column, operator: Operator, raw: object) -> None:
        field = column.field or Field(name=ROW_COUNT, role="metric", type="int64", aggregation="count")
        alternatives, spoken = self._canonical(field, operator, raw)
        self.having.extend((column, condition) for condition in alternatives[0])
        self._say(self.spoken, column.label, spoken)

    def _read_or(self, raw: object) -> None:
        if (
            not isinstance(raw, list | tuple)
            or not all(isinstance(branch, Mapping) and branch for branch in raw)
            or not raw
        ):
            raise InvalidParameter("filters.or", raw, "badShape", ('[{"field": value}, …]',))
        branches: list[tuple[Condition, ...]] = []
        said: list[Mapping[str, object]] = []
        for branch in raw:
            expanded, spoken = self._read_branch(branch)
            branches.extend(expanded)
            said.append(spoken)
        self.filters.append(RowFilter("or", (AnyOf(tuple(branches)),)))
        self.spoken["or"] = said

    def _read_branch(self, branch: Mapping[str, object]) -> tuple[list[tuple[Condition, ...]], Mapping[str, object]]:
        """A branch as one or more conjunctions: two time spans in it make two."""
        conjunctions: list[tuple[Condition, ...]] = [()]
        said: dict[str, object] = {}
        for name in sorted(branch, key=str):
            field = self._names.field(name, "filters.or")
            if self._is_held_against_groups(Column(field.name, field)) or not field.stored:
                raise InvalidParameter(f"filters.or.{name}", branch[name], "needsGroups")
            if field.name == self._names.dataset.time_column:
                raise InvalidParameter(f"filters.or.{name}", branch[name], "timeNotPlain")
            for operator, value in _operators(name, branch[name]):
                alternatives, spoken = self._canonical(field, operator, value)
                conjunctions = [(*left, *right) for left in conjunctions for right in alternatives]
                self._say(said, field.name, spoken)
        return conjunctions, said

    def _canonical(
        self, field: Field, operator: Operator, raw: object
    ) -> tuple[tuple[tuple[Condition, ...], ...], object]:
        found = canonical(field, operator, raw, legal=legal_values(field, self._names.grant), clock=self._clock)
        self.notes.extend(found.notes)
        return found.alternatives, found.spoken

    @staticmethod
    def _say(said: dict[str, object], label: str, spoken: object) -> None:
        before = said.get(label)
        said[label] = {**before, **spoken} if isinstance(before, dict) and isinstance(spoken, dict) else spoken


def _operators(name: str, raw: object) -> Iterable[tuple[Operator, object]]:
    """A plain value is `eq`, a list `in`, {"from", "to"} `between`; otherwise {operator: value, …}."""
    if isinstance(raw, list | tuple):
        return [("in", raw)]
    if not isinstance(raw, Mapping):
        return [("eq", raw)]
    if raw and set(raw) <= {"from", "to"}:
        return [("between", [raw.get("from"), raw.get("to")])]
    unknown = [key for key in raw if key not in _OPERATORS]
    if unknown or not raw:
        received = unknown[0] if unknown else raw
        raise InvalidParameter(
            f"filters.{name}", received, "badOperator", nearest(str(received), {op: () for op in _OPERATORS})
        )
    return sorted(raw.items(), key=lambda pair: _OPERATORS.index(pair[0]))


def _hull(alternatives: tuple[tuple[Condition, ...], ...]) -> TimeSpan:
    """The smallest span that holds all alternatives; open where one of them is."""
    starts = [[c.values[0] for c in conditions if c.operator == "gte"] for conditions in alternatives]
    ends = [[c.values[0] for c in conditions if c.operator == "lt"] for conditions in alternatives]
    start = min(values[0] for values in starts) if all(starts) else None  # type: ignore[type-var]
    end = max(values[0] for values in ends) if all(ends) else None  # type: ignore[type-var]
    return TimeSpan(start, end)  # type: ignore[arg-type]  # time conditions hold dates or datetimes only


def _narrowed(before: TimeSpan | None, span: TimeSpan) -> TimeSpan:
    """Two filters on the time column hold together."""
    if before is None:
        return span
    starts = [edge for edge in (before.start, span.start) if edge is not None]
    ends = [edge for edge in (before.end, span.end) if edge is not None]
    return TimeSpan(max(starts, default=None), min(ends, default=None))
