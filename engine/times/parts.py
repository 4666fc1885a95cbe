"""The calendar under time expressions: what one is made of, before and after it has its place in time.

Days, Moments      placed: a run of whole days; a stretch of the clock
Part, TimeOfDay    not yet placed: a part of some larger period (November of some year); a time of some day
SameAgo            refers to another expression of the sentence (去年同期)

Knows no language. Arithmetic that leaves the calendar raises ValueError or OverflowError, a range that ends before it
begins Backwards; `spans` gives them their meanings, ImpossibleDate and ReversedRange.
"""

import re
from calendar import monthrange
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Literal

from engine.dataset import FiscalYear, WeekStart

Unit = Literal["fiscalYear", "year", "half", "quarter", "month", "third", "week", "day"]

_MONTHS: dict[Unit, int] = {"month": 1, "quarter": 3, "half": 6, "year": 12, "fiscalYear": 12}
_DAYS: dict[Unit, int] = {"day": 1, "week": 7}
_FARTHEST = 100  # periods looked through for a part: more than the eight years that February 29 can be away


class Backwards(ValueError):
    """A range ends before it begins."""


@dataclass(frozen=True)
class Anchor:
    """What expressions hang on: the moment, in the reader's own zone, the first day of a week, the fiscal year."""

    now: datetime
    week_start: WeekStart
    fiscal_year: FiscalYear | None = None

    @property
    def today(self) -> date:
        return self.now.date()

    @property
    def zone(self) -> tzinfo:
        assert self.now.tzinfo is not None
        return self.now.tzinfo

    @property
    def months_late(self) -> int:
        """How many months after January the fiscal year begins; 0 where there is none."""
        return self.fiscal_year.months_late if self.fiscal_year else 0

    def period(self, day: date, unit: "Unit") -> "Days":
        """The period of that unit in which the day lies."""
        if unit != "fiscalYear":
            return period_of(day, unit, self.week_start)
        first = shift(day.replace(day=1), "month", -((day.month - 1 - self.months_late) % 12))
        return Days(first, shift(shift(first, "month", 12), "day", -1), unit)


@dataclass(frozen=True)
class Days:
    """Whole days, both ends included. `unit` is set where they are one calendar period, which can be narrowed."""

    first: date
    last: date
    unit: Unit | None = None
    ambiguous: bool = False


@dataclass(frozen=True)
class Moments:
    """[start, end) by the anchor. `until` is what the expression means as the end of a range: 5点 ends at 5:00."""

    start: datetime
    end: datetime
    until: datetime
    ambiguous: bool = False


@dataclass(frozen=True)
class Part:
    """A `unit` somewhere within a period of unit `of`: a month of a year, a weekday of a week."""

    unit: Unit
    of: Unit
    within: Callable[[Days], Days | None]
    """The part of that period; None where that period has none (a 31st in April)."""
    states: tuple[Unit, ...] = ()
    """Units that the text itself names on the way: a day written with its month states the month."""
    ambiguous: bool = False
    needs_period: bool = False
    """Only read where its period is said: the 3日 of 10月1日、3日, for 7日、30日 alone are names of metrics."""


@dataclass(frozen=True)
class TimeOfDay:
    """A time on the clock of some day, counted from its midnight; `width` is how much of the day it stands for."""

    at: timedelta
    width: timedelta
    half_known: bool = False
    """Morning or afternoon was said, so that a plain 5 after 下午3点到 may mean 17."""
    of_twelve: bool = False
    """Written as people count to twelve: 9点 rather than 09:00."""
    window: bool = False
    """A part of the day without a time, such as 下午; its edges are a convention."""

    @property
    def until(self) -> timedelta:
        """As the end of a range: a window's end, the time itself, but the whole hour after 16:59 or 23:59:59."""
        closes_hour = self.width < timedelta(hours=1) and not (self.at + self.width) % timedelta(hours=1)
        return self.at + self.width if self.window or closes_hour else self.at


@dataclass(frozen=True)
class SameAgo:
    """So many units before the first other expression of the sentence, the subject."""

    unit: Unit
    count: int
    alone: Unit | None = "day"
    """Without a subject: so many units before today, or before its week or month. None: no time by itself (前一天)."""
    of_its_kind: bool = False
    """The subject must be such a unit too: 前一周 beside 上周 is the week before that, beside 昨天 it is not."""


@dataclass(frozen=True)
class Unplaced:
    """A fiscal period where no fiscal year is set: no time, and no part of it is taken for a calendar's (fiscal Q2)."""


