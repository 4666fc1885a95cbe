"""What every backend promises. A new row in BACKENDS brings its maker and its slow statement, and enrols itself."""

import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.backends.base import BACKENDS, Backend, open_backend
from engine.errors import Busy, SourceUnavailable, TimeBudgetExceeded
from tests.engine.shop import SQL_LOOKALIKES

pytestmark = pytest.mark.anyio

ODD_NAMES = ("order", "group", "end", "from", "年", "销售额(元)", 'say "hi"', "a b", "it's", "`x`", "drop--", "ÄÖ")

_NINES = Decimal("9" * 28 + "." + "9" * 10)
_LAST = datetime(9999, 12, 31, 23, 59, 59, 999999)
_BEFORE_1970 = datetime(1969, 12, 31, 23, tzinfo=UTC)
_MIDNIGHT_IN_SHANGHAI = datetime(2026, 11, 29, 16, tzinfo=UTC)

ROWS = pa.table(
    {
        "id": pa.array([1, 2, 3, 4], pa.int64()),
        "big": pa.array([2**63 - 1, -(2**63), 9007199254740993, None], pa.int64()),
        "unsigned": pa.array([2**64 - 1, 0, 9007199254740993, None], pa.uint64()),
        "small": pa.array([1, -1, 127, None], pa.int8()),
        "exact": pa.array([_NINES, Decimal("0.0000000001"), Decimal(0), None], pa.decimal128(38, 10)),
        "double": pa.array([0.1, float("nan"), float("inf"), None], pa.float64()),
        "single": pa.array([0.5, -1.5, 2.0, None], pa.float32()),
        "flag": pa.array([True, False, True, None], pa.bool_()),
        "text": pa.array(["", "it's -- 退货率★", "ＡＢＣ", None], pa.string()),
        "day": pa.array([date(1969, 12, 31), date(9999, 12, 31), date(2024, 2, 29), None], pa.date32()),
        "wall": pa.array([datetime(1900, 1, 1), _LAST, datetime(2026, 11, 30), None], pa.timestamp("us")),
        "moment": pa.array(
            [_BEFORE_1970, _MIDNIGHT_IN_SHANGHAI, _LAST.replace(tzinfo=UTC), None], pa.timestamp("us", "UTC")
        ),
        "bytes": pa.array([b"", b"\x00\xff", b"x", None], pa.binary()),
        **{name: pa.array([1, 2, 3, None], pa.int32()) for name in ODD_NAMES},
    }
)

TYPES = {
    **{"id": "int64", "big": "int64", "unsigned": "uint64", "small": "int8", "exact": "decimal(38,10)"},
    **{"double": "float64", "single": "float32", "flag": "boolean", "text": "string", "day": "date"},
    **{"wall": "timestamp", "moment": "timestamptz", "bytes": "binary"},
    **dict.fromkeys(ODD_NAMES, "int32"),
}


@dataclass(frozen=True)
class Place:
    """Where a table is stored: how to write it (again), and how to ask for it."""

    url: str
    table: str | None
    write: Callable[[pa.Table], None]


def _duckdb_database(folder: Path) -> Place:
    file = folder / "it's.duckdb"

    def write(rows: pa.Table) -> None:
        fresh = folder / "fresh.duckdb"
        with duckdb.connect(fresh) as connection:
            connection.register("rows", rows)
            connection.execute('CREATE TABLE "the table" AS SELECT * FROM rows')
        fresh.replace(file)

    return Place(f"duckdb:{file}", "the table", write)


def _duckdb_parquet(folder: Path) -> Place:
    file = folder / "it's.parquet"
    return Place(f"duckdb:{file}", None, lambda rows: pq.write_table(rows, file))


def _duckdb_folder(folder: Path) -> Place:
    inner = folder / "parts" / "year=2026"
    inner.mkdir(parents=True)

    def write(rows: pa.Table) -> None:
        half = rows.num_rows // 2
        pq.write_table(rows.slice(0, half), inner / "a.parquet")
        pq.write_table(rows.slice(half), inner / "b.parquet")

    return Place(f"duckdb:{inner}", None, write)


MAKERS: Mapping[str, tuple[Callable[[Path], Place], ...]] = {
    "duckdb": (_duckdb_database, _duckdb_parquet, _duckdb_folder)
}
SLOW: Mapping[str, str] = {"duckdb": "SELECT sum(sqrt(a.range) * b.range) FROM range(1000000) a, range(1000000) b"}


