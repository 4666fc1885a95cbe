"""A reranker moves what the ranking is not sure of, and nothing else; and what is said where one cannot be loaded."""

import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from scene_kb.embedders.base import Embedder
from scene_kb.index import Index, open_index
from scene_kb.models import FieldCard, SceneCard
from scene_kb.rerankers.base import RERANKERS, Reranker, RerankerUnavailable, open_reranker
from scene_kb.rerankers.texts import card_text
from scene_kb.resolver import HybridResolver
from tests.scene_kb.conftest import CARDS, EVERY
from tests.scene_kb.weights import minilm

UNSURE = "clicks"
"""Two scenes hold it."""


class Counting:
    """Scores a text by how often it says a word; keeps what it was given."""

    def __init__(self, word: str) -> None:
        self.name = f"counting/{word}"
        self.read: list[str] = []
        self._word = word

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        self.read += texts
        return np.array([text.lower().count(self._word) for text in texts], np.float32)


def _conforms(it: Counting) -> Reranker:
    return it


def with_reranker(index: Index, embedder: Embedder, reranker: Reranker | None) -> HybridResolver:
    return HybridResolver(index, embedder, reranker=reranker)


def refs(resolver: HybridResolver, query: str, visible: frozenset[str] = EVERY) -> list[str]:
    return [it.ref for it in resolver.match(query, visible=visible).candidates]


def test_it_moves_a_scene_forward_and_the_trace_shows_by_how_much(index: Index, embedder: Embedder) -> None:
    plain = with_reranker(index, embedder, None).match(UNSURE, visible=EVERY)
    assert not plain.decisive
    second = plain.candidates[1]
    word = {"QUERY_CHANNEL_AD@1": "ads within", "QUERY_CHANNEL_SPEND@1": "impressions"}[second.ref]
    read = with_reranker(index, embedder, Counting(word)).match(UNSURE, visible=EVERY)
    assert read.candidates[0].ref == second.ref
    assert read.candidates[0].scores["reranker"] > 1
    assert "reranker" not in second.scores
    confidences = [it.confidence for it in read.candidates]
    assert confidences == sorted(confidences, reverse=True)
    assert 0 <= confidences[0] <= 1


def test_one_that_prefers_nothing_changes_neither_order_nor_confidence(index: Index, embedder: Embedder) -> None:
    plain = with_reranker(index, embedder, None).match(UNSURE, visible=EVERY)
    read = with_reranker(index, embedder, Counting("no text says this")).match(UNSURE, visible=EVERY)
    assert [(it.ref, it.confidence) for it in read.candidates] == [(it.ref, it.confidence) for it in plain.candidates]
    assert (read.verdict, read.decisive) == (plain.verdict, plain.decisive)


def test_a_decisive_match_is_not_read_again(index: Index, embedder: Embedder) -> None:
    reranker = Counting("refund")
    found = with_reranker(index, embedder, reranker).match("departure delay by route", visible=EVERY)
    assert found.decisive
    assert not reranker.read


def test_it_reads_the_first_eight_at_most_and_no_hidden_scene(embedder: Embedder, tmp_path: Path) -> None:
    field = FieldCard("spend", ("spend",), role="metric")
    cards = tuple(SceneCard(f"S{n:02}@1", (f"Spend report {n}",), (field,), ("spend of channels",)) for n in range(20))
    index = open_index(cards, tmp_path, embedder)
    reranker = Counting("report 3")
    visible = frozenset(card.ref for card in cards) - {"S03@1"}
    with_reranker(index, embedder, reranker).match("spend report", visible=visible)
    assert len(reranker.read) == 8
    assert not any("report 3." in text for text in reranker.read)


def test_the_same_query_gives_the_same_match(index: Index, embedder: Embedder) -> None:
    resolver = with_reranker(index, embedder, Counting("ads"))
    assert resolver.match(UNSURE, visible=EVERY) == resolver.match(UNSURE, visible=EVERY)


