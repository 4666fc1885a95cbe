"""Values on the wire: exact, in one encoding a column, and strict JSON."""

import json
import struct
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dataset import Aggregation, Field
from engine.encode import encode_rows
from engine.query import Column

SHANGHAI = ZoneInfo("Asia/Shanghai")


def stored(kind: str, aggregation: Aggregation | None = None) -> Column:
    return Column("x", Field(name="x", role="dimension", type=kind), aggregation)


def encoded(
    kind: str, values: list[Any], arrow: pa.DataType, aggregation: Aggregation | None = None
) -> tuple[list[Any], list[str]]:
    """(wire values, codes of the notes), having passed a strict JSON parser."""
    table = pa.table({"x": pa.array(values, arrow)})
    rows, notes = encode_rows(table, [stored(kind, aggregation)], zone=SHANGHAI)
    text = json.dumps(rows, allow_nan=False)
    assert json.loads(text, parse_constant=pytest.fail) == [list(row) for row in rows]
    return [row[0] for row in rows], [note.code for note in notes]


@pytest.mark.parametrize(
    ("kind", "arrow", "values", "expected"),
    [
        ("uint64", pa.uint64(), [9007199254740993, 18446744073709551615], ["9007199254740993", "18446744073709551615"]),
        ("int64", pa.int64(), [-9223372036854775808, 0, None], ["-9223372036854775808", "0", None]),
        ("int64", pa.decimal128(38, 0), [Decimal(10**37)], [str(10**37)]),
        ("int32", pa.int32(), [2147483647, -1], [2147483647, -1]),
        ("int16", pa.decimal128(38, 0), [Decimal(7)], [7]),
        ("decimal(38,10)", pa.decimal128(38, 10), [Decimal("9" * 28 + "." + "9" * 10)], ["9" * 28 + "." + "9" * 10]),
        ("decimal(18,2)", pa.decimal128(18, 2), [Decimal("1.50"), Decimal("-0.05")], ["1.50", "-0.05"]),
        ("decimal(18,2)", pa.float64(), [0.125, 1e20, 0.1 + 0.2], ["0.13", "100000000000000000000.00", "0.30"]),
        ("float32", pa.float32(), [0.1, 16777216.0], [0.1, 16777216.0]),
        ("float64", pa.float64(), [0.1234567890123456, 5e-324], [0.1234567890123456, 5e-324]),
        ("boolean", pa.bool_(), [True, False, None], [True, False, None]),
        (
            "string",
            pa.string(),
            ["", None, 'quote " \\ \u2028 \x00', "退货率★"],
            ["", None, 'quote " \\ \u2028 \x00', "退货率★"],
        ),
        ("string", pa.int64(), [12], ["12"]),
        ("binary", pa.binary(), [b"\x00\xff"], ["AP8="]),
        ("time", pa.time64("us"), [time(23, 59, 59, 1)], ["23:59:59.000001"]),
        ("json", pa.list_(pa.int64()), [[1, 2**60]], [[1, str(2**60)]]),
        ("json", pa.struct({"a": pa.float64()}), [{"a": float("nan")}], [{"a": None}]),
    ],
)
def test_a_value_keeps_all_of_itself(kind: str, arrow: pa.DataType, values: list[Any], expected: list[Any]) -> None:
    """Case 27: integers beyond 2^53 are exact; with them everything else that a double or a JSON number would lose."""
    assert encoded(kind, values, arrow)[0] == expected


def test_the_encoding_does_not_depend_on_the_size_of_a_value() -> None:
    assert encoded("int64", [1, 2**62], pa.int64())[0] == ["1", str(2**62)]


@pytest.mark.parametrize("kind", ["float64", "float32", "decimal(18,2)", "int64", "int8"])
def test_what_is_not_finite_is_null_and_explained(kind: str) -> None:
    """Case 29: NaN and infinities pass a strict JSON parser as null, with a note."""
    values, notes = encoded(kind, [float("nan"), float("inf"), float("-inf"), 1.0, None], pa.float64())
    assert [value is None for value in values] == [True, True, True, False, True]
    assert notes == ["VALUE_NOT_FINITE"]