@pytest.fixture(params=[maker for scheme in BACKENDS for maker in MAKERS[scheme]], ids=lambda maker: maker.__name__[1:])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    place: Place = request.param(tmp_path)
    place.write(ROWS)
    return place


@pytest.fixture
async def backend(place: Place) -> AsyncIterator[Backend]:
    backend = open_backend(place.url)
    yield backend
    await backend.close()


class Ask:
    """Statements over the place's table; {t} stands for it, {name!q} is left to the caller."""

    def __init__(self, backend: Backend, place: Place) -> None:
        self.backend, self.table = backend, backend.relation(place.table)

    async def __call__(self, sql: str, timeout_s: float = 20, **parameters: Any) -> list[tuple[Any, ...]]:
        found = await self.backend.fetch(sql.replace("{t}", self.table), parameters, timeout_s=timeout_s)
        return [tuple(row.values()) for row in found.to_pylist()]


@pytest.fixture
def ask(backend: Backend, place: Place) -> Ask:
    return Ask(backend, place)


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


# Values ---------------------------------------------------------------------------------------------------------------


async def test_every_column_is_told_with_the_type_that_a_field_would_declare(backend: Backend, place: Place) -> None:
    (table,) = await backend.inspect()
    assert {column.name: column.type for column in table.columns if column.name != "year"} == TYPES
    assert table.row_count == 4


async def test_a_column_that_never_held_a_value_is_a_text(backend: Backend, place: Place, ask: Ask) -> None:
    place.write(pa.table({"id": [1, 2], "reason": pa.nulls(2)}))
    (table,) = await backend.inspect()
    assert {column.name: column.type for column in table.columns}["reason"] == "string"
    assert await ask("SELECT id, reason FROM {t} WHERE reason = $wanted", wanted="late") == []
    assert await ask("SELECT reason, count(*) FROM {t} GROUP BY 1") == [(None, 2)]


async def test_every_value_comes_back_exactly_and_nulls_as_nulls(backend: Backend, ask: Ask) -> None:
    found = await backend.fetch(f"SELECT * FROM {ask.table} ORDER BY id", {}, timeout_s=20)
    for name in TYPES:
        given, back = ROWS[name].to_pylist(), found[name].to_pylist()
        assert [repr(value) for value in back] == [repr(value) for value in given], name


async def test_moments_come_in_utc_wherever_the_machine_stands(backend: Backend, ask: Ask) -> None:
    found = await backend.fetch(f'SELECT "moment" FROM {ask.table}', {}, timeout_s=20)
    assert found.schema.field("moment").type == pa.timestamp("us", "UTC")


@pytest.mark.parametrize("name", [name for name in TYPES if name not in ("double", "bytes")])
async def test_a_parameter_of_every_type_finds_its_row(ask: Ask, name: str) -> None:
    for row in ROWS.slice(0, 3).to_pylist():
        hits = await ask(f"SELECT id FROM {{t}} WHERE {quoted(name)} = $value", value=row[name])
        assert (row["id"],) in hits


@pytest.mark.parametrize("text", SQL_LOOKALIKES)
async def test_a_text_that_looks_like_sql_is_a_text(ask: Ask, text: str) -> None:
    """Case 41: values with quotes, backticks, comments and placeholders."""
    assert await ask("SELECT $value FROM {t} WHERE id = 1", value=text) == [(text,)]


@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_column_may_have_any_name(ask: Ask, name: str) -> None:
    """Cases 36, 38 and 41: Chinese names, reserved words, quotes and comments in names."""
    label = quoted(name)
    sql = (
        f"SELECT stored.{label} AS {label} FROM {{t}} AS stored WHERE stored.{label} >= 2 ORDER BY stored.{label} DESC"
    )
    assert await ask(sql) == [(3,), (2,)]


async def test_rows_keep_the_order_of_the_statement_and_its_limit(ask: Ask) -> None:
    assert await ask("SELECT id FROM {t} ORDER BY big DESC NULLS LAST LIMIT 3") == [(1,), (3,), (2,)]
    assert await ask("SELECT id FROM {t} ORDER BY text ASC NULLS LAST, id ASC") == [(1,), (2,), (3,), (4,)]


