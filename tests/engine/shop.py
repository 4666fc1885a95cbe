"""A small and nasty table: what stores, calendars, encodings and names get wrong, in one place.

Written once as plain Python, from which both sides are made: the engine gets a Dataset and a Parquet file, the oracle
gets the same definitions and rows as dicts and lists.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq

from engine.dataset import Dataset
from engine.policy import Policies, Principal

ZONE = ZoneInfo("Asia/Shanghai")
NOW = datetime(2026, 11, 30, 9, 0, tzinfo=ZONE)
PERIODS = ("day", "week", "month", "quarter", "year")
MEASURES = ("previous", "change", "relative")

SQL_LOOKALIKES = (
    "it's",
    'say "hi"',
    "`tick`",
    "a -- b",
    "/* c */",
    "'; DROP TABLE data; --",
    "$p0 {x} %s ? :name",
    "100%",
    "a_b",
    "\\",
    "退货率★",
    "ＡＢＣ",
    "",
    "line\nbreak\ttab",
)


def _dimension(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": "dimension", "type": kind, **more}


def _metric(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": "metric", "type": kind, **more}


FIELDS: tuple[dict[str, Any], ...] = (
    _dimension("order", "int64"),
    _dimension("line", "int16"),
    _dimension("day", "date"),
    _dimension("sold_at", "timestamp"),
    _dimension("seen_at", "timestamptz"),
    _dimension(
        "group",
        "string",
        about={"zh": "渠道", "en": "Channel"},
        aliases=("chan",),
        values=(
            {"value": "A", "label": {"zh": "东区体育", "en": "East Sports"}, "aliases": ("East",)},
            {"value": "B", "label": {"zh": "西区", "en": "West"}},
            {"value": "C", "label": {"zh": "南区", "en": "South"}},
        ),
    ),
    _dimension("end", "string", about={"zh": "客户", "en": "Customer"}),
    _dimension("from", "string"),
    _dimension("note", "string", flags=("freeText",)),
    _dimension("年", "int32"),
    _dimension("serial", "uint64"),
    _dimension("open", "boolean"),
    # Each is stored under the other's name: a sort by one must not fall for the other's label.
    _dimension("left", "int32", column="right"),
    _dimension("right", "int32", column="left"),
    _dimension("secret", "string"),
    _metric("units", "int64", aggregation="sum"),
    _metric("销售额(元)", "decimal(18,2)", aggregation="sum", unit="CNY", about={"zh": "销售额", "en": "Revenue"}),
    _metric("cost", "decimal(38,10)", aggregation="sum", unit="CNY"),
    _metric("weight", "float64", aggregation="sum", unit="kg"),
    _metric("hidden_cost", "decimal(18,2)", aggregation="sum", column="cost"),
    _metric("units_avg", "int64", aggregation="avg", column="units"),
    _metric("units_min", "int64", aggregation="min", column="units"),
    _metric("units_max", "int64", aggregation="max", column="units"),
    _metric("units_median", "int64", aggregation="median", column="units"),
    _metric("lines", "int64", aggregation="count", column="units"),
    _metric("customers", "string", aggregation="countDistinct", column="end"),
    _metric("first_day", "date", aggregation="min", column="day"),
    _metric("price", "decimal(18,4)", expression='"销售额(元)" / units', unit="CNY"),
    _metric("profit", "decimal(38,10)", expression='"销售额(元)" - cost'),
    _metric("margin", "float64", expression='profit / "销售额(元)"'),
    _metric("margin_points", "float64", expression="abs(margin) * 100"),
    _metric("filled", "float64", expression="coalesce(margin, 0) + nullif(units, 0) / lines"),
    _metric("density", "float64", expression="coalesce(weight / units, -1) / (lines / 2)"),
    _metric("weight_each", "decimal(18,4)", expression="weight / units"),
    _metric("hidden_margin", "float64", expression="hidden_cost / units"),
    *(
        _metric(
            f"units_{measure}_{period}",
            "float64" if measure == "relative" else "int64",
            comparison={"metric": "units", "period": period, "measure": measure},
        )
        for period in PERIODS
        for measure in MEASURES
    ),
    _metric("price_before", "decimal(18,4)", comparison={"metric": "price", "period": "week", "measure": "previous"}),
    _metric("units_share", "float64", share={"metric": "units"}),
    _metric("units_share_in_group", "float64", share={"metric": "units", "within": ["group"]}),
    _metric("price_share", "float64", share={"metric": "price"}),
)

_STORED: Mapping[str, pa.DataType] = {
    "order": pa.int64(),
    "line": pa.int16(),
    "day": pa.date32(),
    "sold_at": pa.timestamp("us"),
    "seen_at": pa.timestamp("us", tz="UTC"),
    "group": pa.string(),
    "end": pa.string(),
    "from": pa.string(),
    "note": pa.string(),
    "年": pa.int32(),
    "serial": pa.uint64(),
    "open": pa.bool_(),
    "left": pa.int32(),
    "right": pa.int32(),
    "secret": pa.string(),
    "units": pa.int64(),
    "销售额(元)": pa.decimal128(18, 2),
    "cost": pa.decimal128(38, 10),
    "weight": pa.float64(),
}

# Month ends, a leap day, a year's end, and days in a row: where comparisons and truncations go wrong.
_DAYS = (
    *(date(2026, 11, day) for day in (1, 2, 8, 15, 16, 22, 23, 28, 29, 30)),
    *(date(2026, 10, day) for day in (28, 29, 30, 31)),
    *(date(2026, 2, day) for day in (26, 27, 28)),
    *(date(2026, 1, day) for day in (28, 29, 30, 31)),
    *(date(2025, 11, day) for day in (22, 28, 29, 30)),
    *(date(2024, 2, day) for day in (28, 29)),
    date(2025, 2, 28),
    date(2025, 12, 31),
    date(2026, 8, 31),
)


def _row(index: int) -> dict[str, Any]:
    """Values that repeat with different periods, so that groups, ties and nulls meet in every combination."""
    day = None if index % 23 == 22 else _DAYS[index % len(_DAYS)]
    wall = (
        None
        if index % 19 == 18
        else datetime.combine(_DAYS[(index + 3) % len(_DAYS)], time(index * 5 % 24, 30 * (index % 2)))
    )
    return {
        "order": 9007199254740993 + index // 3,
        "line": index % 3,
        "day": day,
        "sold_at": wall,
        # Near local midnight, where a conversion in the wrong direction lands on another day.
        "seen_at": None
        if index % 17 == 16
        else datetime.combine(_DAYS[(index + 7) % len(_DAYS)], time(15, 30), tzinfo=UTC)
        + timedelta(minutes=20 * (index % 4)),
        "group": (None, "A", "A", "B", "C")[index % 5],
        "end": (None, "x", "y", "X", "ｘ", "z")[index % 6],
        "from": ("north", "south", None)[index % 3],
        "note": None if index % 7 == 6 else SQL_LOOKALIKES[index % len(SQL_LOOKALIKES)],
        "年": (2024, 2025, None, 2026)[index % 4],
        "serial": (18446744073709551615, 9007199254740993, 0, None, 1)[index % 5],
        "open": (True, False, None)[index % 3],
        "left": index % 4,
        "right": -(index % 5),
        "secret": f"secret-{index % 2}",
        "units": (None, 0, 5, 1, 3, -2, 7)[index % 7],
        "销售额(元)": (Decimal("19.99"), Decimal("0.00"), None, Decimal("100.10"), Decimal("-5.00"))[index % 5],
        "cost": (Decimal("1.0000000001"), Decimal("33.3333333333"), None, Decimal("0"))[index % 4],
        "weight": (0.25, 1.5, None, -0.0, 1024.75)[index % 5],
    }


ROWS: tuple[dict[str, Any], ...] = tuple(_row(index) for index in range(120))
NOT_FINITE: tuple[dict[str, Any], ...] = tuple(
    {**_row(120 + index), "weight": value} for index, value in enumerate((float("nan"), float("inf"), float("-inf")))
)


def definition(time_column: str = "day", **more: Any) -> dict[str, Any]:
    return {
        "api_no": "shop",
        "title": "Shop",
        "owner": "shop-team",
        "key": ("order", "line"),
        "time_column": time_column,
        "time_zone": "Asia/Shanghai",
        "sources": ({"name": "main", "url": "duckdb:{data}/shop.parquet"},),
        "fields": FIELDS,
        **more,
    }


def dataset(path: Path, time_column: str = "day", **more: Any) -> Dataset:
    source = {"name": "main", "url": f"duckdb:{path}"}
    return Dataset.model_validate({**definition(time_column), "sources": (source,), **more})


def write(path: Path, rows: tuple[dict[str, Any], ...] = ROWS) -> Path:
    swapped = {"left": "right", "right": "left"}
    columns = {name: pa.array([row[swapped.get(name, name)] for row in rows], kind) for name, kind in _STORED.items()}
    pq.write_table(pa.table(columns), path)
    return path


ADMIN = Principal(id="ada", roles=("admin",))
WIDE_PAGES = {"pageRows": 100_000, "pageTokens": 1 << 30}
POLICIES = Policies.model_validate({"roles": {"admin": {"datasets": {"*": {}}, "caps": WIDE_PAGES}}})
