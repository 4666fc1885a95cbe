"""The index on disk."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import lancedb
import numpy as np
import pytest
from numpy.typing import NDArray

from scene_kb.embedders.base import Embedder, Side
from scene_kb.index import open_index
from scene_kb.resolver import HybridResolver
from tests.scene_kb.conftest import CARDS, EVERY


class Counting:
    """The embedder given, which remembers what it was asked to embed."""

    def __init__(self, inner: Embedder) -> None:
        self._inner = inner
        self.name, self.dimension = inner.name, inner.dimension
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, side: Side) -> NDArray[np.float32]:
        self.texts += texts
        return self._inner.embed(texts, side=side)


def test_what_was_built_is_what_is_opened(tmp_path: Path, embedder: Embedder) -> None:
    built = open_index(CARDS, tmp_path, embedder)
    counting = Counting(embedder)
    opened = open_index(CARDS, tmp_path, counting)
    assert counting.texts == []
    assert (opened.cards, opened.rows, opened.version) == (built.cards, built.rows, built.version)
    assert np.array_equal(opened.vectors, built.vectors)


def test_each_text_is_a_row_that_says_what_it_stands_for(tmp_path: Path, embedder: Embedder) -> None:
    open_index(CARDS, tmp_path, embedder)
    rows = lancedb.connect(str(tmp_path)).open_table("texts").to_arrow().to_pylist()
    assert len({row["text"] for row in rows}) == len(rows)
    assert {kind for row in rows for kind in row["kinds"]} >= {"purpose", "question", "field"}
    first = CARDS[0]
    assert {tuple(row["dimensions"]) for row in rows if first.purposes[0] in row["text"]} == {first.dimensions}


def test_each_distinct_text_is_embedded_once_and_never_again(tmp_path: Path, embedder: Embedder) -> None:
    counting = Counting(embedder)
    open_index(CARDS, tmp_path, counting)
    assert len(counting.texts) == len(set(counting.texts))
    counting.texts.clear()
    changed = replace(CARDS[0], purposes=("完全不同的用途",))
    open_index((changed, *CARDS[1:]), tmp_path, counting)
    assert len(counting.texts) == 1


def test_two_builds_of_the_same_cards_rank_alike(tmp_path: Path, embedder: Embedder) -> None:
    first = open_index(CARDS, tmp_path / "a", embedder)
    open_index(CARDS[:2], tmp_path / "b", embedder)
    second = open_index(tuple(reversed(CARDS)), tmp_path / "b", embedder)
    for query in ("渠道消耗", "ads by channel", "延误"):
        assert HybridResolver(first, embedder).match(query, visible=EVERY) == HybridResolver(second, embedder).match(
            query, visible=EVERY
        )


def test_a_published_index_serves_until_a_text_changes(
    tmp_path: Path, embedder: Embedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = open_index(CARDS, tmp_path, embedder)
    assert open_index(reversed(CARDS), tmp_path, embedder).version == first.version
    untold = (replace(CARDS[0], filters=("nothing that is embedded",)), *CARDS[1:])
    assert open_index(untold, tmp_path, embedder).version == first.version
    assert open_index(untold, tmp_path, embedder).by_ref[CARDS[0].ref] == untold[0]
    changed = open_index((replace(CARDS[0], purposes=("完全不同的用途",)), *CARDS[1:]), tmp_path, embedder)
    assert changed.version > first.version
    monkeypatch.setattr("scene_kb.index.field_text", lambda field: f"field {field.name}")
    assert open_index(changed.cards, tmp_path, embedder).version > changed.version


def test_vectors_of_another_embedder_are_not_taken_over(tmp_path: Path, embedder: Embedder) -> None:
    first = open_index(CARDS[:1], tmp_path, embedder)
    other = Counting(embedder)
    other.name = "another"
    assert open_index(CARDS[:1], tmp_path, other).version > first.version
    assert len(other.texts) == len(first.rows)
    with pytest.raises(ValueError, match="another"):
        HybridResolver(first, other)


def test_progress_ends_at_the_number_of_texts(tmp_path: Path, embedder: Embedder) -> None:
    seen: list[tuple[int, int]] = []
    open_index(CARDS, tmp_path, embedder, progress=lambda done, total: seen.append((done, total)))
    assert seen[0][0] == 0
    assert seen[-1][0] == seen[-1][1] > 0
