"""Stores that do not give all their rows: one that computes for long, one whose file is broken near its end.

Both are DuckDB's own: a view whose first rows come at once and whose others cost work, and a damaged Parquet file.
"""

from collections.abc import Mapping
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from engine.dataset import Dataset

ROWS = 1_000_000
QUICK = 4_096
"""So many rows of the slow view come at once; the others take ten seconds and more, a count of them no time."""

_WORK = "list_sum(list_transform(range(500), lambda x: sqrt(x + n)))"


def slow(folder: Path) -> Dataset:
    """Its rows come in descending order of their key, so that what comes first is not what stands first."""
    file = folder / "slow.duckdb"
    with duckdb.connect(file) as connection:
        connection.execute(
            f"CREATE VIEW numbers AS SELECT {ROWS} - n AS id, CASE WHEN n < {QUICK} THEN 0.0 ELSE {_WORK} END AS worked"
            f" FROM range({ROWS}) AS counted(n)"
        )
    return _dataset({"url": f"duckdb:{file}", "table": "numbers"})


def broken(folder: Path) -> Dataset:
    """The last of forty row groups cannot be decoded."""
    file = folder / "broken.parquet"
    rows = pa.table({"id": range(20_000), "text": ["x" * 100] * 20_000})
    pq.write_table(rows, file, row_group_size=500)
    last = pq.read_metadata(file).row_group(39).column(0)
    damaged = bytearray(file.read_bytes())
    begin = last.dictionary_page_offset or last.data_page_offset
    damaged[begin : begin + 200] = b"\xee" * 200
    file.write_bytes(damaged)
    return _dataset({"url": f"duckdb:{file}"})


def _dataset(source: Mapping[str, str]) -> Dataset:
    fields = (
        {"name": "id", "role": "dimension", "type": "int64"},
        {"name": "text", "role": "dimension", "type": "string"},
        {"name": "worked", "role": "metric", "type": "float64", "aggregation": "sum"},
    )
    sources = ({"name": "main", **source},)
    return Dataset.model_validate(
        {"api_no": "shop", "title": "Numbers", "key": ("id",), "sources": sources, "fields": fields}
    )
