"""Reads a plan's rows from its store: all that the caps allow, or those that were there when the time was up.

Rows in an order that the caller asked for, and groups, are all or nothing: which come first is not known before
everything was read. Rows without an order are read as the store comes upon them, and sorted by their key afterwards.
"""

from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from engine.backends.base import Backend, Reading
from engine.deadline import Deadline
from engine.errors import Busy, SourceUnavailable, TimeBudgetExceeded
from engine.query import OutOfTime, Plan, SourceFailed, Statement, Stopped


@dataclass(frozen=True)
class Rows:
    """What was read, in its final order: all of it, the first up to a cap, or some that came before reading stopped."""

    table: pa.Table
    cut_by: Literal["rows", "bytes"] | None
    stopped: Stopped | None


async def read_rows(plan: Plan, backend: Backend, deadline: Deadline) -> Rows:
    """The plan's rows within the Grant's caps and the time left.

    Raises TimeBudgetExceeded, SourceUnavailable or Busy where no row can be given.
    """
    if plan.unsorted is None:
        return await _sorted_by_the_store(plan, backend, deadline)
    found = await _read(plan.unsorted, plan, backend, deadline)
    if found.stopped is not None:
        return _some(found.rows, plan, deadline, found.stopped)
    if found.rows.num_rows <= plan.row_cap and found.rows.nbytes <= plan.grant.caps.bytes:
        return Rows(_by_key(found.rows, plan), None, None)
    # More than may be kept: then those are kept that come first by key, and only the store can tell which.
    try:
        return await _sorted_by_the_store(plan, backend, deadline)
    except (TimeBudgetExceeded, SourceUnavailable, Busy) as stopped:
        return _some(found.rows, plan, deadline, stopped)


async def _sorted_by_the_store(plan: Plan, backend: Backend, deadline: Deadline) -> Rows:
    found = await _read(plan.statement, plan, backend, deadline)
    if isinstance(found.stopped, TimeBudgetExceeded):
        raise deadline.exceeded()
    if found.stopped is not None:
        raise found.stopped
    return Rows(*_within_caps(found.rows, plan), stopped=None)


async def _read(statement: Statement, plan: Plan, backend: Backend, deadline: Deadline) -> Reading:
    try:
        return await backend.read(
            statement.sql,
            statement.parameters,
            timeout_s=deadline.left_s(),
            most_rows=plan.row_cap,
            most_bytes=plan.grant.caps.bytes,
        )
    except TimeBudgetExceeded as late:  # it knows its share of the time alone
        raise deadline.exceeded() from late


def _some(rows: pa.Table, plan: Plan, deadline: Deadline, stopped: Exception) -> Rows:
    kept, cut_by = _within_caps(rows, plan)
    why: Stopped = OutOfTime(deadline.budget_ms, deadline.suggested_ms())
    if isinstance(stopped, SourceUnavailable):
        why = SourceFailed(stopped.retry_after_s)
    return Rows(_by_key(kept, plan), cut_by, why)


def _by_key(rows: pa.Table, plan: Plan) -> pa.Table:
    """The rows by the dataset's key, nulls last, without what they carry of the key for this alone."""
    key = plan.resolved.dataset.key
    held = pa.table({name: _comparable(rows[name]) for name in key})
    order = pc.sort_indices(held, sort_keys=[(name, "ascending") for name in key])
    return rows.select([column.label for column in plan.resolved.columns]).take(order)


def _comparable(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Enumerated values as what they stand for: Arrow cannot sort them otherwise."""
    return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values


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
