"""Time expressions written in digits alone, the same in every language: ISO dates, slashes, 20260416, Q3, 15:00."""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Final

from engine.times.parts import (
    Anchor,
    Backwards,
    Days,
    Moments,
    Part,
    Piece,
    Rule,
    TimeOfDay,
    day_of_year,
    days_of_year,
    half_of,
    inside,
    period_of,
    quarter_of,
    rule,
)

# A digit, letter or point before or after makes a number part of a name, a version or a longer number; two points are
# a range.
_ALONE = r"(?<![a-z0-9_])(?<![^.]\.)(?<!^\.)(?<![a-z]-)"
_END = r"(?![a-z0-9_])(?!\.\d|-[a-z])"
# A word may follow at once in Chinese, Q3ROI, and a range goes on with a letter, Q1-Q3; the end of a name is neither.
_END_OF_PART = r"(?![0-9_]|[a-z](?![a-z]))(?!\.\d|-(?![qh]\d)[a-z])"
# 9999 is what systems write for "no end".
_YEAR = r"(?P<year>[12]\d{3}|9999)"
NO_PICTURE: Final = r"(?!\s*(?:素材|视频|画幅|比例|竖|横|format|aspect|ratio|video|creative))"
"""9:16 is a time of day, and the shape of a picture."""
_ALONE_OR_NAMED = rf"(?:{_ALONE}|(?<=[㐀-鿿][a-z]))"  # 渠道A2026-11-01
_TO = r"\s*(?:~|–|—+|到|至|\bto\b|\bthrough\b)\s*"
_TO_OR_DASH = rf"(?:{_TO}|\s*-\s*)"
_CENTURY = r"(?P<year>(?:19|20)\d\d)"


def _day(year: int, month: int, day: int, *, ambiguous: bool = False) -> Days:
    return Days(date(year, month, day), date(year, month, day), "day", ambiguous)


def _iso_day(match: re.Match[str], anchor: Anchor) -> Days:
    return _day(int(match["year"]), int(match["month"]), int(match["day"]))


def _iso_days(match: re.Match[str], anchor: Anchor) -> Days:
    """2026-11-01到11-05 and 2026-11-01到05: the end leaves out what the start says."""
    first = _iso_day(match, anchor).first
    last = date(first.year, int(match["end_month"] or first.month), int(match["end_day"]))
    if last < first:
        raise Backwards(match[0])
    return Days(first, last)


def _days_by_slash(match: re.Match[str], anchor: Anchor) -> Part | None:
    """11/1-5. No day comes first here, for days of one month are counted on."""
    month, first, last = int(match["month"]), int(match["day"]), int(match["end_day"])
    return days_of_year(month, first, last) if month <= 12 and max(first, last) <= 31 and first <= last else None


def _years(match: re.Match[str], anchor: Anchor) -> Days | None:
    first, last = int(match["first"]), int(match["last"])
    return Days(date(first, 1, 1), date(last, 12, 31)) if first < last else None


def _iso_month(match: re.Match[str], anchor: Anchor) -> Days:
    return period_of(date(int(match["year"]), int(match["month"]), 1), "month", anchor.week_start)


def _iso_moment(match: re.Match[str], anchor: Anchor) -> Moments:
    """A date and a time with an offset."""
    day = date(int(match["year"]), int(match["month"]), int(match["day"]))
    if int(match["hour"]) > 23:
        raise ValueError(f"no clock shows {match[0]}")
    midnight, written = datetime.combine(day, time(), _offset(match["offset"])), _clock_time(match, anchor)
    start, end, until = (
        (midnight + at).astimezone(anchor.zone) for at in (written.at, written.at + written.width, written.until)
    )
    return Moments(start, end, until)


def _offset(text: str) -> timezone:
    """z, +08, +0800, +08:00, and with seconds as zones had before they were agreed on: +08:05:43."""
    if text == "z":
        return UTC
    digits = re.sub(r"\D", "", text).ljust(6, "0")
    east = timedelta(hours=int(digits[:2]), minutes=int(digits[2:4]), seconds=int(digits[4:]))
    return timezone(-east if text.startswith("-") else east)


def _slashes(match: re.Match[str], anchor: Anchor) -> Piece | None:
    """Month first where both orders are possible, and then ambiguous; else the order that the calendar allows."""
    first, second = int(match["first"]), int(match["second"])
    if match["year"] is None and (min(first, second) > 12 or max(first, second) > 31 or match[0] == "24/7"):
        return None  # a fraction or a ratio
    month, day = (second, first) if first > 12 else (first, second)
    ambiguous = first != second and first <= 12 and second <= 12
    if match["year"] is None:
        return day_of_year(month, day, ambiguous=ambiguous)
    year = int(match["year"])
    return _day(year if year > 99 else 2000 + year, month, day, ambiguous=ambiguous)


def _of_year(part: Part, match: re.Match[str], anchor: Anchor) -> Piece:
    """The part in the year that stands beside it, or for itself where none does."""
    year = match["before"] or match["after"]
    return part if year is None else inside(part, period_of(date(int(year), 1, 1), "year", anchor.week_start))


