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
LETTERS = Field.model_validate(
    {
        "name": "channel",
        "role": "dimension",
        "type": "string",
        "about": {"zh": "渠道", "en": "channel"},
        "values": ["A", "B", "C", "D", "E"],
    }
)
ORIGIN = Field.model_validate(
    {
        "name": "origin",
        "role": "dimension",
        "type": "string",
        "about": {"zh": "始发机场", "en": "origin"},
        "values": [{"value": "EWR", "label": {"zh": "纽瓦克"}}, {"value": "JFK", "label": {"zh": "肯尼迪机场"}}, "LGA"],
    }
)
CARRIER = Field.model_validate(
    {
        "name": "carrier",
        "role": "dimension",
        "type": "string",
        "about": {"zh": "航空公司", "en": "carrier"},
        "values": ["9E", "AA", "DL", "UA", "US"],
    }
)
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


def test_a_range_that_is_turned_around_is_refused_as_such() -> None:
    with pytest.raises(InvalidParameter) as caught:
        recognise.times("11月5日到11月1日的消耗", DAY, CLOCK)
    assert (caught.value.fault, caught.value.received) == ("rangeReversed", "11月5日到11月1日")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("spend by channel on 05/06", [("05/06", "2026-05-06", "2026-05-06")]),
        ("10.1到10.7各渠道消耗", [("10.1到10.7", "2026-10-01", "2026-10-07")]),
        ("spend by channel on 05/20", []),
        ("昨天各渠道消耗", []),
    ],
)
def test_a_span_that_people_mean_several_things_by_is_told(query: str, expected: list[tuple[str, str, str]]) -> None:
    told = recognise.ambiguous_times(query, DAY, CLOCK)
    assert [(words, span["from"], span["to"]) for words, span in told] == expected


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
        ("除去渠道A，其他渠道的消耗", ["AB", "UA", "AT"]),
        ("美联航的航班", ["UA"]),
        ("a summary of everything", []),
    ],
)
def test_values_are_recognised_by_name_and_never_by_chance(query: str, expected: list[str]) -> None:
    assert recognise.values(query, CHANNEL, CHANNEL.values) == expected


@pytest.mark.parametrize(
    ("query", "left"),
    [
        ("除了渠道A以外各渠道昨天的消耗", "BCDE"),
        ("昨天除渠道A外的消耗", "BCDE"),
        ("除A外的各渠道", "BCDE"),
        ("非渠道A的消耗", "BCDE"),
        ("渠道A之外的消耗", "BCDE"),
        ("渠道A和B以外", "CDE"),
        ("除了渠道A、B和C", "DE"),
        ("不要渠道A", "BCDE"),
        ("排除渠道A", "BCDE"),
        ("把渠道A的广告排除掉再看消耗", "BCDE"),
        ("渠道A不算", "BCDE"),
        ("cost except channel A", "BCDE"),
        ("spend without channel A", "BCDE"),
        ("channel A aside, spend by channel", "BCDE"),
        ("excluding channels A and B", "CDE"),
        ("spend other than channel A", "BCDE"),
        ("all channels except A and B", "CDE"),
        ("every channel but A", "BCDE"),
        ("don't include channel A", "BCDE"),
        ("不是渠道A而是渠道B", "B"),
        ("不要渠道A，渠道B的消耗", "B"),
        ("渠道A，不要渠道B", "A"),
        ("channel A, not channel B", "A"),
        ("不要渠道A、B、C、D、E", ""),
        ("是不是渠道A", "A"),
        ("解除渠道A的限制", "A"),
        ("不含税渠道A的消耗", "A"),
        ("not only channel A", "A"),
        ("excluding refunds in channel A", "A"),
    ],
)
def test_an_exclusion_leaves_all_values_but_those_it_excludes(query: str, left: str) -> None:
    assert recognise.values(query, LETTERS, LETTERS.values) == list(left)


@pytest.mark.parametrize(
    "query",
    [
        *("delays except JFK", "flights not from JFK", "flights that don't depart from JFK, and not from JFK"),
        *("除JFK外的航班", "除了从肯尼迪机场出发的航班", "non-JFK flights", "airports other than JFK"),
    ],
)
def test_a_longer_value_is_excluded_where_it_is_named(query: str) -> None:
    assert recognise.values(query, ORIGIN, ORIGIN.values) == ["EWR", "LGA"]
    assert recognise.excluded(query, ORIGIN, ORIGIN.values) == ["JFK"]


