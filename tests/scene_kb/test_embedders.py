"""The contract of every embedder that is installed, and what is said of the others."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from scene_kb.embedders.base import EMBEDDERS, Embedder, EmbedderUnavailable, open_embedder
from scene_kb.embedders.e5 import E5
from scene_kb.index import open_index
from scene_kb.resolver import HybridResolver
from tests.scene_kb.conftest import CARDS, EVERY
from tests.scene_kb.weights import minilm


@pytest.fixture(scope="module", params=["auto", "sentence-transformers"])
def embedder(request: pytest.FixtureRequest) -> Embedder:
    return open_embedder("auto" if request.param == "auto" else f"sentence-transformers:{minilm()}")


def test_rows_have_length_one_and_an_empty_text_is_zero(embedder: Embedder) -> None:
    vectors = embedder.embed(["渠道消耗", "", "spend by channel"], side="query")
    assert vectors.shape == (3, embedder.dimension)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx([1, 0, 1], abs=1e-5)


def test_a_text_has_one_vector_alone_and_among_others(embedder: Embedder) -> None:
    texts = ["渠道", "a much longer text about channels and spend", "广告"]
    together = embedder.embed(texts, side="document")
    alone = np.concatenate([embedder.embed([text], side="document") for text in texts])
    assert np.array_equal(together, alone)


def test_the_threads_of_the_default_embedder_sleep_while_they_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    E5().embed(["a query"], side="query")
    assert os.environ["OMP_WAIT_POLICY"] == "passive"


def test_an_index_of_any_embedder_finds_scenes(embedder: Embedder, tmp_path: Path) -> None:
    resolver = HybridResolver(open_index(CARDS, tmp_path, embedder), embedder)
    found = resolver.match("which flights left late, by route", visible=EVERY)
    assert found.candidates[0].ref == "QUERY_FLIGHT_DELAY@1"


def test_without_the_extra_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(EmbedderUnavailable) as refused:
        open_embedder("sentence-transformers:any")
    assert refused.value.remedy == "pip install 'sanbu[transformers]'"


@pytest.mark.parametrize("setting", ["word2vec", "", "http://127.0.0.1:9/v1"])
def test_a_setting_that_names_no_embedder_says_what_to_write(setting: str) -> None:
    with pytest.raises(EmbedderUnavailable) as refused:
        open_embedder(setting)
    assert refused.value.remedy


def test_an_unreachable_service_is_unavailable() -> None:
    with pytest.raises(EmbedderUnavailable):
        open_embedder("http://127.0.0.1:9/v1#model").embed(["x"], side="query")


def test_each_row_of_the_table_names_a_class() -> None:
    assert all(":" in place for place in EMBEDDERS.values())
