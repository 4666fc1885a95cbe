"""What of a corpus one caller may see, with its statistics: those of the visible scenes, so that a hidden scene never
moves what a caller sees.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi

from engine.folding import fold
from scene_kb.corpus import CHUNK_KINDS, Corpus, Ints, Lists
from scene_kb.index import Index
from scene_kb.meaning import Meanings
from scene_kb.models import SceneCard
from scene_kb.text import has_han, tokens

Floats = NDArray[np.float32]

_LEAST_RARITY = 0.3
"""Of a word that every scene has: it tells no scene from another, but what is asked for is about it all the same."""


@dataclass(frozen=True)
class Chunks:
    """(chunks,) each."""

    kinds: Ints
    """numbers in CHUNK_KINDS"""
    places: Ints
    """in the view's `scenes`"""
    rows: Ints
    """of the chunks' vectors"""


class View:
    """The visible part of a corpus with its statistics. Immutable once made."""

    def __init__(self, index: Index, corpus: Corpus, meanings: Meanings, scenes: Ints) -> None:
        self.index = index
        self.corpus = corpus
        self.meanings = meanings
        self.scenes = scenes
        """The visible scenes' numbers, ascending, which is by ref."""
        self.held_by = _held_by(corpus, scenes)
        """(vocabulary,) how many visible scenes have a word."""
        self.idf = _idf(self.held_by, len(scenes))
        """(vocabulary,) rarity over the visible scenes; 0 for words of hidden scenes alone."""
        self.unknown_idf = float(np.log1p((len(scenes) + 0.5) / 0.5))

    @cached_property
    def bm25(self) -> BM25Okapi:
        return BM25Okapi([self.corpus.documents[scene] or ("",) for scene in self.scenes])

    @cached_property
    def bm25_idf(self) -> Mapping[str, float]:
        """The rarities of `bm25` without it: those of the words of more than half the scenes, which would be negative,
        are a quarter of the average.
        """
        held = np.flatnonzero(self.held_by)
        count = self.held_by[held].astype(float)
        rarity = np.log(len(self.scenes) - count + 0.5) - np.log(count + 0.5)
        rarity[rarity < 0] = 0.25 * rarity.mean()
        words = tuple(self.corpus.vocabulary)
        return {words[word]: float(value) for word, value in zip(held, rarity, strict=True)}

    @cached_property
    def mean_length(self) -> float:
        """Tokens of a scene."""
        return sum(len(self.corpus.documents[scene]) or 1 for scene in self.scenes) / len(self.scenes)

    @cached_property
    def places_of_row(self) -> Lists:
        """Row of a text -> the places of the visible scenes that have it, as a chunk or as a field."""
        place_of = _place_of_scene(self)
        field_places = place_of[self.corpus.fields.owners()]
        rows = np.concatenate([self.chunks.rows, self.corpus.field_rows[field_places >= 0]])
        places = np.concatenate([self.chunks.places, field_places[field_places >= 0]])
        order = np.lexsort((places, rows))
        starts = np.searchsorted(rows[order], np.arange(len(self.index.vectors) + 1))
        return Lists(starts.astype(np.int32), places[order].astype(np.int32))

    @cached_property
    def postings(self) -> tuple[Lists, Floats]:
        """token -> the places (in `scenes`) of scenes with a name that holds it, and the token's share of that name."""
        return _postings(self)

    @cached_property
    def unwritten(self) -> tuple[frozenset[str], frozenset[str]]:
        """The languages (zh, en) that some visible scene is not written in, and those that none is written in."""
        written = {"zh": self.corpus.in_chinese[self.scenes], "en": self.corpus.in_english[self.scenes]}
        return (
            frozenset(language for language, has in written.items() if not has.all()),
            frozenset(language for language, has in written.items() if not has.any()),
        )

    @cached_property
    def dimension_words(self) -> Mapping[str, tuple[frozenset[str], ...]]:
        """Dimension -> the ways of naming it, each as tokens that must all stand in the query."""
        ways: dict[str, set[frozenset[str]]] = {}
        for scene in self.scenes:
            card = self.corpus.cards[scene]
            for name, names in zip(card.dimensions, card.dimension_names, strict=True):
                ways.setdefault(name, set()).update(frozenset(tokens(way)) for way in (name, *names) if tokens(way))
        return {name: tuple(own) for name, own in ways.items()}

    @cached_property
    def group_names(self) -> Mapping[str, frozenset[str]]:
        """Dimension -> what it and the fields that stand for it are called."""
        cards = [self.corpus.cards[scene] for scene in self.scenes]
        called: dict[str, set[str]] = {}
        for card in cards:
            for name, names in zip(card.dimensions, card.dimension_names, strict=True):
                called.setdefault(name, set()).update((name, *names))
        stands_for = _dimension_of_grain(cards)
        for field in {field for card in cards for field in card.fields if field.name in stands_for}:
            called[stands_for[field.name]].update((*field.titles, *field.aliases))
        return {name: frozenset(own) for name, own in called.items()}

    @cached_property
    def dimension_values(self) -> Mapping[str, tuple[frozenset[str], frozenset[str]]]:
        """Dimension -> the legal values of the fields that stand for it: those in Chinese, which are looked for in the
        text, and the others as tokens joined by spaces.
        """
        stands_for = _dimension_of_grain([self.corpus.cards[scene] for scene in self.scenes])
        found: dict[str, tuple[set[str], set[str]]] = {}
        for field in {field for scene in self.scenes for field in self.corpus.cards[scene].fields}:
            if field.name in stands_for:
                chinese, other = found.setdefault(stands_for[field.name], (set(), set()))
                for value in field.values:
                    if has_han(value):
                        chinese.add(fold(value))
                    else:
                        other.add(" ".join(tokens(value)))
        return {
            name: (
                frozenset(value for value in chinese if len(value) > 1),
                frozenset(value for value in other if len(value) > 1 and not value.isdigit()),
            )
            for name, (chinese, other) in found.items()
        }

    @cached_property
    def name_mass(self) -> Floats:
        """(names,) summed rarity of a name's tokens."""
        return self.corpus.names.sums(self.idf[self.corpus.names.items])

    @cached_property
    def wordings_with(self) -> Lists:
        """token -> the wordings of visible fields' names that hold it"""
        corpus = self.corpus
        scene_of_name = corpus.fields.owners()[corpus.name_field]
        visible = np.unique(corpus.name_wording[_place_of_scene(self)[scene_of_name] >= 0])
        held = corpus.wordings.take(visible)
        wording = visible[held.owners()]
        order = np.lexsort((wording, held.items))
        starts = np.searchsorted(held.items[order], np.arange(len(self.idf) + 1))
        return Lists(starts.astype(np.int32), wording[order].astype(np.int32))

    @cached_property
    def chunks(self) -> Chunks:
        """All chunks that stand for a whole scene, by their rows."""
        kinds: list[int] = []
        places: list[int] = []
        rows: list[int] = []
        for number, kind in enumerate(CHUNK_KINDS):
            for place, scene in enumerate(self.scenes):
                own = self.corpus.chunk_rows[kind][int(scene)]
                kinds += [number] * len(own)
                places += [place] * len(own)
                rows += own.tolist()
        return Chunks(*(np.asarray(each, np.int32) for each in (kinds, places, rows)))

    @cached_property
    def chunk_vectors(self) -> Floats:
        """(chunks, dimension) widened once, for that takes longer than all cosines."""
        return self.index.vectors[self.chunks.rows].astype(np.float32)