def test_an_exclusion_that_leaves_too_many_values_is_no_filter() -> None:
    named = [{"value": f"city {number}"} for number in range(recognise.MOST + 2)]
    city = Field.model_validate({"name": "city", "role": "dimension", "type": "string", "values": named})
    assert recognise.values("all but city 7", city, city.values) == []
    assert recognise.excluded("all but city 7", city, city.values) == ["city 7"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("昨天渠道A和B的消耗", "AB"),
        ("渠道A、B", "AB"),
        ("渠道A/B", "AB"),
        ("渠道A 与 C", "AC"),
        ("渠道A，B及C", "ABC"),
        ("昨天A、B渠道的消耗", "AB"),
        ("昨天A和C渠道", "AC"),
        ("渠道a和b", "AB"),
        ("渠道A或者渠道D", "AD"),
        ("channels A and B", "AB"),
        ("channel A, B, and E", "ABE"),
        ("channel A or C", "AC"),
        ("A and B channels yesterday", "AB"),
        ("channel B and a breakdown by day", "B"),
        ("channel B, and I want the total", "B"),
        ("渠道A到渠道C", "ABC"),
        ("channels A to C", "ABC"),
        ("channels A-C", "ABC"),
        ("从渠道A到渠道C的变化", "AC"),
        ("from channel A to channel C", "AC"),
        ("渠道C到渠道A", "AC"),
        ("a plan and a budget", ""),
    ],
)
def test_values_in_a_row_are_all_recognised(query: str, expected: str) -> None:
    assert recognise.values(query, LETTERS, LETTERS.values) == list(expected)


def test_a_range_of_letters_that_are_not_all_values_is_its_ends() -> None:
    assert recognise.values("渠道A到渠道C", LETTERS, [LETTERS.values[0], LETTERS.values[2]]) == ["A", "C"]


def test_a_code_of_digits_is_no_month_and_no_count() -> None:
    line = Field.model_validate(
        {"name": "line", "role": "dimension", "type": "int32", "about": {"zh": "线路"}, "values": [1, 2, 3]}
    )
    for query, expected in (("线路3昨天", [3]), ("线路1和2", [1, 2]), ("各线路3月的消耗", []), ("线路1和2个广告", [1])):
        assert recognise.values(query, line, line.values) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("渠道F昨天消耗", {"channel": ["F"]}),
        ("昨天渠道f的消耗", {"channel": ["F"]}),
        ("F渠道昨天消耗", {"channel": ["F"]}),
        ("渠道A和F的消耗", {"channel": ["F"]}),
        ("channel F yesterday", {"channel": ["F"]}),
        ("channels A and F", {"channel": ["F"]}),
        ("carrier XX delays", {"carrier": ["XX"]}),
        ("航空公司ZZ的航班", {"carrier": ["ZZ"]}),
        ("carriers UA and XX", {"carrier": ["XX"]}),
        *((query, {}) for query in ("渠道A昨天消耗", "carrier US delays", "各渠道消耗", "渠道A、B", "A渠道")),
        *(
            (query, {})
            for query in ("渠道ROI", "渠道TOP10", "渠道B端消耗", "渠道T恤销售", "大V渠道", "渠道N个", "渠道3月消耗")
        ),
        *(
            (query, {})
            for query in ("channel f", "channel A and I want more", "A channel of choice", "channel T-shirts")
        ),
        *((query, {}) for query in ("carrier ID", "carrier in May", "carrier Q3", "CARRIER DELAYS BY DAY OF IT")),
    ],
)
def test_a_code_beside_a_field_that_is_no_value_of_it_is_unknown(query: str, expected: dict[str, list[str]]) -> None:
    fields = {"channel": LETTERS, "carrier": CARRIER}
    assert recognise.unknown_values(query, fields, {name: field.values for name, field in fields.items()}) == expected


def test_a_value_of_a_field_with_the_same_name_is_known() -> None:
    fields = {"origin": LETTERS, "dest": LETTERS}
    assert recognise.unknown_values("渠道B", fields, {"origin": LETTERS.values[:1], "dest": LETTERS.values}) == {}


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
