"""What a column's name says, in English, Chinese or both: its words, kind, unit, and whether it is personal.

The vocabulary stands in column_words.yaml. The last known word of a name decides, as it does in both languages: an
order_count is a count, a price_level a level, a 订单金额 an amount.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Literal

from engine.dataset import Definition
from scene_kb.definitions import define
from scene_kb.documents import read_document

Kind = Literal["code", "sum", "avg", "min", "max"]
"""A code tells rows apart; the others are quantities, by how they are put together."""

_EDGES: tuple[Kind, ...] = ("min", "max")
_PLAIN: tuple[Kind, ...] = ("code", "sum", "avg")

_HAN = "㐀-䶿一-鿿"
_PIECES = re.compile(rf"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[{_HAN}]+|[^\W\dA-Za-z_{_HAN}]+")
_BRACKET = re.compile(r"\s*[(\[（【]\s*([^()\[\]（）【】]{1,12}?)\s*[)\]）】]\s*$")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_.\-]+")


class _KindWords(Definition):
    words: str
    endings: str


class _PersonalWords(Definition):
    words: str
    people: str
    holders: str
    endings: str
    trailing: str


class _Vocabulary(Definition):
    kinds: Mapping[Kind, _KindWords]
    anywhere: Mapping[Kind, str]
    counters: str
    units: Mapping[str, str]
    personal: _PersonalWords
    other_times: str


@lru_cache(maxsize=1)
def _vocabulary() -> _Vocabulary:
    source = files("scene_kb.importers").joinpath("column_words.yaml")
    return define(_Vocabulary, read_document(source.name, source.read_bytes())).it


@lru_cache(maxsize=64)
def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


def words_of(name: str) -> tuple[str, ...]:
    """Lower-case words, cut at case, digits, marks, and between scripts."""
    return tuple(piece.lower() for piece in _PIECES.findall(name))


def spoken(name: str) -> str:
    """The name as a text: an identifier in its words, anything else as it is written."""
    return " ".join(words_of(name)) if _IDENTIFIER.fullmatch(name) and words_of(name) else name.strip()


def unit_of(name: str) -> str | None:
    if bracket := _BRACKET.search(name):
        return bracket[1]
    words = words_of(name)
    return next((unit for unit, said in _vocabulary().units.items() if words and words[-1] in _set(said)), None)


def kind_of(name: str) -> Kind | None:
    """None where no word of the name is known."""
    known = _vocabulary()
    words = words_of(_BRACKET.sub("", name))
    while len(words) > 1 and words[-1].isdigit():
        words = words[:-1]
    if not words:
        return None
    if re.match(f"[{_HAN}]", words[-1]):
        return "code" if words[0].startswith("是否") else _by_ending(words[-1])
    deciding = [kind for kind, said in known.anywhere.items() if _set(said) & set(words)]
    if len(words) > 1:  # alone, min may be minutes and n anything
        deciding += [edge for edge in _EDGES if _set(known.kinds[edge].words) & set(words)]
        deciding += ["sum"] if words[0] in _set(known.counters) else []
    deciding += [kind for word in reversed(words) for kind in _PLAIN if word in _set(known.kinds[kind].words)]
    return deciding[0] if deciding else None


def _by_ending(text: str) -> Kind | None:
    """The longest known ending decides: 指数 is an index, though 数 alone counts."""
    kinds = _vocabulary().kinds
    found = [(len(end), kind) for kind in kinds for end in _set(kinds[kind].endings) if text.endswith(end)]
    return max(found)[1] if found else None


def is_personal(name: str) -> bool:
    """Whether the name says that the values tell who somebody is or how to reach them."""
    personal = _vocabulary().personal
    words = words_of(name)
    while len(words) > 1 and (words[-1].isdigit() or words[-1] in _set(personal.trailing)):
        words = words[:-1]
    if not words:
        return False
    *before, last = words
    if last in _set(personal.words) or "birth" in before or last.endswith(tuple(_set(personal.endings))):
        return True
    if last in ("card", "account"):
        return bool(before) and before[-1] in _set(personal.holders)
    return last == "name" and set(before) <= _set(personal.people)


def is_other_time(name: str) -> bool:
    """Whether the name tells another moment than that at which the row happened."""
    return is_personal(name) or bool(_set(_vocabulary().other_times) & set(words_of(name)))
