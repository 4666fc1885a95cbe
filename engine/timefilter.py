"""Filters on a time column: whatever words they come in, they become half-open spans on the column's own type."""

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta

from engine.dataset import Field
from engine.errors import Fault, InvalidParameter
from engine.query import Canonical, Clock, Condition, Note, Operator
from engine.times.fiscal import FISCAL_SIGN
from engine.times.spans import ImpossibleDate, ReversedRange, Span, around, span_of, spans_in


def canonical_time(field: Field, operator: Operator, raw: object, *, clock: Clock) -> Canonical:
    """`raw` is a text (昨天, last 7 days, 2026-11-29), {"from", "to"} with inclusive ends, or a list of either.

    Raises InvalidParameter.
    """
    if isinstance(raw, Mapping) and raw and set(raw) <= {"from", "to"}:
        raw, operator = [raw.get("from"), raw.get("to")], "between"
    if operator in ("ne", "notIn"):
        raise _fault(field, operator, "operatorForType", "eq", "in", "between", "gte", "lt")
    if operator in ("gt", "gte", "lt", "lte"):
        return _one_sided(field, operator, raw, clock)
    if operator == "between":
        return _between(field, raw, clock)
    items = list(raw) if isinstance(raw, list | tuple) else [raw]
    if not items:
        raise _fault(field, raw, "emptyList")
    return _any_of(field, [named for item in items for named in _named(field, item, clock)])


def spoken_span(field: Field, span: Span) -> dict[str, str]:
    """The span as the wire states it: inclusive days, or inclusive to the microsecond where it is finer than days."""
    if span.whole_days or field.type == "date":
        start, last = _days(span)
        return {"from": start.isoformat(), "to": last.isoformat()}
    return {"from": span.start.isoformat(), "to": _moment_before(span.end).isoformat()}


def _moment_before(end: datetime) -> datetime:
    """In UTC, for by the wall the moment before 3:00 may be one that clocks skipped, or the first of two 1:59."""
    if end.year == 9999:  # conversion could leave the calendar
        return end - timedelta(microseconds=1)
    return (end.astimezone(UTC) - timedelta(microseconds=1)).astimezone(end.tzinfo)


def _fault(field: Field, raw: object, fault: Fault, *expected: str) -> InvalidParameter:
    return InvalidParameter(f"filters.{field.name}", raw, fault, expected)


def _spans(field: Field, item: object, clock: Clock) -> tuple[Span, ...]:
    """The spans that one item names. 昨天和前天 names two, and each stays one."""
    if isinstance(item, Mapping) and set(item) == {"from", "to"}:
        return (_joined(field, item, _span(field, item["from"], clock), _span(field, item["to"], clock)),)
    if isinstance(item, str):
        try:
            found = _read(item, clock)
        except ReversedRange as error:
            raise _fault(field, item, "rangeReversed") from error
        except ImpossibleDate as error:
            raise _fault(field, item, "impossibleDate") from error
        if found and not _time_left_over(item, found):
            return found
    raise _fault(field, item, "notADate")


def _read(text: str, clock: Clock) -> tuple[Span, ...]:
    """The one span that the text is, or those that stand in it. Raises ImpossibleDate."""
    now, zone, week_start, fiscal_year = clock.now, clock.zone, clock.week_start, clock.fiscal_year
    whole = span_of(text, now=now, zone=zone, week_start=week_start, fiscal_year=fiscal_year)
    if whole is not None:
        return (whole,)
    return spans_in(text, now=now, zone=zone, week_start=week_start, fiscal_year=fiscal_year)


def _time_left_over(text: str, found: Sequence[Span]) -> bool:
    """Whether a part that was not understood may have been a time too: half of a range must not pass for all of it."""
    rest = "".join(around(text, found))
    return any(character.isdigit() for character in rest) or FISCAL_SIGN.search(rest.lower()) is not None


def _named(field: Field, item: object, clock: Clock) -> list[tuple[object, Span]]:
    """(what names it, span): the item itself where it names one span alone."""
    spans = _spans(field, item, clock)
    return [(item if len(spans) == 1 else span.text, span) for span in spans]


def _span(field: Field, item: object, clock: Clock) -> Span:
    found = _spans(field, item, clock)
    if len(found) > 1:
        raise _fault(field, item, "ambiguous", *(span.text for span in found))
    return found[0]


