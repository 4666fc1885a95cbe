"""The retrieval index on disk: cards and the vectors of their texts in one LanceDB table, published by moving one tag.

Each distinct text is one row and is embedded once; a rebuild takes over the vectors of texts that it already knows.
Readers hold the published version in memory and see a newer one when they open again.
"""

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from engine.folding import fold
from scene_kb.embedders.base import Embedder
from scene_kb.models import FieldCard, SceneCard

os.environ.setdefault("LANCEDB_LOG", "error")  # it warns on stderr of every table that does not exist yet

_TABLE = "texts"
_TAG = "published"
_BATCH = 512

Progress = Callable[[int, int], None]
"""Called with (texts embedded, texts to embed)."""


class NoIndex(Exception):
    """Nothing has been published in this folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"no index in {folder}")
        self.folder = folder


@dataclass(frozen=True)
class Chunk:
    """One embedded text of a scene. Kinds: purpose, question, parameters, group, field."""

    kind: str
    text: str


@dataclass(frozen=True)
class Index:
    """A published version, in memory. Cards are ordered by ref."""

    cards: tuple[SceneCard, ...]
    rows: Mapping[str, int]
    """Text to the row of its vector."""
    vectors: NDArray[np.float16]
    """(distinct texts, dimension), rows of length 1."""
    embedder: str
    version: int

    @cached_property
    def by_ref(self) -> Mapping[str, SceneCard]:
        return {card.ref: card for card in self.cards}


def chunks_of(card: SceneCard) -> Iterator[Chunk]:
    """The texts of a card that are embedded, scene by scene the same for the same card."""
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
    for field in card.fields:
        yield Chunk("field", field_text(field))


def field_text(field: FieldCard) -> str:
    """What stands for a field among vectors: its titles, within its group where it has one."""
    titles = " / ".join(field.titles or (field.name,))
    return f"{field.group} {titles}" if field.group else titles


def current(
    cards: Iterable[SceneCard], folder: Path, embedder: Embedder, *, progress: Progress = lambda *_: None
) -> Index:
    """The index of these cards: the published one, or a new one where a card, a text or the embedder has changed.

    Raises EmbedderUnavailable.
    """
    ordered = tuple(sorted(cards, key=lambda card: card.ref))
    texts = {chunk.text for card in ordered for chunk in chunks_of(card)}
    try:
        published = open_index(folder)
    except NoIndex:
        published = None
    if published is not None and (published.cards, set(published.rows), published.embedder) == (
        ordered,
        texts,
        embedder.name,
    ):
        return published
    return build(ordered, folder, embedder, progress=progress)


def build(
    cards: Iterable[SceneCard], folder: Path, embedder: Embedder, *, progress: Progress = lambda *_: None
) -> Index:
    """Embed what is new, write a new version and publish it. The previous one serves until the tag has moved.

    Raises EmbedderUnavailable.
    """
    ordered = tuple(sorted(cards, key=lambda card: card.ref))
    dimensions = _dimensions_by_text(ordered)
    texts = tuple(dimensions)
    vectors = _vectors(texts, _known(folder, embedder.name), embedder, progress)
    meta = {"embedder": embedder.name, "dimension": embedder.dimension}
    version = _publish(folder, ordered, dimensions, vectors, meta)
    return Index(ordered, {text: row for row, text in enumerate(texts)}, vectors, embedder.name, version)


def open_index(folder: Path) -> Index:
    """The published version. Raises NoIndex."""
    found = _published(folder)
    if found is None:
        raise NoIndex(folder)
    version, rows = found
    kinds = np.asarray(rows["kind"].to_pylist())
    texts = rows["text"].to_pylist()
    meta = json.loads(texts[int(np.flatnonzero(kinds == "meta")[0])])
    cards = (_card_from(json.loads(texts[at])) for at in np.flatnonzero(kinds == "card"))
    told = np.flatnonzero(kinds == "text")
    return Index(
        cards=tuple(sorted(cards, key=lambda card: card.ref)),
        rows={texts[at]: row for row, at in enumerate(told)},
        vectors=np.ascontiguousarray(_matrix(rows, int(meta["dimension"]))[told]),
        embedder=meta["embedder"],
        version=version,
    )


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


def _dimensions_by_text(cards: Sequence[SceneCard]) -> dict[str, set[str]]:
    dimensions: dict[str, set[str]] = {}
    for card in cards:
        for chunk in chunks_of(card):
            dimensions.setdefault(chunk.text, set()).update(card.dimensions)
    return dimensions


def _vectors(
    texts: Sequence[str], known: Mapping[str, NDArray[np.float16]], embedder: Embedder, progress: Progress
) -> NDArray[np.float16]:
    vectors = np.zeros((len(texts), embedder.dimension), np.float16)
    new = []
    for row, text in enumerate(texts):
        if text in known:
            vectors[row] = known[text]
        else:
            new.append(row)
    progress(0, len(new))
    for start in range(0, len(new), _BATCH):
        rows = new[start : start + _BATCH]
        vectors[rows] = embedder.embed([fold(texts[row]) for row in rows], side="document")
        progress(start + len(rows), len(new))
    return vectors


def _known(folder: Path, embedder: str) -> Mapping[str, NDArray[np.float16]]:
    """The vectors of the published version, where it was made by the same embedder."""
    try:
        index = open_index(folder)
    except NoIndex:
        return {}
    if index.embedder != embedder:
        return {}
    return {text: index.vectors[row] for text, row in index.rows.items()}


def _publish(
    folder: Path,
    cards: Sequence[SceneCard],
    dimensions: Mapping[str, set[str]],
    vectors: NDArray[np.float16],
    meta: Mapping[str, Any],
) -> int:
    rows: list[tuple[str, str, str, list[str]]] = [("meta", "meta", json.dumps(meta), [])]
    rows += [(card.ref, "card", json.dumps(asdict(card), ensure_ascii=False), list(card.dimensions)) for card in cards]
    rows += [(_text_id(text), "text", text, sorted(tags)) for text, tags in dimensions.items()]
    ids, kinds, texts, tags = zip(*rows, strict=True)
    empty = np.zeros((1 + len(cards), vectors.shape[1]), np.float16)
    flat = pa.array(np.concatenate([empty, vectors]).reshape(-1))
    table = pa.table(
        {
            "id": ids,
            "kind": kinds,
            "text": texts,
            "dimensions": pa.array(tags, pa.list_(pa.string())),
            "vector": pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1]),
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    written = _connect(folder).create_table(_TABLE, table, mode="overwrite")
    version = int(written.version)
    if _TAG in written.tags.list():
        written.tags.update(_TAG, version)
    else:
        written.tags.create(_TAG, version)
    return version


def _text_id(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _connect(folder: Path) -> Any:
    import lancedb

    return lancedb.connect(str(folder))


def _published(folder: Path) -> tuple[int, pa.Table] | None:
    if not (folder / f"{_TABLE}.lance").is_dir():
        return None
    table = _connect(folder).open_table(_TABLE)
    if _TAG not in table.tags.list():
        return None
    table.checkout(_TAG)
    return int(table.version), table.to_arrow()


def _matrix(rows: pa.Table, dimension: int) -> NDArray[np.float16]:
    flat = rows["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, np.float16).reshape(-1, dimension)


def _card_from(facts: Mapping[str, Any]) -> SceneCard:
    told = {name: _tuples(value) for name, value in facts.items() if name != "fields"}
    fields = tuple(FieldCard(**{name: _tuples(value) for name, value in field.items()}) for field in facts["fields"])
    return SceneCard(**told, fields=fields)


def _tuples(value: Any) -> Any:
    return tuple(_tuples(part) for part in value) if isinstance(value, list) else value