def test_a_missing_value_alone_is_no_reason_for_a_note() -> None:
    assert encoded("float64", [None, 1.0], pa.float64()) == ([None, 1.0], [])


@pytest.mark.parametrize(
    ("kind", "arrow", "value", "expected"),
    [
        (
            "timestamp",
            pa.timestamp("us"),
            datetime(1969, 12, 31, 23, 59, 59, 999999),
            "1969-12-31T23:59:59.999999+08:00",
        ),
        ("timestamp", pa.timestamp("us"), datetime(9999, 12, 31, 23, 59, 59), "9999-12-31T23:59:59+08:00"),
        ("timestamp", pa.timestamp("us"), datetime(1, 1, 1), "0001-01-01T00:00:00+08:05:43"),
        ("timestamp", pa.timestamp("us"), datetime(1900, 1, 1), "1899-12-31T15:54:17+00:00"),
        (
            "timestamptz",
            pa.timestamp("us", "UTC"),
            datetime(2026, 11, 29, 16, 30, tzinfo=UTC),
            "2026-11-30T00:30:00+08:00",
        ),
        ("timestamptz", pa.timestamp("us", "UTC"), datetime(9999, 12, 31, 23, tzinfo=UTC), "9999-12-31T23:00:00+00:00"),
        ("timestamptz", pa.timestamp("us", "UTC"), None, None),
        ("date", pa.date32(), date(1, 1, 1), "0001-01-01"),
        ("date", pa.date32(), date(9999, 12, 31), "9999-12-31"),
    ],
)
def test_every_time_that_a_calendar_has_is_iso_8601(kind: str, arrow: pa.DataType, value: Any, expected: Any) -> None:
    """Case 30: null, before 1970, in the year 9999, microseconds."""
    assert encoded(kind, [value], arrow) == ([expected], [])


def test_nanoseconds_become_microseconds() -> None:
    values, _ = encoded("timestamp", [1_700_000_000_123_456_789], pa.timestamp("ns"))
    assert values == ["2023-11-14T22:13:20.123456+08:00"]


@pytest.mark.parametrize("arrow", [pa.timestamp("us"), pa.timestamp("us", "UTC"), pa.date32()])
def test_a_time_outside_the_calendar_is_null_and_explained(arrow: pa.DataType) -> None:
    """Stores know infinity and years beyond 9999; Python and JSON's readers do not."""
    raw = [2**63 - 1, -(2**63)] if arrow != pa.date32() else [2**31 - 1, -(2**31)]
    table = pa.table({"x": pa.array([*raw, 0], pa.int64() if arrow != pa.date32() else pa.int32()).cast(arrow)})
    rows, notes = encode_rows(table, [stored("timestamp")], zone=SHANGHAI)
    assert [row[0] is None for row in rows] == [True, True, False]
    assert [note.code for note in notes] == ["VALUE_NOT_FINITE"]


def test_a_sum_of_floats_ends_where_its_order_would_show() -> None:
    values = [0.1 + 0.2, 0.3]
    summed, _ = encoded("float64", values, pa.float64(), "sum")
    assert summed == [0.3, 0.3]
    assert encoded("float64", values, pa.float64())[0] == values


@given(st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_a_single_float_comes_back_as_the_same_single_float(value: float) -> None:
    ((wire,), _) = encoded("float32", [value], pa.float32())
    assert struct.pack("f", wire) == struct.pack("f", value)


@given(st.datetimes(timezones=st.just(UTC)) | st.datetimes())
def test_a_moment_is_read_back_as_the_same_moment(moment: datetime) -> None:
    kind, arrow = ("timestamptz", pa.timestamp("us", "UTC")) if moment.tzinfo else ("timestamp", pa.timestamp("us"))
    ((wire,), _) = encoded(kind, [moment], arrow)
    meant = moment if moment.tzinfo else moment.replace(tzinfo=SHANGHAI)
    assert datetime.fromisoformat(wire) - meant.replace(fold=0) == timedelta()
