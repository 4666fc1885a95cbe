"""How fiscal years and their quarters are said, in Chinese and English: 本财年, 上财季, FY2026 Q2, last fiscal quarter.

Read by the dataset's fiscal year. Where it has none nothing is guessed: such words name no time, and neither does the
Q2 beside them.
"""

import re
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from engine.numerals import ENGLISH_NUMBERS, number_of
from engine.times.parts import (
    Anchor,
    Days,
    Part,
    Piece,
    Rule,
    Unplaced,
    half_of,
    in_fiscal_year,
    inside,
    quarter_of,
    rule,
    shift,
)

_STEPS: Final[Mapping[str, int]] = {
    **{"上上": -2, "上": -1, "本": 0, "这": 0, "当前": 0, "下": 1, "下下": 2},
    **{"last": -1, "past": -1, "previous": -1, "prior": -1, "this": 0, "current": 0, "next": 1, "coming": 1},
}
_NUMBERS: Final[Mapping[str, int]] = {
    **{"一": 1, "二": 2, "三": 3, "四": 4, "上": 1, "下": 2},
    **{"first": 1, "second": 2, "third": 3, "fourth": 4, "1st": 1, "2nd": 2, "3rd": 3, "4th": 4},
}

FISCAL_SIGN: Final = re.compile(r"财|会计|fiscal|financial|fy")
"""Stands in every text that one of the rules could read."""

_YEAR_ZH = r"(?:财年度?|财政年度?|财务年度|会计年度)"
_QUARTER_ZH = r"(?:财季度?|财政季度)"
_STEP_ZH = r"(?P<step>上上|上|本|这|当前|下下|下)一?个?"
_PERIOD_ZH = rf"(?:{_YEAR_ZH}|(?P<quarters>{_QUARTER_ZH}))"
_FISCAL = r"(?:fiscal|financial)"
_PERIOD_EN = rf"(?:{_FISCAL} (?:year|(?P<quarters>quarter))|fy)"
_STEP_EN = r"(?<![a-z])(?:the )?(?P<step>last|past|previous|prior|this|current|next|coming)"
_FY = r"(?<![a-z0-9_])fy"
_CENTURY = r"(?P<number>(?:19|20)\d\d)"
_SHORT = r"(?P<number>(?:19|20)\d\d|\d\d)"
_ENDS = r"(?:[/-](?P<ends>(?:20)?\d\d))?"  # FY2025/26
_END = r"(?![a-z0-9]|\.\d)"
_PART = r"(?P<part>q[1-4]|h[12])"
_ORDINAL = r"(?P<part>first|second|third|fourth|1st|2nd|3rd|4th)"
_OR_HALF = r"(?:quarter|(?P<half>half))"
_N = rf"(?P<count>\d+|{'|'.join(ENGLISH_NUMBERS)})"


def _if_set(read: Callable[[re.Match[str], Anchor], Piece]) -> Callable[[re.Match[str], Anchor], Piece]:
    """The reading where the dataset has a fiscal year; else a period that nobody can place."""
    return lambda match, anchor: Unplaced() if anchor.fiscal_year is None else read(match, anchor)


def _relative(match: re.Match[str], anchor: Anchor) -> Days:
    return _period(anchor, _STEPS[match["step"]], quarters=match["quarters"] is not None)


def _before_last(match: re.Match[str], anchor: Anchor) -> Days:
    return _period(anchor, -2, quarters=match["quarters"] is not None)


def _rolling(match: re.Match[str], anchor: Anchor) -> Piece:
    """The last so many that are over. Others count the current one in, so it is ambiguous."""
    count, quarters = number_of(match["count"]), match["quarters"] is not None
    if not isinstance(count, int) or count < 1:
        return Unplaced()
    first, last = (_period(anchor, back, quarters=quarters) for back in (-count, -1))
    return Days(first.first, last.last, ambiguous=True)


def _to_date(match: re.Match[str], anchor: Anchor) -> Days:
    return Days(_period(anchor, 0, quarters=match.groupdict().get("quarters") is not None).first, anchor.today)


def _period(anchor: Anchor, count: int, *, quarters: bool) -> Days:
    """The fiscal year or quarter of today, or the one so many further on."""
    year = anchor.period(anchor.today, "fiscalYear")
    if not quarters:
        return anchor.period(shift(year.first, "year", count), "fiscalYear")
    months = (anchor.today.month - year.first.month) % 12
    first = shift(year.first, "month", months - months % 3 + 3 * count)
    return Days(first, shift(shift(first, "month", 3), "day", -1), "quarter")


def _numbered(match: re.Match[str], anchor: Anchor) -> Days | Unplaced:
    """The year of that number. FY2025/26 names both of its calendar years, so it needs no convention."""
    fiscal = anchor.fiscal_year
    assert fiscal is not None
    number, ends = int(match["number"]), match.groupdict().get("ends")
    number += 2000 if number < 100 else 0
    year, month = fiscal.first_month(number)
    if ends is not None:
        if int(ends) % 100 != (number + 1) % 100 or fiscal.months_late == 0:
            return Unplaced()
        year = number
    return anchor.period(date(year, month, 1), "fiscalYear")


def _part(match: re.Match[str], anchor: Anchor) -> Part:
    text = match["part"]
    half = text[0] == "h" or match.groupdict().get("half") is not None
    number = _NUMBERS.get(text) or int(text.lstrip("qh"))
    return in_fiscal_year(half_of(number, anchor) if half else quarter_of(number, anchor))


