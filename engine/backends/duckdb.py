"""DuckDB over a database file, a Parquet or CSV file, or a folder of Parquet files: read-only and locked down.

The lock is the second wall: only generated SELECTs reach a connection, and a connection can neither read other files
nor load, attach or set anything.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
import duckdb
import pyarrow as pa

from engine.backends.base import Backend, ColumnInfo, ColumnProfile, TableInfo
from engine.backends.duckdb_files import file_select, literal, quoted
from engine.errors import Busy, SourceUnavailable, TimeBudgetExceeded
from engine.query import Scalar

T = TypeVar("T")

_INTERRUPT_SHARE = 0.85  # an interrupt lands late by up to a fifth of a short budget
_CONCURRENT_STATEMENTS = 4  # DuckDB runs each on all cores already; more only delay each other
_SAMPLES = 50
_FILE_VIEW = "data"

_TYPES: Mapping[str, str] = {
    "VARCHAR": "string",
    "BOOLEAN": "boolean",
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INTEGER": "int32",
    "BIGINT": "int64",
    "HUGEINT": "decimal(38,0)",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINTEGER": "uint32",
    "UBIGINT": "uint64",
    "UHUGEINT": "decimal(38,0)",
    "FLOAT": "float32",
    "DOUBLE": "float64",
    "DATE": "date",
    "TIME": "time",
    "TIMESTAMP": "timestamp",
    "TIMESTAMP_S": "timestamp",
    "TIMESTAMP_MS": "timestamp",
    "TIMESTAMP_NS": "timestamp",
    "TIMESTAMP WITH TIME ZONE": "timestamptz",
    "BLOB": "binary",
    "UUID": "string",
}


class DuckDB:
    """`duckdb:PATH`, where PATH is a .duckdb/.db file, a .parquet or .csv file, or a folder of Parquet files."""

    dialect = "duckdb"

    def __init__(self, url: str) -> None:
        self._path = Path(url.partition(":")[2])
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._opening = threading.Lock()
        self._slots = anyio.Semaphore(_CONCURRENT_STATEMENTS)

    async def fetch(self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float) -> pa.Table:
        return await self._run(lambda cursor: _rows(cursor, sql, parameters), timeout_s=timeout_s)

    def relation(self, table: str | None) -> str:
        return quoted(table or _FILE_VIEW)

    async def version(self, table: str | None) -> str:
        return await anyio.to_thread.run_sync(self._stamp)

    async def inspect(self) -> tuple[TableInfo, ...]:
        return await self._run(_tables)

    async def profile(self, table: str | None, columns: Sequence[str]) -> tuple[ColumnProfile, ...]:
        relation = self.relation(table)
        return await self._run(lambda cursor: tuple(_profile(cursor, relation, column) for column in columns))

    async def count_distinct(self, table: str | None, columns: Sequence[str]) -> int:
        wanted = ", ".join(map(quoted, columns))
        sql = f"SELECT count(*) FROM (SELECT DISTINCT {wanted} FROM {self.relation(table)})"
        return await self._run(lambda cursor: _count(cursor, sql))

    async def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _run(self, work: Callable[[duckdb.DuckDBPyConnection], T], *, timeout_s: float = 60.0) -> T:
        """`work` on a cursor of its own in a worker thread; stopped in DuckDB on time-out and on cancellation.

        Waiting for a slot is bounded by the same time and ends in Busy: it asks for another remedy than a slow query.
        """
        await self._take_slot(timeout_s)
        try:
            with self._faults():
                cursor = (await anyio.to_thread.run_sync(self._connected)).cursor()
                return await _stoppable(cursor, work, timeout_s=timeout_s)
        finally:
            self._slots.release()

    async def _take_slot(self, timeout_s: float) -> None:
        with anyio.move_on_after(timeout_s):
            await self._slots.acquire()
            return
        raise Busy(retry_after_s=max(1, round(timeout_s)))

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """DuckDB's errors as ours. A wrong statement is a defect of the compiler and stays what it is."""
        try:
            yield
        except (
            duckdb.IOException,
            duckdb.FatalException,
            duckdb.CatalogException,
            duckdb.SerializationException,
        ) as error:
            raise SourceUnavailable(self._path.name, retry_after_s=30, detail=str(error)) from error
        except OSError as error:
            raise SourceUnavailable(self._path.name, retry_after_s=30, detail=str(error)) from error

    def _connected(self) -> duckdb.DuckDBPyConnection:
        with self._opening:
            if self._connection is None:
                try:
                    self._connection = _open(self._path)
                except duckdb.Error as error:  # no statement of ours has run yet: whatever fails is the file
                    raise SourceUnavailable(self._path.name, retry_after_s=30, detail=str(error)) from error
            return self._connection

    def _stamp(self) -> str:
        with self._faults():
            files = sorted(self._path.rglob("*.parquet")) if self._path.is_dir() else [self._path]
            stats = [file.stat() for file in files]
            return f"{len(files)}-{max(stat.st_mtime_ns for stat in stats)}-{sum(stat.st_size for stat in stats)}"


