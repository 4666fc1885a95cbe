"""Where a phrase lies in time: alone, as a member of a list, as an end of a range, or as a reference to another one.

Raises ValueError or OverflowError where the calendar has no such place, Backwards where a range ends before it begins.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta

from engine.times.parts import (
    Anchor,
    Backwards,
    Days,
    Moments,
    Part,
    Piece,
    Placed,
    SameAgo,
    TimeOfDay,
    Unit,
    Unplaced,
    earliest,
    end_of,
    inside,
    latest,
    on_day,
    shift,
    shifted,
    start_of,
    wall,
)


@dataclass(frozen=True)
class Phrase:
    """Pieces that narrow each other, the widest first: 去年 11月. Offsets are those of the folded text."""

    pieces: tuple[Piece, ...]
    start: int
    end: int
    fiscal: bool = False
    """Whether a word for a fiscal period stands in it."""

    @property
    def head(self) -> Piece:
        return self.pieces[0]


@dataclass(frozen=True)
class Said:
    """What a list has named so far: in 10月1日、3日 the second day lies in the month of the first."""

    day: date
    units: frozenset[Unit]


def meaning_of(ends: Sequence[Phrase], said: Said | None, anchor: Anchor) -> Placed | SameAgo | None:
    """One phrase, or the two ends of a range. None where it is no time by itself, such as an hour without its day."""
    if any(isinstance(phrase.head, Unplaced) for phrase in ends):
        return None
    if len(ends) == 2:
        return _range(ends[0], ends[1], anchor)
    (phrase,) = ends
    head = phrase.head
    if isinstance(head, SameAgo):
        return head
    if isinstance(head, TimeOfDay):
        if said is not None and "day" in said.units:
            return on_day(head, Days(said.day, said.day), anchor)
        return on_day(head, Days(anchor.today, anchor.today), anchor) if head.half_known and not head.window else None
    if isinstance(head, Part):
        if said is not None and head.of in said.units:
            return _narrowed(inside(head, anchor.period(said.day, head.of)), phrase, anchor)
        if head.needs_period:
            return None
    return _latest(phrase, anchor, not_after=anchor.today)


def until_now(meaning: Placed, anchor: Anchor) -> Placed:
    """From its start to today, today included, or to this moment."""
    if isinstance(meaning, Days):
        return _ordered(Days(meaning.first, anchor.today, ambiguous=meaning.ambiguous))
    return _ordered(Moments(meaning.start, anchor.now, anchor.now, meaning.ambiguous))


def said_by(ends: Sequence[Phrase], meaning: Placed, before: Said | None) -> Said:
    """What the next member of a list can leave out."""
    named: set[Unit] = set()
    for phrase in ends:
        for piece in phrase.pieces:
            if isinstance(piece, TimeOfDay) and piece is not phrase.head:
                named.add("day")
            if isinstance(piece, Part):
                named.update(piece.states, () if piece is phrase.head else (piece.of,))
    if isinstance(ends[0].head, Part | TimeOfDay) and before is not None:
        named.update(before.units)  # it left them out itself
    return Said(_first_day(meaning), frozenset(named))


def before_subject(same: SameAgo, subject: Placed | None, anchor: Anchor) -> Placed | None:
    """None where the reference needs a subject and has none, or none of its kind."""
    if subject is None or (same.of_its_kind and not (isinstance(subject, Days) and subject.unit == same.unit)):
        if same.alone is None:
            return None
        subject = anchor.period(anchor.today, same.alone)
    if isinstance(subject, Days):
        return shifted(subject, same.unit, -same.count)
    start, end = (_moment_ago(moment, same, anchor) for moment in (subject.start, subject.end))
    return _ordered(Moments(start, end, end, subject.ambiguous))


def _latest(phrase: Phrase, anchor: Anchor, *, not_after: date) -> Placed:
    head = phrase.head
    assert isinstance(head, Days | Moments | Part)
    return _narrowed(latest(head, anchor, not_after=not_after) if isinstance(head, Part) else head, phrase, anchor)


def _narrowed(whole: Placed, phrase: Phrase, anchor: Anchor) -> Placed:
    for piece in phrase.pieces[1:]:
        assert isinstance(whole, Days)
        if isinstance(piece, TimeOfDay):
            whole = on_day(piece, whole, anchor)
        elif isinstance(piece, Part):
            whole = inside(piece, whole)
    return whole


def _range(first: Phrase, second: Phrase, anchor: Anchor) -> Placed | None:
    """Each end takes from the other what it does not say itself; an end without a year comes after the start."""
    start, end = first.head, second.head
    if isinstance(start, TimeOfDay):
        return _hours(start, second, anchor)
    if isinstance(end, TimeOfDay):
        begun = _latest(first, anchor, not_after=anchor.today)
        known = first.pieces[-1]
        if not isinstance(begun, Moments) or not isinstance(known, TimeOfDay):
            return None
        return _joined(begun, _following(end, known, begun, anchor), anchor)
    if isinstance(start, Part) and not isinstance(end, Part):
        ended = _latest(second, anchor, not_after=anchor.today)
        return _joined(_latest(first, anchor, not_after=_first_day(ended)), ended, anchor)
    begun = _latest(first, anchor, not_after=anchor.today)
    if isinstance(end, Part):
        return _joined(begun, _narrowed(_next(end, _first_day(begun), anchor), second, anchor), anchor)
    return _joined(begun, _latest(second, anchor, not_after=anchor.today), anchor)


def _next(end: Part, start: date, anchor: Anchor) -> Days:
    """The first such end from the start on: 12月到2月 crosses a new year.

    Across most of a year or month it is not meant: 11月5日到11月1日 is turned around. Weeks may begin on any day, so
    there it is only ambiguous.
    """
    found, whole = earliest(end, anchor, not_before=start), anchor.period(start, end.of)
    far = found.first > whole.last and (found.first - start) * 2 > whole.last - whole.first
    if far and end.of != "week":
        raise Backwards("the end comes before the start")
    return replace(found, ambiguous=found.ambiguous or far)


def _hours(start: TimeOfDay, second: Phrase, anchor: Anchor) -> Placed | None:
    """下午3点到5点, 3pm to 5pm yesterday: the day stands with the end, or is today where hours are surely meant."""
    if isinstance(second.head, TimeOfDay):
        if start.window or not (start.half_known or second.head.half_known):
            return None
        begun = on_day(start, Days(anchor.today, anchor.today), anchor)
        return _joined(begun, _following(second.head, start, begun, anchor), anchor)
    ended = _latest(second, anchor, not_after=anchor.today)
    if not isinstance(ended, Moments):
        return None
    day = ended.start.date()
    begun = on_day(start, Days(day, day), anchor)
    if begun.start.timestamp() >= ended.until.timestamp():
        day = shift(day, "day", -1)
        begun = on_day(start, Days(day, day), anchor)
    return _joined(begun, ended, anchor)


def _following(end: TimeOfDay, start: TimeOfDay, begun: Moments, anchor: Anchor) -> Moments:
    """The first such time after the start: as written, past noon (下午3点到5点), or on the next day (22:00-02:00)."""
    day = Days(begun.start.date(), begun.start.date())
    may_be_afternoon = not end.half_known and end.at <= timedelta(hours=12) and (start.half_known or end.of_twelve)
    for later in (0, 12, 24) if may_be_afternoon else (0, 24):
        moved = replace(end, at=end.at + timedelta(hours=later), half_known=end.half_known or later > 0)
        ended = on_day(moved, day, anchor)
        if ended.until.timestamp() > begun.start.timestamp():
            return replace(ended, ambiguous=ended.ambiguous or (later == 12 and not start.half_known))
    raise Backwards("the end comes before the start")


def _joined(begun: Placed, ended: Placed, anchor: Anchor) -> Placed:
    ambiguous = begun.ambiguous or ended.ambiguous
    if isinstance(begun, Days) and isinstance(ended, Days):
        return _ordered(Days(begun.first, ended.last, ambiguous=ambiguous))
    start = start_of(begun.first, anchor.zone) if isinstance(begun, Days) else begun.start
    end = end_of(ended.last, anchor.zone) if isinstance(ended, Days) else ended.until
    return _ordered(Moments(start, end, end, ambiguous))


def _ordered(placed: Placed) -> Placed:
    if isinstance(placed, Days):
        backwards = placed.last < placed.first
    else:
        backwards = placed.end.timestamp() <= placed.start.timestamp()
    if backwards:
        raise Backwards("the end comes before the start")
    return placed


def _first_day(placed: Placed) -> date:
    return placed.first if isinstance(placed, Days) else placed.start.date()


def _moment_ago(moment: datetime, same: SameAgo, anchor: Anchor) -> datetime:
    since_midnight = moment.replace(tzinfo=None) - datetime.combine(moment.date(), time())
    return wall(shift(moment.date(), same.unit, -same.count), since_midnight, anchor.zone)
