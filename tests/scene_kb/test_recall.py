"""What each word of a query weighs against a knowledge base."""

from pathlib import Path

import pytest

from scene_kb.asked import read
from scene_kb.embedders.base import Embedder
from scene_kb.index import open_index
from scene_kb.models import FieldCard, SceneCard
from scene_kb.resolver import HybridResolver
from scene_kb.terms import terms_of, text_to_embed
from scene_kb.view import View


@pytest.fixture(scope="module")
def view(embedder: Embedder, tmp_path_factory: pytest.TempPathFactory) -> View:
    plays = SceneCard(
        ref="PLAYS@1",
        titles=("Video plays",),
        purposes=("How long videos are watched",),
        fields=(
            FieldCard("play_10s", ("plays of 10 seconds",), (), role="metric"),
            FieldCard("average_age", ("average age of viewers",), (), role="metric"),
            FieldCard("total", ("total",), (), role="metric"),
            FieldCard("viewer_age", ("viewer age",), (), role="dimension"),
        ),
        dimensions=("video",),
        dimension_names=(("video",),),
    )
    index = open_index((plays,), Path(tmp_path_factory.mktemp("plays")), embedder)
    return HybridResolver(index, embedder).view(frozenset({"PLAYS@1"}))


def _weight(view: View, query: str, token: str) -> float:
    terms = terms_of(view, read(query))
    return float(terms.weights[terms.tokens.index(token)])


@pytest.mark.parametrize(
    ("query", "token"),
    [("top 10 videos", "10"), ("top 10 videos", "top"), ("average visits", "averag"), ("videos since 2010", "2010")],
)
def test_a_word_that_chooses_rows_weighs_nothing(view: View, query: str, token: str) -> None:
    assert _weight(view, query, token) == 0


@pytest.mark.parametrize(
    ("query", "token"), [("videos by 10 s plays", "10"), ("average age", "averag"), ("the total of videos", "total")]
)
def test_unless_the_rest_of_a_field_that_is_called_so_is_asked_for_too(view: View, query: str, token: str) -> None:
    assert _weight(view, query, token) > 0


def test_a_pair_that_only_joins_two_known_words_weighs_nothing(resolver: HybridResolver) -> None:
    view = resolver.view(frozenset({"QUERY_REFUND@1", "QUERY_CHANNEL_SPEND@1"}))
    assert _weight(view, "渠道退款", ":道退") == 0


def test_only_the_beginning_of_a_long_query_is_embedded(view: View) -> None:
    assert len(text_to_embed(view, read("plays of 10 seconds " * 90))) <= 400
