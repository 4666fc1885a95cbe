"""Runs a plan and freezes what it yields, with what is told of it: its number, its age, what is there instead."""

import secrets
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from math import ceil
from typing import TypeVar

import pyarrow as pa
from cachetools import LRUCache

from engine.backends.base import Backend
from engine.comparing import compares
from engine.compile import Target, compile_count, compile_findings, compile_first, compile_latest
from engine.dataset import Dataset
from engine.deadline import Deadline
from engine.encode import in_calendar, python_values, wire_value
from engine.errors import Busy, SourceUnavailable, TimeBudgetExceeded
from engine.query import EmptyFinding, Grant, OutOfTime, Plan, Snapshot, SourceFailed, Statement, Stopped
from engine.reading import read_rows

T = TypeVar("T")
EdgeCompiler = Callable[[Dataset, Grant, Target], Statement]

SNAPSHOT_LIFE = timedelta(minutes=15)
"""Longer than a session sleeps, so that an agent that comes back for page two finds its rows."""

_LEAST_TIME_S = 0.005  # with less, a statement only costs the store its cancellation
_SLACK = 1.25  # the last rows may come more slowly than the first
_KNOWN_AGES = 1024


class Ages:
    """The latest and the first readable value of a dataset's time column, read once for each version of the data.

    All who may read the same rows share it. What a row rule hides is not told by its age either.
    """

    def __init__(self) -> None:
        self._known: LRUCache[Hashable, date] = LRUCache(_KNOWN_AGES)

    async def latest(self, plan: Plan, backend: Backend, *, version: str, deadline: Deadline) -> date | None:
        """A date or date-time; None without a time column, and where the time left does not suffice."""
        return await self._edge(compile_latest, plan, backend, version, deadline)

    async def first(self, plan: Plan, backend: Backend, *, version: str, deadline: Deadline) -> date | None:
        """As `latest`."""
        return await self._edge(compile_first, plan, backend, version, deadline)

    async def _edge(
        self, compiled: EdgeCompiler, plan: Plan, backend: Backend, version: str, deadline: Deadline
    ) -> date | None:
        dataset = plan.resolved.dataset
        if dataset.time_column is None:
            return None
        statement = compiled(dataset, plan.grant, _target(plan, backend))
        key = (dataset.api_no, plan.source.name, version, statement.sql, tuple(statement.parameters.items()))
        if key not in self._known:
            found = await _scalar_in_time(statement, backend, deadline)
            if not isinstance(found, date):
                return None
            self._known[key] = found
        return self._known[key]


async def freeze(
    plan: Plan, key: str, backend: Backend, ages: Ages, *, version: str, deadline: Deadline, wall: datetime
) -> Snapshot:
    """The plan's rows within the Grant's caps, with their number and their age, and what is there instead of none.

    `key` is that of all rows; rows that reading stopped at are kept under the key that `partial_key` makes of it.
    Raises TimeBudgetExceeded, SourceUnavailable or Busy.
    """
    read = await read_rows(plan, backend, deadline)
    whole = read.cut_by is None and read.stopped is None
    data_as_of = await ages.latest(plan, backend, version=version, deadline=deadline)
    data_since = None
    if compares(plan.resolved):
        data_since = await ages.first(plan, backend, version=version, deadline=deadline)
    total_rows = read.table.num_rows if whole else await _counted(plan, backend, deadline)
    return Snapshot(
        id=secrets.token_hex(8),
        key=key if read.stopped is None else partial_key(key, deadline.budget_ms),
        taken_at=wall,
        expires_at=wall + SNAPSHOT_LIFE,
        data_as_of=data_as_of,
        rows=read.table,
        total_rows=total_rows,
        cut_by=read.cut_by,
        source=plan.source.name,
        empty=await _explained(plan, backend, deadline) if whole and _says_nothing(read.table, plan) else None,
        data_since=data_since,
        stopped=_with_share(read.stopped, rows=read.table.num_rows, of=total_rows),
    )


def partial_key(key: str, budget_ms: int) -> str:
    """Under which rows are kept that some budget did not suffice for: a greater one has to read again."""
    return f"{key}:{budget_ms}ms"


def still_says(snapshot: Snapshot, *, budget_ms: int, wall: datetime) -> bool:
    """Whether a query with this budget has this answer: not where more time, or a store that is back, gives more."""
    match snapshot.stopped:
        case OutOfTime(spent_ms):
            return budget_ms <= spent_ms
        case SourceFailed(retry_after_s):
            return wall < snapshot.taken_at + timedelta(seconds=retry_after_s)
    return True


def _with_share(stopped: Stopped | None, *, rows: int, of: int | None) -> Stopped | None:
    """A better guess at the time that is needed, where it is known how much was left to read."""
    if not isinstance(stopped, OutOfTime) or of is None:
        return stopped
    return replace(stopped, suggested_ms=ceil(stopped.budget_ms * max(1.0, of / rows) * _SLACK))


async def _counted(plan: Plan, backend: Backend, deadline: Deadline) -> int | None:
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
    return not any(value for column in rows.columns for value in python_values(in_calendar(column)))


async def _explained(plan: Plan, backend: Backend, deadline: Deadline) -> EmptyFinding | None:
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


async def _groups_without(plan: Plan, backend: Backend, deadline: Deadline) -> Mapping[str, int]:
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


def _target(plan: Plan, backend: Backend) -> Target:
    return Target(backend.relation(plan.source.table), backend.dialect)


async def _scalar_in_time(statement: Statement, backend: Backend, deadline: Deadline) -> object:
    """The statement's only value; None where it cannot be had in time."""
    found = await _in_time(statement, backend, deadline)
    return None if found is None else in_calendar(found.column(0))[0].as_py()


async def _in_time(statement: Statement, backend: Backend, deadline: Deadline) -> pa.Table | None:
    """None where the time left does not suffice, or the store fails: then nothing is claimed, and the answer stands."""
    try:
        if (timeout_s := deadline.left_s()) < _LEAST_TIME_S:
            return None
        return await backend.fetch(statement.sql, statement.parameters, timeout_s=timeout_s)
    except (TimeBudgetExceeded, Busy, SourceUnavailable):
        return None
