"""What a query already says about a scene's parameters: spans of time, named values, and how many rows are wanted.

Only what stands in the words is recognised; nothing is guessed from what is usual.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from engine.dataset import Field, LegalValue
from engine.errors import InvalidParameter
from engine.folding import fold
from engine.query import Clock
from engine.timefilter import spoken_span
from engine.times.spans import ImpossibleDate, Span, spans_in
from scene_kb import asked

_LIMIT = re.compile(
    r"(?:top|前|排名前|最(?:高|低|多|少|大|小|好|差)的?|first)\s*(?P<after>\d{1,4})(?!\s*(?:天|日|周|月|年|小时|days?|weeks?|months?|hours?|%))"
    r"|(?P<before>\d{1,4})\s*(?:个|条|名|家|款)?(?:最(?:高|低|多|少|大|小|好|差))"
    r"|(?P<most>\d{1,4})\s+(?:most|least|highest|lowest|largest|smallest|biggest|worst|best|busiest|top)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"(?:比|较|相比|同比|环比|than|compared (?:with|to))\s*$", re.IGNORECASE)
_YEAR = re.compile(r"(?:^|[^a-z])(?:year|yr)$|年(?:份|度)?$")
_FOUR_DIGITS = re.compile(r"(?<![\w.])((?:1[89]|20)\d\d)(?![\w.]|-\d)")
_ASCII = re.compile(r"[\x00-\x7f]+")
_SHORT = 2  # an ASCII value as short as this means something only beside its field's name, or written exactly


def times(query: str, field: Field, clock: Clock) -> list[dict[str, str]]:
    """The spans of time in the query, inclusive as on the wire.

    What the query only compares with (比上周, than last week) is no filter. Raises InvalidParameter for a day that the
    calendar does not have.
    """
    unique = {(span.start, span.end): span for span in _spans(query, clock)}
    return [spoken_span(field, span) for span in unique.values()]


def years(query: str, clock: Clock) -> list[int]:
    """The whole years that the query names: 2007, 去年, from 1997 to 2007."""
    spans = _spans(query, clock)
    covered = [(span.start, span.end) for span in spans if span.whole_days]
    whole = [(start, end) for start, end in covered if (start.month, start.day, end.month, end.day) == (1, 1, 1, 1)]
    named = {year for start, end in whole for year in range(start.year, end.year)}
    alone = {int(found) for found in _FOUR_DIGITS.findall(fold(query))} if not spans else set()
    return sorted((named | alone) - {limit(query)})


def values(query: str, field: Field, legal: Sequence[LegalValue]) -> list[str | int | bool]:
    """The legal values that the query names, in the order of the legal values. What it excludes is not among them.

    The longest name at a place wins: 渠道AB does not also mention 渠道A. A name that values share means all of them.
    """
    text, written = asked.read(query).text, query
    mentions: list[tuple[int, int, LegalValue]] = []
    for value in legal:
        for name in value.names():
            mentions.extend((start, end, value) for start, end in _mentions(name, text, written, field))
    kept: dict[str, LegalValue] = {}
    taken: list[tuple[int, int]] = []
    for start, end, value in sorted(mentions, key=lambda it: (it[0] - it[1], it[0])):
        if all(end <= left or start >= right or (start, end) == (left, right) for left, right in taken):
            taken.append((start, end))
            kept[str(value.value)] = value
    return [value.value for value in legal if str(value.value) in kept]


def limit(query: str) -> int | None:
    """How many rows are asked for: TOP10, 前5, the 3 worst."""
    found = _LIMIT.search(fold(query))
    return int(next(group for group in found.groups() if group)) if found else None


def _spans(query: str, clock: Clock) -> list[Span]:
    try:
        read = spans_in(query, now=clock.now, zone=clock.zone, week_start=clock.week_start)
    except ImpossibleDate as error:
        raise InvalidParameter("query", error.text, "impossibleDate") from error
    return [span for span in read if not _COMPARED.search(query[: span.at])]


def _mentions(name: str, text: str, written: str, field: Field) -> Iterable[tuple[int, int]]:
    """(start, end) of each place in the folded text where the name stands."""
    wanted = fold(name)
    if not wanted:
        return ()
    if not _ASCII.fullmatch(wanted):
        return [found.span() for found in re.finditer(re.escape(wanted), text)]
    bounded = rf"(?<![a-z0-9_]){re.escape(wanted)}(?![a-z0-9_])"
    if len(wanted) > _SHORT or (len(wanted) == _SHORT and _stands_exactly(name, written)):
        return [found.span() for found in re.finditer(bounded, text)]
    beside = "|".join(re.escape(fold(label)) for label in field.names())
    return [
        found.span()
        for found in re.finditer(rf"(?:{beside})\s*(?:为|是|=|:|：)?\s*{re.escape(wanted)}(?![a-z0-9_])", text)
    ]


def _stands_exactly(name: str, written: str) -> bool:
    return name.isupper() and re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", written) is not None


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
