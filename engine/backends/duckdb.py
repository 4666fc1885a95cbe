"""DuckDB over a database file, a Parquet or CSV file, or a folder of Parquet files: read-only and locked down.

The lock is the second wall: only generated SELECTs reach a connection, and a connection can neither read other files
nor load, attach or set anything.
"""

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from time import monotonic, sleep
from typing import Any, Generic, TypeVar
from weakref import WeakSet

import anyio
import anyio.to_thread
import duckdb
import pyarrow as pa

from engine.backends.base import Backend, ColumnInfo, ColumnProfile, Reading, TableInfo
from engine.backends.duckdb_files import file_select, literal, quoted
from engine.errors import Busy, SourceUnavailable, TimeBudgetExceeded
from engine.query import Scalar

T = TypeVar("T")

_INTERRUPT_SHARE = 0.85  # an interrupt lands late by up to a fifth of a short budget
_INTERRUPT_AGAIN_S = 0.005
_HANDED_OVER = "max_streaming_buffer_size"  # what is buffered is lost when the time is up: 10 MB unless it is set
_BATCH_ROWS = 256  # rows that an unfilled batch holds are lost when the time is up; 64 take twice as long to read
_CONCURRENT_STATEMENTS = 4  # DuckDB runs each on all cores already; more only delay each other
_SAMPLES = 50
_FILE_VIEW, _DATABASE = "data", "source"

_IN_STREAMS: Mapping[str, type[duckdb.Error]] = {
    "INTERRUPT Error": duckdb.InterruptException,
    "IO Error": duckdb.IOException,
    "Out of Memory Error": duckdb.OutOfMemoryException,
    "Serialization Error": duckdb.SerializationException,
    "FATAL Error": duckdb.FatalException,
    "Invalid Error": duckdb.Error,
}

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
    "INTERVAL": "interval",
    "BIT": "string",
    "TIME WITH TIME ZONE": "string",
    '"NULL"': "string",  # no value is known, so that none can contradict it
}

# What Arrow would cut or turn around on the way: they are read as texts. Nested ones too, with all that is around them.
_NOT_IN_ARROW = re.compile(r"\b(?:UHUGEINT|BIT|INTERVAL|TIME WITH TIME ZONE)\b")


