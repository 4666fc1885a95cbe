"""How English says when: a table of patterns over folded text (half width, lower case) and their readings.

Much of a pattern says what is *not* meant: "May I" is no month, "top 10 Nov campaigns" no tenth of November.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, timedelta
from typing import Final

from engine.numerals import ENGLISH_NUMBERS, number_of
from engine.times.parts import (
    Anchor,
    Backwards,
    Days,
    Moments,
    Part,
    Rule,
    SameAgo,
    TimeOfDay,
    Unit,
    day_of_month,
    day_of_year,
    days_ago,
    days_of,
    days_of_year,
    earliest,
    half_of,
    half_of_month,
    inside,
    latest,
    month_of,
    period_of,
    quarter_of,
    relative_period,
    relative_weekday,
    relative_weekend,
    rolling_days,
    rolling_periods,
    rolling_time,
    rule,
    shift,
    third_of_month,
    to_date,
    week_of_month,
    weekday_of,
    weekend_of,
)

_DAYS: Final[Mapping[str, int]] = {"yesterday": -1, "today": 0, "tomorrow": 1, "before": -2, "after": 2}
_STEPS: Final[Mapping[str, int]] = {
    **{"last": -1, "past": -1, "previous": -1, "this": 0, "current": 0, "next": 1, "coming": 1},
}
_UNITS: Final[Mapping[str, Unit]] = {
    **{"day": "day", "week": "week", "month": "month", "quarter": "quarter", "year": "year"},
    **{"d": "day", "w": "week", "m": "month", "q": "quarter", "y": "year"},
}
_LENGTHS: Final[Mapping[str, timedelta]] = {
    **{"hour": timedelta(hours=1), "hr": timedelta(hours=1), "h": timedelta(hours=1)},
    **{"minute": timedelta(minutes=1), "min": timedelta(minutes=1)},
}
_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_ORDINALS: Final[Mapping[str, int]] = {
    **{"first": 1, "second": 2, "third": 3, "fourth": 4},
    **{"1st": 1, "2nd": 2, "3rd": 3, "4th": 4},
}
_NAMED_DAYS: Final[Mapping[str, tuple[int, int]]] = {
    **{"new year's day": (1, 1), "valentine's day": (2, 14), "fourth of july": (7, 4), "halloween": (10, 31)},
    **{"singles' day": (11, 11), "christmas": (12, 25), "christmas eve": (12, 24)},
}
_THIRDS: Final[Mapping[str, int]] = {"early": 1, "mid": 2, "late": 3}
# Parts of a day, from and to in hours. Conventions, so a part without a time is ambiguous.
_PARTS: Final[Mapping[str, tuple[int, int]]] = {
    **{"morning": (6, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24)},
}
_CLOCK_WORDS: Final[Mapping[str, int]] = {"midnight": 0, "noon": 12, "midday": 12}


def _after(*words: str) -> str:
    """Where one of the words and a space stand before; a lookbehind each, because their widths differ."""
    return "(?:" + "|".join(rf"(?<=\b{word} )" for word in words) + ")"


_N = rf"(?:\d+|{'|'.join(ENGLISH_NUMBERS)}|an?)"
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_OF_YEAR = rf"(?:,? (?:of )?{_YEAR})?"
_PERIOD = r"(?P<unit>week|month|quarter|year)"
_MONTH_NAMED = rf"{_MONTH}|(?:last|this|next|the) month\b"
# What may follow the last days of a period, so that "last week of December" does not mean the week before this one.
_OF_PERIOD = (
    rf" of (?:(?:last|this|next|the) (?P<period>week|month|quarter|year)\b|{_MONTH}|(?P<of_year>(?:19|20)\d\d)\b)"
)
_WEEKDAY = r"(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)"
# sat and sun are words of their own, so alone they need a sign that a day is meant.
_WEEKDAY_ALONE = rf"(?!(?:sat|sun)\b){_WEEKDAY}|(?:{_after('on', 'to', 'and', 'since')}|(?<=[a-z]-))(?:sat|sun)"
# Where nothing can follow that the 15th counts, as in "on the 15th floor".
_NO_RANK = (
    r"(?= (?:to|by|for|per|across|and|vs|in|at|through|until|of (?:last|this|next|the) month)\b"
    r"|[ ,.;:?!]*$|[,.;:?!])"
)
_NO_HOLIDAY = r"(?<!black )(?<!good )(?<!cyber )(?<!easter )"
_TH = r"(?:st|nd|rd|th)?"
_NTH = r"\d{1,2}(?:st|nd|rd|th)"
_NO_TIME = r"(?![\d%a-z]|[:.]\d| ?[ap]\.?m\b)"  # Nov 3pm is no third of November
_TO = r"\s*(?:-|–|—|to|through|thru|until|till)\s*(?:the )?"
# No digit of another number, and not the number of a thing: top 10 Nov campaigns.
_FREE = r"(?<![\w.:/])" + "".join(
    rf"(?<!\b{word} )" for word in ("top", "ad", "ads", "channel", "campaign", "group", "sku", "version", "id")
)
_MAY = (
    rf"{_after('in', 'during', 'since', 'for', 'of', 'until', 'through', 'from', 'to', 'vs', 'apr and', 'april and')}"
    rf"may\b(?! (?:i|we|you|it|be|have|not)\b)|^\s*may\s*$|\bmay(?=(?:{_TO}| and | vs\.? )(?!may){_MONTH})"
)
_NO_VERB = r"(?!may\b(?! ?(?:$|[,.?!;)\d–-]|(?:to|and|vs|for|by|in)\b)))"  # only 20 may convert
# A year is four digits like any other number: it needs a word before it, and nothing behind it that it could count.
_YEAR_ALONE = (
    rf"{_after('in', 'for', 'during', 'since', 'vs', 'vs.', 'versus')}{_YEAR}(?=$|[,.?!;:)]| (?:by|for|vs|versus|and|or"
    r"|per|compared|to|on|across|with|at|from|in|of|was|were|is|are|did|do|does|we|i|than|as)\b)"
    r"|\b(?P<earlier>(?:19|20)\d\d)(?= (?:vs\.?|versus) (?:19|20)\d\d\b)"
)
_WITH_TODAY = r"(?P<today>,? ?\(?(?:including|incl\.?|inclusive of) today\)?)?"


def _relative_day(match: re.Match[str], anchor: Anchor) -> Days:
    return days_ago(anchor, "day", -_DAYS[match["day"]])


def _relative_period(match: re.Match[str], anchor: Anchor) -> Days:
    """The calendar's period. "the last month" is said of it and of the last thirty days, so there it is ambiguous."""
    found = relative_period(anchor, _UNITS[match["unit"]], _STEPS[match["step"]])
    either = match["step"] == "last" and match["the"] is not None
    return replace(found, ambiguous=found.ambiguous or either)


