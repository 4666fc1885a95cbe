"""Runs a plan and freezes what it yields: the only place where a query's rows are read from a store."""

import secrets
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from time import monotonic
from typing import Literal

import pyarrow as pa

from engine.backends.base import Backend
from engine.compile import Target, compile_count, compile_findings, compile_latest
from engine.encode import in_calendar, wire_value
from engine.errors import EngineError, TimeBudgetExceeded
from engine.query import EmptyFinding, Plan, Snapshot, Statement

SNAPSHOT_LIFE = timedelta(minutes=15)
"""Longer than a session sleeps, so that an agent that comes back for page two finds its rows."""

_LEAST_TIMEOUT_S = 0.05


async def freeze(plan: Plan, key: str, backend: Backend, *, budget_ms: int, wall: datetime) -> Snapshot:
    """The plan's rows within the Grant's caps, with their number and their age.

    Raises TimeBudgetExceeded, SourceUnavailable or Busy.
    """
    deadline = monotonic() + budget_ms / 1000
    rows = await backend.fetch(plan.statement.sql, plan.statement.parameters, timeout_s=budget_ms / 1000)
    kept, cut_by = _within_caps(rows, plan)
    total: object = kept.num_rows
    target = Target(backend.relation(plan.source.table), backend.dialect)
    if cut_by is not None:
        total = await _scalar_in_time(compile_count(plan.resolved, plan.grant, target), backend, deadline)
    as_of = None
    if plan.resolved.dataset.time_column is not None:
        as_of = await _scalar_in_time(compile_latest(plan.resolved.dataset, target), backend, deadline)
    return Snapshot(
        id=secrets.token_hex(8),
        key=key,
        taken_at=wall,
        expires_at=wall + SNAPSHOT_LIFE,
        data_as_of=as_of if isinstance(as_of, date) else None,
        rows=kept,
        total_rows=total if isinstance(total, int) else None,
        cut_by=cut_by,
        source=plan.source.name,
    )


async def explain_empty(plan: Plan, backend: Backend, *, budget_ms: int) -> EmptyFinding | None:
    """What is there instead of nothing, in one scan under the same Grant. None where time does not suffice."""
    filters = plan.resolved.filters
    left = [
        tuple(it for row_filter in filters if row_filter is not out for it in row_filter.conditions) for out in filters
    ]
    target = Target(backend.relation(plan.source.table), backend.dialect)
    statement = compile_findings(plan.resolved, plan.grant, target, leave_one_out=left)
    try:
        found = await backend.fetch(statement.sql, statement.parameters, timeout_s=budget_ms / 1000)
    except TimeBudgetExceeded:
        return None
    first, last, *counts = (in_calendar(column)[0].as_py() for column in found.columns)
    zone = plan.resolved.dataset.zone
    without: Mapping[str, int] = {it.name: int(count or 0) for it, count in zip(filters, counts, strict=True)}
    return EmptyFinding(_edge(wire_value(first, zone)), _edge(wire_value(last, zone)), without)


def _edge(value: object) -> str | None:
    return None if value is None else str(value)


def _within_caps(rows: pa.Table, plan: Plan) -> tuple[pa.Table, Literal["rows", "bytes"] | None]:
    """The rows that may be kept, and which cap cut them. A limit that the caller asked for is no cut."""
    limit = plan.resolved.limit
    cut_by: Literal["rows", "bytes"] | None = None
    if rows.num_rows > plan.row_cap:
        rows = rows.slice(0, plan.row_cap)
        cut_by = None if limit is not None and limit <= plan.row_cap else "rows"
    if rows.nbytes > plan.grant.caps.bytes:
        share = plan.grant.caps.bytes / rows.nbytes
        return rows.slice(0, max(1, int(rows.num_rows * share))), "bytes"
    return rows, cut_by


async def _scalar_in_time(statement: Statement, backend: Backend, deadline: float) -> object:
    """The statement's only value; None where the time left does not suffice, and then nothing is claimed."""
    try:
        timeout_s = max(_LEAST_TIMEOUT_S, deadline - monotonic())
        found = await backend.fetch(statement.sql, statement.parameters, timeout_s=timeout_s)
    except EngineError:
        return None
    return in_calendar(found.column(0))[0].as_py()
