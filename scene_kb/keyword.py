"""Keyword recall: BM25 by rank-bm25 over the scenes that share a word with the query or, in large knowledge bases, over
those that a full-text index finds.
"""

import numpy as np
from rank_bm25 import BM25Okapi

from scene_kb.corpus import Ints
from scene_kb.search import Search
from scene_kb.terms import Terms
from scene_kb.view import Floats, View

IN_MEMORY = 20_000
"""Scenes up to which rank-bm25 holds all documents: 250 MB, made in 3 s. It scores only some, so time sets no bound."""
_SCORED = 2000
"""Most scenes that are scored for one query: those that share the query's rarest words."""
_FOUND = 1000
"""Texts that the index is asked for."""
_SCORED_OF_FOUND = 200
"""Scenes with the best of these texts that are scored: to count the words of one takes a tenth of a millisecond."""


def keyword_scores(view: View, terms: Terms, names: Floats, *, in_memory: int = IN_MEMORY) -> Floats:
    """(scenes,) BM25 as a share of the best that any document could reach. `names`: (scenes,) word-to-name scores."""
    scores = np.zeros(len(view.scenes), np.float32)
    search = view.index.search
    if search is None or len(view.scenes) <= in_memory:
        hit = _best(names, _SCORED)
        bm25, documents = view.bm25, hit
    else:
        hit = _best(_found(view, search, terms), _SCORED_OF_FOUND)
        bm25, documents = _over(view, hit), np.arange(len(hit), dtype=np.int32)
    if not len(hit) or not terms.tokens:
        return scores
    best = sum(max(bm25.idf.get(token, view.unknown_idf), 0.0) for token in terms.tokens) * (bm25.k1 + 1)
    scores[hit] = np.asarray(bm25.get_batch_scores(list(terms.tokens), documents.tolist()), np.float32)
    return np.asarray(np.clip(scores / max(best, 1e-6), 0, None), np.float32)


def _best(scores: Floats, most: int) -> Ints:
    """The places with a score, or the best of them; ascending or by score."""
    hit = np.flatnonzero(scores)
    if len(hit) > most:
        hit = hit[np.lexsort((hit, -scores[hit]))[:most]]
    return hit.astype(np.int32)


def _found(view: View, search: Search, terms: Terms) -> Floats:
    """(scenes,) how much of the words stands in each scene's texts, by the index's own counting."""
    words = tuple(view.corpus.vocabulary)
    rows, worth = search.with_words([words[word] for word in terms.words], _FOUND)
    held = view.places_of_row.take(rows)
    return np.bincount(held.items, worth[held.owners()], minlength=len(view.scenes)).astype(np.float32)


def _over(view: View, places: Ints) -> BM25Okapi:
    """BM25 of some scenes with the statistics of all."""
    some = BM25Okapi([view.corpus.documents[scene] or ("",) for scene in view.scenes[places]] or [("",)])
    some.idf, some.avgdl = view.bm25_idf, view.mean_length
    return some
