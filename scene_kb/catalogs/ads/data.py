"""ads_wide.parquet: one made-up row for each day, ad and material, the same bytes whenever and wherever it is built.

"The same" holds for one version of numpy and pyarrow; another may draw or pack differently.
"""

import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from scene_kb.catalogs.ads.anomalies import Anomaly, plan_anomalies
from scene_kb.catalogs.ads.attributes import attributes
from scene_kb.catalogs.ads.measures import Measures, measure, rows_of
from scene_kb.catalogs.ads.world import DAYS, Ints, World, make_world

SEED = 20261130
FILE = "ads_wide.parquet"

_MONEY = pa.decimal128(18, 2)
_ROWS_A_GROUP = 32_768  # about 25 days: a query for one day then reads an eighth of the file


def build(folder: Path, *, days: int = DAYS) -> Path:
    """Writes the last `days` days into `folder` and returns the file. A reader never sees half of it."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f".{FILE}.{os.getpid()}"
    try:
        pq.write_table(
            table(days=days),
            unfinished,
            compression="zstd",
            row_group_size=_ROWS_A_GROUP,
            store_schema=False,  # readers then see plain text columns, however they are held here
            store_decimal_as_integer=True,  # 8 bytes a value, and what DuckDB reads fastest
        )
        return unfinished.replace(folder / FILE)
    finally:
        unfinished.unlink(missing_ok=True)


def table(*, days: int = DAYS) -> pa.Table:
    world, anomalies = world_and_anomalies()
    rows = rows_of(world, DAYS - days)
    measures = measure(world, anomalies, rows, np.random.default_rng([SEED, 2]))
    return pa.table({**attributes(world, rows, measures), **_columns(measures)})


def world_and_anomalies() -> tuple[World, tuple[Anomaly, ...]]:
    world = make_world(np.random.default_rng([SEED, 0]))
    return world, plan_anomalies(np.random.default_rng([SEED, 1]), world.ads)


def _columns(measures: Measures) -> dict[str, pa.Array]:
    counts = {name: pa.array(values.astype(np.int64)) for name, values in measures.counts.items()}
    return counts | {name: _money(values) for name, values in measures.fen.items()}


def _money(fen: Ints) -> pa.Array:
    """Exact decimals of 16 bytes from whole hundredths: the value below, its sign above."""
    words = np.stack([fen, fen >> 63], axis=1)
    return pa.Array.from_buffers(_MONEY, len(fen), [None, pa.py_buffer(np.ascontiguousarray(words))])
