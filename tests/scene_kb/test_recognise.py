"""What a query says about a scene's parameters is recognised; what it does not say is not guessed."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from engine.dataset import Field
from engine.errors import InvalidParameter
from engine.query import Clock
from scene_kb import recognise

CLOCK = Clock(datetime.fromisoformat("2026-11-30T09:00:00+08:00"), ZoneInfo("Asia/Shanghai"), "monday")
DAY = Field.model_validate({"name": "day", "role": "dimension", "type": "date"})
YEAR = Field.model_validate({"name": "release_year", "role": "dimension", "type": "int32"})
CHANNEL = Field.model_validate(
    {
        "name": "channel",
        "role": "dimension",
        "type": "string",
        "about": {"zh": "渠道", "en": "channel"},
        "values": [
            {"value": "A", "label": {"zh": "渠道A", "en": "channel A"}},
            {"value": "AB", "label": {"zh": "渠道AB", "en": "channel AB"}},
            {"value": "UA", "label": {"en": "United Air Lines"}, "aliases": ["United", "美联航"]},
            {"value": "AT", "label": {"en": "Atlas"}},
        ],
    }
)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("昨天的消耗", [("2026-11-29", "2026-11-29")]),
        ("昨天和前天的消耗", [("2026-11-29", "2026-11-29"), ("2026-11-28", "2026-11-28")]),
        ("cost for the last 7 days", [("2026-11-23", "2026-11-29")]),
        ("点击率比上周掉得最多的广告", []),
        ("昨天哪些广告比前天花得多", [("2026-11-29", "2026-11-29")]),
        ("TOP10的广告", []),
    ],
)
def test_spans_are_filters_unless_they_are_what_is_compared_with(query: str, expected: list[tuple[str, str]]) -> None:
    assert [(it["from"], it["to"]) for it in recognise.times(query, DAY, CLOCK)] == expected


def test_a_day_that_no_calendar_has_is_refused() -> None:
    with pytest.raises(InvalidParameter) as caught:
        recognise.times("2月30日的消耗", DAY, CLOCK)
    assert caught.value.fault == "impossibleDate"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("渠道A的消耗", ["A"]),
        ("渠道ＡＢ的消耗", ["AB"]),
        ("渠道 a 昨天花了多少", ["A"]),
        ("channel A and United", ["A", "UA"]),
        ("UA flights", ["UA"]),
        ("ua flights", []),
        ("what happened at noon", []),
        ("除去渠道A，其他渠道的消耗", []),
        ("美联航的航班", ["UA"]),
        ("a summary of everything", []),
    ],
)
def test_values_are_recognised_by_name_and_never_by_chance(query: str, expected: list[str]) -> None:
    assert recognise.values(query, CHANNEL, CHANNEL.values) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("films of 2007", [2007]),
        ("去年上映的电影", [2025]),
        ("from 1997 to 1999", [1997, 1998, 1999]),
        ("2007年11月的电影", []),
        ("the 2000 most watched films", []),
        ("top 10", []),
    ],
)
def test_years_in_a_column_of_years(query: str, expected: list[int]) -> None:
    assert recognise.is_year(YEAR)
    assert recognise.years(query, CLOCK) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("消耗TOP10", 10),
        ("top 5 carriers", 5),
        ("前20名", 20),
        ("前3天的消耗", None),
        ("the 3 worst airports", 3),
        ("最高的5个渠道", 5),
        ("ＴＯＰ１０", 10),
        ("消耗最高的广告", None),
        ("10 most delayed routes", 10),
    ],
)
def test_how_many_rows_are_asked_for(query: str, expected: int | None) -> None:
    assert recognise.limit(query) == expected
