"""The wire's filters read into conditions. A filter on a metric of a grouped query is held against groups, not rows."""

from collections.abc import Callable, Iterable, Mapping
from typing import get_args

from engine.dataset import Field
from engine.errors import InvalidParameter
from engine.folding import nearest
from engine.names import Names, in_groups, legal_values
from engine.normalise import canonical
from engine.query import AnyOf, Clock, Column, Condition, Note, Operator, RowFilter, TimeSpan

_OPERATORS: tuple[Operator, ...] = get_args(Operator)
_ROWS = Field(name="rows", role="metric", type="int32", aggregation="count")


class FilterReader:
    """Reads the wire's filters. Conditions on metrics of a grouped query are held against groups, not rows.

    Filters are taken in the order of their fields' names, not of the words that a caller used for them: whatever the
    spelling, one meaning is one statement.
    """

    def __init__(self, names: Names, clock: Clock, grouped: bool) -> None:
        self._names, self._clock, self._grouped = names, clock, grouped
        self.time_column = names.dataset.time_column
        self.filters: list[RowFilter] = []
        self.having: list[tuple[Column, Condition]] = []
        self.spoken: dict[str, object] = {}
        self.notes: list[Note] = []
        self.span: TimeSpan | None = None

    def read(self, filters: Mapping[str, object]) -> "FilterReader":
        given = {name: raw for name, raw in filters.items() if raw is not None and name != "or"}
        for name, column in self._by_label(given, lambda name: self._names.column(name, "filters")):
            self._read_one(name, in_groups(column) if self._grouped else column, given[name])
        if filters.get("or") is not None:
            self._read_or(filters["or"])
        return self

    @staticmethod
    def _by_label(given: Iterable[str], column_of: Callable[[str], Column]) -> list[tuple[str, Column]]:
        """(name as given, its column), by the columns' labels. Raises InvalidParameter where two names mean one."""
        found: dict[str, tuple[str, Column]] = {}
        for name in given:
            column = column_of(name)
            if column.label in found:
                raise InvalidParameter("filters", name, "ambiguous", (found[column.label][0], name))
            found[column.label] = (name, column)
        return [found[label] for label in sorted(found)]

    def _read_one(self, name: str, column: Column, raw: object) -> None:
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
            if column.field.name == self.time_column:
                self.span = _narrowed(self.span, _hull(alternatives))
        if conditions:
            self.filters.append(RowFilter(column.label, tuple(conditions)))

    def _is_held_against_groups(self, column: Column) -> bool:
        return self._grouped and not column.groups

    def _read_having(self, column: Column, operator: Operator, raw: object) -> None:
        """A measure is compared as what it is among groups: a count of texts is a number."""
        measured = (column.field or _ROWS).model_copy(update={"name": column.label, "type": column.type, "values": ()})
        alternatives, spoken = self._canonical(measured, operator, raw)
        if len(alternatives) > 1:
            raise InvalidParameter(f"filters.{column.label}", raw, "timeNotPlain")
        self.having.extend((column, condition) for condition in alternatives[0])
        self._say(self.spoken, column.label, spoken)

    def _read_or(self, raw: object) -> None:
        if (
            not isinstance(raw, list | tuple)
            or not all(isinstance(branch, Mapping) and branch for branch in raw)
            or not raw
        ):
            raise InvalidParameter("filters.or", raw, "badShape", ('[{"field": value}, …]',))
        # In one order and each once, however they were given: equal meanings are one statement.
        read = {repr(it[0]): it for it in sorted(map(self._read_branch, raw), key=lambda it: repr(it[0]))}
        branches = dict.fromkeys(conjunction for expanded, _ in read.values() for conjunction in expanded)
        self.filters.append(RowFilter("or", (AnyOf(tuple(branches)),)))
        self.spoken["or"] = [spoken for _, spoken in read.values()]

    def _read_branch(self, branch: Mapping[str, object]) -> tuple[list[tuple[Condition, ...]], Mapping[str, object]]:
        """A branch as one or more conjunctions: two time spans in it make two."""
        conjunctions: list[tuple[Condition, ...]] = [()]
        said: dict[str, object] = {}
        for name, column in self._by_label(branch, self._plain_column):
            field = column.field
            if field is None or self._is_held_against_groups(column) or not field.stored:
                raise InvalidParameter(f"filters.or.{name}", branch[name], "measureInOr")
            if field.name == self.time_column:
                raise InvalidParameter(f"filters.or.{name}", branch[name], "timeNotPlain")
            for operator, value in _operators(name, branch[name]):
                alternatives, spoken = self._canonical(field, operator, value)
                conjunctions = [(*left, *right) for left in conjunctions for right in alternatives]
                self._say(said, field.name, spoken)
        return conjunctions, said

    def _plain_column(self, name: str) -> Column:
        field = self._names.field(name, "filters.or")
        return self._names.unmasked(Column(field.name, field), name, "filters.or")

    def _canonical(
        self, field: Field, operator: Operator, raw: object
    ) -> tuple[tuple[tuple[Condition, ...], ...], object]:
        found = canonical(field, operator, raw, legal=legal_values(field, self._names.grant), clock=self._clock)
        self.notes.extend(found.notes)
        return found.alternatives, found.spoken

    @staticmethod
    def _say(said: dict[str, object], label: str, spoken: object) -> None:
        """Adds a condition to what is said of a field, so that several operators on it all stay in the answer's scope.

        Raises InvalidParameter where two of them would be said alike, such as two ranges.
        """
        if label not in said:
            said[label] = spoken
            return
        before, added = _spelled_out(said[label]), _spelled_out(spoken)
        if before.keys() & added.keys():
            raise InvalidParameter(f"filters.{label}", spoken, "badShape", ("eq", "between"))
        said[label] = {**before, **added}


def _spelled_out(spoken: object) -> Mapping[str, object]:
    return spoken if isinstance(spoken, Mapping) else {"in": spoken}


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