def _clock_time(match: re.Match[str], anchor: Anchor) -> TimeOfDay:
    """As wide as what its last written digit stands for: a minute, a second or a fraction of one."""
    fraction = match["fraction"] or ""
    at = timedelta(
        hours=int(match["hour"]),
        minutes=int(match["minute"]),
        seconds=int(match["second"] or 0),
        microseconds=int(fraction.ljust(6, "0")),
    )
    width = timedelta(minutes=1) if match["second"] is None else timedelta(microseconds=10 ** (6 - len(fraction)))
    return TimeOfDay(at, width)


_YEAR_BESIDE = (
    rf"(?:(?P<before>(?:19|20)\d\d)[-/ ]?)?{{}}(?:[-,/ ]*(?:of )?(?P<after>(?:19|20)\d\d)(?!\d))?{_END_OF_PART}"
)

DIGITS: Final[tuple[Rule, ...]] = (
    rule(
        rf"{_ALONE}{_YEAR}-(?P<month>\d\d)-(?P<day>\d\d)[t ](?P<hour>\d\d):(?P<minute>\d\d)"
        r"(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,6})\d*)?)?\s?(?P<offset>z|[+-]\d\d(?::?\d\d){0,2})(?![a-z0-9])",
        _iso_moment,
    ),
    rule(
        rf"{_ALONE_OR_NAMED}{_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})"
        rf"(?:{_TO}|\s*(?!(?P=mark))-\s*|\s+-\s+)(?:(?P<end_month>\d{{1,2}})(?P=mark))?(?P<end_day>\d{{1,2}})"
        r"(?![\d年月时个]|:\d|点(?!击)|\s*[-/.]\d)",
        _iso_days,
    ),
    rule(
        rf"{_ALONE_OR_NAMED}{_YEAR}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})(?!\d|(?P=mark)\d)",
        _iso_day,
    ),
    rule(rf"{_ALONE_OR_NAMED}{_CENTURY}[-/](?P<month>0?[1-9]|1[0-2])(?![-/]\d{{1,2}}(?!\d)){_END_OF_PART}", _iso_month),
    # Eight digits inside a sentence may be an id: only what looks like a date is one, and must then be possible.
    rule(
        rf"{_ALONE}{_CENTURY}(?P<month>0[1-9]|1[0-2])(?P<day>0[1-9]|[12]\d|3[01]){_END}|"
        rf"^\s*(?P<year_alone>(?:19|20)\d\d)(?P<month_alone>\d\d)(?P<day_alone>\d\d)\s*$",
        lambda match, anchor: _day(
            int(match["year"] or match["year_alone"]),
            int(match["month"] or match["month_alone"]),
            int(match["day"] or match["day_alone"]),
        ),
    ),
    # Four and six digits are a year and a month only where nothing else is said.
    rule(rf"^\s*{_CENTURY}(?P<month>0[1-9]|1[0-2])\s*$", _iso_month),
    rule(
        rf"^\s*{_CENTURY}\s*$",
        lambda match, anchor: period_of(date(int(match["year"]), 1, 1), "year", anchor.week_start),
    ),
    rule(
        r"(?<![a-z0-9_./])(?P<first>\d{1,2})/(?P<second>\d{1,2})(?:/(?P<year>(?:19|20)\d\d|\d\d))?(?![\d/])(?!\.\d)",
        _slashes,
    ),
    rule(
        rf"(?<![a-z0-9_./])(?P<month>\d{{1,2}})/(?P<day>\d{{1,2}}){_TO_OR_DASH}(?P<end_day>\d{{1,2}})(?![\d/%月年时个]|[.:]\d|点(?!击))",
        _days_by_slash,
    ),
    rule(rf"{_ALONE}(?P<first>(?:19|20)\d\d)\s*[-–~]\s*(?P<last>(?:19|20)\d\d)(?![\d.-]){_END}", _years),
    # With points the day comes first wherever it is written so.
    rule(rf"{_ALONE}(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.{_CENTURY}{_END}", _iso_day),
    rule(
        r"(?<![a-z0-9_])" + _YEAR_BESIDE.format("q(?P<quarter>[1-4])"),
        lambda match, anchor: _of_year(quarter_of(int(match["quarter"]), anchor), match, anchor),
    ),
    rule(
        r"(?<![a-z0-9_])" + _YEAR_BESIDE.format("h(?P<half>[12])"),
        lambda match, anchor: _of_year(half_of(int(match["half"]), anchor), match, anchor),
    ),
    rule(
        r"(?:(?<![a-z0-9_.:])|(?<=\dt))(?P<hour>\d{1,2}):(?P<minute>[0-5]\d)"
        r"(?::(?P<second>[0-5]\d)(?:[.,](?P<fraction>\d{1,6})\d*)?)?(?![\d:]|\s*[ap]\.?m)" + NO_PICTURE,
        _clock_time,
    ),
)