def _weekend(match: re.Match[str], anchor: Anchor) -> Days | Part:
    return weekend_of() if match["step"] is None else relative_weekend(anchor, _STEPS[match["step"]])


def _rolling(match: re.Match[str], anchor: Anchor) -> Days | Moments | None:
    """last 7 days: whole days that end yesterday, or today where that is said. Hours and minutes end now."""
    lead, name = match["lead"], match["unit"]
    if match["count"] is None and lead not in ("past", "trailing") and name != "hour":
        return None  # last week is the calendar's, and last minute an adjective
    count, sign = _count(match["count"] or "one"), -1 if lead in ("next", "coming") else 1
    if count < 1:
        return None
    if name in _LENGTHS:
        return rolling_time(anchor, sign * count * _LENGTHS[name])
    unit = _UNITS[name]
    if match["whole"] and sign > 0:
        return rolling_periods(anchor, unit, count)
    return rolling_days(
        anchor,
        unit,
        sign * count,
        with_today=match["today"] is not None,
        ambiguous=lead in ("last", "previous", "prior") and unit != "day",  # two calendar weeks, or fourteen days
    )


def _weekday(match: re.Match[str], anchor: Anchor) -> Days | Part:
    """Alone the latest one, today included; last is before today, next after it."""
    number = _WEEKDAYS.index((match["weekday"] or match["alone"])[:3])
    match match["step"]:
        case "last" | "past":
            return latest(weekday_of(number), anchor, not_after=shift(anchor.today, "day", -1))
        case "next" | "coming":
            found = earliest(weekday_of(number), anchor, not_before=shift(anchor.today, "day", 1))
            return Days(found.first, found.last, "day", ambiguous=match["step"] == "next")
        case "this":
            return relative_weekday(anchor, number, 0)
        case _:
            return weekday_of(number)