async def test_no_rows_keep_their_columns(backend: Backend, ask: Ask) -> None:
    found = await backend.fetch(f"SELECT * FROM {ask.table} WHERE id < 0", {}, timeout_s=20)
    assert found.num_rows == 0
    assert set(TYPES) <= set(found.column_names)


async def test_columns_are_profiled(backend: Backend, place: Place) -> None:
    numbers, texts = await backend.profile(place.table, ["年", "text"])
    assert (numbers.distinct, numbers.nulls, numbers.minimum, numbers.maximum) == (3, 1, 1, 3)
    assert set(texts.samples) == {"", "it's -- 退货率★", "ＡＢＣ"}
    assert await backend.count_distinct(place.table, ["flag", "small"]) == 4


# Change ---------------------------------------------------------------------------------------------------------------


async def test_the_version_changes_with_the_data_and_then_the_new_rows_are_read(
    backend: Backend, place: Place, ask: Ask
) -> None:
    before = await backend.version(place.table)
    assert await ask("SELECT count(*) FROM {t}") == [(4,)]
    assert await backend.version(place.table) == before
    place.write(pa.concat_tables([ROWS, ROWS]))
    assert await backend.version(place.table) != before
    assert await ask("SELECT count(*) FROM {t}") == [(8,)]


async def test_a_new_column_is_read_without_a_restart(backend: Backend, place: Place, ask: Ask) -> None:
    await ask("SELECT count(*) FROM {t}")
    place.write(ROWS.append_column("late", pa.array([1, 2, 3, 4])))
    await backend.version(place.table)
    assert await ask("SELECT sum(late) FROM {t}") == [(10,)]


async def test_two_backends_on_one_place_do_not_disturb_each_other(place: Place) -> None:
    first, second = open_backend(place.url), open_backend(place.url)
    assert await Ask(first, place)("SELECT count(*) FROM {t}") == [(4,)]
    assert await Ask(second, place)("SELECT count(*) FROM {t}") == [(4,)]
    await first.close()
    assert await Ask(second, place)("SELECT count(*) FROM {t}") == [(4,)]
    await second.close()


# Time -----------------------------------------------------------------------------------------------------------------


async def test_a_statement_is_stopped_when_its_time_is_up(backend: Backend, ask: Ask) -> None:
    budget_s = 1.0
    started = time.monotonic()
    with pytest.raises(TimeBudgetExceeded) as caught:
        await backend.fetch(SLOW[backend.dialect], {}, timeout_s=budget_s)
    assert time.monotonic() - started < budget_s * 1.1 + 0.25  # a busy machine wakes late
    assert caught.value.budget_ms == 1000
    assert caught.value.suggested_ms is not None
    assert caught.value.suggested_ms > 1000
    assert await ask("SELECT count(*) FROM {t}") == [(4,)]
    await _idle()


async def test_a_cancelled_statement_is_stopped_in_the_store(backend: Backend) -> None:
    with anyio.move_on_after(0.2) as scope:
        await backend.fetch(SLOW[backend.dialect], {}, timeout_s=60)
    assert scope.cancelled_caught
    await _idle()


async def test_no_statement_runs_on_that_was_cancelled_while_it_began(backend: Backend, ask: Ask) -> None:
    """Whatever the moment: an interrupt that comes before its statement must not be lost."""
    await ask("SELECT 1")
    for delay_us in range(0, 4_000, 100):
        with anyio.move_on_after(delay_us / 1e6):
            await backend.fetch(SLOW[backend.dialect], {}, timeout_s=60)
    await _idle()
    assert await ask("SELECT count(*) FROM {t}") == [(4,)]


async def test_waiting_for_a_place_and_being_slow_are_different_errors(backend: Backend, ask: Ask) -> None:
    """Case 26. Both end within the caller's budget."""
    await ask("SELECT 1")
    async with anyio.create_task_group() as group:
        for _ in range(100):
            group.start_soon(_ignoring_errors, backend, 60.0)
        await anyio.wait_all_tasks_blocked()
        started = time.monotonic()
        with pytest.raises(Busy):
            await ask("SELECT 1", timeout_s=0.2)
        assert time.monotonic() - started < 0.5
        group.cancel_scope.cancel()
    await _idle()


