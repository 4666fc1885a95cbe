"""Runs a plan and freezes what it yields: the only place where a query's rows are read from a store."""

import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from time import monotonic
from typing import Literal, TypeVar

import pyarrow as pa
from cachetools import LRUCache

from engine.backends.base import Backend
from engine.compile import Target, compile_count, compile_findings, compile_latest
from engine.encode import in_calendar, wire_value
from engine.errors import Busy, SourceUnavailable, TimeBudgetExceeded
from engine.query import EmptyFinding, Plan, Snapshot, Statement

T = TypeVar("T")

SNAPSHOT_LIFE = timedelta(minutes=15)
"""Longer than a session sleeps, so that an agent that comes back for page two finds its rows."""

_LEAST_TIMEOUT_S = 0.05
_KNOWN_AGES = 1024


class Ages:
    """The latest value of a dataset's time column, read once for each version of its data: a scan that all share."""

    def __init__(self) -> None:
        self._known: LRUCache[tuple[str, str], date] = LRUCache(_KNOWN_AGES)

    async def latest(self, plan: Plan, backend: Backend, *, version: str, deadline: float) -> date | None:
        """A date or date-time; None without a time column, and where the time left does not suffice."""
        dataset = plan.resolved.dataset
        if dataset.time_column is None:
            return None
        key = (f"{dataset.api_no}:{plan.source.name}", version)
        if key not in self._known:
            found = await _scalar_in_time(compile_latest(dataset, _target(plan, backend)), backend, deadline)
            if not isinstance(found, date):
                return None
            self._known[key] = found
        return self._known[key]


async def freeze(
    plan: Plan, key: str, backend: Backend, ages: Ages, *, version: str, budget_ms: int, wall: datetime
) -> Snapshot:
    """The plan's rows within the Grant's caps, with their number and their age, and what is there instead of none.

    Raises TimeBudgetExceeded, SourceUnavailable or Busy.
    """
    deadline = monotonic() + budget_ms / 1000
    rows = await backend.fetch(plan.statement.sql, plan.statement.parameters, timeout_s=budget_ms / 1000)
    kept, cut_by = _within_caps(rows, plan)
    return Snapshot(
        id=secrets.token_hex(8),
        key=key,
        taken_at=wall,
        expires_at=wall + SNAPSHOT_LIFE,
        data_as_of=await ages.latest(plan, backend, version=version, deadline=deadline),
        rows=kept,
        total_rows=kept.num_rows if cut_by is None else await _counted(plan, backend, deadline),
        cut_by=cut_by,
        source=plan.source.name,
        empty=await _explained(plan, backend, deadline) if _says_nothing(kept, plan) else None,
    )


async def _counted(plan: Plan, backend: Backend, deadline: float) -> int | None:
    """How many rows the query has; None where the time left does not suffice."""
    statement = compile_count(plan.resolved, plan.grant, _target(plan, backend))
    count = await _scalar_in_time(statement, backend, deadline)
    if not isinstance(count, int):
        return None
    return count if plan.resolved.limit is None else min(count, plan.resolved.limit)


def _says_nothing(rows: pa.Table, plan: Plan) -> bool:
    """No row, or the one row of a total over no rows: nothing but nulls, and counts of 0."""
    resolved = plan.resolved
    if not resolved.grouped or any(column.groups for column in resolved.columns):
        return not len(rows)
    held: list[object] = [value for row in rows.to_pylist() for value in row.values()]
    return not any(held)


async def _explained(plan: Plan, backend: Backend, deadline: float) -> EmptyFinding | None:
    """What is there instead of nothing, in one scan under the same Grant. None where the time left does not suffice.

    Filters on metrics are held against groups: for these, the groups that would be left without each are counted.
    """
    filters = plan.resolved.filters
    left = [
        tuple(it for row_filter in filters if row_filter is not out for it in row_filter.conditions) for out in filters
    ]
    statement = compile_findings(plan.resolved, plan.grant, _target(plan, backend), leave_one_out=left)
    found = await _in_time(statement, backend, deadline)
    if found is None:
        return None
    first, last, *counts = (in_calendar(column)[0].as_py() for column in found.columns)
    zone = plan.resolved.dataset.zone
    without: Mapping[str, int] = {it.name: int(count or 0) for it, count in zip(filters, counts, strict=True)}
    if plan.resolved.having:
        without = await _groups_without(plan, backend, deadline)
    return EmptyFinding(_edge(wire_value(first, zone)), _edge(wire_value(last, zone)), without)


async def _groups_without(plan: Plan, backend: Backend, deadline: float) -> Mapping[str, int]:
    """By name of each filter, the groups that the others leave; none for what could not be counted in time."""
    resolved, counts = plan.resolved, {}
    variants = {it.name: replace(resolved, filters=_but(resolved.filters, it)) for it in resolved.filters}
    variants |= {it[0].label: replace(resolved, having=_but(resolved.having, it)) for it in resolved.having}
    for name, variant in variants.items():
        found = await _scalar_in_time(compile_count(variant, plan.grant, _target(plan, backend)), backend, deadline)
        if isinstance(found, int):
            counts[name] = found
    return counts


def _but(conditions: tuple[T, ...], left_out: T) -> tuple[T, ...]:
    return tuple(it for it in conditions if it is not left_out)


def _edge(value: object) -> str | None:
    return None if value is None else str(value)


def _within_caps(rows: pa.Table, plan: Plan) -> tuple[pa.Table, Literal["rows", "bytes"] | None]:
    """The rows that may be kept, and which cap cut them. A limit that the caller asked for is no cut."""
    limit, most = plan.resolved.limit, plan.grant.caps.bytes
    cut_by: Literal["rows", "bytes"] | None = None
    if rows.num_rows > plan.row_cap:
        rows = rows.slice(0, plan.row_cap)
        cut_by = None if limit is not None and limit <= plan.row_cap else "rows"
    while rows.nbytes > most and rows.num_rows > 1:
        rows = rows.slice(0, min(rows.num_rows - 1, max(1, int(rows.num_rows * most / rows.nbytes))))
        cut_by = "bytes"
    return rows, cut_by


def _target(plan: Plan, backend: Backend) -> Target:
    return Target(backend.relation(plan.source.table), backend.dialect)


async def _scalar_in_time(statement: Statement, backend: Backend, deadline: float) -> object:
    """The statement's only value; None where it cannot be had in time."""
    found = await _in_time(statement, backend, deadline)
    return None if found is None else in_calendar(found.column(0))[0].as_py()


async def _in_time(statement: Statement, backend: Backend, deadline: float) -> pa.Table | None:
    """None where the time left does not suffice, or the store fails: then nothing is claimed, and the answer stands."""
    timeout_s = max(_LEAST_TIMEOUT_S, deadline - monotonic())
    try:
        return await backend.fetch(statement.sql, statement.parameters, timeout_s=timeout_s)
    except (TimeBudgetExceeded, Busy, SourceUnavailable):
        return None
