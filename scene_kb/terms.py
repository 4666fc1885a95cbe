"""A query's words against one view: what each may mean there, and how much it asks for."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scene_kb.asked import Asked
from scene_kb.corpus import Ints
from scene_kb.dictionary import dictionary
from scene_kb.text import is_pair, language_of
from scene_kb.view import Floats, View

PAIR_WEIGHT = 0.5
"""A pair of characters tells less than a word, and its words are counted already."""
_WORDS_OF_A_TOKEN = 2
_EMBEDDED = 400
"""Characters of a query that are embedded: the model's time grows with their square, its attention does not."""


@dataclass(frozen=True)
class Terms:
    """A query's tokens against one view. `likeness` has one column for each corpus word that any of them may mean, and
    column 0 for every other word; `slot` tells a word's column.
    """

    tokens: tuple[str, ...]
    weights: Floats
    """(tokens,) rarity, of an unknown token the rarity of a word that no scene has, times the token's factor"""
    factors: Floats
    """(tokens,) from 0 to 1, how much a token asks for, be it rare or not; 0 where its absence says nothing"""
    likeness: Floats
    """(tokens, words + 1) degrees from 0 to 1"""
    slot: Ints
    """(vocabulary,)"""
    words: Ints
    """(words,) the vocabulary number of column 1, 2, ..."""

    def among(self, rarity: Floats, unknown: float) -> "Terms":
        """The same tokens with another rarity of words, (vocabulary,), in which `unknown` is that of a word of none."""
        return replace(self, weights=_rarities(self.likeness, rarity[self.words], unknown) * self.factors)

    @property
    def alike(self) -> Floats:
        """(tokens,) 1 for each word that asks for a meaning, 0 for pairs of characters and what has no weight"""
        return np.array(
            [weight > 0 and not is_pair(token) for token, weight in zip(self.tokens, self.weights, strict=True)],
            np.float32,
        )


def terms_of(view: View, asked: Asked) -> Terms:
    some_lack, _ = view.unwritten
    found = [view.meanings.of(token, translated=language_of(token) in some_lack) for token in asked.tokens]
    words = sorted({like.token for likes in found for like in likes if view.idf[like.token] > 0})
    column = {word: at + 1 for at, word in enumerate(words)}
    likeness = np.zeros((len(found), len(words) + 1), np.float32)
    for row, likes in enumerate(found):
        for like in likes:
            if like.token in column:
                likeness[row, column[like.token]] = like.degree
    known = np.asarray(likeness.any(axis=1), bool)
    factors = np.array([PAIR_WEIGHT if is_pair(token) else 1.0 for token in asked.tokens], np.float32)
    factors[np.array([token in asked.view_words for token in asked.tokens], bool) & ~known] = 0
    factors[_bridges(asked.tokens, met=known)] = 0
    slot = np.zeros(len(view.idf), np.int32)
    slot[words] = np.arange(1, len(words) + 1)
    terms = Terms(asked.tokens, factors, factors, likeness, slot, np.asarray(words, np.int32))
    terms = terms.among(view.idf, view.unknown_idf)
    shares = [
        _named_share(view, terms, row) if token in asked.row_words else 1.0 for row, token in enumerate(asked.tokens)
    ]
    return replace(terms, factors=factors * np.array(shares, np.float32)).among(view.idf, view.unknown_idf)


def _rarities(likeness: Floats, rarity: Floats, unknown: float) -> Floats:
    """(tokens,) the rarity of the likeliest word of each that is rare at all. `rarity`: (words,)."""
    likely = likeness[:, 1:] * (rarity > 0)
    if not likely.shape[1]:
        return np.full(len(likeness), unknown, np.float32)
    return np.where(likely.any(axis=1), rarity[likely.argmax(axis=1)], unknown).astype(np.float32)


def _named_share(view: View, terms: Terms, row: int) -> float:
    """How much of the rest of a field's name that holds the token is asked for too, at best: `10` of "top 10" says
    nothing for `play_10s`, `average` of "average age" all for `average_age`.
    """
    own = terms.likeness[row] > 0
    wordings = view.wordings_with.take(terms.words[np.flatnonzero(own) - 1]).items
    if not len(wordings):
        return 0.0
    held = view.corpus.wordings.take(wordings)
    columns = terms.slot[held.items]
    rarity = np.where(own[columns], 0, view.idf[held.items])
    others = np.delete(terms.likeness, row, axis=0).max(axis=0, initial=0.0)
    rest, met = held.sums(rarity), held.sums(rarity * others[columns])
    return float(np.where(rest > 1e-6, met / np.maximum(rest, 1e-6), 1).max())


def _bridges(said: Sequence[str], met: NDArray[np.bool_]) -> list[int]:
    """The pairs that join the end of one known word with the start of another: that two words stand side by side says
    less than the words, and would outweigh those that every scene has.
    """
    words = [token for token, known in zip(said, met, strict=True) if known and len(token) > 1 and not is_pair(token)]
    ends, starts = {word[-1] for word in words}, {word[0] for word in words}
    return [row for row, token in enumerate(said) if is_pair(token) and token[1] in ends and token[2] in starts]


def text_to_embed(view: View, asked: Asked) -> str:
    """The query; where no visible scene is written in its language, with the words that the dictionary gives for it.

    Measured with 192 Chinese questions over 99 English scenes: the vector alone finds 48 % first, with the words 60 %.
    """
    _, none_written = view.unwritten
    vocabulary = view.corpus.vocabulary
    said: dict[str, None] = {}
    for token in asked.tokens:
        if language_of(token) in none_written and not is_pair(token):
            words = dictionary().other_words(token)
            known = [word for word in words if word in vocabulary and view.idf[vocabulary[word]] > 0]
            known.sort(key=lambda word: (-words[word], word))
            said.update(dict.fromkeys(known[:_WORDS_OF_A_TOKEN]))
    return " ".join((asked.text[:_EMBEDDED], *said))
