"""Generated queries over the shop, as the wire states them, and generated row rules."""

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from tests.engine import shop

Asked = dict[str, Any]
Rule = tuple[str, tuple[Any, ...]]

TEXTS = ("end", "from", "note")
NUMBERS = ("order", "line", "年", "serial", "left", "right")
STORED_METRICS = ("units", "销售额(元)", "cost", "weight")
DIMENSIONS = ("order", "line", "day", "sold_at", "seen_at", "group", *TEXTS, "年", "serial", "open", "left", "right")
GROUPS = (
    *("group", "end", "from", "年", "open", "left", "serial"),
    *("day", "day:day", "day:week", "day:month", "day:quarter", "day:year"),
    *("sold_at", "sold_at:hour", "sold_at:day", "sold_at:week", "sold_at:month"),
    *("seen_at", "seen_at:hour", "seen_at:day", "seen_at:week", "seen_at:month", "seen_at:year"),
)
COMPARISONS = tuple(f"units_{measure}_{period}" for period in shop.PERIODS for measure in shop.MEASURES)
MEASURES = (
    *("row_count", *STORED_METRICS, "units_avg", "units_min", "units_max", "units_median", "lines", "customers"),
    *("first_day", "price", "profit", "margin", "margin_points", "filled", "weight_each", "density"),
    *("units:sum", "units:avg", "units:median", "units:countDistinct", "cost:avg", "cost:max", "weight:min"),
    *("end:countDistinct", "note:count", "sold_at:max", "年:min"),
    *("units_share", "price_share"),
    *COMPARISONS,
    "price_before",
)
NUMERIC_MEASURES = (
    "row_count",
    "units",
    "销售额(元)",
    "units_avg",
    "lines",
    "customers",
    "end:countDistinct",
    "margin",
)


def values_of(name: str) -> list[Any]:
    return sorted({row[name] for row in shop.ROWS if row[name] is not None})


@st.composite
def row_rules(draw: st.DrawFn) -> list[list[Rule]]:
    """Alternatives, one per role; each rule a field with the values that may be read."""
    fields = st.sampled_from(("group", "年", "open", "from", "line"))

    @st.composite
    def rule(draw: st.DrawFn) -> Rule:
        name = draw(fields)
        return name, tuple(draw(st.lists(st.sampled_from(values_of(name)), min_size=1, max_size=2, unique=True)))

    return draw(st.lists(st.lists(rule(), min_size=1, max_size=2), max_size=2))


def readable_groups(rules: Sequence[Sequence[Rule]]) -> list[str]:
    """The legal values of `group` under the rules: the others do not exist for the caller."""
    every = ["A", "B", "C"]
    if not rules:
        return every
    return [v for v in every if any(all(v in values for field, values in role if field == "group") for role in rules)]


@st.composite
def queries(draw: st.DrawFn, *, time_column: str, legal_groups: Sequence[str]) -> Asked:
    filters: dict[str, Any] = dict(draw(st.lists(_row_filters(legal_groups), max_size=2)))
    if draw(st.booleans()):
        branch = st.lists(_row_filters(legal_groups), min_size=1, max_size=2).map(dict)
        filters["or"] = draw(st.lists(branch, min_size=1, max_size=3))
    filters.update(draw(st.lists(_time_filters(), max_size=1)))
    return draw(_grouped(filters, time_column) if draw(st.booleans()) else _raw(filters))


@st.composite
def _raw(draw: st.DrawFn, filters: Mapping[str, Any]) -> Asked:
    every = (*DIMENSIONS, *STORED_METRICS)
    fields = draw(st.lists(st.sampled_from(every), min_size=1, max_size=4, unique=True))
    metric_filters = draw(st.lists(_number_filters(st.sampled_from(STORED_METRICS)), max_size=1))
    sortable = (*every, "day:month", "seen_at:day")
    return {
        "fields": fields,
        "filters": {**filters, **dict(metric_filters)},
        "order_by": draw(_orders(sortable)),
        "limit": draw(st.none() | st.integers(1, 130)),
    }


@st.composite
def _grouped(draw: st.DrawFn, filters: Mapping[str, Any], time_column: str) -> Asked:
    groups = draw(st.lists(st.sampled_from(GROUPS), max_size=3, unique=True))
    measures = draw(st.lists(st.sampled_from(MEASURES), min_size=0 if groups else 1, max_size=4, unique=True))
    if "group" in groups and draw(st.booleans()):
        measures.append("units_share_in_group")
    filters = {**filters, **dict(draw(st.lists(_number_filters(st.sampled_from(NUMERIC_MEASURES)), max_size=1)))}
    order = draw(_orders((*groups, *measures, *NUMERIC_MEASURES)))
    compared = {*measures, *(text.removeprefix("-") for text in order)} & {*COMPARISONS, "price_before"}
    if compared and time_column not in [label.partition(":")[0] for label in groups]:
        filters[time_column] = draw(_closed_spans())
    return {
        "fields": measures,
        "group_by": groups,
        "filters": filters,
        "order_by": order,
        "limit": draw(st.none() | st.integers(1, 40)),
        "limit_per_group": draw(st.none() | st.integers(1, 3)) if len(groups) >= 2 else None,
    }


