"""Ids and field names out of whatever tables and columns are called."""

import re
import unicodedata
from collections.abc import Iterator

from engine.dataset import ROW_COUNT
from scene_kb.dictionary import english_names
from scene_kb.text import HAN, words_of_run

_RESERVED = frozenset({"or", ROW_COUNT, ""})  # what a filter or a field list already means by these words
_LONGEST = 120
_MOST_WORDS = 5  # of a Chinese run: an id is read, not understood
_HAN_RUN = re.compile(f"[{HAN}]+")


class Ids:
    """Hands out each id once, whatever its case: some file systems know none."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def make(self, text: str, *, otherwise: str) -> str:
        """`text` in ASCII letters, digits and _, Chinese by what it is called in English.

        Numbered after `otherwise` where nothing of it is left.
        """
        ascii_text = unicodedata.normalize("NFKD", in_english(text)).encode("ascii", "ignore").decode()
        base = re.sub(r"[^A-Za-z0-9]+", "_", ascii_text).strip("_")
        if not base:
            return self._free(otherwise, first=1)
        return self._free(base if base[0].isalpha() else f"{otherwise}_{base}", first=0)

    def _free(self, base: str, *, first: int) -> str:
        number = first
        while (made := f"{base}_{number}" if number else base).lower() in self._taken:
            number = max(2, number + 1)
        self._taken.add(made.lower())
        return made


def in_english(text: str) -> str:
    """`text` with each run of Chinese characters put into English words; without what no dictionary knows."""
    return _HAN_RUN.sub(lambda run: f" {' '.join(_english(run[0], alone=run[0] == text))} ", text)


def _english(run: str, *, alone: bool) -> tuple[str, ...]:
    """Single characters mean too much to be named after, but for one that is all there is."""
    names = english_names()
    pieces = [piece for word in words_of_run(run) for piece in _known_pieces(word)]
    told = [piece for piece in pieces if len(piece) > 1 or (alone and piece == run)]
    return tuple(word for piece in told for word in names[piece])[:_MOST_WORDS]


def _known_pieces(word: str) -> Iterator[str]:
    """The dictionary's longest words from the left; characters that begin none are passed over."""
    names = english_names()
    at = 0
    while at < len(word):
        end = next((end for end in range(len(word), at, -1) if word[at:end] in names), None)
        if end is not None:
            yield word[at:end]
        at = end or at + 1


def field_names(columns: tuple[str, ...]) -> tuple[str, ...]:
    """For each column a field name: the column's own, but for names that a query could not say."""
    names: dict[str, None] = {}
    for at, column in enumerate(columns, 1):
        name = " ".join(column.split()).lstrip("-")[:_LONGEST]  # a leading minus sorts downwards
        if name in _RESERVED:
            name = f"{name}_{at}" if name else f"column_{at}"
        while name in names:
            name = f"{name}_{at}"
        names[name] = None
    return tuple(names)