def _part_of_numbered(match: re.Match[str], anchor: Anchor) -> Piece:
    year = _numbered(match, anchor)
    return inside(_part(match, anchor), year) if isinstance(year, Days) else year


def _unplaced(match: re.Match[str], anchor: Anchor) -> Unplaced:
    return Unplaced()


FISCAL: Final[tuple[Rule, ...]] = (
    # 本财年 上一财季; this fiscal year, last FY; the fiscal year before last; 近2个财季, the last 2 fiscal years
    rule(rf"{_STEP_ZH}{_PERIOD_ZH}(?![初底末中])", _if_set(_relative)),
    rule(rf"{_STEP_EN} {_PERIOD_EN}{_END}(?:'s)?", _if_set(_relative)),
    rule(rf"(?<![a-z])(?:the )?{_PERIOD_EN} before last\b", _if_set(_before_last)),
    rule(rf"(?:最近|近|过去)的?(?P<count>\d+|[一二三四五六两]+)个?{_PERIOD_ZH}", _if_set(_rolling)),
    rule(rf"(?<![a-z])(?:the )?(?:last|past|previous) {_N} {_PERIOD_EN}s?{_END}", _if_set(_rolling)),
    # 财年初至今; fiscal year to date, FYTD, so far this fiscal quarter
    rule(rf"本?{_PERIOD_ZH}初?(?:以来|至今|到现在|到目前|到今[天日])", _if_set(_to_date)),
    rule(rf"(?<![a-z]){_PERIOD_EN}[ -]to[ -]date\b", _if_set(_to_date)),
    rule(rf"(?<![a-z])so far this {_PERIOD_EN}{_END}", _if_set(_to_date)),
    rule(r"(?<![a-z0-9_])fytd(?![a-z0-9])", _if_set(_to_date)),
    # 2026财年 财年2026; FY2026, FY25/26, fiscal 2026, the 2025-26 financial year
    rule(rf"(?<![\d.]){_SHORT}{_ENDS}年?{_YEAR_ZH}(?![初底末中])", _if_set(_numbered)),
    rule(rf"{_YEAR_ZH}{_CENTURY}{_ENDS}(?!\d)", _if_set(_numbered)),
    rule(rf"{_FY} ?'?{_SHORT}{_ENDS}{_END}", _if_set(_numbered)),
    rule(rf"(?<![a-z])(?:the )?(?:fiscal|{_FISCAL} year)(?: of)? {_CENTURY}{_ENDS}{_END}", _if_set(_numbered)),
    rule(rf"(?<![a-z0-9.])(?:the )?{_CENTURY}{_ENDS} {_FISCAL} year\b", _if_set(_numbered)),
    # FY26Q2, Q2FY26: the year and its part as one word; fiscal Q2 2026
    rule(rf"{_FY}{_SHORT}(?=-?{_PART}{_END})", _if_set(_numbered)),
    rule(rf"(?:(?<=fy\d\d)|(?<=fy\d\d\d\d))-?{_PART}{_END}", _if_set(_part)),
    rule(rf"(?<![a-z0-9_]){_PART}-?(?=fy\d)", _if_set(_part)),
    rule(rf"(?:(?<=[qh]\d)|(?<=[qh]\d-))fy{_SHORT}{_END}", _if_set(_numbered)),
    rule(rf"(?<![a-z])(?:{_FISCAL}|fy) {_PART},? (?:of )?{_CENTURY}{_END}", _if_set(_part_of_numbered)),
    # 第二财季 财年Q2 财年上半年; fiscal Q2, the second fiscal quarter, the first half of the fiscal year
    rule(r"第?(?P<part>[一二三四1-4])财季度?", _if_set(_part)),
    rule(rf"{_YEAR_ZH}的?(?:第?(?P<part>[一二三四1-4])季度?)", _if_set(_part)),
    rule(rf"{_YEAR_ZH}的?{_PART}", _if_set(_part)),
    rule(rf"{_YEAR_ZH}的?(?P<part>[上下])(?P<half>半年)", _if_set(_part)),
    rule(rf"(?<![a-z])(?:{_FISCAL}|fy) {_PART}{_END}", _if_set(_part)),
    rule(rf"(?<![a-z])(?:the )?(?:{_FISCAL} {_ORDINAL}) {_OR_HALF}\b", _if_set(_part)),
    rule(rf"(?<![a-z0-9])(?:the )?{_ORDINAL} {_FISCAL} {_OR_HALF}\b", _if_set(_part)),
    rule(rf"(?<![a-z]){_FISCAL} quarter (?P<part>[1-4])(?!\d)", _if_set(_part)),
    rule(rf"(?<![a-z0-9])(?:the )?{_ORDINAL} {_OR_HALF} of (?:the |our )?{_FISCAL} year(?! ?\d)\b", _if_set(_part)),
    rule(rf"(?<![a-z0-9]){_PART} of (?:the |our )?{_FISCAL} year(?! ?\d)\b", _if_set(_part)),
    # Fiscal months and weeks follow calendars of their own; where in a fiscal year 财年末 lies nobody says.
    rule(r"(?:上上|上|本|这|下下|下)?一?个?财[月周]", _unplaced),
    rule(rf"(?<![a-z])(?:(?:last|this|next|current) )?{_FISCAL} (?:week|month|period)s?(?: \d+)?\b", _unplaced),
    rule(rf"(?:上上|上|本|这|下下|下)?一?个?(?:(?<!\d)\d\d(?:\d\d)?)?{_YEAR_ZH}[初底末中]", _unplaced),
)