def _orders(labels: Sequence[str]) -> st.SearchStrategy[list[str]]:
    directed = st.builds(lambda label, sign: sign + label, st.sampled_from(labels), st.sampled_from(("", "-")))
    return st.lists(directed, max_size=2, unique_by=lambda text: text.removeprefix("-"))


def _row_filters(legal_groups: Sequence[str]) -> st.SearchStrategy[tuple[str, Any]]:
    kinds = [_text_filters(), _number_filters(st.sampled_from(NUMBERS)), _boolean_filters()]
    return st.one_of(*kinds, *([_listed_filters(legal_groups)] if legal_groups else []))


@st.composite
def _text_filters(draw: st.DrawFn) -> tuple[str, Any]:
    name = draw(st.sampled_from(TEXTS))
    value = st.sampled_from([*values_of(name), "zzz"])
    part = st.sampled_from(("a", "'", '"', "--", "%", "_", "\\", "*", "D", "退", "x"))
    return name, draw(
        st.one_of(
            value,
            st.lists(value, min_size=1, max_size=3),
            st.builds(lambda op, v: {op: v}, st.sampled_from(("eq", "ne", "gt", "gte", "lt", "lte")), value),
            st.builds(lambda op, v: {op: v}, st.sampled_from(("in", "notIn")), st.lists(value, min_size=1, max_size=3)),
            st.lists(value, min_size=2, max_size=2).map(lambda ends: {"between": sorted(ends)}),
            st.builds(lambda op, v: {op: v}, st.sampled_from(("contains", "startsWith")), part),
            st.booleans().map(lambda null: {"isNull": null}),
        )
    )


@st.composite
def _number_filters(draw: st.DrawFn, names: st.SearchStrategy[str]) -> tuple[str, Any]:
    name = draw(names)
    known = values_of(name) if name in shop.ROWS[0] else [0, 1, 2, 5]
    value = st.sampled_from(known).map(lambda it: str(it) if isinstance(it, Decimal) else it) | st.sampled_from((0, 2))
    return name, draw(
        st.one_of(
            value,
            st.builds(lambda op, v: {op: v}, st.sampled_from(("eq", "ne", "gt", "gte", "lt", "lte")), value),
            st.builds(lambda op, v: {op: v}, st.sampled_from(("in", "notIn")), st.lists(value, min_size=1, max_size=3)),
            st.lists(value, min_size=2, max_size=2).map(lambda ends: {"between": sorted(ends, key=Decimal)}),
            st.builds(lambda low, high: {"gte": low, "lt": high}, value, value),
            st.booleans().map(lambda null: {"isNull": null}),
        )
    )


@st.composite
def _listed_filters(draw: st.DrawFn, legal: Sequence[str]) -> tuple[str, Any]:
    value = st.sampled_from(legal)
    listed = st.lists(value, min_size=1, max_size=2)
    return "group", draw(
        st.one_of(
            value,
            listed,
            listed.map(lambda values: {"notIn": values}),
            value.map(lambda it: {"ne": it}),
            st.booleans().map(lambda null: {"isNull": null}),
        )
    )


def _boolean_filters() -> st.SearchStrategy[tuple[str, Any]]:
    wanted = st.booleans() | st.booleans().map(lambda it: {"ne": it}) | st.booleans().map(lambda it: {"isNull": it})
    return wanted.map(lambda it: ("open", it))


def _days() -> st.SearchStrategy[date]:
    stored = st.sampled_from(values_of("day"))
    return stored | st.dates(date(2024, 1, 1), date(2026, 12, 31)) | stored.map(lambda day: day.replace(day=1))


@st.composite
def _closed_spans(draw: st.DrawFn) -> dict[str, str]:
    first = draw(_days())
    month_end = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    last = draw(st.one_of(st.just(month_end), st.integers(0, 400).map(lambda days: first + timedelta(days=days))))
    return {"from": first.isoformat(), "to": last.isoformat()}


@st.composite
def _time_filters(draw: st.DrawFn) -> tuple[str, Any]:
    day = _days().map(date.isoformat)
    wanted = st.one_of(
        _closed_spans(),
        day,
        st.lists(day, min_size=1, max_size=3),
        st.builds(lambda op, it: {op: it}, st.sampled_from(("gt", "gte", "lt", "lte")), day),
        st.booleans().map(lambda null: {"isNull": null}),
    )
    return draw(st.sampled_from(("day", "sold_at", "seen_at"))), draw(wanted)