def _joined(field: Field, raw: object, first: Span, last: Span) -> Span:
    if last.end.timestamp() <= first.start.timestamp():  # by instants: an hour of wall time comes twice in autumn
        raise _fault(field, raw, "rangeReversed")
    return Span(
        start=first.start,
        end=last.end,
        whole_days=first.whole_days and last.whole_days,
        text=f"{first.text} – {last.text}",
        at=first.at,
        ambiguous=first.ambiguous or last.ambiguous,
    )


def _between(field: Field, raw: object, clock: Clock) -> Canonical:
    ends = list(raw) if isinstance(raw, list | tuple) else [raw]
    if len(ends) != 2 or ends == [None, None]:
        raise _fault(field, raw, "badShape", "[from, to]")
    low, high = ends
    if high is None:
        return _one_sided(field, "gte", low, clock)
    if low is None:
        return _one_sided(field, "lte", high, clock)
    return _any_of(field, [(raw, _joined(field, raw, _span(field, low, clock), _span(field, high, clock)))])


def _one_sided(field: Field, operator: Operator, raw: object, clock: Clock) -> Canonical:
    """gt and lte look at the end of what was named: `after 29 November` begins on the 30th."""
    span = _span(field, raw, clock)
    start, end = _edges(field, span)
    side: Operator = "gte" if operator in ("gt", "gte") else "lt"
    edge = start if operator in ("gte", "lt") else end
    if edge is None and operator == "gt":  # nothing lies behind the calendar
        raise _fault(field, raw, "impossibleDate")
    if edge is None:
        side, edge = "lte", _last_moment(field, span)
    spoken: dict[str, str] = {side: _with_offset(edge, clock).isoformat()}
    return Canonical(((Condition(field.name, side, (edge,)),),), spoken, _notes(field, raw, spoken, span))


def _with_offset(edge: date | datetime, clock: Clock) -> date | datetime:
    """As the wire states it: local wall time has the offset that it has in the dataset's zone."""
    return edge.replace(tzinfo=clock.zone) if isinstance(edge, datetime) and edge.tzinfo is None else edge


def _any_of(field: Field, named: Sequence[tuple[object, Span]]) -> Canonical:
    """The spans in their order in time, each once, with what named them."""
    by_edges = {_edges(field, span): (received, span) for received, span in named}
    alternatives, spoken, notes = [], [], list[Note]()
    for (start, end), (received, span) in sorted(by_edges.items(), key=lambda it: (it[1][1].start, it[1][1].end)):
        begun = Condition(field.name, "gte", (start,))
        alternatives.append((begun,) if end is None else (begun, Condition(field.name, "lt", (end,))))
        spoken.append(spoken_span(field, span))
        notes.extend(_notes(field, received, spoken[-1], span))
    return Canonical(tuple(alternatives), spoken[0] if len(spoken) == 1 else spoken, tuple(notes))


def _edges(field: Field, span: Span) -> tuple[date | datetime, date | datetime | None]:
    """The span, half-open, in the column's type. Naive timestamps are the dataset's local wall time.

    No end where it holds the calendar's last day, which no later one can bound.
    """
    if field.type == "date":
        start, last = _days(span)
        return start, None if last == date.max else last + timedelta(days=1)
    naive_end = span.end.replace(tzinfo=None)
    end = None if naive_end == datetime.max else naive_end if field.type == "timestamp" else span.end
    return span.start.replace(tzinfo=None) if field.type == "timestamp" else span.start, end


def _last_moment(field: Field, span: Span) -> date | datetime:
    if field.type == "date":
        return date.max
    return datetime.max if field.type == "timestamp" else span.end


def _days(span: Span) -> tuple[date, date]:
    """The first and the last day that the span touches: a day column cannot hold less than a day."""
    ends_at_midnight = span.end.time() == time()
    return span.start.date(), span.end.date() - timedelta(days=1) if ends_at_midnight else span.end.date()


def _notes(field: Field, raw: object, used: Mapping[str, str], span: Span) -> tuple[Note, ...]:
    """Nothing where the caller already wrote what is used."""
    received = list(raw) if isinstance(raw, list | tuple) else [raw]
    said_already = all(str(part) in used.values() for part in received) and not span.ambiguous
    if said_already or raw == used:
        return ()
    return (Note("VALUE_NORMALISED", field.name, received=raw, used=dict(used), ambiguous=span.ambiguous),)
