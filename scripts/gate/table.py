"""A small table in which every type that policies speak of has values, ties and nulls; made once from a fixed seed."""

import random
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

REGIONS = ("N", "S", "E", "W")
CITIES = ("Oslo", "Bergen", "上海", "it's", "a -- b", "x")
CODES = (-7, 0, 3, 12, 105)
FIRST_DAY = date(2026, 11, 1)
KEY = "id"
TIME = "day"

Row = dict[str, Any]


def _row(at: int, chance: random.Random) -> Row:
    def or_none(value: Any) -> Any:
        return None if chance.random() < 0.12 else value

    return {
        "id": 9007199254740993 + at * 7 % 41,
        "day": FIRST_DAY + timedelta(days=chance.randrange(20)),
        "region": or_none(chance.choice(REGIONS)),
        "city": or_none(chance.choice(CITIES)),
        "code": or_none(chance.choice(CODES)),
        "email": or_none(f"{chance.choice('abcd')}@{chance.choice(('x', 'yy'))}.example"),
        "open": or_none(chance.random() < 0.5),
        "amount": or_none(Decimal(chance.randrange(-500, 9000)) / 100),
        "units": or_none(chance.randrange(0, 40)),
    }


_CHANCE = random.Random(41)
ROWS: tuple[Row, ...] = tuple(_row(at, _CHANCE) for at in range(41))

FIELDS: tuple[dict[str, Any], ...] = (
    {"name": "id", "role": "dimension", "type": "int64"},
    {"name": "day", "role": "dimension", "type": "date"},
    {"name": "region", "role": "dimension", "type": "string", "values": REGIONS},
    {"name": "city", "role": "dimension", "type": "string"},
    {"name": "code", "role": "dimension", "type": "int32"},
    {"name": "email", "role": "dimension", "type": "string"},
    {"name": "open", "role": "dimension", "type": "boolean"},
    {"name": "amount", "role": "metric", "type": "decimal(18,2)", "aggregation": "sum"},
    {"name": "units", "role": "metric", "type": "int64", "aggregation": "sum"},
    {"name": "cities", "role": "metric", "type": "string", "aggregation": "countDistinct", "column": "city"},
    {"name": "price", "role": "metric", "type": "float64", "expression": "amount / units"},
)
OPERANDS = {"price": ("amount", "units")}

_STORED = {
    "id": pa.int64(),
    "day": pa.date32(),
    "region": pa.string(),
    "city": pa.string(),
    "code": pa.int32(),
    "email": pa.string(),
    "open": pa.bool_(),
    "amount": pa.decimal128(18, 2),
    "units": pa.int64(),
}


def definition(url: str) -> dict[str, Any]:
    return {
        "apiNo": "sales",
        "title": "Sales",
        "key": [KEY],
        "timeColumn": TIME,
        "sources": [{"name": "main", "url": url}],
        "fields": FIELDS,
    }


def write(path: Path) -> Path:
    pq.write_table(
        pa.table({name: pa.array([row[name] for row in ROWS], kind) for name, kind in _STORED.items()}), path
    )
    return path