Placed = Days | Moments
Piece = Placed | Part | TimeOfDay | SameAgo | Unplaced


@dataclass(frozen=True)
class Rule:
    """One row of a grammar: how it looks in folded text, and what it means. None: no time expression after all."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], Anchor], Piece | None]


def rule(pattern: str, read: Callable[[re.Match[str], Anchor], Piece | None]) -> Rule:
    return Rule(re.compile(pattern), read)


# ------------------------------------------------------------------------------------------------ calendar arithmetic


def shift(day: date, unit: Unit, count: int) -> date:
    """`count` units later, or earlier. A day that a month lacks is its last: March 31 less a month is February 28."""
    if unit in _DAYS:
        return day + timedelta(days=_DAYS[unit] * count)
    months = day.year * 12 + day.month - 1 + _MONTHS[unit] * count
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise OverflowError(f"year {year} is outside the calendar")
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def period_of(day: date, unit: Unit, week_start: WeekStart) -> Days:
    """The calendar period of that unit in which the day lies."""
    if unit == "day":
        return Days(day, day, unit)
    if unit == "week":
        first = day - timedelta(days=(day.weekday() + (week_start == "sunday")) % 7)
        return Days(first, first + timedelta(days=6), unit)
    months = _MONTHS[unit]
    first = date(day.year, (day.month - 1) // months * months + 1, 1)
    month = first.month + months - 1
    return Days(first, date(first.year, month, monthrange(first.year, month)[1]), unit)


def relative_period(anchor: Anchor, unit: Unit, count: int) -> Days:
    """The period of today shifted by whole periods: -1 is the last one, 0 the current one.

    A quarter is ambiguous where those of the fiscal year begin in other months.
    """
    here = anchor.period(anchor.today, unit)
    found = anchor.period(shift(here.first, unit, count), unit)
    return replace(found, ambiguous=unit == "quarter" and anchor.months_late % 3 > 0)


def relative_weekday(anchor: Anchor, weekday: int, weeks: int) -> Days:
    """That weekday (Monday is 0) in the calendar week that lies so many weeks away."""
    found = weekday_of(weekday).within(relative_period(anchor, "week", weeks))
    assert found is not None
    return found


def relative_weekend(anchor: Anchor, weeks: int) -> Days:
    """Saturday and Sunday. They belong together whatever day a week starts on, so weeks count from Monday here."""
    saturday = shift(period_of(anchor.today, "week", "monday").first, "day", 5 + 7 * weeks)
    return Days(saturday, shift(saturday, "day", 1))


def rolling_days(anchor: Anchor, unit: Unit, count: int, *, with_today: bool = False, ambiguous: bool = False) -> Days:
    """So many whole units that end yesterday, or today. A negative count runs forward from tomorrow, or today."""
    if count < 0:
        first = anchor.today if with_today else shift(anchor.today, "day", 1)
        return Days(first, shift(shift(first, unit, -count), "day", -1), ambiguous=ambiguous)
    last = anchor.today if with_today else shift(anchor.today, "day", -1)
    return Days(shift(shift(last, "day", 1), unit, -count), last, ambiguous=ambiguous)


def rolling_periods(anchor: Anchor, unit: Unit, count: int) -> Days:
    """So many complete calendar periods before the current one."""
    return Days(relative_period(anchor, unit, -count).first, relative_period(anchor, unit, -1).last)


def rolling_time(anchor: Anchor, length: timedelta) -> Moments:
    """So much time that ends now, or begins now where it is negative: elapsed time, so a repeated hour counts twice."""
    there = (anchor.now.astimezone(UTC) - length).astimezone(anchor.zone)
    start, end = (there, anchor.now) if length > timedelta(0) else (anchor.now, there)
    return Moments(start, end, end)


def to_date(anchor: Anchor, unit: Unit) -> Days:
    """From the start of the current period to today, today included."""
    here = relative_period(anchor, unit, 0)
    return Days(here.first, anchor.today, ambiguous=here.ambiguous)


def days_ago(anchor: Anchor, unit: Unit, count: int) -> Days:
    """The one day that lies so many units back."""
    return period_of(shift(anchor.today, unit, -count), "day", anchor.week_start)


def shifted(days: Days, unit: Unit, count: int) -> Days:
    """The same days so many units away; a month that is whole stays whole although months differ in length."""
    after = days.last + timedelta(days=1)
    last = shift(after, unit, count) - timedelta(days=1) if after.day == 1 else shift(days.last, unit, count)
    return Days(shift(days.first, unit, count), last, days.unit, days.ambiguous)


# ------------------------------------------------------------------------------------- parts that wait for their place


def month_of(month: int, *, ambiguous: bool = False) -> Part:
    date(2000, month, 1)

    def within(year: Days) -> Days:
        return period_of(_month_within(year, month), "month", "monday")

    return Part("month", "year", within, ambiguous=ambiguous)


def day_of_year(month: int, day: int, *, ambiguous: bool = False) -> Part:
    """A day written with its month. Raises ValueError where no year has it."""
    date(2000, month, day)

    def within(year: Days) -> Days | None:
        return _day(_month_within(year, month).year, month, day)

    return Part("day", "year", within, states=("month",), ambiguous=ambiguous)


def days_of_year(month: int, first: int, last: int, *, ambiguous: bool = False) -> Part:
    """Nov 1-5: days of one month. Raises ValueError where no year has them, Backwards where they run backwards."""
    if date(2000, month, first) > date(2000, month, last):
        raise Backwards(f"{first}-{last}")

    def within(year: Days) -> Days | None:
        start, end = _day(year.first.year, month, first), _day(year.first.year, month, last)
        return None if start is None or end is None else Days(start.first, end.last)

    return Part("day", "year", within, states=("month",), ambiguous=ambiguous)


def days_between(first: tuple[int, int], last: tuple[int, int]) -> Part:
    """From a (month, day) to the next such other: 10.1到10.7. Always ambiguous.

    Raises ValueError where no year has them, Backwards where most of a year would lie between.
    """
    start, end = date(2000, *first), date(2000 + (last < first), *last)
    if end - start > timedelta(days=183):
        raise Backwards(f"{first}-{last}")

    def within(year: Days) -> Days | None:
        begun, ended = _day(year.first.year, *first), _day(year.first.year + end.year - start.year, *last)
        return None if begun is None or ended is None else Days(begun.first, ended.last)

    return Part("day", "year", within, ambiguous=True)


def day_of_month(day: int, *, needs_period: bool = False) -> Part:
    date(2000, 1, day)

    def within(month: Days) -> Days | None:
        return _day(month.first.year, month.first.month, day)

    return Part("day", "month", within, needs_period=needs_period)


def days_of(unit: Unit, first: int, last: int, *, needs_period: bool = True) -> Part:
    """Its first three days are 1 to 3; negative numbers count from its end, so that its last three are -3 to -1.

    Raises Backwards where they run backwards.
    """
    if (first > 0) == (last > 0) and first > last:
        raise Backwards(f"{first}-{last}")

    def within(whole: Days) -> Days | None:
        length = (whole.last - whole.first).days + 1
        start, end = (day - 1 if day > 0 else length + day for day in (first, last))
        if not 0 <= start <= end < length:
            return None
        first_day, last_day = whole.first + timedelta(days=start), whole.first + timedelta(days=end)
        return Days(first_day, last_day, "day" if start == end else None)

    return Part("day", unit, within, needs_period=needs_period)


def third_of_month(third: int, *, ambiguous: bool = False) -> Part:
    """1st to 10th, 11th to 20th, 21st to the end."""

    def within(month: Days) -> Days:
        first = month.first.replace(day=10 * third - 9)
        return Days(first, month.last if third == 3 else first + timedelta(days=9), "third")

    return Part("third", "month", within, ambiguous=ambiguous)


def half_of_month(half: int) -> Part:
    """1st to 15th, 16th to the end."""

    def within(month: Days) -> Days:
        middle = month.first.replace(day=15)
        return Days(month.first, middle) if half == 1 else Days(middle + timedelta(days=1), month.last)

    return Part("third", "month", within)


def week_of_month(week: int) -> Part:
    """Counted in sevens from the 1st, the fifth up to the end; -1 is the last seven days.

    Others count calendar weeks, so it is ambiguous.
    """

    def within(month: Days) -> Days | None:
        if week == -1:
            return Days(month.last - timedelta(days=6), month.last)
        first = _day(month.first.year, month.first.month, 7 * week - 6)
        return None if first is None else Days(first.first, min(first.first + timedelta(days=6), month.last))

    return Part("third", "month", within, ambiguous=True, needs_period=True)


def quarter_of(quarter: int, anchor: Anchor) -> Part:
    return _months_of("quarter", 3 * quarter - 3, 3, anchor)


def half_of(half: int, anchor: Anchor) -> Part:
    return _months_of("half", 6 * half - 6, 6, anchor)


def first_months_of(count: int, anchor: Anchor) -> Part:
    """The first so many months of a year (前三季度)."""
    date(2000, count, 1)
    return _months_of("half", 0, count, anchor)


def _months_of(unit: Unit, skipped: int, count: int, anchor: Anchor) -> Part:
    """Months of the calendar's year, which is ambiguous where the fiscal year begins in another month."""

    def within(year: Days) -> Days:
        first = shift(year.first, "month", skipped)
        return Days(first, shift(shift(first, "month", count), "day", -1), unit)

    return Part(unit, "year", within, ambiguous=anchor.months_late > 0)


