"""All cards as arrays: which tokens stand in which names, fields, groups and scenes. Independent of who may see what.

A name is one way of calling a field: its identifier, a title, an alias. Fields, names and groups are numbered through
all scenes, scene by scene, so that a scene's are one slice.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from scene_kb.index import Index, chunks_of, field_text
from scene_kb.models import FieldCard, SceneCard
from scene_kb.text import has_han, has_latin, tokens

Ints = NDArray[np.int32]
CHUNK_KINDS = ("purpose", "question", "parameters", "group")
"""Kinds whose vectors stand for the scene as a whole; fields have theirs apart."""


IDENTIFIER, NAMING, TIME, NUMBER, SHOWN, MEASURED = 1, 2, 4, 8, 16, 32
"""What a field is by its name, type and place in the scene; bits, because a field may be several."""

_IDENTIFIER_WORDS = frozenset(
    [
        "id",
        "code",
        "key",
        "no",
        "number",
        "uuid",
        "guid",
        "编号",
        "代码",
        "编码",
        "号",
        "标识",
        "主键",
        ":编号",
        ":代码",
        ":编码",
    ]
)
_NAMING_WORDS = frozenset(["name", "title", "nam", "名称", "姓名", "名字", "名", "标题", ":名称", ":姓名"])
_TIME_WORDS = frozenset(
    ["date", "time", "year", "month", "day", "datetim", "日期", "时间", "年份", "年", "月份", "月", ":日期", ":时间"]
)


@dataclass(frozen=True)
class Lists:
    """Lists of whole numbers laid end to end: list i is `items[starts[i]:starts[i + 1]]`."""

    starts: Ints
    items: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> "Lists":
        sizes = np.fromiter((len(each) for each in lists), np.int32, len(lists))
        starts = np.zeros(len(lists) + 1, np.int32)
        np.cumsum(sizes, out=starts[1:])
        items = np.fromiter((item for each in lists for item in each), np.int32, int(starts[-1]))
        return cls(starts, items)

    def __getitem__(self, at: int) -> Ints:
        return self.items[self.starts[at] : self.starts[at + 1]]

    @property
    def sizes(self) -> Ints:
        return np.diff(self.starts)

    def take(self, chosen: Ints) -> "Lists":
        """The chosen lists, in the order of `chosen`."""
        sizes = self.starts[chosen + 1] - self.starts[chosen]
        starts = np.zeros(len(chosen) + 1, np.int32)
        np.cumsum(sizes, out=starts[1:])
        within = np.arange(int(starts[-1]), dtype=np.int32) - np.repeat(starts[:-1], sizes)
        return Lists(starts, self.items[np.repeat(self.starts[chosen], sizes) + within])

    def owners(self) -> Ints:
        """For each item the number of its list."""
        return np.repeat(np.arange(len(self.starts) - 1, dtype=np.int32), self.sizes)

    def highest(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """(..., items) values -> (..., lists) the highest of each list, 0 for an empty one."""
        if not values.shape[-1]:
            return np.zeros((*values.shape[:-1], len(self.starts) - 1), np.float32)
        # reduceat gives the next list's first value for an empty list, and refuses a start at the very end.
        best = np.maximum.reduceat(values, np.minimum(self.starts[:-1], values.shape[-1] - 1), axis=-1)
        return np.where(self.sizes > 0, best, 0).astype(np.float32)

    def span(self, first: int, last: int) -> slice:
        """The items of the lists from `first` to before `last`, which lie together."""
        return slice(int(self.starts[first]), int(self.starts[last]))

    def sums(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """(items,) values -> (lists,) the sum of each list, 0 for an empty one."""
        return np.bincount(self.owners(), values, minlength=len(self.starts) - 1).astype(np.float32)


@dataclass(frozen=True)
class Corpus:
    cards: tuple[SceneCard, ...]
    vocabulary: Mapping[str, int]
    in_chinese: NDArray[np.bool_]
    """(scenes,) whether a title of the scene, its groups or fields is written in Chinese"""
    in_english: NDArray[np.bool_]
    """(scenes,) the same for Latin letters; identifiers do not count"""
    documents: tuple[tuple[str, ...], ...]
    """Every token of each scene, repeated as often as it stands there: what BM25 reads."""
    scene_tokens: Lists
    """scene -> its distinct tokens"""
    about_tokens: Lists
    """scene -> the distinct tokens of title, purposes and questions"""
    names: Lists
    """name -> its tokens"""
    name_field: Ints
    """name -> its field; ascending"""
    token_name: Ints
    """item of `names` -> its name; ascending"""
    name_wording: Ints
    """name -> its wording"""
    wordings: Lists
    """wording -> its tokens; names that say the same, in whichever scene, have one"""
    field_names: Lists
    """field -> its names"""
    field_values: Lists
    """field -> the distinct tokens of its legal values"""
    field_group: Ints
    """field -> its group"""
    group_title: Lists
    """group -> the distinct tokens of its title"""
    fields: Lists
    """scene -> its fields"""
    groups: Lists
    """scene -> its groups"""
    field_kind: NDArray[np.uint8]
    """field -> the bits above that are true of it"""
    field_twin: Ints
    """field -> the first field of its scene with the same identifier; itself where none comes before"""
    field_rows: Ints
    """field -> the row of its vector"""
    chunk_rows: Mapping[str, Lists]
    """by kind: scene -> the rows of its chunks' vectors"""