class DuckDB:
    """`duckdb:PATH`, where PATH is a .duckdb/.db file, a .parquet or .csv file, or a folder of Parquet files."""

    dialect = "duckdb"

    def __init__(self, url: str) -> None:
        self._path = Path(url.partition(":")[2])
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._opened_as: str | None = None
        self._opening = threading.Lock()
        self._slots = anyio.Semaphore(_CONCURRENT_STATEMENTS)
        self._statements: WeakSet[_Statement[Any]] = WeakSet()

    async def fetch(self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float) -> pa.Table:
        return await self._run(lambda cursor: _rows(cursor, sql, parameters), timeout_s=timeout_s)

    async def read(
        self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float, most_rows: int, most_bytes: int
    ) -> Reading:
        batches: list[pa.RecordBatch] = []

        def work(cursor: duckdb.DuckDBPyConnection) -> pa.Schema:
            cursor.execute(
                f"SET {_HANDED_OVER} = '1KB'"
            )  # rows are handed over as they come; a big scan takes a third longer
            stream = _selected(cursor, sql, parameters).to_arrow_reader(_BATCH_ROWS)
            _take(stream, batches, most_rows=most_rows, most_bytes=most_bytes)
            return stream.schema

        try:
            schema = await self._run(work, timeout_s=timeout_s)
        except (TimeBudgetExceeded, SourceUnavailable) as stopped:
            if not batches:
                raise
            return Reading(pa.Table.from_batches(batches), stopped)
        return Reading(pa.Table.from_batches(batches, schema), None)

    def relation(self, table: str | None) -> str:
        name = quoted(table or _FILE_VIEW)
        return f"{_DATABASE}.main.{name}" if _is_database(self._path) else name

    async def version(self, table: str | None) -> str:
        return await anyio.to_thread.run_sync(self._seen, abandon_on_cancel=True)  # a network's folder may be silent

    async def inspect(self) -> tuple[TableInfo, ...]:
        return await self._run(lambda cursor: _tables(cursor, self.relation))

    async def profile(self, table: str | None, columns: Sequence[str]) -> tuple[ColumnProfile, ...]:
        relation = self.relation(table)
        return await self._run(lambda cursor: tuple(_profile(cursor, relation, column) for column in columns))

    async def count_distinct(self, table: str | None, columns: Sequence[str]) -> int:
        wanted = ", ".join(map(quoted, columns))
        sql = f"SELECT count(*) FROM (SELECT DISTINCT {wanted} FROM {self.relation(table)})"
        return await self._run(lambda cursor: _count(cursor, sql))

    async def close(self) -> None:
        """Stops what still runs: DuckDB refuses to close a connection while a cursor of it is busy."""
        for statement in tuple(self._statements):
            statement.stop()
            while statement.is_running():
                await anyio.sleep(_INTERRUPT_AGAIN_S)
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    async def _run(self, work: Callable[[duckdb.DuckDBPyConnection], T], *, timeout_s: float = 60.0) -> T:
        """`work` on a cursor of its own in a worker thread; stopped in DuckDB on time-out and on cancellation.

        Waiting for a slot is bounded by the same time and ends in Busy: it asks for another remedy than a slow query.
        """
        deadline = monotonic() + timeout_s
        await self._take_slot(timeout_s)
        try:
            with self._faults():
                cursor = (await anyio.to_thread.run_sync(self._connected)).cursor()
                statement = _Statement(cursor, work)
                self._statements.add(statement)
                return await _stoppable(statement, timeout_s=deadline - monotonic())
        except duckdb.InterruptException as interrupted:
            budget_ms = round(timeout_s * 1000)
            raise TimeBudgetExceeded(budget_ms, suggested_ms=budget_ms * 4) from interrupted
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
            duckdb.OutOfMemoryException,
            duckdb.SerializationException,
        ) as error:
            raise SourceUnavailable(self._path.name, retry_after_s=30, detail=str(error)) from error
        except duckdb.Error as error:
            if type(error) is not duckdb.Error:
                raise
            # The bare class is a part of a file that cannot be decoded.
            raise SourceUnavailable(self._path.name, retry_after_s=30, detail=str(error)) from error
        except OSError as error:
            raise SourceUnavailable(self._path.name, retry_after_s=30, detail=str(error)) from error

    def _connected(self) -> duckdb.DuckDBPyConnection:
        with self._opening:
            if self._connection is None:
                self._opened_as = self._stamp()
                try:
                    self._connection = _open(self._path)
                except duckdb.Error as error:  # no statement of ours has run yet: whatever fails is the file
                    raise SourceUnavailable(self._path.name, retry_after_s=30, detail=str(error)) from error
            return self._connection

    def _seen(self) -> str:
        """The files' stamp. Where they are no longer those that were opened, the next statement opens them anew."""
        stamp = self._stamp()
        with self._opening:
            if stamp != self._opened_as:
                self._connection = None  # closed by whichever statement on it ends last
        return stamp

    def _stamp(self) -> str:
        with self._faults():
            files = sorted(self._path.rglob("*.parquet")) if self._path.is_dir() else [self._path]
            if not files:
                raise FileNotFoundError(f"{self._path} holds no Parquet file")
            stats = [
                (file.name, stat.st_ino, stat.st_mtime_ns, stat.st_size) for file in files for stat in [file.stat()]
            ]
            return hashlib.sha256(repr(stats).encode()).hexdigest()[:16]


def _conforms(it: DuckDB) -> Backend:
    return it


def _is_database(path: Path) -> bool:
    return path.suffix.lower() in (".duckdb", ".db", ".ddb")


def _open(path: Path) -> duckdb.DuckDBPyConnection:
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    # An instance of its own even for a database file, which is attached: DuckDB shares an instance that was opened by
    # path with all who open that path, and goes on reading the old file after it has been replaced.
    connection = duckdb.connect(":memory:")
    connection.execute("SET GLOBAL TimeZone = 'UTC'")  # else moments come in the zone of the machine
    # In this order: files are allowed while access is on, and nothing may be set after the lock.
    if _is_database(path):
        connection.execute(f"ATTACH {literal(str(path.resolve()))} AS {_DATABASE} (READ_ONLY)")
    else:
        allowed = "allowed_directories" if path.is_dir() else "allowed_paths"
        connection.execute(f"SET {allowed} = [{literal(str(path.resolve()))}]")
        connection.execute(f"CREATE VIEW {_FILE_VIEW} AS {file_select(connection, path)}")
    connection.execute(f"SET allowed_configs = ['{_HANDED_OVER}']")  # each cursor has its own
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


