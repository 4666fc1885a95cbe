"""First pass over every visible scene: dense, keyword (BM25) and word-to-name scores, and which scenes go on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scene_kb.corpus import Ints
from scene_kb.keyword import keyword_scores
from scene_kb.nearest import chunk_scores, row_cosines
from scene_kb.terms import Terms
from scene_kb.view import Floats, View

CANDIDATES = 32
"""Scenes that go on to the second pass. On the development sets the right scene is among them in 99.7 %."""


@dataclass(frozen=True)
class Recalled:
    """Scores of every visible scene, by place, and the places that go on, ascending."""

    keyword: Floats
    """BM25 as a share of the best that any document could reach"""
    names: Floats
    """word-to-name, static part"""
    dense: Floats | None
    """(kinds, scenes) the best cosine a kind of chunk; -1 where the scene has none"""
    places: Ints


def recall(view: View, terms: Terms, vector: Floats | None, *, allowed: Ints) -> Recalled:
    """`allowed`: places that a hard filter leaves. The vector is left out where keywords decide."""
    names = _name_scores(view, terms)
    keyword = keyword_scores(view, terms, names)
    dense = None if vector is None else chunk_scores(view, vector)
    # A list without a hit does not vote: across languages keywords say nothing, and must not dilute the vectors.
    votes = [_z(each) for each in (keyword, names) if each.any()]
    if dense is not None:
        votes.append(_z(dense.max(axis=0)) * max(1, len(votes)))
    total = np.sum(votes, axis=0) if votes else np.zeros(len(view.scenes), np.float32)
    order = allowed[np.lexsort((allowed, -total[allowed]))]
    return Recalled(keyword, names, dense, np.sort(order[:CANDIDATES]).astype(np.int32))


def _name_scores(view: View, terms: Terms) -> Floats:
    lists, shares = view.postings
    total = np.zeros(len(view.scenes), np.float32)
    for row in range(len(terms.tokens)):
        best = np.zeros(len(view.scenes), np.float32)
        for column in np.flatnonzero(terms.likeness[row]):
            word = terms.words[column - 1]
            start, end = lists.starts[word], lists.starts[word + 1]
            places = lists.items[start:end]
            best[places] = np.maximum(best[places], terms.likeness[row, column] * shares[start:end])
        total += terms.weights[row] * best
    mass = float(terms.weights.sum())
    return np.asarray(total / mass if mass > 0 else total, np.float32)


def field_cosines(view: View, fields: Ints, vector: Floats) -> Floats:
    """(fields,)"""
    return row_cosines(view, view.corpus.field_rows[fields], vector)


def weighted(weights: Floats, met: Floats) -> Floats:
    """(t,) and (t, n) -> (n,) sums; column by column, because BLAS rounds a column differently beside others."""
    return np.asarray((weights[:, None] * met).sum(axis=0), np.float32)


def _z(scores: Floats) -> Floats:
    spread = float(scores.std())
    return np.asarray((scores - scores.mean()) / max(spread, 1e-9), np.float32)


def places_of(view: View, scenes: Sequence[int]) -> Ints:
    """Where the given scenes, all visible, stand in the view."""
    return np.searchsorted(view.scenes, np.asarray(scenes, np.int32)).astype(np.int32)
