"""Values from a store to the wire: what a DuckDB database and a Parquet file hold comes back as it is, in JSON that any
strict parser reads, under one encoding a column."""

import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.backends.base import open_backend
from engine.dataset import Dataset
from engine.query import PageBounds
from tests.engine import shop
from tests.engine.house import House, open_house

pytestmark = pytest.mark.anyio

Declared = tuple[str, str, tuple[str, str], tuple[Any, Any]]
"""Name, DuckDB type, SQL of two rows' values, what the wire says of them."""

IN_BOTH: tuple[Declared, ...] = (
    ("int64", "BIGINT", ("-9223372036854775808", "1"), ("-9223372036854775808", "1")),
    ("uint64", "UBIGINT", ("18446744073709551615", "9007199254740993"), ("18446744073709551615", "9007199254740993")),
    ("uint32", "UINTEGER", ("4294967295", "0"), (4294967295, 0)),
    ("uint8", "UTINYINT", ("255", "0"), (255, 0)),
    ("int8", "TINYINT", ("-128", "127"), (-128, 127)),
    (
        "decimal",
        "DECIMAL(38,10)",
        ("9999999999999999999999999999.9999999999", "-0.0000000001"),
        ("9999999999999999999999999999.9999999999", "-0.0000000001"),
    ),
    ("day", "DATE", ("DATE '0001-01-01'", "DATE '9999-12-31'"), ("0001-01-01", "9999-12-31")),
    (
        "wall",
        "TIMESTAMP",
        ("TIMESTAMP '1969-12-31 23:59:59.999999'", "TIMESTAMP '9999-12-31 23:59:59.999999'"),
        ("1969-12-31T23:59:59.999999+08:00", "9999-12-31T23:59:59.999999+08:00"),
    ),
    (
        "moment",
        "TIMESTAMPTZ",
        ("TIMESTAMPTZ '1969-12-31 23:59:59.999999+00'", "TIMESTAMPTZ '9999-12-31 23:59:59+00'"),
        ("1970-01-01T07:59:59.999999+08:00", "9999-12-31T23:59:59+00:00"),
    ),
    ("clock", "TIME", ("TIME '23:59:59.999999'", "TIME '00:00'"), ("23:59:59.999999", "00:00:00")),
    ("double", "DOUBLE", ("0.1", "5e-324"), (0.1, 5e-324)),
    ("single", "FLOAT", ("0.1", "16777216"), (0.1, 16777216.0)),
    ("text", "VARCHAR", ("''", "NULL"), ("", None)),
    ("signs", "VARCHAR", ("chr(8232) || '\"\\' || chr(7)", "'退货率★🎉'"), ('\u2028"\\\x07', "退货率★🎉")),
    ("blob", "BLOB", (r"'\x00\xFF'::BLOB", "''::BLOB"), ("AP8=", "")),
    ("id", "UUID", ("'00000000-0000-0000-0000-00000000000A'", "NULL"), ("00000000-0000-0000-0000-00000000000a", None)),
    ("list", "BIGINT[]", ("[1, NULL, 9007199254740993]", "[]"), ([1, None, "9007199254740993"], [])),
    (
        "struct",
        "STRUCT(a DECIMAL(10,3), b DATE[], c VARCHAR)",
        ("{'a': 1.5, 'b': [DATE '1969-12-31'], 'c': ''}", "{'a': NULL, 'b': NULL, 'c': NULL}"),
        ({"a": "1.500", "b": ["1969-12-31"], "c": ""}, {"a": None, "b": None, "c": None}),
    ),
    ("map", "MAP(VARCHAR, INTEGER)", ("MAP {'k': 1, 'K': 2}", "NULL"), ([["k", 1], ["K", 2]], None)),
)
# Parquet has no such types.
IN_DUCKDB: tuple[Declared, ...] = (
    ("huge", "HUGEINT", ("170141183460469231731687303715884105727", "0"), (str(2**127 - 1), "0")),
    ("uhuge", "UHUGEINT", ("340282366920938463463374607431768211455", "0"), (str(2**128 - 1), "0")),
    ("bits", "BIT", ("'101'", "'0'"), ("101", "0")),
    ("zoned", "TIMETZ", ("TIMETZ '10:00:00+08'", "TIMETZ '10:00:00-03:30'"), ("10:00:00+08", "10:00:00-03:30")),
    ("choice", "ENUM('x', 'BIT')", ("'x'", "'BIT'"), ("x", "BIT")),
    ("either", "UNION(n INTEGER, t VARCHAR)", ("union_value(n := 3)", "union_value(t := 'three')"), (3, "three")),
    ("pair", "INTEGER[2]", ("[1, 2]", "NULL"), ([1, 2], None)),
    ("parsed", "JSON", ("""'{"n": 9007199254740993}'""", "'[]'"), ('{"n": 9007199254740993}', "[]")),
)


