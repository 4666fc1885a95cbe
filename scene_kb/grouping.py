"""What a query wants rows apart by: 各渠道各项目, 按地区和设备, by region and device, which carriers."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from engine.folding import fold
from scene_kb.text import has_han

_MARK = (
    r"(?:各个?|每一?个?|按照?|分|不同的?|逐个?|哪些|哪几?个|哪几?家"
    r"|\b(?:by|per|each|every|across|which)\b(?:\s+(?:the|single|individual|different)\b)?)\s*"
)
_JOINED = r"\s*(?:和|与|及|以及|、|,|/|×|下的?|里的?|在|\b(?:and|within)\b)?\s*"


def grouped_by(query: str, names: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """The keys of `names` that are named where a query says what its rows are told apart by.

    What is joined to such a name counts too, with a mark of its own or without: 按渠道和项目, by carrier and month.
    """
    spoken = {fold(name): key for key, own in names.items() for name in own if name.strip()}
    if not spoken:
        return frozenset()
    run, single = _patterns(tuple(sorted(spoken, key=lambda name: (-len(name), name))))
    found = (name for said in run.finditer(fold(query)) for name in single.findall(said[0]))
    return frozenset(spoken[name] for name in found)


@lru_cache(maxsize=256)
def _patterns(names: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A mark with the names that follow it, and one name."""
    one = "|".join(re.escape(name) + ("" if has_han(name) else "(?=(?:e?s)?(?![a-z0-9_]))") for name in names)
    name = rf"(?:{one})(?:e?s\b)?"
    return re.compile(rf"{_MARK}{name}(?:{_JOINED}(?:{_MARK})?{name})*"), re.compile(rf"(?<![a-z])({one})")