def _conforms(it: DuckDB) -> Backend:
    return it


def _open(path: Path) -> duckdb.DuckDBPyConnection:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    if path.is_file() and path.suffix in (".duckdb", ".db", ".ddb"):
        # Given at once, since a locked configuration takes no further settings.
        return duckdb.connect(
            str(path), read_only=True, config={"enable_external_access": "false", "lock_configuration": "true"}
        )
    connection = duckdb.connect(":memory:")
    # In this order: a folder may only be allowed while access is on, and nothing may be set after the lock.
    allowed = "allowed_directories" if path.is_dir() else "allowed_paths"
    connection.execute(f"SET {allowed} = [{literal(str(path.resolve()))}]")
    connection.execute(f"CREATE VIEW {_FILE_VIEW} AS {file_select(connection, path)}")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


async def _stoppable(
    cursor: duckdb.DuckDBPyConnection, work: Callable[[duckdb.DuckDBPyConnection], T], *, timeout_s: float
) -> T:
    def statement() -> T:
        try:
            return work(cursor)
        finally:
            cursor.close()

    timer = threading.Timer(timeout_s * _INTERRUPT_SHARE, cursor.interrupt)
    timer.start()
    try:
        return await anyio.to_thread.run_sync(statement, abandon_on_cancel=True)
    except duckdb.InterruptException as interrupted:
        budget_ms = round(timeout_s * 1000)
        raise TimeBudgetExceeded(budget_ms, suggested_ms=budget_ms * 4) from interrupted
    except anyio.get_cancelled_exc_class():
        cursor.interrupt()  # the abandoned thread ends with it and closes the cursor
        raise
    finally:
        timer.cancel()


def _rows(cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Scalar]) -> pa.Table:
    return cursor.sql(sql, params=dict(parameters)).to_arrow_table()


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _tables(cursor: duckdb.DuckDBPyConnection) -> tuple[TableInfo, ...]:
    columns: dict[str, list[ColumnInfo]] = {}
    described = cursor.execute(
        "SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()"
        " WHERE NOT internal AND schema_name = 'main' ORDER BY table_name, column_index"
    ).fetchall()
    for table, column, declared, nullable, comment in described:
        columns.setdefault(table, []).append(ColumnInfo(column, _field_type(declared), bool(nullable), comment or ""))
    return tuple(
        TableInfo(table, tuple(infos), _count(cursor, f"SELECT count(*) FROM {quoted(table)}"))
        for table, infos in columns.items()
    )


def _profile(cursor: duckdb.DuckDBPyConnection, relation: str, column: str) -> ColumnProfile:
    name = quoted(column)
    summary = cursor.execute(
        f"SELECT count(DISTINCT {name}), count(*) - count({name}), min({name}), max({name}) FROM {relation}"
    ).fetchone()
    assert summary is not None  # an aggregate without GROUP BY always yields a row
    frequent = cursor.execute(
        f"SELECT {name} FROM {relation} WHERE {name} IS NOT NULL GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT {_SAMPLES}"
    ).fetchall()
    distinct, nulls, minimum, maximum = summary
    return ColumnProfile(
        column, distinct, nulls, _scalar(minimum), _scalar(maximum), tuple(_scalar(value) for (value,) in frequent)
    )


def _scalar(value: object) -> Scalar:
    known = (str, int, float, bool, Decimal, date, datetime)
    return value if value is None or isinstance(value, known) else str(value)


def _field_type(declared: str) -> str:
    if declared.startswith("DECIMAL"):
        return declared.lower()
    if declared.startswith("ENUM"):
        return "string"
    return _TYPES.get(declared, "json")
