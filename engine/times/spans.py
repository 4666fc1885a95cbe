"""Dates and times as people say them, Chinese or English, to half-open spans: 昨天, 近7天, 11月1日到5日, last week, Q3.

This is the door: it folds the text, and turns what `reading` makes of it into spans that refer to the input. The
vocabulary stands in three tables (`chinese`, `english`, `digits`), the calendar in `parts`, what an expression means
beside others in `placing`. Pure: "now" is an argument.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

from engine.dataset import FiscalYear, WeekStart
from engine.folding import fold
from engine.times.parts import Anchor, Backwards, Days, end_of, start_of
from engine.times.reading import Impossible, Reading, readings

# What may stand around a time expression that is a whole value: "in 2025", 11月期间.
_AROUND = re.compile(r"(?:(?:in|on|for|during|over|the|于|在)\s*)*(?:的|期间|内|当天|当日|全天)*[.。]?")


class ImpossibleDate(ValueError):
    """The text names what no calendar or clock has: 2月30日, 25点."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text


class ReversedRange(ImpossibleDate):
    """The text names a range that ends before it begins: 11月5日到11月1日."""


@dataclass(frozen=True)
class Span:
    """[start, end), aware, in the zone that was asked for.

    Compare ends by `timestamp()`: Python compares times of one zone by the wall, where an hour in autumn occurs twice.
    """

    start: datetime
    end: datetime
    whole_days: bool
    text: str
    """The part of the input that it was read from."""
    at: int
    """Where `text` begins in the input."""
    ambiguous: bool
    """People mean several things by it, and this is one of them: the caller should be told which."""


def spans_in(
    text: str, *, now: datetime, zone: ZoneInfo, week_start: WeekStart, fiscal_year: FiscalYear | None = None
) -> tuple[Span, ...]:
    """Every time expression of a sentence, in order; no two overlap. Numbers that are no dates are left alone.

    Words for fiscal years are read by `fiscal_year`, and left alone where there is none. What is said without its year,
    month or week is the latest that has begun. Raises ImpossibleDate, or its case ReversedRange.
    """
    anchor = Anchor(now.astimezone(zone), week_start, fiscal_year)
    folded, origins = _folded(text)
    try:
        return tuple(_span(reading, text, origins, anchor) for reading in readings(folded, anchor))
    except Impossible as impossible:
        error = ReversedRange if isinstance(impossible.__cause__, Backwards) else ImpossibleDate
        raise error(text[origins[impossible.start] : origins[impossible.end - 1] + 1]) from impossible


def span_of(
    text: str, *, now: datetime, zone: ZoneInfo, week_start: WeekStart, fiscal_year: FiscalYear | None = None
) -> Span | None:
    """The span of a text that is one time expression and nothing else, as a filter's value is; None where it is not.

    Raises ImpossibleDate.
    """
    spans = spans_in(text, now=now, zone=zone, week_start=week_start, fiscal_year=fiscal_year)
    if len(spans) != 1:
        return None
    (span,) = spans
    rest = "".join(around(text, spans))
    return span if _AROUND.fullmatch(rest.lower().strip()) else None


def around(text: str, spans: Sequence[Span]) -> list[str]:
    """What stands before, between and after the spans, which were found in this text and are in order."""
    starts = (0, *(span.at + len(span.text) for span in spans))
    ends = (*(span.at for span in spans), len(text))
    return [text[start:end] for start, end in zip(starts, ends, strict=True)]


def _span(reading: Reading, text: str, origins: tuple[int, ...], anchor: Anchor) -> Span:
    meaning, at, after = reading.meaning, origins[reading.start], origins[reading.end - 1] + 1
    if isinstance(meaning, Days):
        start, end = start_of(meaning.first, anchor.zone), end_of(meaning.last, anchor.zone)
    else:
        start, end = meaning.start, meaning.end
    if start.timestamp() >= end.timestamp():  # a day that the zone skipped, when it crossed the date line
        raise ImpossibleDate(text[at:after])
    return Span(start, end, isinstance(meaning, Days), text[at:after], at, meaning.ambiguous)


def _folded(text: str) -> tuple[str, tuple[int, ...]]:
    """The text in half width, simplified and lower case, and for each character of it where it came from.

    Characters are folded one by one, so that offsets stay known; a few become several (㋊ is 11月).
    """
    folded = [(character, at) for at, whole in enumerate(text) for character in fold(whole) or " "]
    return "".join(character for character, _ in folded), tuple(at for _, at in folded)