def strict(rows: object) -> Any:
    """The rows as a strict reader of JSON has them: UTF-8 without lone surrogates, and no number beyond a double's."""

    def whole(digits: str) -> int:
        assert abs(int(digits)) < 2**53
        return int(digits)

    text = json.dumps(rows, ensure_ascii=False, allow_nan=False).encode("utf-8").decode("utf-8")
    return json.loads(text, parse_int=whole, parse_constant=pytest.fail)


async def house_over(path: Path, table: str | None = None) -> House:
    """An engine over whatever the store says that it holds, as a draft of a catalog would declare it."""
    backend = open_backend(f"duckdb:{path}")
    (found,) = await backend.inspect()
    await backend.close()
    fields = [{"name": it.name, "role": "dimension", "type": it.type} for it in found.columns]
    source = {"name": "main", "url": f"duckdb:{path}", "table": table}
    return open_house(table_of(path, fields, sources=(source,)))


def table_of(path: Path, fields: list[dict[str, str]], **more: Any) -> Dataset:
    return Dataset.model_validate(
        {**shop.definition(), "time_column": None, "key": (fields[0]["name"],), "fields": fields}
        | {"sources": ({"name": "main", "url": f"duckdb:{path}"},)}
        | more
    )


def database(path: Path, values: tuple[Declared, ...]) -> None:
    declared = ", ".join(f'"{name}" {kind}' for name, kind, _, _ in values)
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE t (row INTEGER, {declared})")
        for index in range(2):
            row = ", ".join(said[index] for _, _, said, _ in values)
            connection.execute(f"INSERT INTO t VALUES ({index}, {row})")


@pytest.mark.parametrize("store", ["duckdb", "parquet"])
async def test_a_stored_value_comes_back_as_it_is(tmp_path: Path, store: str) -> None:
    """FIELD_CASES 27, 30."""
    values = (*IN_BOTH, *IN_DUCKDB) if store == "duckdb" else IN_BOTH
    database(tmp_path / "t.duckdb", values)
    if store == "parquet":
        with duckdb.connect(tmp_path / "t.duckdb") as connection:
            connection.execute(f"COPY t TO '{tmp_path / 't.parquet'}' (FORMAT parquet)")
    house = await house_over(tmp_path / f"t.{store}", "t" if store == "duckdb" else None)
    answer = await house.ask(tuple(name for name, *_ in values))
    for name, *read in zip((name for name, *_ in values), *strict(answer.page.rows), strict=True):
        assert (name, tuple(read)) == (name, next(wire for it, _, _, wire in values if it == name))
    assert not [note for note in answer.notes if note.code == "VALUE_NOT_FINITE"]


async def test_what_the_wire_cannot_say_is_null_and_named_wherever_it_stands(tmp_path: Path) -> None:
    """FIELD_CASES 29, 30: NaN, infinities and times outside the calendar, plain and within lists and structs."""
    values: tuple[Declared, ...] = (
        ("nan", "DOUBLE", ("'nan'", "1"), (None, 1.0)),
        ("infinite", "FLOAT", ("'-infinity'", "1"), (None, 1.0)),
        ("day", "DATE", ("DATE '0044-03-15 (BC)'", "DATE 'infinity'"), (None, None)),
        ("moment", "TIMESTAMPTZ", ("TIMESTAMPTZ 'infinity'", "NULL"), (None, None)),
        ("list", "DOUBLE[]", ("['nan'::DOUBLE, 1, NULL]", "NULL"), ([None, 1.0, None], None)),
        ("struct", "STRUCT(seen TIMESTAMP[])", ("{'seen': [TIMESTAMP 'infinity']}", "NULL"), ({"seen": [None]}, None)),
        ("map", "MAP(DATE, DOUBLE)", ("MAP {DATE '0044-03-15 (BC)': 'inf'::DOUBLE}", "NULL"), ([[None, None]], None)),
        ("whole", "DOUBLE[]", ("[1, NULL]", "[]"), ([1.0, None], [])),
    )
    database(tmp_path / "t.duckdb", values)
    house = await house_over(tmp_path / "t.duckdb", "t")
    names = tuple(name for name, *_ in values)
    answer = await house.ask(names)
    assert dict(zip(names, zip(*strict(answer.page.rows), strict=True), strict=True)) == {
        name: (first, second) for name, _, _, (first, second) in values
    }
    assert {note.field for note in answer.notes if note.code == "VALUE_NOT_FINITE"} == set(names) - {"whole"}


