"""What a query must answer under policies, by filtering raw rows in pandas. Shares no code with the engine."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Any

import pandas as pd

from scripts.gate.cases import Caller, Policies, Query
from scripts.gate.table import FIELDS, KEY, OPERANDS, REGIONS, ROWS, TIME

Rows = list[tuple[Any, ...]]
_WIDTH_OF_KINDS = ("null", "hash", "partial", "bucket")
_AGGREGATION = {field["name"]: field.get("aggregation") for field in FIELDS}
_COLUMN = {field["name"]: field.get("column", field["name"]) for field in FIELDS}
_FRAME = pd.DataFrame([list(row.values()) for row in ROWS], columns=list(ROWS[0]), dtype=object)


class Refused(Exception):
    """The caller may not ask this."""


@dataclass(frozen=True)
class View:
    """What a caller sees. `rows`: alternatives, each a list of (field, values, kind); empty where all may be read."""

    fields: frozenset[str]
    masks: Mapping[str, Mapping[str, Any]]
    rows: tuple[tuple[tuple[str, tuple[Any, ...], str], ...], ...]
    days: int | None

    def masked(self, name: str) -> bool:
        return name in self.masks or any(self.masked(operand) for operand in OPERANDS.get(name, ()))

    def kind(self, name: str) -> str | None:
        return self.masks[name]["kind"] if name in self.masks else "computed" if self.masked(name) else None


@dataclass(frozen=True)
class Expected:
    rows: Rows
    total: int
    restricted: bool
    as_of: date | None
    without: Mapping[str, int] | None
    """Where there is no row: by filter, how many readable rows the others leave."""


def view_of(policies: Policies, caller: Caller) -> View:
    """Raises Refused where the caller sees nothing at all."""
    by_role = [_rules(policies, role) for role in caller.roles]
    denied = {name for rules in by_role for rule in rules for name in _hit(rule["fields"].get("deny", ()))}
    shown: dict[str, list[Mapping[str, Any] | None]] = {}
    for rules in by_role:
        allowed = {name for rule in rules for name in _hit(rule["fields"].get("allow", ()))}
        masks: dict[str, list[Mapping[str, Any]]] = {}
        for rule in rules:
            for pattern, mask in rule["fields"].get("mask", {}).items():
                for name in _hit((pattern,)):
                    masks.setdefault(name, []).append({"kind": mask} if isinstance(mask, str) else mask)
        for name in allowed | masks.keys():
            shown.setdefault(name, []).append(min(masks[name], key=_openness) if name in masks else None)
    fields = {name for name in shown if name not in denied}
    fields = {name for name in fields if all(operand in fields for operand in OPERANDS.get(name, ()))}
    if not fields:
        raise Refused
    widest = {name: max((it for it in shown[name] if it), key=_openness) for name in fields if None not in shown[name]}
    scopes = [
        tuple(_scope(rule, caller) for rules_ in rules for rule in rules_.get("rows", ()))
        for rules in by_role
        if any(rule["fields"].get("allow") or rule["fields"].get("mask") for rule in rules)
    ]
    return View(frozenset(fields), widest, tuple(scopes) if all(scopes) else (), _days(policies, caller))


def _lineage(policies: Policies, role: str) -> list[str]:
    found = [role]
    for name in found:
        found += [parent for parent in policies["roles"][name].get("inherits", ()) if parent not in found]
    return found


def _rules(policies: Policies, role: str) -> list[Mapping[str, Any]]:
    return [rule for name in _lineage(policies, role) for rule in policies["roles"][name].get("datasets", {}).values()]


def _days(policies: Policies, caller: Caller) -> int | None:
    held = {name for role in caller.roles for name in _lineage(policies, role)}
    capped = [policies["roles"][name]["caps"]["days"] for name in held if "caps" in policies["roles"][name]]
    return max(capped, default=None)


def _hit(patterns: Iterable[str]) -> set[str]:
    return {field["name"] for field in FIELDS for pattern in patterns if fnmatchcase(field["name"], pattern)}


def _openness(mask: Mapping[str, Any]) -> tuple[int, float]:
    fine = mask.get("keep", 4) if mask["kind"] == "partial" else -mask.get("width", 0)
    return _WIDTH_OF_KINDS.index(mask["kind"]), fine


def _scope(rule: Mapping[str, str], caller: Caller) -> tuple[str, tuple[Any, ...], str]:
    field, _, right = re.sub(r"\s+(=|in)\s+", "\0", rule["rule"], count=1).partition("\0")
    if right.startswith("principal."):
        texts = list(caller.attributes.get(right.removeprefix("principal."), ()))
    else:
        texts = [it.strip().strip("'") for it in right.strip("()").split(",")]
    return field, tuple(_typed(field, text) for text in texts), rule.get("kind", "restriction")


def _typed(field: str, text: str) -> Any:
    if field == "code":
        return int(text) if re.fullmatch(r"-?\d+", text) else "no code is called so"
    if field == "open":
        return text == "true"
    return date.fromisoformat(text) if field == "day" else text


def answer(view: View, query: Query, mask_key: str) -> Expected:
    """Raises Refused."""
    _check(view, query)
    readable = _FRAME[_FRAME.apply(_may_read, axis=1, args=(view,))]
    found = _matching(readable, query.filters)
    shown = [_seen(row, view, mask_key) for row in found.to_dict("records")]
    rows = _raw(shown, query) if query.group_by is None else _grouped(shown, query)
    but = {name: {other: it for other, it in query.filters.items() if other != name} for name in query.filters}
    without = {name: len(_matching(readable, others)) for name, others in but.items()}
    return Expected(
        rows=rows[: query.limit],
        total=len(rows) if query.limit is None else min(len(rows), query.limit),
        restricted=bool(view.rows) and not any(_inside(scopes, query) for scopes in view.rows),
        as_of=max(readable[TIME], default=None) if TIME in view.fields else None,
        without=without if found.empty and query.group_by != () else None,
    )


def _check(view: View, query: Query) -> None:
    uses = [("show", label) for label in query.fields]
    uses += [("group", label) for label in query.group_by or ()]
    uses += [("sort", label.removeprefix("-")) for label in query.order_by]
    uses += [("filter", label) for label in query.filters]
    for use, label in uses:
        name, _, suffix = label.partition(":")
        if name == "row_count":
            continue
        if name not in view.fields:
            raise Refused
        kind = view.kind(name)
        if kind is not None and not suffix and use not in _ALLOWED[kind]:
            raise Refused
    legal = _legal_regions(view)
    if legal and "region" in query.filters and not set(_named(query.filters["region"])) <= legal:
        raise Refused  # where no value is left at all, any is taken, and finds nothing
    if view.days is not None and TIME in view.fields:
        if TIME not in query.filters:
            raise Refused
        span = query.filters[TIME]
        if (date.fromisoformat(span["to"]) - date.fromisoformat(span["from"])).days + 1 > view.days:
            raise Refused


_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "null": ("show",),
    "partial": ("show",),
    "hash": ("show", "group"),
    "bucket": ("show", "group", "sort"),
    "computed": ("show",),
}


def _named(wanted: Any) -> list[Any]:
    if isinstance(wanted, Mapping):
        return [item for value in wanted.values() for item in _named(value)]
    return list(wanted) if isinstance(wanted, list) else [wanted]


def _legal_regions(view: View) -> set[str]:
    if not view.rows:
        return set(REGIONS)
    return {
        region
        for region in REGIONS
        if any(all(region in values for field, values, _ in scopes if field == "region") for scopes in view.rows)
    }


def _inside(scopes: Iterable[tuple[str, tuple[Any, ...], str]], query: Query) -> bool:
    """Whether a plain filter asks for no more than each restriction allows."""
    for field, values, kind in scopes:
        wanted = query.filters.get(field)
        if kind == "restriction" and (
            wanted is None or isinstance(wanted, Mapping) or not set(_named(wanted)) <= set(values)
        ):
            return False
    return True


def _matching(rows: pd.DataFrame, filters: Mapping[str, Any]) -> pd.DataFrame:
    for name, wanted in filters.items():
        rows = rows[pd.Series([_holds(value, wanted) for value in rows[name]], index=rows.index, dtype=bool)]
    return rows


def _may_read(row: Any, view: View) -> bool:
    return not view.rows or any(all(row[field] in values for field, values, _ in scopes) for scopes in view.rows)


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, list):
        return value in wanted
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if "from" in wanted:
        return value is not None and date.fromisoformat(wanted["from"]) <= value <= date.fromisoformat(wanted["to"])
    [(operator, operand)] = wanted.items()
    if operator == "isNull":
        return (value is None) is operand
    if operator == "ne":
        return bool(value != operand)
    if operator == "notIn":
        return value not in operand
    if value is None:
        return False
    match operator:
        case "gte":
            return bool(value >= operand)
        case "lt":
            return bool(value < operand)
        case "contains":
            return operand in value
        case "startsWith":
            return bool(value.startswith(operand))
    raise AssertionError(operator)


def _seen(row: Mapping[Any, Any], view: View, mask_key: str) -> dict[str, Any]:
    return {
        name: _shown(row[column], view.masks.get(name), mask_key) for name, column in _COLUMN.items() if column in row
    }


def _shown(value: Any, mask: Mapping[str, Any] | None, mask_key: str) -> Any:
    if mask is None or value is None:
        return value
    match mask["kind"]:
        case "hash":
            return hashlib.sha256(f"{mask_key}{value}".encode()).hexdigest()[:16]
        case "partial":
            text = str(value)
            kept = min(mask.get("keep", 4), len(text) // 2)
            return "***" + (text[-kept:] if kept else "")
        case "bucket":
            width = mask["width"]
            return (
                value // width if isinstance(value, int) else (value / width).to_integral_value("ROUND_FLOOR")
            ) * width
    return None


def _raw(shown: list[dict[str, Any]], query: Query) -> Rows:
    ordered = _sorted(shown, KEY, descending=False)
    for text in query.order_by:
        ordered = _sorted(ordered, text.removeprefix("-"), descending=text.startswith("-"))
    return [tuple(row[name] for name in query.fields) for row in ordered]


def _grouped(shown: list[dict[str, Any]], query: Query) -> Rows:
    groups = list(query.group_by or ())
    measures = dict.fromkeys([*query.fields, *(text.removeprefix("-") for text in query.order_by)])
    members: dict[tuple[Any, ...], list[dict[str, Any]]] = {} if groups else {(): []}
    for row in shown:
        members.setdefault(tuple(row[name] for name in groups), []).append(row)
    found = [
        {**dict(zip(groups, key, strict=True)), **{it: _measure(it, rows) for it in measures if it not in groups}}
        for key, rows in members.items()
    ]
    for name in reversed(groups):
        found = _sorted(found, name, descending=False)
    for text in query.order_by:
        found = _sorted(found, text.removeprefix("-"), descending=text.startswith("-"))
    labels = dict.fromkeys([*groups, *query.fields])
    return [tuple(row[label] for label in labels) for row in found]


def _measure(label: str, rows: list[dict[str, Any]]) -> Any:
    if label == "row_count":
        return len(rows)
    name, _, suffix = label.partition(":")
    if name in OPERANDS:
        above, below = (_measure(operand, rows) for operand in OPERANDS[name])
        return None if above is None or not below else float(above) / float(below)
    values = pd.Series([row[name] for row in rows if row[name] is not None], dtype=object)
    match suffix or _AGGREGATION[name]:
        case "count":
            return len(values)
        case "countDistinct":
            return values.nunique()
        case _ if values.empty:
            return None
        case "sum":
            return sum(values, start=Decimal() if name == "amount" else 0)
        case "min":
            return min(values)
        case "max":
            return max(values)
    raise AssertionError(label)


def _sorted(rows: list[dict[str, Any]], label: str, *, descending: bool) -> list[dict[str, Any]]:
    """Stable, with nulls last in both directions."""
    known = sorted((row for row in rows if row[label] is not None), key=lambda row: row[label], reverse=descending)
    return [*known, *(row for row in rows if row[label] is None)]
