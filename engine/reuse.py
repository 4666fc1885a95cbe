"""When a frozen result may stand for the data, and what tells that the data has changed: as the dataset declares it."""

from datetime import date, datetime, time, timedelta

from engine.backends.base import Backend
from engine.compile import Target, compile_version
from engine.deadline import Deadline
from engine.errors import TimeBudgetExceeded
from engine.query import Plan


async def data_version(plan: Plan, backend: Backend, deadline: Deadline) -> str:
    """A text that changes when the data does: the store's own, or the latest value of the source's version column.

    Raises TimeBudgetExceeded, SourceUnavailable or Busy.
    """
    own = await backend.version(plan.source.table)
    if plan.source.version_column is None:
        return own
    target = Target(backend.relation(plan.source.table), backend.dialect)
    statement = compile_version(plan.source.version_column, target)
    try:
        found = await backend.fetch(statement.sql, statement.parameters, timeout_s=deadline.left_s())
    except TimeBudgetExceeded as late:
        raise deadline.exceeded() from late
    return f"{plan.source.version_column}={found.column(0)[0]}"


def reads_through(plan: Plan, now: datetime) -> bool:
    """Whether the query reaches into days whose rows still come in, so that nothing frozen may stand for them."""
    dataset, span = plan.resolved.dataset, plan.resolved.span
    days = dataset.freshness.read_through_days
    if days is None:
        return False
    if span is None or span.end is None:
        return True
    today = now.astimezone(dataset.zone).date()
    settled = datetime.combine(today - timedelta(days=days - 1), time())
    return _local(span.end, plan) > settled


def _local(end: date | datetime, plan: Plan) -> datetime:
    """The moment by the dataset's wall clock."""
    if not isinstance(end, datetime):
        return datetime.combine(end, time())
    return end.astimezone(plan.resolved.dataset.zone).replace(tzinfo=None) if end.tzinfo else end
