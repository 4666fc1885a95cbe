"""Dense recall: the best cosine of each visible scene's chunks, of every one or, in large knowledge bases, of those
that an approximate index finds.
"""

import numpy as np

from scene_kb.corpus import CHUNK_KINDS, Ints
from scene_kb.view import Floats, View

IN_MEMORY = 100_000
"""Chunks up to which all cosines are computed: 25 ms there, as much as the query's own vector; an index takes 10."""
_FOUND = 1000
"""Chunks that the index is asked for."""
_SAMPLED = 4000
"""Other chunks whose cosines are computed too, so that mean and deviation over the scenes are those of all."""


def chunk_scores(view: View, vector: Floats, *, in_memory: int = IN_MEMORY) -> Floats:
    """(kinds, scenes) the best cosine of each kind of chunk; -1 where a scene has none, or none was found.

    Cosines are exact whether or not the chunks were found approximately.
    """
    chunks, search = view.chunks, view.index.search
    best = np.full((len(CHUNK_KINDS), len(view.scenes)), -1, np.float32)
    if search is None or len(chunks.rows) <= in_memory:
        np.maximum.at(best, (chunks.kinds, chunks.places), cosines(view.chunk_vectors, vector))
        return best
    wanted = np.zeros(len(view.index.vectors), bool)
    wanted[search.nearest(vector, _FOUND)] = True
    wanted[chunks.rows[:: max(1, len(chunks.rows) // _SAMPLED)]] = True
    chosen = np.flatnonzero(wanted[chunks.rows])
    scores = row_cosines(view, chunks.rows[chosen], vector)
    np.maximum.at(best, (chunks.kinds[chosen], chunks.places[chosen]), scores)
    return best


def row_cosines(view: View, rows: Ints, vector: Floats) -> Floats:
    """(rows,) Texts that several scenes share are read once."""
    distinct, inverse = np.unique(rows, return_inverse=True)
    return cosines(view.index.vectors[distinct].astype(np.float32), vector)[inverse]


def cosines(vectors: Floats, vector: Floats) -> Floats:
    """(n, dim) unit rows -> (n,). Row by row, because BLAS rounds a row differently beside others, and a hidden scene
    must not move even a last digit.
    """
    return np.asarray(np.vecdot(vectors, vector), np.float32)