async def _stoppable(statement: "_Statement[T]", *, timeout_s: float) -> T:
    """Raises duckdb.InterruptException when the time is up."""
    timer = threading.Timer(max(0.0, timeout_s) * _INTERRUPT_SHARE, statement.stop)
    timer.start()
    try:
        return await anyio.to_thread.run_sync(statement.run, abandon_on_cancel=True)
    except anyio.get_cancelled_exc_class():
        statement.stop()  # the abandoned thread ends with it and closes the cursor
        raise
    finally:
        timer.cancel()


class _Statement(Generic[T]):
    """Work on a cursor that can be stopped from another thread, before it begins as well as while it runs."""

    def __init__(self, cursor: duckdb.DuckDBPyConnection, work: Callable[[duckdb.DuckDBPyConnection], T]) -> None:
        self._cursor, self._work = cursor, work
        self._changing = threading.Lock()
        self._stopped = self._running = False

    def run(self) -> T:
        with self._changing:
            if self._stopped:
                self._cursor.close()
                raise duckdb.InterruptException("stopped before it began")
            self._running = True
        try:
            return self._work(self._cursor)
        finally:
            with self._changing:
                self._running = False
                self._cursor.close()

    def is_running(self) -> bool:
        with self._changing:
            return self._running

    def stop(self) -> None:
        """Returns at once."""
        with self._changing:
            self._stopped = True
            if self._running:
                threading.Thread(target=self._interrupt, daemon=True).start()

    def _interrupt(self) -> None:
        """Until it ends: DuckDB forgets an interrupt that comes a moment before its statement begins."""
        while True:
            with self._changing:
                if not self._running:
                    return
                self._cursor.interrupt()
            sleep(_INTERRUPT_AGAIN_S)


def _rows(cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Scalar]) -> pa.Table:
    return _selected(cursor, sql, parameters).to_arrow_table()


def _selected(cursor: duckdb.DuckDBPyConnection, sql: str, parameters: Mapping[str, Scalar]) -> duckdb.DuckDBPyRelation:
    statements = cursor.extract_statements(sql)
    if [it.type for it in statements] != [duckdb.StatementType.SELECT]:
        raise ValueError("only one SELECT may reach a connection")
    found = cursor.sql(statements[0], params=dict(parameters))
    kinds = list(map(str, found.types))
    if any(map(_NOT_IN_ARROW.search, kinds)):
        found = found.project(", ".join(map(_as_arrow_holds_it, found.columns, kinds)))
    return found


def _as_arrow_holds_it(column: str, kind: str) -> str:
    name = quoted(column)
    return f"CAST({name} AS VARCHAR) AS {name}" if _NOT_IN_ARROW.search(kind) else name


def _take(stream: pa.RecordBatchReader, into: list[pa.RecordBatch], *, most_rows: int, most_bytes: int) -> None:
    """Batches until the bounds are crossed. Two rows come whatever they take: whether there is another must be seen."""
    rows = taken = 0
    try:
        for batch in stream:
            into.append(batch)
            rows += batch.num_rows
            taken += batch.nbytes
            if rows > most_rows or (taken > most_bytes and rows > 1):
                return
    except OSError as error:  # Arrow's word for whatever ended the stream; DuckDB's own word begins its text
        kind = next((kind for word, kind in _IN_STREAMS.items() if str(error).startswith(word)), duckdb.DataError)
        raise kind(str(error)) from error


def _count(cursor: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = cursor.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _tables(cursor: duckdb.DuckDBPyConnection, relation: Callable[[str], str]) -> tuple[TableInfo, ...]:
    columns: dict[str, list[ColumnInfo]] = {}
    described = cursor.execute(
        "SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns()"
        " WHERE NOT internal AND schema_name = 'main' ORDER BY table_name, column_index"
    ).fetchall()
    for table, column, declared, nullable, comment in described:
        columns.setdefault(table, []).append(ColumnInfo(column, _field_type(declared), bool(nullable), comment or ""))
    return tuple(
        TableInfo(table, tuple(infos), _count(cursor, f"SELECT count(*) FROM {relation(table)}"))
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
