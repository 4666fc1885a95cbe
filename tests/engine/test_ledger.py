"""Rows by their digests: equal where the wire shows them alike, whatever a store hands out."""

from collections.abc import Callable
from datetime import UTC, datetime, time
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.changes import compare
from engine.dataset import Dataset, Field
from engine.encode import encode_rows
from engine.ledger import Rows, ledger_of, row_digests
from engine.query import Column, Resolved
from tests.engine import shop
from tests.engine.house import House

ZONE = ZoneInfo("Asia/Shanghai")


def column(kind: str) -> Column:
    return Column("it", Field(name="it", role="dimension", type=kind))


def digests(values: pa.Array | pa.ChunkedArray, kind: str) -> list[bytes]:
    found: list[bytes] = row_digests(pa.table([values], names=["it"]), [column(kind)], ZONE).to_pylist()
    return found


HANDED_OUT: dict[str, tuple[Any, str]] = {
    "an enumeration": (pa.array(["a", "b", None]).dictionary_encode(), "string"),
    "an enumeration in parts": (
        pa.chunked_array([pa.array(["a"]).dictionary_encode(), pa.array(["b", None]).dictionary_encode()]),
        "string",
    ),
    "views": (pa.array(["a", "", None], pa.string_view()), "string"),
    "bytes": (pa.array([b"\xff", b"", None]), "binary"),
    "views of bytes": (pa.array([b"\xff", b"", None], pa.binary_view()), "binary"),
    "bytes of one length": (pa.array([b"\xff\xfe", b"ab", None], pa.binary(2)), "binary"),
    "uuids": (pa.array([b"\xff" * 16, b"\x00" * 16, None], pa.uuid()), "string"),
    "lists": (pa.array([[1], [], None]), "json"),
    "structs": (pa.array([{"a": 1}, {"a": 2}, None]), "json"),
    "maps": (pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())), "json"),
    "unsigned": (pa.array([2**64 - 1, 0, None], pa.uint64()), "uint64"),
    "decimals": (pa.array([Decimal("0.0000000001"), Decimal(0), None], pa.decimal128(38, 10)), "decimal(38,10)"),
    "wide decimals": (pa.array([Decimal(1), Decimal(2), None], pa.decimal256(50, 10)), "decimal(38,10)"),
    "halves": (pa.array([0.5, 1, None], pa.float16()), "float32"),
    "booleans": (pa.array([True, False, None]), "boolean"),
    "times": (pa.array([time(1), time(2), None], pa.time64("us")), "time"),
    "moments": (pa.array([datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 1, 1, tzinfo=UTC), None]), "timestamptz"),
    "moments beyond any calendar": (pa.array([2**62, -(2**62), None], pa.timestamp("s")), "timestamp"),
    "days beyond any calendar": (pa.array([2**30, -(2**30), None], pa.int32()).view(pa.date32()), "date"),
    "intervals": (pa.array([(1, 2, 3), (1, 2, 4), None], pa.month_day_nano_interval()), "string"),
}


@pytest.mark.parametrize("what", HANDED_OUT)
def test_every_kind_of_column_has_digests_that_tell_its_values_apart(what: str) -> None:
    assert len(set(digests(*HANDED_OUT[what]))) == 3


def test_a_column_of_nothing_and_no_rows_at_all_are_no_fault() -> None:
    assert len(set(digests(pa.nulls(2), "string"))) == 1
    assert digests(pa.chunked_array([], pa.string()), "string") == []


def test_no_text_passes_for_two_cells_nor_for_none() -> None:
    columns = [Column(name, Field(name=name, role="dimension", type="string")) for name in ("a", "b")]
    rows = pa.table({"a": ["x", "x,", "", None], "b": [",y", "y", None, ""]})
    assert len(set(row_digests(rows, columns, ZONE).to_pylist())) == 4


def test_the_last_digit_of_a_sum_of_doubles_is_no_change() -> None:
    """Two identical calls may differ in it."""
    total = Field(name="total", role="metric", type="float64", aggregation="sum")
    summed = Column("total", total, aggregation="sum")
    rows = pa.table({"total": [0.1 + 0.2, 0.3, 0.30001]})
    first, second, third = row_digests(rows, [summed], ZONE).to_pylist()
    assert first == second != third


def test_rows_have_one_digest_exactly_where_the_wire_shows_them_alike(house: House, run: Callable[[Any], Any]) -> None:
    names = tuple(it["name"] for it in shop.FIELDS if it["role"] == "dimension")
    for name in names:
        answer = run(house.ask((name,)))
        columns = answer.plan.resolved.columns
        shown, _ = encode_rows(answer.snapshot.rows, columns, zone=shop.ZONE)
        told = row_digests(answer.snapshot.rows, columns, shop.ZONE).to_pylist()
        assert len(set(told)) == len(set(shown)) == len(set(zip(told, shown, strict=True))), name


def test_an_id_is_found_as_the_wire_writes_it(house: House, run: Callable[[Any], Any]) -> None:
    for name in ("day", "sold_at", "seen_at", "serial", "open", "note", "年"):
        answer = run(house.ask(("units",), group_by=(name,)))
        resolved = answer.plan.resolved
        rows = Rows(ledger_of(answer.snapshot.rows, resolved), resolved.groups, resolved.dataset)
        ids = [row[0] for row in answer.page.rows]
        assert [at for _, at in rows.at(ids)] == [[at] for at in range(len(ids))], name


SHOP = Dataset.model_validate(shop.definition())
LINES = tuple(Column(name, SHOP.by_name[name]) for name in ("order", "line", "units"))
RESOLVED = Resolved(SHOP, LINES, False, (), (), (), None, None, None, {}, ())
KEYED = st.dictionaries(st.tuples(st.integers(0, 3), st.integers(0, 1)), st.integers(0, 2) | st.none(), max_size=6)


@settings(max_examples=200, deadline=None)
@given(KEYED, KEYED)
def test_who_applies_the_changes_has_the_rows_as_they_are_now(
    then: dict[tuple[int, int], int | None], now: dict[tuple[int, int], int | None]
) -> None:
    """The oracle is what a reader does: forget what is removed, take what is changed or added."""
    before = ledger_of(_table(then), RESOLVED)
    changes = compare(before, _table(now), RESOLVED)
    known, current = dict(then), list(now.items())
    for at in changes.removed:
        del known[list(then)[at]]
    for at in changes.added:
        assert current[at][0] not in known
    known |= {key: value for key, value in (current[at] for at in (*changes.added, *changes.changed))}
    assert known == now
    assert {current[at][0] for at in changes.unchanged} == {key for key in now if key in then and then[key] == now[key]}


def _table(rows: dict[tuple[int, int], int | None]) -> pa.Table:
    columns = {
        "order": pa.array([key[0] for key in rows], pa.int64()),
        "line": pa.array([key[1] for key in rows], pa.int16()),
        "units": pa.array(list(rows.values()), pa.int64()),
    }
    return pa.table(columns)
