"""Which words of the corpus a query's word may mean: itself, and where nobody uses it, the same word mistyped or one of
like meaning. Of a word that asks for an attribute, the attribute too.

Knows words only; how much a likeness counts is learned in the ranking.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from scene_kb.attributes import attributes
from scene_kb.dictionary import dictionary

_TYPO_LEAST = 85.0
"""Likeness in percent (rapidfuzz ratio) from which a word that nobody uses counts as a mistyped one."""
_TYPO_SHORTEST = 5
_TRANSLATED = 0.8
"""A translation is less sure than the word itself."""
_AKIN = 0.6
"""So is a word of like meaning."""
_AKIN_WORDS = 3
_ATTRIBUTE = 0.5
"""Less sure still is that who says tallest means a height."""
_CUT_SHORT = 0.5
"""And a word that the corpus may cut short: temp for temperature, pop for population."""
_CUT_LENGTHS = (5, 4, 3)
_CUT_LEAST = 2


@dataclass(frozen=True)
class Likeness:
    """A word of the corpus and how surely the query's word means it, above 0 and at most 1."""

    token: int
    degree: float


class Meanings:
    """Over one vocabulary. Immutable, so shared by all views and threads."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._typable = tuple(sorted(word for word in vocabulary if len(word) >= _TYPO_SHORTEST and word.isalpha()))

    def of(self, token: str, *, translated: bool = False) -> Sequence[Likeness]:
        """`translated`: whether words of the other language count too."""
        own = self._own(token) or self._akin(token) or self._cut_short(token)
        own = (*own, *self._attributes(token, own))
        return (*own, *self._foreign(token)) if translated else own

    def _attributes(self, token: str, known: Sequence[Likeness]) -> Iterator[Likeness]:
        already = {like.token for like in known}
        for word in attributes().get(token, ()):
            number = self._vocabulary.get(word)
            if number is not None and number not in already:
                yield Likeness(number, _ATTRIBUTE)

    def _foreign(self, token: str) -> Sequence[Likeness]:
        words = dictionary().other_words(token)
        return tuple(
            Likeness(self._vocabulary[word], _TRANSLATED * share)
            for word, share in words.items()
            if word in self._vocabulary
        )

    def _own(self, token: str) -> Sequence[Likeness]:
        known = self._vocabulary.get(token)
        if known is not None:
            return (Likeness(known, 1.0),)
        if len(token) < _TYPO_SHORTEST or not token.isalpha():
            return ()
        near = process.extract(token, self._typable, scorer=fuzz.ratio, score_cutoff=_TYPO_LEAST, limit=3)
        return tuple(Likeness(self._vocabulary[word], score / 100 * 0.9) for word, score, _ in near)

    def _cut_short(self, token: str) -> Sequence[Likeness]:
        if not (token.isascii() and token.isalpha()):
            return ()
        lengths = (length for length in _CUT_LENGTHS if len(token) >= length + _CUT_LEAST)
        cut = next((token[:length] for length in lengths if token[:length] in self._vocabulary), None)
        return () if cut is None else (Likeness(self._vocabulary[cut], _CUT_SHORT),)

    def _akin(self, token: str) -> Sequence[Likeness]:
        akin = [(word, degree) for word, degree in dictionary().akin(token).items() if word in self._vocabulary]
        akin.sort(key=lambda pair: (-pair[1], pair[0]))
        return tuple(Likeness(self._vocabulary[word], _AKIN * degree) for word, degree in akin[:_AKIN_WORDS])
