"""Search in a published LanceDB table of texts, for knowledge bases too large to be looked through in memory.

What it finds are candidates; they are scored exactly by who asked.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int32]

_PROBED = 0.1
"""Share of the partitions that are looked into."""


class Search:
    """Over a table with the columns row, words (tokens apart by spaces), whole (stands for a scene) and vector."""

    def __init__(self, table: Any, texts: int) -> None:
        self._table = table
        self._probes = max(1, round(_partitions(texts) * _PROBED))

    def with_words(self, words: Sequence[str], most: int) -> tuple[Rows, NDArray[np.float32]]:
        """Rows of texts that hold some of the words, and how well they fit, by full-text search."""
        query = self._table.search(" ".join(words), query_type="fts", fts_columns="words")
        found = query.select(["row", "_score"]).limit(most).to_arrow()
        return found["row"].to_numpy().astype(np.int32), found["_score"].to_numpy().astype(np.float32)

    def nearest(self, vector: NDArray[np.float32], most: int) -> Rows:
        """Rows of texts that stand for whole scenes, near the vector by cosine."""
        query = self._table.search(vector).distance_type("cosine").nprobes(self._probes).where("whole", prefilter=True)
        found = query.select(["row", "_distance"]).limit(most).to_arrow()
        return np.asarray(found["row"].to_numpy(), np.int32)


def make_searchable(table: Any, texts: int) -> None:
    """Adds both indexes."""
    from lancedb.index import FTS, IvfFlat

    plain = FTS(
        base_tokenizer="whitespace",
        lower_case=False,
        stem=False,
        remove_stop_words=False,
        ascii_folding=False,
        max_token_length=None,
    )
    table.create_index("words", config=plain)
    table.create_index("vector", config=IvfFlat(distance_type="cosine", num_partitions=_partitions(texts)))


def _partitions(texts: int) -> int:
    return max(1, round(math.sqrt(texts)))
