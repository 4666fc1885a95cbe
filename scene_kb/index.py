"""The retrieval index: the vectors of all texts of the cards, in one LanceDB table, published by moving one tag.

Each distinct text is one row and is embedded once; a rebuild takes over the vectors of texts that it already knows.
Readers hold what they opened in memory and see a newer version when they open again.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.folding import fold
from scene_kb.embedders.base import Embedder
from scene_kb.models import FieldCard, SceneCard
from scene_kb.search import Search, make_searchable
from scene_kb.text import tokens

os.environ.setdefault("LANCEDB_LOG", "error")  # it warns on stderr of every table that does not exist yet

_TABLE = "texts"
_TAG = "published"
_BATCH = 512
SEARCHED_FROM = 60_000
"""Distinct texts from which the table is made searchable; below, everything is looked through in memory."""

Progress = Callable[[int, int], None]
"""Called with (texts embedded, texts to embed)."""


@dataclass(frozen=True)
class Chunk:
    """One embedded text of a scene. Kinds: purpose, question, parameters, group, field."""

    kind: str
    text: str


@dataclass(frozen=True)
class _Uses:
    """What a text stands for, over all cards that have it."""

    kinds: set[str]
    dimensions: set[str]


@dataclass(frozen=True)
class _Published:
    """A version as it lies on disk."""

    version: int
    uses: Mapping[str, _Uses]
    """By text, in the order of the rows."""
    vectors: NDArray[np.float16]
    embedder: str
    search: Search | None


@dataclass(frozen=True)
class Index:
    """Cards, ordered by ref, and the vectors of their texts, in memory."""

    cards: tuple[SceneCard, ...]
    rows: Mapping[str, int]
    """Text to the row of its vector."""
    vectors: NDArray[np.float16]
    """(distinct texts, dimension), rows of length 1."""
    embedder: str
    version: int
    search: Search | None = None
    """Where there are many texts."""

    @cached_property
    def by_ref(self) -> Mapping[str, SceneCard]:
        return {card.ref: card for card in self.cards}


def open_index(
    cards: Iterable[SceneCard],
    folder: Path,
    embedder: Embedder,
    *,
    progress: Progress = lambda *_: None,
    searched_from: int = SEARCHED_FROM,
) -> Index:
    """The index of these cards. Where a text or the embedder is not as published, what is new is embedded and a new
    version is published; the previous one serves until the tag has moved.

    Raises EmbedderUnavailable.
    """
    ordered = tuple(sorted(cards, key=lambda card: card.ref))
    uses = _uses_of(ordered)
    published = _published(folder)
    if published is not None and (published.embedder, published.uses) == (embedder.name, uses):
        now = published
    else:
        vectors = _vectors(tuple(uses), published, embedder, progress)
        now = _publish(folder, _Published(0, uses, vectors, embedder.name, None), searched_from)
    rows = {text: row for row, text in enumerate(now.uses)}
    return Index(ordered, rows, now.vectors, now.embedder, now.version, now.search)


def chunks_of(card: SceneCard) -> Iterator[Chunk]:
    """The texts of a card that are embedded, beside those of its fields: for the same card always the same."""
    title = " / ".join(card.titles)
    if not card.purposes:
        yield Chunk("purpose", f"{title}: {', '.join(card.groups)}" if card.groups else title)
    for purpose in card.purposes:
        yield Chunk("purpose", f"{title}: {purpose}")
    for question in card.questions:
        yield Chunk("question", question)
    if card.parameters:
        yield Chunk("parameters", ", ".join(card.parameters))
    for group, fields in _groups(card):
        yield Chunk("group", f"{group}: {', '.join(field.titles[0] for field in fields)}")


def field_text(field: FieldCard) -> str:
    """What stands for a field among vectors: its titles, within its group where it has one."""
    titles = " / ".join(field.titles or (field.name,))
    return f"{field.group} {titles}" if field.group else titles


def _groups(card: SceneCard) -> Iterator[tuple[str, list[FieldCard]]]:
    by_group: dict[str, list[FieldCard]] = {}
    for field in card.fields:
        if field.group:
            by_group.setdefault(field.group, []).append(field)
    yield from by_group.items()
    if not by_group:
        # A curated scene has no tables; what it shows first says most about it.
        shown = {*card.metrics, *card.default_fields, *card.grain}
        if fields := [field for field in card.fields if field.name in shown]:
            yield " / ".join(card.titles), fields


def _uses_of(cards: Sequence[SceneCard]) -> Mapping[str, _Uses]:
    uses: dict[str, _Uses] = {}

    def add(text: str, kind: str, dimensions: Iterable[str]) -> None:
        use = uses.setdefault(text, _Uses(set(), set()))
        use.kinds.add(kind)
        use.dimensions.update(dimensions)

    # Scenes over one table often hold the very same fields, which are then looked at once.
    sharing: dict[int, tuple[tuple[FieldCard, ...], set[str]]] = {}
    for card in cards:
        for chunk in chunks_of(card):
            add(chunk.text, chunk.kind, card.dimensions)
        sharing.setdefault(id(card.fields), (card.fields, set()))[1].update(card.dimensions)
    for fields, dimensions in sharing.values():
        for each in fields:
            add(field_text(each), "field", dimensions)
    return uses


def _vectors(
    texts: Sequence[str], published: _Published | None, embedder: Embedder, progress: Progress
) -> NDArray[np.float16]:
    known: Mapping[str, int] = {}
    vectors = np.zeros((len(texts), embedder.dimension), np.float16)
    if published is not None and published.embedder == embedder.name:
        known = {text: row for row, text in enumerate(published.uses)}
        kept = [row for row, text in enumerate(texts) if text in known]
        vectors[kept] = published.vectors[[known[texts[row]] for row in kept]]
    new = [row for row, text in enumerate(texts) if text not in known]
    progress(0, len(new))
    for start in range(0, len(new), _BATCH):
        rows = new[start : start + _BATCH]
        vectors[rows] = embedder.embed([fold(texts[row]) for row in rows], side="document")
        progress(start + len(rows), len(new))
    return vectors


def _publish(folder: Path, texts: _Published, searched_from: int) -> _Published:
    """The same as it lies on disk."""
    labels, uses = pa.list_(pa.string()), texts.uses.values()
    searched = len(uses) >= searched_from
    words = (" ".join(tokens(text)) for text in texts.uses) if searched else ("" for _ in uses)
    table = pa.table(
        {
            "row": pa.array(range(len(uses)), pa.int32()),
            "text": pa.array(texts.uses, pa.string()),
            "words": pa.array(words, pa.string()),
            "kinds": pa.array([sorted(use.kinds) for use in uses], labels),
            "whole": pa.array([use.kinds != {"field"} for use in uses]),
            "dimensions": pa.array([sorted(use.dimensions) for use in uses], labels),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(texts.vectors.reshape(-1)), texts.vectors.shape[1]),
            "embedder": pa.array([texts.embedder] * len(uses), pa.string()),
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    written = _connect(folder).create_table(_TABLE, table, mode="overwrite")
    if searched:
        make_searchable(written, len(uses))
    version = int(written.version)
    if _TAG in written.tags.list():
        written.tags.update(_TAG, version)
    else:
        written.tags.create(_TAG, version)
    return replace(texts, version=version, search=Search(written, len(uses)) if searched else None)


def _published(folder: Path) -> _Published | None:
    if not (folder / f"{_TABLE}.lance").is_dir():
        return None
    table = _connect(folder).open_table(_TABLE)
    if _TAG not in table.tags.list():
        return None
    table.checkout(_TAG)
    rows = table.to_arrow()
    if "whole" not in rows.column_names or not rows.num_rows:  # of a release with other columns, or of no text
        return None
    columns = (rows[name].to_pylist() for name in ("text", "kinds", "dimensions"))
    uses = {text: _Uses(set(kinds), set(dimensions)) for text, kinds, dimensions in zip(*columns, strict=True)}
    flat = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    vectors = np.ascontiguousarray(flat, np.float16).reshape(len(uses), -1)
    search = Search(table, len(uses)) if table.list_indices() else None
    return _Published(int(table.version), uses, vectors, rows["embedder"][0].as_py(), search)


def _connect(folder: Path) -> Any:
    import lancedb

    return lancedb.connect(str(folder))
