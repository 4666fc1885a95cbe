"""Names in a query bound to visible fields. Hidden and absent are one error."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from dataclasses import field as default
from typing import get_args

from engine.dataset import ROW_COUNT, Aggregation, Dataset, Field, LegalValue
from engine.errors import Fault, InvalidParameter, UnknownField
from engine.folding import fold, nearest
from engine.masks import Use
from engine.query import Column, DataQuery, Grain, Grant, Note

GRAINS: tuple[Grain, ...] = get_args(Grain)
_AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)
_USES: Mapping[str, Use] = {"filters": "filters", "filters.or": "filters", "groupBy": "groupBy", "orderBy": "orderBy"}
"""What an argument of a query does with the fields that it names; the others only show them."""


def visible_fields(query: DataQuery, dataset: Dataset, grant: Grant) -> tuple[str, ...]:
    """What exists for this query, in the dataset's order: what the Grant allows of the scene's fields."""
    return tuple(
        field.name
        for field in dataset.fields
        if field.name in grant.fields and (query.within is None or field.name in query.within)
    )


def legal_values(field: Field, grant: Grant) -> tuple[LegalValue, ...]:
    """The field's declared values that the Grant's row rules leave readable; none of a field that it masks."""
    if field.name in grant.masks:
        return ()
    if not grant.rows:
        return field.values
    per_role = [[set(map(str, scope.values)) for scope in scopes if scope.field == field.name] for scopes in grant.rows]
    return tuple(
        value
        for value in field.values
        if any(all(str(value.value) in allowed for allowed in role) for role in per_role)
    )


@dataclass
class Names:
    """Looks names up among the visible fields. A label or alias that means one field is taken, with a note."""

    dataset: Dataset
    visible: tuple[str, ...]
    grant: Grant
    notes: list[Note] = default(default_factory=list)

    def field(self, name: str, argument: str) -> Field:
        """Raises UnknownField."""
        if name in self.visible:
            return self.dataset.by_name[name]
        wanted = fold(name)
        hits = [seen for seen in self.visible if wanted in map(fold, self.dataset.by_name[seen].names())]
        if len(hits) != 1:
            by_name = {seen: self.dataset.by_name[seen].names() for seen in hits or self._usable(argument)}
            raise UnknownField(name, nearest(name, by_name), argument)
        note = Note("VALUE_NORMALISED", argument, received=name, used=hits[0])
        if note not in self.notes:
            self.notes.append(note)
        return self.dataset.by_name[hits[0]]

    def listed(self, texts: Iterable[str], argument: str) -> tuple[str, ...]:
        """The fields' own names, `row_count` among them. Raises UnknownField."""
        return tuple(text if text == ROW_COUNT else self.field(text, argument).name for text in texts)

    def _usable(self, argument: str) -> tuple[str, ...]:
        """The visible fields that the argument could name."""
        use = _USES.get(argument)
        masked = self.grant.unusable[use] if use else frozenset()
        usable = tuple(name for name in self.visible if name not in masked)
        if argument != "groupBy":
            return usable
        return tuple(name for name in usable if self.dataset.by_name[name].role == "dimension")

    def column(self, text: str, argument: str) -> Column:
        """`cost`, `cost:avg`, `date:week` or `row_count`. Raises UnknownField or InvalidParameter."""
        return self.unmasked(self._named(text, argument), text, argument)

    def unmasked(self, column: Column, text: str, argument: str) -> Column:
        """The column. Raises InvalidParameter where a mask keeps it from what the argument does with it."""
        use = _USES.get(argument)
        if use is not None and self.grant.masks_apart(column, use):
            raise InvalidParameter(argument, text, "masked", nearest(text, {it: () for it in self._usable(argument)}))
        return column

    def _named(self, text: str, argument: str) -> Column:
        if text == ROW_COUNT:
            return Column(ROW_COUNT, None)
        if text in self.visible or ":" not in text:
            field = self.field(text, argument)
            return Column(field.name, field)
        name, _, suffix = text.rpartition(":")
        field = self.field(name, argument)
        return self._suffixed(field, suffix, text, argument)

    def _suffixed(self, field: Field, suffix: str, text: str, argument: str) -> Column:
        if field.temporal and suffix in GRAINS:
            if suffix == "hour" and field.type == "date":
                raise InvalidParameter(
                    argument, text, "badGrain", tuple(f"{field.name}:{grain}" for grain in GRAINS[1:])
                )
            return Column(f"{field.name}:{suffix}", field, grain=suffix)
        legal = aggregations(field)
        if suffix not in legal:
            fault: Fault = "badGrain" if field.temporal else "badAggregation"
            expected = GRAINS if field.temporal else legal
            raise InvalidParameter(argument, text, fault, tuple(f"{field.name}:{it}" for it in expected))
        return Column(f"{field.name}:{suffix}", field, aggregation=suffix)


def in_groups(column: Column) -> Column:
    """The column as a grouped query means it: a stored metric comes with the aggregation of its definition."""
    if column.field is None or column.aggregation is not None or not column.field.stored:
        return column
    return replace(column, aggregation=column.field.aggregation)


def aggregations(field: Field) -> tuple[Aggregation, ...]:
    """Which aggregations may be asked for by name. Computed metrics have theirs in their definition."""
    if not field.stored:
        return ()
    if field.role == "metric" and field.numeric:
        return _AGGREGATIONS
    return ("count", "countDistinct", "min", "max")