def _to_date(match: re.Match[str], anchor: Anchor) -> Days:
    """Year to date is said of the fiscal year too, so it is ambiguous where that is another one."""
    found = to_date(anchor, _UNITS[match["unit"]])
    return replace(found, ambiguous=found.ambiguous or (_UNITS[match["unit"]] == "year" and anchor.months_late > 0))


def _of_year(part: Part, match: re.Match[str], anchor: Anchor) -> Part | Days:
    """The part in the year that was written with it, or for itself where none was."""
    year = match["year"]
    return part if year is None else inside(part, period_of(date(int(year), 1, 1), "year", anchor.week_start))


def _ordinal_part(match: re.Match[str], anchor: Anchor) -> Part | Days | None:
    number = _ORDINALS[match["ordinal"]]
    if match["unit"] == "half" and number > 2:
        return None
    return _of_year(half_of(number, anchor) if match["unit"] == "half" else quarter_of(number, anchor), match, anchor)


def _month(match: re.Match[str], anchor: Anchor) -> Part | Days:
    return _of_year(month_of(_month_number(match)), match, anchor)


def _relative_month(match: re.Match[str], anchor: Anchor) -> Days:
    """last November: the latest that is over. next November: the first still to begin."""
    month, here = month_of(_month_number(match)), period_of(anchor.today, "month", anchor.week_start)
    if match["step"] == "last":
        return latest(month, anchor, not_after=shift(here.first, "day", -1))
    if match["step"] == "next":
        return earliest(month, anchor, not_before=shift(here.last, "day", 1))
    return inside(month, period_of(anchor.today, "year", anchor.week_start))


def _third_of_month(match: re.Match[str], anchor: Anchor) -> Days:
    month = _month(match, anchor)
    whole = month if isinstance(month, Days) else latest(month, anchor, not_after=anchor.today)
    return inside(third_of_month(_THIRDS[match["third"]], ambiguous=True), whole)


def _day_of_year(match: re.Match[str], anchor: Anchor) -> Part | Days | None:
    day = int(match["day"])
    return _of_year(day_of_year(_month_number(match), day), match, anchor) if day <= 31 else None


def _days_of_year(match: re.Match[str], anchor: Anchor) -> Part | Days | None:
    first, last = int(match["first"]), int(match["last"])
    return _of_year(days_of_year(_month_number(match), first, last), match, anchor) if last <= 31 else None


def _edge_days(match: re.Match[str], anchor: Anchor) -> Part | None:
    """The first or the last days of the period that is named behind them."""
    count = _count(match["count"] or "one")
    unit: Unit = _UNITS[match["period"]] if match["period"] else "year" if match["of_year"] else "month"
    if count < 1:
        return None
    return days_of(unit, 1, count) if match["edge"] == "first" else days_of(unit, -count, -1)


def _days_of_month(match: re.Match[str], anchor: Anchor) -> Part | None:
    first, last = int(match["first"]), int(match["last"])
    return days_of("month", first, last, needs_period=False) if 1 <= first <= 31 and 1 <= last <= 31 else None


def _day_of_month(match: re.Match[str], anchor: Anchor) -> Part:
    return day_of_month(int(match["day"] or match["of"]))


def _year(match: re.Match[str], anchor: Anchor) -> Days:
    return period_of(date(int(match["year"] or match["earlier"]), 1, 1), "year", anchor.week_start)