def in_fiscal_year(part: Part) -> Part:
    """The part of a year as one of the fiscal year: its second quarter, or the April that lies in it."""
    return replace(part, of="fiscalYear", ambiguous=part.ambiguous and part.unit not in ("quarter", "half"))


def weekday_of(weekday: int) -> Part:
    """Monday is 0."""

    def within(week: Days) -> Days:
        return period_of(week.first + timedelta(days=(weekday - week.first.weekday()) % 7), "day", "monday")

    return Part("day", "week", within)


def weekend_of() -> Part:
    def within(week: Days) -> Days:
        saturday = week.first + timedelta(days=(5 - week.first.weekday()) % 7)
        return Days(saturday, saturday + timedelta(days=1))

    return Part("day", "week", within)


def latest(part: Part, anchor: Anchor, *, not_after: date) -> Days:
    """The last such part that had begun on that day. One that is farther back than usual (February 29) is ambiguous."""
    return _found(part, anchor, not_after, -1)


def earliest(part: Part, anchor: Anchor, *, not_before: date) -> Days:
    """The first such part that begins on that day or later."""
    return _found(part, anchor, not_before, +1)


def inside(part: Part, whole: Days) -> Days:
    """The part of that very period. Raises ValueError where it has none."""
    found = part.within(whole)
    if found is None:
        raise ValueError(f"{whole.first:%Y-%m} has no such day")
    return replace(found, ambiguous=found.ambiguous or part.ambiguous or whole.ambiguous)


