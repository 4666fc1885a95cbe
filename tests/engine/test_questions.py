"""Names, values and times of a query: what is understood in which words, and which error tells what to mend."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import date, datetime, time
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.dataset import Dataset
from engine.errors import (
    InvalidParameter,
    LimitExceeded,
    MissingParameter,
    UnknownDataset,
    UnknownField,
    UnknownValue,
)
from engine.policy import Policies, Principal
from tests.engine import shop
from tests.engine.house import House, open_house

pytestmark = pytest.mark.anyio

ODD_NAMES = (
    *(
        "order",
        "group",
        "end",
        "from",
        "select",
        "年",
        "销售额(元)",
        "a b",
        "a.b",
        "a,b",
        "a:b",
        "-a",
        "1",
        "*",
        "A",
        "Ä",
    ),
    *('say "hi"', "it's", "`tick`", "x -- y", "/* c */", "now()", "'; DROP TABLE data; --", "$p0", "?", "%s", "{t}"),
    *("base", "result", "stored", "before_day", "_rank", "rowid", "count(*)", "\\", "emoji 🎉", "cost:sum"),
)


def table_of(file: Path, fields: list[dict[str, Any]], columns: Mapping[str, pa.Array], **more: Any) -> Dataset:
    pq.write_table(pa.table(dict(columns)), file)
    key = more.pop("key", (fields[0]["name"],))
    return shop.dataset(file, **{"time_column": None, "key": key, "fields": fields, **more})


async def days_of(house: House, said: object, *, field: str = "day") -> dict[str, Any]:
    plan = house.engine.explain(house.request(("order",), {field: said}))
    return dict(plan.resolved.spoken_filters)


# Names ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def oddly_named(tmp_path: Path) -> House:
    """Every odd name as a dimension and, with a suffix, as a metric; values tell the columns apart."""
    dimensions = [{"name": name, "role": "dimension", "type": "int32"} for name in ODD_NAMES]
    metrics = [
        {"name": f"{name} ∑", "role": "metric", "type": "int32", "aggregation": "sum", "column": name}
        for name in ODD_NAMES
    ]
    columns = {
        name: pa.array([index, index, index + 1000], pa.int32()) for index, name in enumerate(ODD_NAMES) if name != "A"
    }
    # DuckDB tells columns apart whatever their case; "A" is stored under another name.
    dimensions[ODD_NAMES.index("A")]["column"] = metrics[ODD_NAMES.index("A")]["column"] = "upper"
    columns["upper"] = pa.array([ODD_NAMES.index("A")] * 2 + [ODD_NAMES.index("A") + 1000], pa.int32())
    return open_house(table_of(tmp_path / "odd.parquet", [*dimensions, *metrics], columns))


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_field_may_have_any_name_in_every_place(oddly_named: House, name: str) -> None:
    """Cases 36, 38 and 41: Chinese names, reserved words, quotes, comments, calls, our own labels."""
    index = ODD_NAMES.index(name)
    low, high = index, index + 1000
    raw = await oddly_named.ask((name,), {name: {"gte": low}}, order_by=(f"-{name}",))
    assert raw.page.rows == ((high,), (low,), (low,))
    grouped = await oddly_named.ask(
        (f"{name} ∑", "row_count"), {f"{name} ∑": {"gt": -1}}, group_by=(name,), order_by=(f"-{name} ∑",)
    )
    assert grouped.page.rows == ((high, str(high), 1), (low, str(2 * low), 2))


async def test_all_odd_names_together_are_one_statement(oddly_named: House) -> None:
    answer = await oddly_named.ask(ODD_NAMES, {name: {"gte": index} for index, name in enumerate(ODD_NAMES)})
    assert answer.page.rows[0] == tuple(range(len(ODD_NAMES)))
    top = await oddly_named.ask(
        ("row_count",), group_by=("_rank", "result", "base"), order_by=("-row_count", "base"), limit_per_group=1
    )
    assert [row[-1] for row in top.page.rows] == [2, 1]


async def test_a_label_or_alias_that_means_one_field_is_taken_with_a_note(house: House) -> None:
    answer = await house.ask(("客户", "渠道"), {"Channel": "A"}, order_by=("-Customer",), limit=1)
    assert [column.label for column in answer.plan.resolved.columns] == ["end", "group"]
    noted = {(note.field, note.received, note.used) for note in answer.notes if note.code == "VALUE_NORMALISED"}
    assert noted >= {("fields", "客户", "end"), ("filters", "Channel", "group"), ("orderBy", "Customer", "end")}


async def test_two_names_for_one_field_are_not_two_filters(house: House) -> None:
    with pytest.raises(InvalidParameter) as caught:
        await house.ask(("order",), {"group": "A", "渠道": "B"})
    assert caught.value.fault == "ambiguous"


async def test_an_unknown_name_lists_the_nearest_first(house: House) -> None:
    for said, meant in (("unit", "units"), ("marginpoints", "margin_points"), ("weihgt", "weight"), ("顾客", None)):
        with pytest.raises(UnknownField) as caught:
            await house.ask((said,))
        assert meant is None or caught.value.legal[0] == meant
        assert len(caught.value.legal) == len(shop.FIELDS)


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", list(filter(None, shop.SQL_LOOKALIKES)))
@pytest.mark.parametrize("operator", ["eq", "in", "ne", "contains", "startsWith", "gte"])
async def test_a_text_that_looks_like_sql_is_an_honest_value(house: House, text: str, operator: str) -> None:
    """Cases 41 and 42: `a -- b` is a remark, not an attack."""
    answer = await house.ask(("note",), {"note": {operator: [text] if operator == "in" else text}})
    tests: dict[str, Callable[[str | None], bool]] = {
        "eq": lambda note: note == text,
        "in": lambda note: note == text,
        "ne": lambda note: note != text,
        "contains": lambda note: note is not None and text in note,
        "startsWith": lambda note: note is not None and note.startswith(text),
        "gte": lambda note: note is not None and note >= text,
    }
    assert sorted(map(str, (row[0] for row in answer.page.rows))) == sorted(
        str(row["note"]) for row in shop.ROWS if tests[operator](row["note"])
    )
    assert text not in answer.plan.statement.sql


async def test_large_integers_are_exact_in_filters_and_rows(house: House) -> None:
    """Case 27."""
    for number in (9007199254740993, 18446744073709551615):
        answer = await house.ask(("serial",), {"serial": str(number)})
        assert {row[0] for row in answer.page.rows} == {str(number)}
        assert len(answer.page.rows) == sum(row["serial"] == number for row in shop.ROWS)


async def test_what_has_no_finite_value_is_null_and_explained_and_never_on_top(tmp_path: Path) -> None:
    """Case 29: NaN, infinity, an average over no rows, 0/0."""
    file = shop.write(tmp_path / "shop.parquet", (*shop.ROWS, *shop.NOT_FINITE))
    house = open_house(shop.dataset(file))
    nan_only = await house.ask(("weight", "weight_each"), {"order": [9007199254740993 + 40]}, group_by=("line",))
    assert [row[1:] for row in nan_only.page.rows] == [(None, None)] * 3
    assert {note.field for note in nan_only.notes if note.code == "VALUE_NOT_FINITE"} == {"weight", "weight_each"}
    no_rows = await house.ask(("units_avg", "margin", "row_count"), {"note": "nothing is called so"}, group_by=())
    assert no_rows.page.rows == ((None, None, 0),)
    top = await house.ask(("weight",), order_by=("-weight",), limit=3)
    assert [row[0] for row in top.page.rows] == [
        None,
        1024.75,
        1024.75,
    ]  # infinity is more than anything, and null here
    above = await house.ask(("weight",), {"weight": {"gt": 1000}})
    finite_or_infinite = [row["weight"] for row in (*shop.ROWS, *shop.NOT_FINITE) if (row["weight"] or 0) > 1000]
    assert len(above.page.rows) == len(finite_or_infinite)


@pytest.mark.parametrize(
    ("filters", "fault"),
    [
        ({"day": "the day the music died"}, "notADate"),
        ({"day": "2026-02-30"}, "impossibleDate"),
        ({"day": {"from": "2026-11-30", "to": "2026-11-01"}}, "rangeReversed"),
        ({"day": {"between": ["2026-11-30"]}}, "badShape"),
        ({"day": {"ne": "昨天"}}, "operatorForType"),
        ({"day": {"gte": "昨天和前天"}}, "ambiguous"),
        ({"day": []}, "emptyList"),
        ({"day": 20261129.5}, "notADate"),
        ({"day": "yesterday or 42"}, "notADate"),
        ({"or": [{"day": "昨天"}]}, "timeNotPlain"),
        ({"年": "twenty-twenty-six-ish"}, "notANumber"),
        ({"年": 2026.5}, "notWhole"),
        ({"年": True}, "notANumber"),
        ({"年": {"between": [3, 1]}}, "rangeReversed"),
        ({"年": {"gt": [1, 2]}}, "badShape"),
        ({"年": []}, "emptyList"),
        ({"年": {"like": "2%"}}, "badOperator"),
        ({"年": {}}, "badOperator"),
        ({"年": {"contains": "20"}}, "operatorForType"),
        ({"line": 10**6}, "notANumber"),
        ({"serial": -1}, "notANumber"),
        ({"order": "1e40"}, "notANumber"),
        ({"cost": "1e30"}, "notANumber"),
        ({"open": "perhaps"}, "notABoolean"),
        ({"open": {"gt": False}}, "operatorForType"),
        ({"group": {"gt": "A"}}, "operatorForType"),
        ({"note": {"contains": ""}}, "notText"),
        ({"note": {"contains": 5}}, "notText"),
        ({"note": [None]}, "notText"),
        ({"note": [["a"]]}, "notText"),
        ({"or": []}, "badShape"),
        ({"or": {"年": 1}}, "badShape"),
        ({"or": [{}]}, "badShape"),
        ({"units:avg": 5}, "needsGroups"),
        ({"margin": {"gt": 1}}, "needsGroups"),
        ({"row_count": 5}, "needsGroups"),
        ({"day:week": "昨天"}, "needsGroups"),
        ({"day": {"eq": "昨天", "between": ["昨天", "今天"]}}, "badShape"),
    ],
    ids=str,
)
async def test_a_filter_that_cannot_be_meant_is_told_with_its_place(
    house: House, filters: dict[str, Any], fault: str
) -> None:
    with pytest.raises(InvalidParameter) as caught:
        await house.ask(("order",), filters)
    assert caught.value.fault == fault
    assert caught.value.argument.startswith("filters")


@pytest.mark.parametrize("word", ["D", "渠道A", "Eas", "", "A;B"])
async def test_a_value_that_is_not_legal_lists_those_that_are(house: House, word: str) -> None:
    with pytest.raises(UnknownValue) as caught:
        await house.ask(("order",), {"group": word})
    assert set(caught.value.legal) == {"A", "B", "C"}


@pytest.mark.parametrize(
    ("asked", "fault"),
    [
        ({"fields": ("margin",), "group_by": ("units",)}, "notADimension"),
        ({"fields": ("group",), "group_by": ("end",)}, "notGrouped"),
        ({"fields": ("units",), "group_by": ("end",), "order_by": ("group",)}, "notGrouped"),
        ({"fields": ("units",), "group_by": ("day:fortnight",)}, "badGrain"),
        ({"fields": ("units",), "group_by": ("day:hour",)}, "badGrain"),
        ({"fields": ("end:sum",), "group_by": ()}, "badAggregation"),
        ({"fields": ("margin:avg",), "group_by": ()}, "badAggregation"),
        ({"fields": ("units:total",), "group_by": ()}, "badAggregation"),
        ({"fields": (), "group_by": ()}, "emptyList"),
        ({"fields": ("order",), "order_by": ("margin",)}, "needsGroups"),
        ({"fields": ("order", "line"), "limit_per_group": 1}, "needsTwoGroups"),
        ({"fields": ("units",), "group_by": ("end",), "limit_per_group": 1}, "needsTwoGroups"),
        ({"fields": ("units_share_in_group",), "group_by": ("end",)}, "needsGroups"),
        ({"fields": ("order",), "limit": 0}, "badShape"),
        ({"fields": ("order",), "limit": -5}, "badShape"),
        ({"fields": ("units",), "group_by": ("end", "from"), "limit_per_group": 0}, "badShape"),
        ({"fields": ("units_relative_day",), "group_by": (), "filters": {"day": {"gte": "昨天"}}}, "openRange"),
    ],
    ids=str,
)  # fmt: skip
async def test_a_query_that_cannot_be_meant_is_told(house: House, asked: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidParameter) as caught:
        await house.ask(asked.pop("fields"), asked.pop("filters", None), **asked)
    assert caught.value.fault == fault


async def test_a_comparison_without_any_time_names_what_is_missing(house: House) -> None:
    """Else everything would be compared with itself, and nothing ever change."""
    with pytest.raises(MissingParameter) as caught:
        await house.ask(("units_relative_day",), group_by=("group",))
    assert caught.value.names == ("day",)


@pytest.mark.parametrize(
    "said", ["近90天", {"from": "2026-01-01", "to": "2026-11-30"}, ["2026-01-01", "2026-11-30"], {"gte": "2026-11-01"}]
)
async def test_no_wording_of_a_range_is_longer_than_a_scene_allows(house: House, said: object) -> None:
    with pytest.raises((LimitExceeded, InvalidParameter)) as caught:
        await house.ask(("order",), {"day": said}, max_days=31)
    if isinstance(caught.value, LimitExceeded):
        assert caught.value.limit == 31
        assert caught.value.received > 31
    assert (await house.ask(("order",), {"day": {"from": "2026-11-01", "to": "2026-12-01"}}, max_days=31)) is not None


# Time -----------------------------------------------------------------------------------------------------------------


async def test_today_runs_from_local_midnight_to_local_midnight(house: House) -> None:
    """Case 32: 00:30 in Shanghai is still yesterday in UTC."""
    early = replace(house, now=datetime(2026, 11, 29, 16, 30, tzinfo=ZoneInfo("UTC")))
    for field in ("day", "sold_at", "seen_at"):
        assert await days_of(early, "今天", field=field) == {field: {"from": "2026-11-30", "to": "2026-11-30"}}
    plan = early.engine.explain(early.request(("order",), {"seen_at": "今天"}))
    assert [str(value) for value in plan.statement.parameters.values()] == [
        "2026-11-30 00:00:00+08:00",
        "2026-12-01 00:00:00+08:00",
    ]


@pytest.mark.parametrize("wednesday", ["2026-11-25", "2026-03-04"])
@pytest.mark.parametrize(("week_start", "first"), [("monday", 0), ("sunday", 6)])
async def test_last_week_is_seven_days_from_the_datasets_first_weekday(
    shop_file: Path, wednesday: str, week_start: str, first: int
) -> None:
    """Case 35: asked on a Wednesday."""
    now = datetime.fromisoformat(f"{wednesday}T12:00:00+08:00")
    house = open_house(shop.dataset(shop_file, week_start=week_start), now=now)
    for said in ("上周", "last week"):
        span = (await days_of(house, said))["day"]
        start, end = date.fromisoformat(span["from"]), date.fromisoformat(span["to"])
        assert (end - start).days == 6
        assert start.weekday() == first
        assert end < now.date()


async def test_moments_near_midnight_are_grouped_by_the_local_day(tmp_path: Path) -> None:
    """Case 34: a conversion in the wrong direction would land 16 hours, and so a day, away."""
    utc = ZoneInfo("UTC")
    moments = [datetime(2026, 11, 29, 15, 59, 59, tzinfo=utc), datetime(2026, 11, 29, 16, 0, tzinfo=utc)]
    fields = [{"name": "at", "role": "dimension", "type": "timestamptz"}]
    dataset = table_of(
        tmp_path / "t.parquet", fields, {"at": pa.array(moments, pa.timestamp("us", "UTC"))}, time_column="at"
    )
    house = open_house(dataset)
    assert (await house.ask(("row_count",), group_by=("at:day",))).page.rows == (("2026-11-29", 1), ("2026-11-30", 1))
    assert (await house.ask(("row_count",), group_by=("at:hour",))).page.rows == (
        ("2026-11-29T23:00:00+08:00", 1),
        ("2026-11-30T00:00:00+08:00", 1),
    )
    assert (await house.ask(("at",), {"at": "2026-11-30"})).page.rows == (("2026-11-30T00:00:00+08:00",),)


async def test_naive_moments_of_utc_that_are_declared_as_moments_fall_on_their_local_day(tmp_path: Path) -> None:
    """Case 34, as it was reported: the column has no zone, and the field says that it holds moments."""
    moments = [datetime(2026, 11, 29, 15, 59, 59), datetime(2026, 11, 29, 16, 0)]
    fields = [{"name": "at", "role": "dimension", "type": "timestamptz"}]
    columns = {"at": pa.array(moments, pa.timestamp("us"))}
    house = open_house(table_of(tmp_path / "t.parquet", fields, columns, time_column="at"))
    assert (await house.ask(("row_count",), group_by=("at:day",))).page.rows == (("2026-11-29", 1), ("2026-11-30", 1))
    assert (await house.ask(("at",), {"at": "2026-11-30"})).page.rows == (("2026-11-30T00:00:00+08:00",),)
    assert (await house.ask(("at:max",), group_by=())).page.rows == (("2026-11-30T00:00:00+08:00",),)


async def test_the_hour_that_autumn_repeats_is_two_hours(tmp_path: Path) -> None:
    utc = ZoneInfo("UTC")
    moments = [datetime(2026, 11, 1, hour, 30, tzinfo=utc) for hour in (4, 5, 6, 7)]  # 00:30, 01:30, 01:30 again, 02:30
    fields = [{"name": "at", "role": "dimension", "type": "timestamptz"}]
    columns = {"at": pa.array(moments, pa.timestamp("us", "UTC"))}
    dataset = table_of(tmp_path / "t.parquet", fields, columns, time_column="at", time_zone="America/New_York")
    house = open_house(dataset)
    hours = [row[0] for row in (await house.ask(("row_count",), group_by=("at:hour",))).page.rows]
    assert hours == [
        f"2026-11-01T{hour}:00:00-0{offset}:00" for hour, offset in (("00", 4), ("01", 4), ("01", 5), ("02", 5))
    ]
    assert (await house.ask(("row_count",), {"at": "2026-11-01"}, group_by=("at:day",))).page.rows == (
        ("2026-11-01", 4),
    )


@pytest.mark.parametrize(
    ("day", "previous"),
    [("2026-02-28", "2026-01-28"), ("2026-03-30", None), ("2026-11-30", "2026-10-30"), ("2026-03-28", "2026-02-28")],
)
async def test_a_day_is_compared_with_one_day_of_the_month_before(
    tmp_path: Path, day: str, previous: str | None
) -> None:
    """January has four days that a month later would all be February 28; February has none that would be March 30."""
    house = daily(tmp_path)
    alone = await house.ask(("units_previous_month",), {"day": day}, group_by=())
    among = await house.ask(("units_previous_month",), {"day": {"from": day[:8] + "01", "to": day}}, group_by=("day",))
    assert alone.page.rows == ((previous and str(ordinal(previous)),),)
    assert among.page.rows[-1] == (day, previous and str(ordinal(previous)))


async def test_a_whole_month_is_compared_with_a_whole_month(tmp_path: Path) -> None:
    answer = await daily(tmp_path).ask(
        ("units_previous_month",), {"day": {"from": "2026-02-01", "to": "2026-02-28"}}, group_by=()
    )
    assert answer.page.rows == ((str(sum(ordinal(f"2026-01-{day:02}") for day in range(1, 32))),),)


async def test_part_of_a_month_is_compared_with_the_same_days(tmp_path: Path) -> None:
    answer = await daily(tmp_path).ask(
        ("units_previous_month",), {"day": {"from": "2026-02-15", "to": "2026-02-28"}}, group_by=()
    )
    assert answer.page.rows == ((str(sum(ordinal(f"2026-01-{day:02}") for day in range(15, 29))),),)


def daily(folder: Path) -> House:
    """One row a day; each day sells its own ordinal number."""
    first = date(2025, 1, 1).toordinal()
    days = [date.fromordinal(number) for number in range(first, first + 730)]
    fields: list[dict[str, Any]] = [
        {"name": "day", "role": "dimension", "type": "date"},
        {"name": "units", "role": "metric", "type": "int64", "aggregation": "sum"},
        {
            "name": "units_previous_month",
            "role": "metric",
            "type": "int64",
            "comparison": {"metric": "units", "period": "month", "measure": "previous"},
        },
    ]
    columns = {"day": pa.array(days, pa.date32()), "units": pa.array([day.toordinal() for day in days], pa.int64())}
    return open_house(table_of(folder / "daily.parquet", fields, columns, time_column="day"))


def ordinal(day: str) -> int:
    return date.fromisoformat(day).toordinal()


async def test_a_range_of_dates_is_no_arithmetic(house: House) -> None:
    """Case 42: 2025-07-01..2025-07-31 works."""
    for said in ({"from": "2025-07-01", "to": "2025-07-31"}, "2025-07-01..2025-07-31", "2025年7月"):
        assert await days_of(house, said) == {"day": {"from": "2025-07-01", "to": "2025-07-31"}}


# Types ----------------------------------------------------------------------------------------------------------------


async def test_columns_say_the_type_and_unit_of_what_they_hold(house: House) -> None:
    expected = {
        **{"group": ("string", None), "day:week": ("date", None), "seen_at:hour": ("timestamptz", None)},
        **{"units": ("int64", None), "units_avg": ("float64", None), "units:max": ("int64", None)},
        **{"lines": ("int64", None), "customers": ("int64", None), "end:count": ("int64", None)},
        **{"first_day": ("date", None), "weight": ("float64", "kg"), "row_count": ("int32", None)},
        **{
            "销售额(元)": ("decimal(18,2)", "CNY"),
            "cost:avg": ("decimal(38,10)", "CNY"),
            "cost:count": ("int64", None),
        },
    }
    answer = await house.ask(tuple(expected)[3:], group_by=tuple(expected)[:3])
    assert {it.label: (it.type, it.unit) for it in answer.plan.resolved.columns} == expected


async def test_an_average_of_whole_numbers_is_not_rounded(house: House) -> None:
    values = [row["units"] for row in shop.ROWS if row["units"] is not None]
    answer = await house.ask(("units_avg", "units_median"), {"units_avg": {"lt": 2.5}}, group_by=())
    assert answer.page.rows[0][0] == pytest.approx(sum(values) / len(values))


async def test_an_average_of_decimals_keeps_their_scale(house: House) -> None:
    """19.99, 0, 100.10 and -5 are there equally often, so that the median lies half way between two of them."""
    answer = await house.ask(("销售额(元):avg", "销售额(元):median"), group_by=())
    assert answer.page.rows == (("28.77", "10.00"),)


def test_what_is_computed_from_an_estimate_is_flagged_like_one() -> None:
    def metric(name: str, **facts: object) -> dict[str, object]:
        return {"name": name, "role": "metric", "type": "float64", **facts}

    dataset = Dataset.model_validate(
        {
            **{"apiNo": "x", "title": "x", "sources": [{"name": "x", "url": "duckdb:x", "table": "x"}], "key": ["day"]},
            "timeColumn": "day",
            "fields": [
                {"name": "day", "role": "dimension", "type": "date"},
                metric("cost", aggregation="sum", flags=["late"]),
                metric("conversions", aggregation="sum", flags=["estimated", "late"]),
                metric("cpa", expression="cost / conversions"),
                metric("cpa_dod", comparison={"metric": "cost", "period": "day", "measure": "change"}),
            ],
        }
    )
    flags = {field.name: dataset.flags_of(field) for field in dataset.fields}
    assert (flags["cpa"], flags["cpa_dod"], flags["day"]) == (("late", "estimated"), ("late",), ())


async def test_times_of_day_are_read_and_structures_are_only_asked_whether_they_are_there(tmp_path: Path) -> None:
    kinds = {"id": "int64", "at": "time", "blob": "binary", "nested": "json"}
    columns = {
        "id": pa.array([1, 2]),
        "at": pa.array([time(10, 30), time(23, 59)], pa.time64("us")),
        "blob": pa.array([b"x", None], pa.binary()),
        "nested": pa.array([[1, 2], None]),
    }
    fields: list[dict[str, Any]] = [{"name": name, "role": "dimension", "type": kind} for name, kind in kinds.items()]
    house = open_house(table_of(tmp_path / "t.parquet", fields, columns))
    assert (await house.ask(("id",), {"at": "10:30"})).page.rows == (("1",),)
    assert (await house.ask(("id",), {"at": {"gte": "10:30:00.000001"}})).page.rows == (("2",),)
    assert (await house.ask(("id", "nested"), {"blob": {"isNull": False}})).page.rows == (("1", [1, 2]),)
    refused = {"at": ("25:99", "notADate"), "blob": ("x", "operatorForType"), "nested": (["x"], "operatorForType")}
    for name, (value, fault) in refused.items():
        with pytest.raises(InvalidParameter) as caught:
            await house.ask(("id",), {name: value})
        assert caught.value.fault == fault


async def test_a_single_float_is_found_by_what_it_is_called(tmp_path: Path) -> None:
    fields = [{"name": "x", "role": "dimension", "type": "float32"}]
    house = open_house(table_of(tmp_path / "t.parquet", fields, {"x": pa.array([0.1, 0.2], pa.float32())}))
    assert (await house.ask(("x",), {"x": 0.1})).page.rows == ((0.1,),)


async def test_a_division_by_zero_inside_another_division_is_null(house: House) -> None:
    """density is coalesce(weight / units, -1) / (lines / 2): without units, -2."""
    answer = await house.ask(
        ("weight", "units", "density"), {"units": 0, "weight": {"gt": 0}}, group_by=("order", "line")
    )
    assert {row[-1] for row in answer.page.rows} == {-2.0}


async def test_metrics_multiplied_with_each_other_do_not_overflow(tmp_path: Path) -> None:
    fields = [
        {"name": "id", "role": "dimension", "type": "int64"},
        *({"name": n, "role": "metric", "type": "decimal(38,20)", "aggregation": "sum"} for n in ("a", "b")),
        {"name": "product", "role": "metric", "type": "decimal(38,4)", "expression": "a * b * 2"},
    ]
    wide = pa.array([12345], pa.decimal128(38, 20))
    columns = {"id": pa.array([1]), "a": wide, "b": wide}
    house = open_house(table_of(tmp_path / "t.parquet", fields, columns))
    assert (await house.ask(("product",), group_by=())).page.rows == ((f"{12345 * 12345 * 2}.0000",),)


async def test_a_policy_of_unknown_roles_opens_nothing(shop_file: Path) -> None:
    """Case 42: broken credentials fall back to nobody, not to somebody powerful."""
    house = open_house(shop.dataset(shop_file), shop.POLICIES, principal=Principal(id="x", roles=("admin2", "")))
    with pytest.raises(UnknownDataset):
        await house.ask(("order",))
    with pytest.raises(UnknownDataset):
        await open_house(shop.dataset(shop_file), Policies()).ask(("order",))
