"""Which earlier periods a query compares with, and whether the data was there by then."""

from collections.abc import Iterable
from datetime import date, datetime
from zoneinfo import ZoneInfo

from engine.dataset import Period
from engine.query import Column, Resolved
from engine.sqlparts import shifted_back


def periods_of(columns: Iterable[Column]) -> tuple[Period, ...]:
    """The periods that the columns compare with, each once."""
    compared = [column.field.comparison.period for column in columns if column.field and column.field.comparison]
    return tuple(dict.fromkeys(compared))


def compares(resolved: Resolved) -> bool:
    return bool(periods_of(_columns(resolved)))


def reaches_before(resolved: Resolved, first: date | datetime) -> bool:
    """Whether something is compared with days before `first`, the first of the data.

    So it is where no span begins anywhere: the first rows of all have nothing before them.
    """
    periods, start = periods_of(_columns(resolved)), resolved.span.start if resolved.span else None
    if start is None:
        return bool(periods)
    zone = resolved.dataset.zone
    earlier = (shifted_back(start, period) for period in periods)
    return any(_day(it, zone) < _day(first, zone) for it in earlier if isinstance(it, date))


def _columns(resolved: Resolved) -> Iterable[Column]:
    yield from resolved.columns
    yield from (key.column for key in resolved.order)
    yield from (column for column, _ in resolved.having)


def _day(moment: date | datetime, zone: ZoneInfo) -> date:
    if not isinstance(moment, datetime):
        return moment
    return moment.astimezone(zone).date() if moment.tzinfo else moment.date()