def _found(part: Part, anchor: Anchor, bound: date, direction: Literal[-1, 1]) -> Days:
    skipped = False
    for step in range(_FARTHEST):
        whole = anchor.period(shift(bound, part.of, direction * step), part.of)
        found = part.within(whole)
        if found is None:
            skipped = True
        elif (found.first - bound).days * direction >= 0:
            return replace(found, ambiguous=found.ambiguous or part.ambiguous or skipped)
    raise ValueError("no period has such a part")


def _month_within(year: Days, month: int) -> date:
    """The first of that month; a fiscal year goes on into the next calendar year."""
    return date(year.first.year + (month < year.first.month), month, 1)


def _day(year: int, month: int, day: int) -> Days | None:
    exists = day <= monthrange(year, month)[1]
    return Days(date(year, month, day), date(year, month, day), "day") if exists else None


# --------------------------------------------------------------------------------------------------- days to the clock


def wall(day: date, at: timedelta, zone: tzinfo) -> datetime:
    """What clocks in the zone show `at` after the midnight that begins the day, 24 hours being the next midnight.

    A time that daylight saving skips is the moment at which clocks jumped; one that it repeats is the first of the two.
    """
    local = (datetime.combine(day, time()) + at).replace(tzinfo=zone)
    if local.year == 9999:  # conversion could leave the calendar, and no zone is known to change its clocks then
        return local
    return local.astimezone(UTC).astimezone(zone)


def start_of(day: date, zone: tzinfo) -> datetime:
    return wall(day, timedelta(0), zone)


def end_of(day: date, zone: tzinfo) -> datetime:
    """The midnight that ends the day; for the calendar's last day, its last microsecond."""
    return datetime.max.replace(tzinfo=zone) if day == date.max else wall(day, timedelta(days=1), zone)


def on_day(time_of_day: TimeOfDay, day: Days, anchor: Anchor) -> Moments:
    """Raises ValueError where no clock shows the time, or clocks skipped all of it."""
    if time_of_day.at > timedelta(hours=24) and not time_of_day.half_known:  # 晚上1点 is 25 hours after its midnight
        raise ValueError(f"a day has no {time_of_day.at}")
    start, end, until = (
        wall(day.first, at, anchor.zone)
        for at in (time_of_day.at, time_of_day.at + time_of_day.width, time_of_day.until)
    )
    if start.timestamp() >= end.timestamp():
        raise ValueError("clocks skipped this time")
    return Moments(start, end, until, day.ambiguous or time_of_day.window)