def _year_of(match: re.Match[str], anchor: Anchor) -> Days:
    return period_of(date(int(match["year"]), 1, 1), "year", anchor.week_start)


def _years(match: re.Match[str], anchor: Anchor) -> Days:
    first, last = int(match["first"]), int(match["last"])
    if last < first:
        raise Backwards(match[0])
    return Days(date(first, 1, 1), date(last, 12, 31))


def _before(match: re.Match[str], anchor: Anchor) -> SameAgo:
    if match["before"]:
        return SameAgo(_UNITS[match["before"]], 1, alone=None, of_its_kind=True)
    return SameAgo(_UNITS[match["unit"]], 1, alone=_UNITS[match["unit"]], of_its_kind=True)


def _same_ago(match: re.Match[str], anchor: Anchor) -> SameAgo:
    return SameAgo(_UNITS[match["unit"]], 1, _UNITS.get(match["what"], "day"))


def _time(match: re.Match[str], anchor: Anchor) -> TimeOfDay | None:
    hour, minute = int(match["hour"]), match["minute"]
    if not 1 <= hour <= 12:
        return None
    at = timedelta(hours=hour % 12 + 12 * (match["half"] == "p"), minutes=int(minute or 0))
    return TimeOfDay(at, timedelta(minutes=1) if minute else timedelta(hours=1), half_known=True)


def _time_before(match: re.Match[str], anchor: Anchor) -> TimeOfDay:
    """The 3 of 3-5pm is in the afternoon too; the 11 of 11-1pm is not, because it comes first."""
    hour, end = int(match["hour"]) % 12, int(match["end"]) % 12
    afternoon = (hour <= end) == (match["half"] == "p")
    return TimeOfDay(timedelta(hours=hour + 12 * afternoon), timedelta(hours=1), half_known=True)


def _part_of_day(match: re.Match[str], anchor: Anchor) -> TimeOfDay:
    first, last = _PARTS[match[0]]
    return TimeOfDay(timedelta(hours=first), timedelta(hours=last - first), half_known=True, window=True)


def _clock_word(match: re.Match[str], anchor: Anchor) -> TimeOfDay:
    return TimeOfDay(timedelta(hours=_CLOCK_WORDS[match[0]]), timedelta(hours=1), half_known=True)


def _month_number(match: re.Match[str]) -> int:
    return _MONTHS.index(match["month"][:3]) + 1


def _count(text: str) -> int:
    value = 1 if text in ("a", "an") else number_of(text)
    if not isinstance(value, int):
        raise ValueError(f"{text} is no whole number")
    return value