async def test_a_total_that_lies_outside_the_calendar_is_null_and_named(tmp_path: Path) -> None:
    """Its only row is no reason to fail, nor is anything in it on the way to its evidence."""
    values: tuple[Declared, ...] = (("day", "DATE", ("DATE 'infinity'", "DATE '2026-11-30'"), (None, None)),)
    database(tmp_path / "t.duckdb", values)
    house = await house_over(tmp_path / "t.duckdb", "t")
    answer = await house.ask(("day:max", "day:min"), group_by=())
    assert answer.page.rows == ((None, "2026-11-30"),)
    assert [note.field for note in answer.notes if note.code == "VALUE_NOT_FINITE"] == ["day:max"]


async def test_nanoseconds_within_a_list_are_cut_to_microseconds_as_in_a_column(tmp_path: Path) -> None:
    moment = "TIMESTAMP_NS '2024-01-01 00:00:00.123456789'"
    values: tuple[Declared, ...] = (
        ("fine", "TIMESTAMP_NS", (moment, "NULL"), (None, None)),
        ("list", "TIMESTAMP_NS[]", (f"[{moment}]", "NULL"), (None, None)),
    )
    database(tmp_path / "t.duckdb", values)
    answer = await (await house_over(tmp_path / "t.duckdb", "t")).ask(("fine", "list"))
    cut = "2024-01-01T00:00:00.123456+08:00"
    assert strict(answer.page.rows) == [[cut, [cut]], [None, None]]


@pytest.fixture(scope="session")
def huge_cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("cells") / "cells.parquet"
    columns = {
        "id": pa.array([9007199254740993, 2], pa.int64()),
        "count": pa.array([-2147483648, 2], pa.int32()),
        "amount": pa.array(["1234567890123456.78", "2.00"]).cast(pa.decimal128(18, 2)),
        "note": pa.array(["退" * (2 << 20), "short"]),
        "blob": pa.array([b"\x00" * (2 << 20), b"x"], pa.binary()),
    }
    pq.write_table(pa.table(columns), path)
    return path


def cells(path: Path) -> House:
    kinds = {"id": "int64", "count": "int32", "amount": "decimal(18,2)", "note": "string", "blob": "binary"}
    fields = [{"name": name, "role": "dimension", "type": kind} for name, kind in kinds.items()]
    return open_house(table_of(path, fields), bounds=PageBounds())


async def test_a_cell_of_two_megabytes_is_cut_and_named_and_the_row_is_there(huge_cells: Path) -> None:
    answer = await cells(huge_cells).ask(("id", "count", "amount", "note", "blob"), order_by=("-id",))
    (row,) = strict(answer.page.rows)
    assert row[:3] == ["9007199254740993", -2147483648, "1234567890123456.78"]
    assert row[3].endswith("退…")
    assert len(json.dumps(row, ensure_ascii=False).encode()) <= PageBounds().bytes
    assert [(note.field, note.received) for note in answer.notes if note.code == "CELL_TRUNCATED"] == [
        ("note", 2 << 20),
        ("blob", 4 * -(-(2 << 20) // 3)),
    ]
    assert answer.page.next_offset == 1  # the next page has the other row whole
    rest = await cells(huge_cells).ask(("id", "note"), {"id": 2})
    assert strict(rest.page.rows) == [["2", "short"]]


async def test_no_number_is_ever_cut_however_little_room_there_is(huge_cells: Path) -> None:
    """A number with its end cut off would be another number, and a text in a column of numbers another encoding."""
    answer = await cells(huge_cells).ask(("id", "count", "amount"), bounds=PageBounds(bytes=16, tokens=4))
    assert strict(answer.page.rows) == [["2", 2, "2.00"]]
    widest = await cells(huge_cells).ask(("id", "count", "amount"), {"count": {"lt": 0}}, bounds=PageBounds(bytes=16))
    assert strict(widest.page.rows) == [["9007199254740993", -2147483648, "1234567890123456.78"]]


async def test_a_row_of_three_thousand_columns_comes_whole(tmp_path: Path) -> None:
    names = [f"c{index}" for index in range(3000)]
    pq.write_table(
        pa.table({name: pa.array([index, None]) for index, name in enumerate(names)}), tmp_path / "w.parquet"
    )
    fields = [{"name": name, "role": "dimension", "type": "int64"} for name in names]
    house = open_house(table_of(tmp_path / "w.parquet", fields))
    answer = await house.ask(tuple(names))
    assert strict(answer.page.rows) == [list(map(str, range(3000))), [None] * 3000]
