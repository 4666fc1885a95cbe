"""Large knowledge bases: what an index finds is scored as if everything had been looked through.

A few scenes stand for many: the sizes from which the indexes are used are arguments here.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from scene_kb.asked import read
from scene_kb.embedders.base import Embedder
from scene_kb.index import Index, open_index
from scene_kb.keyword import keyword_scores
from scene_kb.models import SceneCard
from scene_kb.nearest import chunk_scores
from scene_kb.resolver import HybridResolver
from scene_kb.terms import Terms, terms_of
from scene_kb.view import Floats, View
from scripts.bench_scale import questions, scenes, share_found

SCENES = 150
CARDS = tuple(scenes(SCENES, fields=12, seed=3))
ASKED = tuple(questions(CARDS, count=25, seed=3))


@pytest.fixture(scope="module")
def index(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> Index:
    return open_index(CARDS, Path(tmp_path_factory.mktemp("large")), embedder, searched_from=0)


@pytest.fixture(scope="module")
def resolver(index: Index, embedder: Embedder) -> HybridResolver:
    return HybridResolver(index, embedder)


@pytest.fixture(scope="module", params=["everyone", "a narrow role"])
def view(resolver: HybridResolver, request: pytest.FixtureRequest) -> View:
    refs = [card.ref for card in CARDS]
    return resolver.view(frozenset(refs if request.param == "everyone" else refs[::3]))


def _terms(view: View, query: str) -> Terms:
    return terms_of(view, read(query))


def _names(view: View) -> Floats:
    return np.ones(len(view.scenes), np.float32)


@pytest.mark.parametrize("query", ASKED[:8])
def test_a_scene_found_by_full_text_has_the_score_that_it_has_in_memory(view: View, query: str) -> None:
    terms = _terms(view, query)
    found = keyword_scores(view, terms, _names(view), in_memory=0)
    every = keyword_scores(view, terms, _names(view))
    hit = found > 0
    assert hit.any()
    np.testing.assert_array_equal(found[hit], every[hit])


@pytest.mark.parametrize("query", ASKED[:8])
def test_a_chunk_found_by_the_vector_index_has_its_exact_cosine(
    view: View, resolver: HybridResolver, query: str
) -> None:
    vector = resolver.vector(view, read(query))
    found, every = chunk_scores(view, vector, in_memory=0), chunk_scores(view, vector)
    hit = found > -1
    assert hit.any()
    np.testing.assert_array_equal(found[hit], every[hit])


def test_full_text_search_finds_the_scenes_that_bm25_puts_first(view: View) -> None:
    assert share_found([_both_keyword(view, query) for query in ASKED]) >= 0.97


def test_the_vector_index_finds_the_scenes_that_are_nearest(view: View, resolver: HybridResolver) -> None:
    assert share_found([_both_dense(view, resolver, query) for query in ASKED]) >= 0.95


def test_two_builds_rank_alike_byte_for_byte(index: Index, embedder: Embedder, tmp_path: Path) -> None:
    again = open_index(CARDS, tmp_path, embedder, searched_from=0)
    visible = frozenset(index.by_ref)
    first, second = HybridResolver(index, embedder), HybridResolver(again, embedder)
    for query in ASKED[:5]:
        assert repr(first.match(query, visible=visible)) == repr(second.match(query, visible=visible))


def test_a_published_index_is_searched_after_it_is_opened_again(
    index: Index, embedder: Embedder, tmp_path: Path
) -> None:
    cards: Sequence[SceneCard] = CARDS[:20]
    open_index(cards, tmp_path, embedder, searched_from=0)
    opened = open_index(cards, tmp_path, embedder, searched_from=0)
    assert opened.search is not None
    rows, _ = opened.search.with_words(["discount"], 10)
    texts = {row: text for text, row in opened.rows.items()}
    assert len(rows)
    assert all("discount" in texts[int(row)] for row in rows)


def _both_keyword(view: View, query: str) -> tuple[Floats, Floats]:
    terms = _terms(view, query)
    return keyword_scores(view, terms, _names(view), in_memory=0), keyword_scores(view, terms, _names(view))


def _both_dense(view: View, resolver: HybridResolver, query: str) -> tuple[Floats, Floats]:
    vector = resolver.vector(view, read(query))
    found, every = chunk_scores(view, vector, in_memory=0), chunk_scores(view, vector)
    return np.asarray(found.max(axis=0)), np.asarray(every.max(axis=0))