def corpus_of(index: Index) -> Corpus:
    return _Builder(index).corpus()


@dataclass(frozen=True)
class _ReadField:
    names: list[list[int]]
    """the tokens of each name"""
    values: list[int]
    kind: int
    called: str
    row: int
    tokens: tuple[str, ...]
    """each once: neither a bilingual title nor a list of values makes a field heavier"""


class _Builder:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._vocabulary: dict[str, int] = {}
        self._read_fields: dict[FieldCard, _ReadField] = {}
        # Scenes over one table often hold the very same tuple of fields, which is then read once.
        self._shared: dict[int, tuple[_ReadField, ...]] = {}

    def corpus(self) -> Corpus:
        documents: list[tuple[str, ...]] = []
        names: list[list[int]] = []
        name_field: list[int] = []
        field_names: list[range] = []
        field_values: list[list[int]] = []
        field_group: list[int] = []
        field_rows: list[int] = []
        field_kind: list[int] = []
        field_twin: list[int] = []
        group_title: list[list[int]] = []
        fields: list[range] = []
        groups: list[range] = []
        for card in self._index.cards:
            first_field, first_group = len(field_names), len(group_title)
            titles = tuple(dict.fromkeys((*card.groups, *(field.group for field in card.fields))))
            numbers = {title: first_group + at for at, title in enumerate(titles)}
            group_title += [self._distinct((title,)) for title in titles]
            shown = {*card.default_fields, *card.metrics, *card.grain}
            first_called: dict[str, int] = {}
            own_fields = self._fields(card)
            for field, own in zip(card.fields, own_fields, strict=True):
                field_names.append(range(len(names), len(names) + len(own.names)))
                name_field += [len(field_names) - 1] * len(own.names)
                names += own.names
                field_values.append(own.values)
                field_group.append(numbers[field.group])
                measured = MEASURED if field.name in card.metrics else 0
                field_kind.append(own.kind | (SHOWN if field.name in shown else 0) | measured)
                field_twin.append(first_called.setdefault(own.called, len(field_names) - 1))
                field_rows.append(own.row)
            fields.append(range(first_field, len(field_names)))
            groups.append(range(first_group, len(group_title)))
            documents.append((*_document(card), *(token for own in own_fields for token in own.tokens)))
        wordings: dict[tuple[int, ...], int] = {}
        name_wording = [wordings.setdefault(tuple(name), len(wordings)) for name in names]
        return Corpus(
            cards=self._index.cards,
            in_chinese=np.array([any(map(has_han, _titles(card))) for card in self._index.cards], bool),
            in_english=np.array([any(map(has_latin, _titles(card))) for card in self._index.cards], bool),
            documents=tuple(documents),
            scene_tokens=Lists.of([sorted({self._number(token) for token in each}) for each in documents]),
            about_tokens=Lists.of([self._distinct(_about(card)) for card in self._index.cards]),
            names=Lists.of(names),
            token_name=Lists.of(names).owners(),
            name_wording=np.asarray(name_wording, np.int32),
            wordings=Lists.of(tuple(wordings)),
            name_field=np.asarray(name_field, np.int32),
            field_names=Lists.of(field_names),
            field_values=Lists.of(field_values),
            field_group=np.asarray(field_group, np.int32),
            group_title=Lists.of(group_title),
            fields=Lists.of(fields),
            groups=Lists.of(groups),
            field_kind=np.asarray(field_kind, np.uint8),
            field_twin=np.asarray(field_twin, np.int32),
            field_rows=np.asarray(field_rows, np.int32),
            chunk_rows={kind: self._chunk_rows(kind) for kind in CHUNK_KINDS},
            vocabulary=self._vocabulary,
        )

    def _fields(self, card: SceneCard) -> tuple["_ReadField", ...]:
        if id(card.fields) not in self._shared:
            self._shared[id(card.fields)] = tuple(map(self._field, card.fields))
        return self._shared[id(card.fields)]

    def _field(self, field: FieldCard) -> "_ReadField":
        if field not in self._read_fields:
            names = names_of(field)
            numbers = [self._distinct((name,)) for name in names]
            self._read_fields[field] = _ReadField(
                names=[each for each in numbers if each],
                values=self._distinct(field.values),
                kind=kind_of(field),
                called=field.name.rpartition(".")[2].casefold(),
                row=self._index.rows[field_text(field)],
                tokens=tuple(
                    dict.fromkeys(token for text in (*names, *field.values) for token in tokens_of_card(text))
                ),
            )
        return self._read_fields[field]

    def _number(self, token: str) -> int:
        return self._vocabulary.setdefault(token, len(self._vocabulary))

    def _distinct(self, texts: Iterable[str]) -> list[int]:
        return sorted({self._number(token) for text in texts for token in tokens_of_card(text)})

    def _chunk_rows(self, kind: str) -> Lists:
        rows = self._index.rows
        return Lists.of([[rows[c.text] for c in chunks_of(card) if c.kind == kind] for card in self._index.cards])