def _held_by(corpus: Corpus, scenes: Ints) -> Ints:
    return np.bincount(corpus.scene_tokens.take(scenes).items, minlength=len(corpus.vocabulary)).astype(np.int32)


def _idf(held_by: Ints, scenes: int) -> Floats:
    rarity = np.log1p((scenes - held_by + 0.5) / (held_by + 0.5))
    return np.where(held_by > 0, np.maximum(rarity, _LEAST_RARITY), 0).astype(np.float32)


def _dimension_of_grain(cards: Sequence[SceneCard]) -> Mapping[str, str]:
    """Field of a grain -> the dimension that it stands for: the one that most scenes with that field in their grain
    have, and of several the one with the fewest other scenes. A field without a dimension that more than half of its
    scenes have is left out.
    """
    of_field: dict[str, Counter[str]] = {}
    of_all: Counter[str] = Counter()
    scenes_with: Counter[str] = Counter()
    for card in cards:
        of_all.update(card.dimensions)
        for field in card.grain:
            scenes_with[field] += 1
            of_field.setdefault(field, Counter()).update(card.dimensions)
    best = {
        field: min(counts, key=lambda name: (-counts[name], of_all[name], name))
        for field, counts in of_field.items()
        if counts
    }
    return {field: name for field, name in best.items() if of_field[field][name] * 2 > scenes_with[field]}


def _place_of_scene(view: View) -> Ints:
    """(scenes of the corpus,) where each stands in the view; -1 for a hidden one"""
    place_of = np.full(len(view.corpus.cards), -1, np.int32)
    place_of[view.scenes] = np.arange(len(view.scenes))
    return place_of


def _places_of_name_items(view: View) -> Ints:
    """(items of `names`,) the place of the scene that the name's field belongs to; -1 for a hidden one"""
    corpus = view.corpus
    return _place_of_scene(view)[corpus.fields.owners()[corpus.name_field[corpus.token_name]]]


def _postings(view: View) -> tuple[Lists, Floats]:
    corpus = view.corpus
    token = corpus.names.items.astype(np.int64)
    share = view.idf[token] / np.maximum(view.name_mass[corpus.token_name], 1e-6)
    rest_token = corpus.scene_tokens.items.astype(np.int64)
    # A word of the purpose or a table's title counts like a word that is half of a field's name.
    place = np.concatenate([_places_of_name_items(view), _place_of_scene(view)[corpus.scene_tokens.owners()]])
    token = np.concatenate([token, rest_token])
    share = np.concatenate([share, np.full(len(rest_token), 0.5)])
    seen = place >= 0
    place, token, share = place[seen], token[seen], share[seen]
    order = np.lexsort((-share, place, token))
    place, token, share = place[order], token[order], share[order]
    first = np.ones(len(place), bool)
    first[1:] = (place[1:] != place[:-1]) | (token[1:] != token[:-1])
    place, token, share = place[first], token[first], share[first]
    starts = np.searchsorted(token, np.arange(len(view.idf) + 1)).astype(np.int32)
    return Lists(starts, place.astype(np.int32)), share.astype(np.float32)