EN: Final[tuple[Rule, ...]] = (
    # yesterday, the day before yesterday; last before night, this before morning
    rule(r"\b(?P<day>yesterday|today|tomorrow)\b(?:'s)?", _relative_day),
    rule(r"\b(?:the )?day (?P<day>before(?= yesterday)|after(?= tomorrow)) (?:yesterday|tomorrow)\b", _relative_day),
    rule(
        r"\b(?:last(?= night\b)|this(?= (?:morning|afternoon|evening)\b)|to(?=night\b))",
        lambda match, anchor: days_ago(anchor, "day", int(match[0] == "last")),
    ),
    # last week, this quarter, the month before last; last weekend
    rule(
        rf"\b(?P<the>the )?(?P<step>last|this|current|next|coming) (?:calendar )?{_PERIOD}\b(?!{_OF_PERIOD})(?:'s)?",
        _relative_period,
    ),
    rule(
        rf"\b(?:the )?{_PERIOD} before last\b",
        lambda match, anchor: relative_period(anchor, _UNITS[match["unit"]], -2),
    ),
    rule(r"\b(?:the )?(?:(?P<step>last|past|previous|this|next|coming) )?weekend\b", _weekend),
    # last 7 days, past week, last hour, last 3 full months, next 2 hours
    rule(
        rf"\b(?:the )?(?P<lead>last|past|previous|prior|trailing|next|coming)(?:[ -](?P<count>{_N}))?[ -]?"
        r"(?P<whole>full |complete |calendar )?(?P<unit>minute|min|hour|hr|h|day|d|week|w|month|quarter|year)s?\b"
        + rf"(?!{_OF_PERIOD})"
        + _WITH_TODAY,
        _rolling,
    ),
    # 3 days ago, a month ago
    rule(
        rf"\b(?<!half )(?P<count>{_N}) (?P<unit>day|week|month|quarter|year)s? ago\b",
        lambda match, anchor: days_ago(anchor, _UNITS[match["unit"]], _count(match["count"])),
    ),
    # Wednesday, last Sunday, Tue
    rule(
        rf"\b(?:(?P<step>last|past|this|next|coming) (?P<weekday>{_WEEKDAY})"
        rf"|{_NO_HOLIDAY}(?P<alone>{_WEEKDAY_ALONE}))\b(?:'s)?",
        _weekday,
    ),
    # week to date, MTD; so far this month, since the start of the month
    rule(rf"\b{_PERIOD}[ -]to[ -]date\b", _to_date),
    rule(r"\b(?P<unit>[wmqy])td\b", _to_date),
    rule(rf"\b(?:so far this|since the (?:start|beginning) of (?:the|this)) {_PERIOD}\b", _to_date),
    # first quarter, the first half of 2026, the first half of October
    rule(
        rf"\b(?:the )?(?P<ordinal>first|second|1st|2nd) half(?= of (?:{_MONTH_NAMED}))",
        lambda match, anchor: half_of_month(_ORDINALS[match["ordinal"]]),
    ),
    rule(
        r"\b(?:the )?(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th) (?P<unit>quarter|half)\b" + _OF_YEAR,
        _ordinal_part,
    ),
    # the second week of November, the last week of the month; the first 3 days of last month; the last month of 2025
    rule(
        r"\b(?:the )?(?P<ordinal>first|second|third|fourth|1st|2nd|3rd|4th) week(?= of )",
        lambda match, anchor: week_of_month(_ORDINALS[match["ordinal"]]),
    ),
    rule(rf"\b(?:the )?(?:last|final) week(?= of (?:{_MONTH_NAMED}))", lambda match, anchor: week_of_month(-1)),
    rule(
        rf"\b(?:the )?(?P<edge>first|last|final)(?: (?P<count>{_N}))? days?(?={_OF_PERIOD})",
        _edge_days,
    ),
    rule(
        rf"\b(?:the )?(?:last|final) (?P<unit>month|quarter) of (?:{_YEAR}|(?=(?:last|this|next|the) year\b))",
        lambda match, anchor: _of_year(
            month_of(12) if match["unit"] == "month" else quarter_of(4, anchor), match, anchor
        ),
    ),
    rule(
        rf"{_after('last week of', 'first day of', 'last day of', '[0-9] days of', 'half of')}the {_PERIOD}\b",
        lambda match, anchor: relative_period(anchor, _UNITS[match["unit"]], 0),
    ),
    rule(rf"(?:{_after('days of', 'day of', 'week of')}){_YEAR}", _year_of),
    # November, Sept 2026, last November, mid-November; May only where no verb can stand
    rule(rf"\b(?!may\b)(?P<month>{_MONTH}){_OF_YEAR}", _month),
    rule(rf"\b(?P<month>may),? (?:of )?{_YEAR}", _month),
    rule(_MAY, lambda match, anchor: month_of(5)),
    rule(rf"\b(?P<step>last|this|next) (?P<month>{_MONTH})", _relative_month),
    rule(rf"\b(?P<third>early|mid|late)[ -](?P<month>{_MONTH}){_OF_YEAR}", _third_of_month),
    # Nov 1, April 16th 2026; 15 April 2026, 1st of May
    rule(rf"\b(?P<month>{_MONTH}) ?(?:the )?(?P<day>\d{{1,2}}){_TH}{_NO_TIME}(?:,? {_YEAR})?", _day_of_year),
    rule(rf"{_FREE}(?P<day>\d{{1,2}}){_TH} (?:of )?{_NO_VERB}(?P<month>{_MONTH})(?:,? {_YEAR})?", _day_of_year),
    # Nov 1-5; 2-6 Oct, between 1 and 5 November
    rule(
        rf"\b(?P<month>{_MONTH}) ?(?P<first>\d{{1,2}}){_TH}{_TO}(?P<last>\d{{1,2}}){_TH}{_NO_TIME}(?:,? {_YEAR})?",
        _days_of_year,
    ),
    rule(
        rf"(?<![\w.:/])(?P<first>\d{{1,2}}){_TH}(?:{_TO}|(?:(?<=between \d)|(?<=between \d\d)) and )"
        rf"(?P<last>\d{{1,2}}){_TH} (?:of )?(?P<month>{_MONTH})(?:,? {_YEAR})?",
        _days_of_year,
    ),
    # between Nov 1 and 5; from the 1st to the 5th, 5th to 8th of last month
    rule(
        rf"(?<=\bbetween )(?P<month>{_MONTH}) ?(?P<first>\d{{1,2}}){_TH} and (?:the )?"
        rf"(?P<last>\d{{1,2}}){_TH}{_NO_TIME}(?:,? {_YEAR})?",
        _days_of_year,
    ),
    rule(
        rf"(?:{_after('the', 'from', 'between', 'on')}|(?={_NTH}{_TO}{_NTH} of (?:last|this|next|the) month))"
        rf"{_FREE}(?P<first>\d{{1,2}})(?:st|nd|rd|th)"
        rf"(?:{_TO}|(?:(?<=between the ...)|(?<=between the ....)) and (?:the )?)"
        r"(?P<last>\d{1,2})(?:st|nd|rd|th)\b",
        _days_of_month,
    ),
    # Christmas Eve, Halloween 2025
    rule(
        rf"\b(?P<name>{'|'.join(sorted(_NAMED_DAYS, reverse=True))})(?: day)?{_OF_YEAR}",
        lambda match, anchor: _of_year(day_of_year(*_NAMED_DAYS[match["name"]]), match, anchor),
    ),
    # on the 15th, 15th of last month
    rule(
        rf"{_after('on the', 'since the', 'from the', 'to the')}(?P<day>\d{{1,2}})(?:st|nd|rd|th)\b{_NO_RANK}"
        r"|\b(?P<of>\d{1,2})(?:st|nd|rd|th)(?= of (?:last|this|next) month)",
        _day_of_month,
    ),
    # in 2025, 2024 vs 2025; from 2024 to 2025
    rule(_YEAR_ALONE, _year),
    rule(
        rf"(?:^|{_after('from', 'in', 'for', 'during', 'of', 'between')})(?P<first>(?:19|20)\d\d)"
        r"(?: ?- ?| to | through | until |(?<=between ....) and )(?P<last>(?:19|20)\d\d)\b(?![-/.]\d)",
        _years,
    ),
    # the previous day, the week before; same period last year
    rule(
        r"\b(?:the )?(?:previous|prior) (?P<unit>day|week|month|quarter|year)\b(?:'s)?"
        r"|\bthe (?P<before>day|week|month|quarter|year) before(?=[,.?!;)]|$)",
        _before,
    ),
    rule(
        r"\b(?:the )?same (?P<what>period|time|days?|dates?|week|month|quarter)(?: of)? (?:last|the (?:previous|prior))"
        rf" {_PERIOD}\b",
        _same_ago,
    ),
    # 3pm, 3:30 p.m., the 3 of 3-5pm; noon, midnight; morning
    rule(r"(?<![\w.:/])(?P<hour>\d{1,2})(?::(?P<minute>[0-5]\d))? ?(?P<half>[ap])\.?m\b\.?", _time),
    rule(
        rf"(?<![\w.:/])(?P<hour>\d{{1,2}})(?={_TO}(?P<end>\d{{1,2}})(?::[0-5]\d)? ?(?P<half>[ap])\.?m\b)",
        _time_before,
    ),
    rule(r"\b(?:midnight|noon|midday)\b", _clock_word),
    rule(r"(?:\b|(?<=\bto))(?:morning|afternoon|evening|night)\b", _part_of_day),
)
