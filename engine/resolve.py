"""Every name in a query bound to a visible field, every value to its canonical form: a DataQuery becomes Resolved."""

from collections.abc import Iterable
from datetime import timedelta
from math import ceil

from engine.dataset import Dataset
from engine.errors import InvalidParameter, LimitExceeded, MissingParameter
from engine.filters import FilterReader
from engine.folding import nearest
from engine.masks import seen_through
from engine.names import Names, in_groups, visible_fields
from engine.query import Clock, Column, DataQuery, Grant, Note, OrderKey, Resolved, TimeSpan


def resolve(query: DataQuery, dataset: Dataset, grant: Grant, *, clock: Clock) -> Resolved:
    """The query with all names and values bound.

    Raises UnknownField, UnknownValue, InvalidParameter, MissingParameter or LimitExceeded.
    """
    dataset = seen_through(dataset, grant.masks)
    names = Names(dataset, visible_fields(query, dataset, grant), grant)
    grouped, columns = _columns(query, names)
    filters = FilterReader(names, clock, grouped).read(query.filters)
    if grouped:
        _check_grouped(columns, grant)
    order = _order(query, names, columns, grouped)
    _check_limits(query, grouped, columns)
    _check_comparable([*columns, *(key.column for key in order), *(column for column, _ in filters.having)], filters)
    if query.max_days is not None:
        _check_days(filters.span, query.max_days, dataset)
    _check_cap_on_days(filters.span, dataset, grant)
    return Resolved(
        dataset=dataset,
        columns=columns,
        grouped=grouped,
        filters=tuple(filters.filters),
        having=tuple(filters.having),
        order=order,
        limit=query.limit,
        limit_per_group=query.limit_per_group,
        span=filters.span,
        spoken_filters=filters.spoken,
        notes=(*names.notes, *filters.notes, *_sort_notes(query, order)),
    )


def _columns(query: DataQuery, names: Names) -> tuple[bool, tuple[Column, ...]]:
    asked = [names.column(text, "fields") for text in query.fields]
    wanted = query.group_by
    if wanted is None:
        asked = [_at_grain(column, query.grain, names) for column in asked]
    if wanted is None and query.grain and not any(column.groups for column in asked):
        wanted = query.grain
    groups = [names.column(text, "groupBy") for text in wanted or ()]
    for text, column in zip(wanted or (), groups, strict=True):
        if not column.groups:
            dimensions = tuple(it for it in names.visible if names.dataset.by_name[it].role == "dimension")
            raise InvalidParameter("groupBy", text, "notADimension", nearest(text, {name: () for name in dimensions}))
    grouped = query.group_by is not None or bool(query.grain) or any(map(_needs_groups, asked))
    if grouped:
        asked = [in_groups(column) for column in asked]
    unique = {column.label: column for column in (*groups, *asked)}
    if query.group_by is not None:
        _refuse_ungrouped(asked, groups)
    if not unique:
        raise InvalidParameter("fields", list(query.fields), "emptyList")
    return grouped, tuple(unique.values())


def _at_grain(column: Column, grain: tuple[str, ...], names: Names) -> Column:
    """A time column asked for by its bare name is meant as the query's own grain has it: `date` as `date:week`."""
    coarser = next((text for text in grain if text.startswith(f"{column.label}:") and text not in names.visible), None)
    return names.column(coarser, "fields") if coarser and column.groups else column


def _needs_groups(column: Column) -> bool:
    return column.field is None or column.aggregation is not None or not column.field.stored


def _refuse_ungrouped(asked: Iterable[Column], groups: Iterable[Column]) -> None:
    grouped = {column.label for column in groups}
    for column in asked:
        if column.groups and column.label not in grouped:
            raise InvalidParameter("fields", column.label, "notGrouped", tuple(sorted(grouped)))


def _check_grouped(columns: Iterable[Column], grant: Grant) -> None:
    for column in columns:
        if column.groups and grant.masks_apart(column, "groupBy"):
            raise InvalidParameter("groupBy", column.label, "masked")
        if column.field is not None and column.field.type == "json":
            raise InvalidParameter("groupBy", column.label, "notADimension")


def _order(query: DataQuery, names: Names, columns: tuple[Column, ...], grouped: bool) -> tuple[OrderKey, ...]:
    keys = []
    group_labels = {column.label for column in columns if column.groups}
    for text in query.order_by:
        column = names.column(text.removeprefix("-"), "orderBy")
        if column.field is not None and column.field.type in ("json", "binary"):
            raise InvalidParameter("orderBy", text, "unsortable")
        if grouped and column.groups and column.label not in group_labels:
            raise InvalidParameter("orderBy", text, "notGrouped", tuple(sorted(group_labels)))
        if not grouped and _needs_groups(column):
            raise InvalidParameter("orderBy", text, "needsGroups")
        keys.append(OrderKey(in_groups(column) if grouped else column, descending=text.startswith("-")))
    return tuple(keys)


def _sort_notes(query: DataQuery, order: tuple[OrderKey, ...]) -> tuple[Note, ...]:
    """A limit without a sort picks rows by key: worth a word, since they are not the top of anything."""
    return (Note("SORT_DEFAULTED", "orderBy"),) if query.limit is not None and not order else ()


def _check_limits(query: DataQuery, grouped: bool, columns: tuple[Column, ...]) -> None:
    for argument, limit in (("limit", query.limit), ("limitPerGroup", query.limit_per_group)):
        if limit is not None and limit < 1:
            raise InvalidParameter(argument, limit, "badShape", (">= 1",))
    if query.limit_per_group is not None and not (grouped and sum(column.groups for column in columns) >= 2):
        raise InvalidParameter("limitPerGroup", query.limit_per_group, "needsTwoGroups")


def _check_comparable(columns: Iterable[Column], filters: FilterReader) -> None:
    """A comparison needs two periods: rows by time, or a span with both ends, so that there is an earlier one."""
    compares, by_time, time = False, False, filters.time_column
    for column in columns:
        compares |= column.field is not None and column.field.comparison is not None
        by_time |= column.field is not None and column.groups and column.field.name == time
    if not compares or by_time or time is None:
        return
    if filters.span is None:
        raise MissingParameter((time,))
    if filters.span.start is None or filters.span.end is None:
        raise InvalidParameter(f"filters.{time}", filters.spoken.get(time), "openRange")


def _check_cap_on_days(span: TimeSpan | None, dataset: Dataset, grant: Grant) -> None:
    """A role's cap holds for every query, also for one that names no date: that is the longest range of all."""
    if grant.caps.days is None or dataset.time_column not in grant.fields:
        return
    if span is None:
        raise MissingParameter((dataset.time_column,))
    _check_days(span, grant.caps.days, dataset)


def _check_days(span: TimeSpan | None, max_days: int, dataset: Dataset) -> None:
    if span is None:
        return
    argument = f"filters.{dataset.time_column}"
    if span.start is None or span.end is None:
        raise InvalidParameter(argument, None, "openRange")
    days = ceil((span.end - span.start) / timedelta(days=1))
    if days > max_days:
        raise LimitExceeded(argument, received=days, limit=max_days)