def test_a_text_holds_what_tells_scenes_apart_in_the_querys_language() -> None:
    card = next(card for card in CARDS if card.ref == "QUERY_AD_ANOMALY@1")
    budget = next(field for field in card.fields if field.name == "budget")
    assert card_text(card, [budget], chinese=False) == (
        "Ad spend anomalies. Ads whose spend jumped or fell against the day before."
        " ad. spend, spend day over day. budget"
    )
    assert card_text(card, [budget], chinese=True) == (
        "广告消耗异常排查. 找出消耗比前一天突增或突降的广告. 广告. 消耗, 消耗日环比. 预算"
    )


def test_a_text_is_short_however_much_a_scene_says() -> None:
    card = replace(CARDS[0], purposes=("spend " * 1000,))
    assert len(card_text(card, card.fields, chinese=False)) <= 400


def test_fields_stand_within_their_tables() -> None:
    fields = (FieldCard("a", ("age",), group="singer"), FieldCard("b", ("name",), group="singer"))
    card = SceneCard("concerts@1", ("concerts",), fields, groups=("singer",))
    assert card_text(card, fields, chinese=False) == "concerts. singer: age, name"


def test_no_setting_is_no_reranker() -> None:
    assert open_reranker("") is None


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(RerankerUnavailable) as refused:
        open_reranker("cross-encoder:any")
    assert refused.value.remedy == "pip install 'sanbu[transformers]'"


@pytest.mark.parametrize("setting", ["colbert:x", "cross-encoder", "cross-encoder:", "cross-encoder:/nowhere"])
def test_a_setting_that_names_no_reranker_says_what_to_do(setting: str) -> None:
    with pytest.raises(RerankerUnavailable) as refused:
        open_reranker(setting)
    assert refused.value.remedy


def test_each_row_of_the_table_names_a_class() -> None:
    assert all(":" in place for place in RERANKERS.values())


def test_an_embedding_model_is_refused_because_its_scores_would_be_random() -> None:
    with pytest.raises(RerankerUnavailable, match="does not score pairs"):
        open_reranker(f"cross-encoder:{minilm()}")


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Reranker:
    """A few steps of the script that trains one: enough to tell refunds from flights."""
    model = minilm()
    pytest.importorskip("scipy", reason="the script that trains needs scipy: scripts/test --all installs it")
    from scene_kb.pretrained import load
    from scripts.learn.cross_encoder import TOKENS, List, train

    refunds, flights = (card_text(CARDS[at], CARDS[at].fields, chinese=False) for at in (3, 4))
    lists = [List(query, (refunds, flights)) for query in ("refund rate by channel", "why were orders refunded")]
    lists += [List(query, (flights, refunds)) for query in ("departure delay by route", "which flights were late")]
    encoder = load("CrossEncoder", model, num_labels=1, max_length=TOKENS)
    train(lists, encoder, epochs=16)
    folder = tmp_path_factory.mktemp("cross-encoder")
    encoder.save_pretrained(str(folder))
    reranker = open_reranker(f"cross-encoder:{folder}")
    assert reranker is not None
    return reranker


def test_a_trained_one_prefers_what_it_learned(trained: Reranker, index: Index, embedder: Embedder) -> None:
    refunds, flights = (card_text(CARDS[at], CARDS[at].fields, chinese=False) for at in (3, 4))
    for query, better, worse in (("refund amounts", refunds, flights), ("arrival delay", flights, refunds)):
        scores = trained.scores(query, [worse, better])
        assert scores[1] > scores[0]
    assert refs(with_reranker(index, embedder, trained), UNSURE)


def test_a_text_has_one_score_alone_among_others_and_in_any_thread(trained: Reranker) -> None:
    texts = ["渠道", "a much longer text about channels, spend, clicks and a great deal more than that", "ads"]
    together = trained.scores("spend by channel", texts)
    with ThreadPoolExecutor(3) as pool:
        alone = list(pool.map(lambda text: trained.scores("spend by channel", [text]), texts))
    assert np.array_equal(together, np.concatenate(alone))
    assert trained.scores("spend", []).shape == (0,)
