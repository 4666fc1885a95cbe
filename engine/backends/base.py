"""What the engine may rely on in every store, and the table that opens one by the scheme of its url.

A backend runs generated SELECTs and tells what it holds. It knows no dataset, no caller and no cache.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pkgutil import resolve_name
from typing import Protocol

import pyarrow as pa

from engine.errors import SourceUnavailable, TimeBudgetExceeded
from engine.query import Scalar

BACKENDS: Mapping[str, str] = {
    "duckdb": "engine.backends.duckdb:DuckDB",
}


@dataclass(frozen=True)
class ColumnInfo:
    name: str
    type: str
    """As a dataset field would declare it; `json` for nested values. Or `interval`, which no field can be."""
    nullable: bool
    comment: str


@dataclass(frozen=True)
class TableInfo:
    name: str
    columns: tuple[ColumnInfo, ...]
    row_count: int


@dataclass(frozen=True)
class ColumnProfile:
    """A column's values in short. `samples` are its most frequent values, most frequent first, at most 50."""

    name: str
    distinct: int
    nulls: int
    minimum: Scalar
    maximum: Scalar
    samples: tuple[Scalar, ...]


@dataclass(frozen=True)
class Reading:
    """The first rows of a SELECT, in its order, and what ended it before the rows or the bounds did."""

    rows: pa.Table
    stopped: TimeBudgetExceeded | SourceUnavailable | None


class Backend(Protocol):
    """One opened store. Safe for concurrent calls; whoever opened it closes it."""

    dialect: str
    """The sqlglot dialect that its statements are written in."""

    async def fetch(self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float) -> pa.Table:
        """All rows of one SELECT, in its order; moments in UTC. Parameters are named in the SQL as $name.

        When `timeout_s` is over, or the task is cancelled, the statement is stopped in the store. Waiting for a place
        counts, and ends in Busy when it takes all of the time.
        Raises TimeBudgetExceeded, Busy, SourceUnavailable, or ValueError for anything but one SELECT.
        """
        ...

    async def read(
        self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float, most_rows: int, most_bytes: int
    ) -> Reading:
        """The rows of one SELECT as the store yields them, until they are more than `most_rows` or `most_bytes`.

        What is over the bounds comes along, so that it can be seen; it is no more than one batch. When the time is up
        or the store fails, the rows that came before are the answer. Raises as `fetch` does where none came.
        """
        ...

    def relation(self, table: str | None) -> str:
        """The FROM item for a dataset's table, as SQL of this dialect."""
        ...

    async def version(self, table: str | None) -> str:
        """A text that changes when the table's data does. Raises SourceUnavailable."""
        ...

    async def inspect(self) -> tuple[TableInfo, ...]:
        """Every table with its columns, in the store's order. Raises SourceUnavailable."""
        ...

    async def profile(self, table: str | None, columns: Sequence[str]) -> tuple[ColumnProfile, ...]:
        """The named columns' values in short. Raises SourceUnavailable."""
        ...

    async def count_distinct(self, table: str | None, columns: Sequence[str]) -> int:
        """How many different combinations of the columns exist. Raises SourceUnavailable."""
        ...

    async def close(self) -> None: ...


def open_backend(url: str) -> Backend:
    """The backend for `url`. Opens no connection yet, so that a dead store does not stop the others.

    Raises SourceUnavailable for a scheme that no backend serves.
    """
    scheme = url.partition(":")[0].lower()
    if scheme not in BACKENDS:
        raise SourceUnavailable(
            url, retry_after_s=0, detail=f"no backend for '{scheme}'; there are {', '.join(BACKENDS)}"
        )
    backend: Backend = resolve_name(BACKENDS[scheme])(url)
    return backend
