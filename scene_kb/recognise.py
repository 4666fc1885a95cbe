"""What a query already says about a scene's parameters: spans of time, named values, and how many rows are wanted.

Only what stands in the words is recognised; nothing is guessed from what is usual.
"""

import re
from collections.abc import Mapping, Sequence

from engine.dataset import Field, LegalValue
from engine.errors import InvalidParameter
from engine.folding import fold
from engine.query import Clock
from engine.timefilter import spoken_span
from engine.times.spans import ImpossibleDate, ReversedRange, Span, spans_in
from scene_kb.asked import LONGEST
from scene_kb.named import named, text_of
from scene_kb.order import asked_order
from scene_kb.unknown import unknown_codes

_COMPARED = re.compile(r"(?:比|较|相比|同比|环比|than|compared (?:with|to))\s*$", re.IGNORECASE)
_YEAR = re.compile(r"(?:^|[^a-z])(?:year|yr)$|年(?:份|度)?$")
_FOUR_DIGITS = re.compile(r"(?<![\w.])((?:1[89]|20)\d\d)(?![\w.]|-\d)")

MOST = 50
"""Values that an exclusion may leave to be filtered by."""


def times(query: str, field: Field, clock: Clock) -> list[dict[str, str]]:
    """The spans of time in the query, inclusive as on the wire.

    What the query only compares with (比上周, than last week) is no filter. Raises InvalidParameter for a day that the
    calendar does not have.
    """
    unique = {(span.start, span.end): span for span in _spans(query, clock)}
    return [spoken_span(field, span) for span in unique.values()]


def ambiguous_times(query: str, field: Field, clock: Clock) -> list[tuple[str, dict[str, str]]]:
    """(the words, the span that `times` takes them for) of each expression that people mean several things by: 05/06.

    In order, each span once. Raises InvalidParameter as `times` does.
    """
    unique = {(span.start, span.end): span for span in _spans(query, clock)}
    return [(span.text, spoken_span(field, span)) for span in unique.values() if span.ambiguous]


def years(query: str, clock: Clock) -> list[int]:
    """The whole years that the query names: 2007, 去年, from 1997 to 2007."""
    spans = _spans(query, clock)
    covered = [(span.start, span.end) for span in spans if span.whole_days]
    whole = [(start, end) for start, end in covered if (start.month, start.day, end.month, end.day) == (1, 1, 1, 1)]
    named = {year for start, end in whole for year in range(start.year, end.year)}
    alone = {int(found) for found in _FOUR_DIGITS.findall(fold(query))} if not spans else set()
    return sorted((named | alone) - {asked_order(query).limit})


def values(query: str, field: Field, legal: Sequence[LegalValue]) -> list[str | int | bool]:
    """The legal values that the query asks for, in their order: those that it names, or all but those it excludes.

    An excluded value is never among them. Nothing where more than MOST would be left, for no filter is that long.
    """
    found = named(text_of(query), field, legal)
    if found.wanted or not found.excluded:
        return [value.value for value in found.wanted]
    rest = [value.value for value in legal if value not in found.excluded]
    return rest if len(rest) <= MOST else []


def excluded(query: str, field: Field, legal: Sequence[LegalValue]) -> list[str | int | bool]:
    """The legal values that the query excludes, in their order. Where it names none, `values` are all the others."""
    return [value.value for value in named(text_of(query), field, legal).excluded]


def unknown_values(
    query: str, fields: Mapping[str, Field], legal: Mapping[str, Sequence[LegalValue]]
) -> dict[str, list[str]]:
    """Per field that the query gives one, the short codes beside its name that are no legal value of it: 渠道F.

    In the order of the fields; a field without one is left out. A code that is a legal value of another field under the
    same name is known.
    """
    text = text_of(query)
    found = {name: unknown_codes(text, field, legal[name]) for name, field in fields.items()}
    known = {fold(name) for values in legal.values() for value in values for name in value.names()}
    kept = {name: [code for code in codes if fold(code) not in known] for name, codes in found.items()}
    return {name: codes for name, codes in kept.items() if codes}


def _spans(query: str, clock: Clock) -> list[Span]:
    try:
        read = spans_in(
            query[:LONGEST],
            now=clock.now,
            zone=clock.zone,
            week_start=clock.week_start,
            fiscal_year=clock.fiscal_year,
        )
    except ReversedRange as error:
        raise InvalidParameter("query", error.text, "rangeReversed") from error
    except ImpossibleDate as error:
        raise InvalidParameter("query", error.text, "impossibleDate") from error
    return [span for span in read if not _COMPARED.search(query[: span.at])]


def recognised(
    query: str, fields: Mapping[str, Field], legal: Mapping[str, Sequence[LegalValue]], clock: Clock
) -> dict[str, list[object]]:
    """Per parameter field, in the given order, what the query says about it; a field it does not mention has []."""

    def said(name: str, field: Field) -> list[object]:
        if field.temporal:
            return [*times(query, field, clock)]
        return [*years(query, clock)] if is_year(field) and not legal[name] else [*values(query, field, legal[name])]

    return {name: said(name, field) for name, field in fields.items()}


def is_year(field: Field) -> bool:
    """Whether the field holds calendar years as whole numbers."""
    return field.role == "dimension" and "int" in field.type and any(_YEAR.search(fold(name)) for name in field.names())
