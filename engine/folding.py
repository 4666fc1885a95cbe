"""One way to compare names: width, case and Han script folded away. And one did-you-mean for every package."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache

import opencc
from rapidfuzz import fuzz, process

_SPACE = re.compile(r"\s+")


@lru_cache(maxsize=1)
def _simplifier() -> opencc.OpenCC:
    return opencc.OpenCC("t2s")


@lru_cache(maxsize=16_384)
def fold(text: str) -> str:
    """Tidy, and case folded. Two texts with one fold mean one name."""
    return tidy(text).casefold()


def tidy(text: str) -> str:
    """NFKC, traditional to simplified, runs of white space as one space, and none outside."""
    text = _SPACE.sub(" ", unicodedata.normalize("NFKC", text)).strip()
    return text if text.isascii() else str(_simplifier().convert(text))


def nearest(text: str, names: Mapping[str, Iterable[str]]) -> tuple[str, ...]:
    """The keys of `names` by how close one of their names comes to `text`, best first, ties in the given order.

    Close in parts and close as a whole count alike: units before units_avg for "unit".
    """
    wanted = fold(text)
    spellings = [(key, fold(name)) for key, alternatives in names.items() for name in (key, *alternatives)]
    texts = [spelling for _, spelling in spellings]
    by_parts, by_whole = (process.cdist([wanted], texts, scorer=scorer)[0] for scorer in (fuzz.WRatio, fuzz.ratio))
    best: dict[str, float] = {}
    for (key, _), score in zip(spellings, by_parts + by_whole, strict=True):
        best[key] = max(best.get(key, 0.0), float(score))
    return tuple(sorted(best, key=lambda key: -best[key]))