async def test_the_time_spent_waiting_is_part_of_the_budget(backend: Backend, ask: Ask) -> None:
    await ask("SELECT 1")
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(_ignoring_errors, backend, 0.5)
        await anyio.wait_all_tasks_blocked()
        started = time.monotonic()
        with pytest.raises((TimeBudgetExceeded, Busy)):
            await backend.fetch(SLOW[backend.dialect], {}, timeout_s=0.8)
        assert time.monotonic() - started < 0.8 * 1.1 + 0.25


async def _ignoring_errors(backend: Backend, timeout_s: float) -> None:
    try:
        await backend.fetch(SLOW[backend.dialect], {}, timeout_s=timeout_s)
    except (TimeBudgetExceeded, Busy):
        return


async def _idle() -> None:
    """Returns once this process computes nothing any more; fails where it goes on for 5 s."""
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        busy = time.process_time()
        await anyio.sleep(0.1)
        if time.process_time() - busy < 0.05:
            return
    pytest.fail("the store goes on computing")


# Lock -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{folder}/out.csv'",
        "COPY {t} TO '{place}/out.parquet'",
        "EXPORT DATABASE '{folder}/out'",
        "ATTACH '{folder}/other.duckdb'",
        "DETACH source",
        "SET threads = 1",
        "SET enable_external_access = true",
        "RESET enable_external_access",
        "LOAD httpfs",
        "INSTALL httpfs",
        "CREATE TEMP TABLE t2 AS SELECT 1",
        "CREATE MACRO f() AS 1",
        "INSERT INTO {t} SELECT * FROM {t}",
        "UPDATE {t} SET id = 0",
        "DELETE FROM {t}",
        "DROP TABLE {t}",
        "DROP VIEW data",
        "ALTER TABLE {t} ADD COLUMN c INT",
        "CHECKPOINT",
        "USE memory",
        "EXPLAIN ANALYZE SELECT 1",
        "SELECT 1; DROP VIEW data",
        "",
        "-- nothing",
    ],
)
async def test_nothing_but_one_select_reaches_the_store(ask: Ask, place: Place, tmp_path: Path, sql: str) -> None:
    before = sorted(os.walk(tmp_path))
    path = place.url.partition(":")[2].replace("'", "''")
    with pytest.raises(ValueError, match="one SELECT"):
        await ask(sql.replace("{folder}", str(tmp_path)).replace("{place}", path))
    assert await ask("SELECT count(*) FROM {t}") == [(4,)]
    assert sorted(os.walk(tmp_path)) == before


@pytest.mark.parametrize(
    "reader",
    ["read_csv('{file}')", "read_text('{file}')", "read_blob('{file}')", "'{file}'", "glob('{folder}/*')"],
)
async def test_no_select_reads_another_file(ask: Ask, tmp_path: Path, reader: str) -> None:
    secret = tmp_path.parent / f"{tmp_path.name}-secret.csv"
    secret.write_text("a\nsecret\n")
    written = reader.replace("{file}", str(secret).replace("'", "''")).replace("{folder}", str(tmp_path.parent))
    with pytest.raises((duckdb.Error, SourceUnavailable)):
        await ask(f"SELECT * FROM {written}")


# Errors ---------------------------------------------------------------------------------------------------------------


async def test_a_table_that_is_gone_is_an_unavailable_source(backend: Backend) -> None:
    with pytest.raises(SourceUnavailable) as caught:
        await backend.fetch(f"SELECT 1 FROM {backend.relation('absent')}", {}, timeout_s=5)
    assert "/" not in caught.value.source


async def test_a_store_that_is_gone_is_found_out_by_its_first_statement(tmp_path: Path) -> None:
    for url in (f"duckdb:{tmp_path}/absent.duckdb", f"duckdb:{tmp_path}/absent.parquet", f"duckdb:{tmp_path}"):
        backend = open_backend(url)
        with pytest.raises(SourceUnavailable):
            await backend.version(None)
        with pytest.raises(SourceUnavailable):
            await backend.fetch("SELECT 1", {}, timeout_s=5)
        await backend.close()


def test_a_scheme_that_no_backend_serves_is_an_unavailable_source() -> None:
    with pytest.raises(SourceUnavailable):
        open_backend("oracle://somewhere")


def test_every_backend_has_a_maker_and_a_slow_statement() -> None:
    assert set(MAKERS) == set(BACKENDS) == set(SLOW)
