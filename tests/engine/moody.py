"""A store whose rows change between calls, that is too slow for small budgets, and that fails for a while.

A backend like any other, over a table in DuckDB's memory; its clock is the time that it is given, so no test waits.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from engine.backends.base import Backend, ColumnProfile, Reading, TableInfo
from engine.dataset import Dataset
from engine.errors import SourceUnavailable, TimeBudgetExceeded
from engine.query import Scalar

_SCHEMA = pa.schema({"id": pa.int64(), "tag": pa.string(), "amount": pa.int64()})

Row = tuple[int, str | None, int | None]
"""id, tag, amount."""


def dataset() -> Dataset:
    fields = (
        {"name": "id", "role": "dimension", "type": "int64"},
        {"name": "tag", "role": "dimension", "type": "string"},
        {"name": "amount", "role": "metric", "type": "int64", "aggregation": "sum"},
    )
    sources = ({"name": "main", "url": "duckdb:moody"},)
    return Dataset.model_validate(
        {"api_no": "shop", "title": "Moody", "key": ("id",), "sources": sources, "fields": fields}
    )


@dataclass
class Moody:
    dialect = "duckdb"

    connection: duckdb.DuckDBPyConnection = field(default_factory=duckdb.connect)
    needs_ms: int = 0
    """A statement takes so long. With less time it yields `yields` rows."""
    failures: int = 0
    """So many statements fail, each after `yields` rows."""
    yields: int = 0
    changes: int = 0

    def hold(self, rows: Sequence[Row]) -> None:
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        held = pa.table([pa.array(it, kind) for it, kind in zip(columns, _SCHEMA.types, strict=True)], schema=_SCHEMA)
        self.connection.register("held", held)
        self.change("CREATE OR REPLACE TABLE data AS FROM held")

    def change(self, sql: str) -> None:
        self.connection.execute(sql)
        self.changes += 1

    async def fetch(self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float) -> pa.Table:
        reading = await self.read(sql, parameters, timeout_s=timeout_s, most_rows=1 << 30, most_bytes=1 << 30)
        if reading.stopped is not None:
            raise reading.stopped
        return reading.rows

    async def read(
        self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float, most_rows: int, most_bytes: int
    ) -> Reading:
        rows: pa.Table = self.connection.sql(sql, params=dict(parameters)).to_arrow_table()
        stopped: TimeBudgetExceeded | SourceUnavailable | None = None
        if self.failures:
            self.failures -= 1
            stopped = SourceUnavailable("main", retry_after_s=7)
        elif timeout_s * 1000 < self.needs_ms:
            stopped = TimeBudgetExceeded(round(timeout_s * 1000), None)
        if stopped is None:
            return Reading(rows, None)
        if not self.yields or not rows.num_rows:
            raise stopped
        return Reading(rows.slice(0, self.yields), stopped)

    def relation(self, table: str | None) -> str:
        return "data"

    async def version(self, table: str | None) -> str:
        return str(self.changes)

    async def inspect(self) -> tuple[TableInfo, ...]:
        return ()

    async def profile(self, table: str | None, columns: Sequence[str]) -> tuple[ColumnProfile, ...]:
        return ()

    async def count_distinct(self, table: str | None, columns: Sequence[str]) -> int:
        return 0

    async def close(self) -> None:
        self.connection.close()


def _conforms(it: Moody) -> Backend:
    return it