def names_of(field: FieldCard) -> tuple[str, ...]:
    """Every way of calling the field. A qualified identifier (table.column) counts by its column."""
    return tuple(dict.fromkeys((*field.titles, *field.aliases, field.name.rpartition(".")[2])))


def kind_of(field: FieldCard) -> int:
    """The bits of what the field is."""
    words = [word for name in (*field.titles, field.name.rpartition(".")[2]) for word in tokens_of_card(name)]
    last = {word for name in (*field.titles, field.name.rpartition(".")[2]) for word in tokens_of_card(name)[-1:]}
    squeezed = field.name.casefold()
    kind = 0
    if (
        field.key
        or last & _IDENTIFIER_WORDS
        or squeezed.endswith("id")
        or any(t.endswith(("号", "ID")) for t in field.titles)
    ):
        kind |= IDENTIFIER
    if last & _NAMING_WORDS or squeezed.endswith("name") or any(title.endswith("名") for title in field.titles):
        kind |= NAMING
    if field.type in ("time", "date", "timestamp", "timestamptz", "datetime") or set(words) & _TIME_WORDS:
        kind |= TIME
    if field.role == "metric" or field.type.startswith(("number", "int", "uint", "float", "decimal", "real")):
        kind |= NUMBER
    return kind


def _titles(card: SceneCard) -> Iterator[str]:
    yield from card.titles
    yield from card.groups
    for field in card.fields:
        yield from (title for title in field.titles if title != field.name)


def _about(card: SceneCard) -> Iterator[str]:
    yield from card.titles
    yield from card.purposes
    yield from card.questions


def _document(card: SceneCard) -> Iterator[str]:
    """The tokens of what is not a field."""
    for text in (*_about(card), *card.parameters, *card.groups):
        yield from tokens_of_card(text)
    for names in card.dimension_names:
        for name in names:
            yield from tokens_of_card(name)


@lru_cache(maxsize=1 << 17)
def tokens_of_card(text: str) -> tuple[str, ...]:
    """The tokens of a text that stands in a card: read many times, and mostly in many cards."""
    return tokens(text)
