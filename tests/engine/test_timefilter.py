"""Filters on a time column: what is read, what is refused and why, and the edges of the calendar."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

import pytest

from engine.dataset import Field
from engine.errors import InvalidParameter
from engine.query import Canonical, Clock, Operator
from engine.timefilter import canonical_time

_ZONE = ZoneInfo("Asia/Shanghai")
_CLOCK = Clock(datetime(2026, 11, 30, 9, tzinfo=_ZONE), _ZONE, "monday")
_DAY = Field.model_validate({"name": "day", "role": "dimension", "type": "date"})
_LAST = date(9999, 12, 31)


def _of_type(time_type: str) -> Field:
    return Field.model_validate({"name": "at", "role": "dimension", "type": time_type})


def _conditions(raw: object, operator: Operator = "eq") -> list[list[tuple[str, object]]]:
    found = canonical_time(_DAY, operator, raw, clock=_CLOCK)
    return [[(it.operator, it.values[0]) for it in alternative] for alternative in found.alternatives]


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        ("不是昨天", "notADate"),
        ("除了昨天", "notADate"),
        ("昨天除外", "notADate"),
        ("not yesterday", "notADate"),
        ("except yesterday", "notADate"),
        ("本财年", "notADate"),
        ("昨天和本财年", "notADate"),
        ("yesterday and this fiscal year", "notADate"),
        ("fiscal Q2", "notADate"),
        ("11月5日到11月1日", "rangeReversed"),
        ("2026-11-05~2026-11-01", "rangeReversed"),
        ("2026-11-05 to 2026-11-01", "rangeReversed"),
        ("Nov 5 to Nov 1", "rangeReversed"),
        ({"from": "11月5日", "to": "11月1日"}, "rangeReversed"),
        ("2026-02-30", "impossibleDate"),
        ("2月30日到3月5日", "impossibleDate"),
    ],
)
def test_what_is_no_span_is_refused_for_its_own_reason(raw: object, fault: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        canonical_time(_DAY, "eq", raw, clock=_CLOCK)
    assert caught.value.fault == fault


@pytest.mark.parametrize(
    ("raw", "first", "after"),
    [
        ("11月1日到5日", date(2026, 11, 1), date(2026, 11, 6)),
        ("12月到2月", date(2025, 12, 1), date(2026, 3, 1)),
        ("不是昨天，是前天", date(2026, 11, 28), date(2026, 11, 29)),
        ("1000-01-01", date(1000, 1, 1), date(1000, 1, 2)),
        ("9999-12-30", date(9999, 12, 30), _LAST),
    ],
)
def test_days_are_half_open(raw: str, first: date, after: date) -> None:
    assert _conditions(raw) == [[("gte", first), ("lt", after)]]


@pytest.mark.parametrize(
    ("raw", "first"),
    [
        ("9999-12-31", _LAST),
        ({"from": "2026-01-01", "to": "9999-12-31"}, date(2026, 1, 1)),
        ("2026-01-01到9999-12-31", date(2026, 1, 1)),
    ],
)
def test_the_last_day_of_the_calendar_needs_no_end(raw: object, first: date) -> None:
    assert _conditions(raw) == [[("gte", first)]]
    spoken = canonical_time(_DAY, "eq", raw, clock=_CLOCK).spoken
    assert spoken == {"from": first.isoformat(), "to": "9999-12-31"}


def test_the_last_day_of_the_calendar_stands_beside_others() -> None:
    yesterday = [("gte", date(2026, 11, 29)), ("lt", date(2026, 11, 30))]
    assert _conditions(["9999-12-31", "昨天"]) == [yesterday, [("gte", _LAST)]]


@pytest.mark.parametrize("time_type", ["date", "timestamp", "timestamptz"])
def test_everything_lies_up_to_the_last_day_of_the_calendar_and_nothing_behind_it(time_type: str) -> None:
    field = _of_type(time_type)
    ((condition,),) = canonical_time(field, "lte", "9999-12-31", clock=_CLOCK).alternatives
    assert condition.operator == "lte"
    with pytest.raises(InvalidParameter):
        canonical_time(field, "gt", "9999-12-31", clock=_CLOCK)
    ((begun,),) = canonical_time(field, "eq", "9999-12-31", clock=_CLOCK).alternatives
    assert begun.operator == "gte"


@pytest.mark.parametrize("time_type", ["timestamp", "timestamptz"])
@pytest.mark.parametrize(
    ("raw", "operator", "spoken"),
    [
        ("昨天3点", "eq", {"from": "2026-11-29T03:00:00+08:00", "to": "2026-11-29T03:59:59.999999+08:00"}),
        ("昨天", "gte", {"gte": "2026-11-29T00:00:00+08:00"}),
        ("昨天", "lte", {"lt": "2026-11-30T00:00:00+08:00"}),
        ("9999-12-31", "lte", {"lte": "9999-12-31T23:59:59.999999+08:00"}),
        ({"from": "昨天3点", "to": None}, "eq", {"gte": "2026-11-29T03:00:00+08:00"}),
    ],
)
def test_a_moment_in_the_scope_carries_its_offset(
    time_type: str, raw: object, operator: Operator, spoken: dict[str, str]
) -> None:
    """A column of wall times has none of its own; the dataset's zone gives it."""
    assert canonical_time(_of_type(time_type), operator, raw, clock=_CLOCK).spoken == spoken


@pytest.mark.parametrize(
    ("now", "last"),
    [
        ("2026-03-08T12:00:00-04:00", "2026-03-08T01:59:59.999999-05:00"),  # clocks go from 2:00 to 3:00
        ("2026-11-01T12:00:00-05:00", "2026-11-01T01:59:59.999999-05:00"),  # 1:00 to 2:00 comes twice
    ],
)
def test_the_hour_before_clocks_change_ends_where_it_ends(now: str, last: str) -> None:
    zone = ZoneInfo("America/New_York")
    clock = Clock(datetime.fromisoformat(now).astimezone(zone), zone, "monday")
    found = canonical_time(_of_type("timestamptz"), "eq", "今天1点", clock=clock)
    assert isinstance(found.spoken, dict)
    assert found.spoken["to"] == last
    again = canonical_time(_of_type("timestamptz"), "eq", found.spoken, clock=clock)
    assert _instants(again) == _instants(found)


def _instants(found: Canonical) -> list[float]:
    """By which moments of one zone are compared: by the wall an hour in autumn is two."""
    values = [condition.values[0] for condition in found.alternatives[0]]
    return [value.timestamp() for value in values if isinstance(value, datetime)]


def test_the_last_hour_of_the_calendar_can_be_said_in_every_zone() -> None:
    for name in ("America/New_York", "Pacific/Auckland"):
        zone = ZoneInfo(name)
        clock = Clock(datetime(2026, 11, 30, 9, tzinfo=zone), zone, "monday")
        found = canonical_time(_of_type("timestamptz"), "eq", "9999-12-31 22:00", clock=clock)
        assert isinstance(found.spoken, dict)
        assert found.spoken["to"].startswith("9999-12-31T22:00:59.999999")
