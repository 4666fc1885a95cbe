"""A query as retrieval reads it: the words that ask, the words that it excludes, and the text worth embedding."""

import re
from dataclasses import dataclass

from scene_kb.text import HAN, fold, tidy, tokens

LONGEST = 2000
"""Characters of a query that are read: more than any task needs, and a bound on what one call can cost."""

# Directives about what to look at. Conditions on rows (没有进球的球员, players who have not scored) stay in the
# question: their fields are needed to answer it.
_ZH = (
    r"(?:别看|不看|不要看|不用看|别管|不管|别给我|不要|不包括|不包含|不含|不算|排除|剔除|去掉|除去|忽略"
    r"|不是(?=[^的]{1,12}[,，;；、]?而?是))"
)
_EN = (
    r"\b(?:excluding|exclude|ignoring|ignore|leaving out|leave out|rather than|instead of)\b"
    # A bare "not" is a directive where it opens a clause: "spend, not refunds".
    r"|(?:(?<=[,;(\-] )|(?<=[,;(\-])|^|(?<=\band )|(?<=\bbut ))(?:not|no need for)\b"
)
_EXCLUSION = re.compile(
    rf"{_ZH}(?P<zh>[{HAN}A-Za-z0-9_ ]{{1,16}}?)(?=的|$|[^\w ]|但|而|只|就)"
    rf"|(?:{_EN})(?P<en>[^,.;!?()]{{1,60}}?)(?=$|[,.;!?()]|\bbut\b|\bonly\b)",
    re.IGNORECASE,
)
_AFTER_NOT = re.compile(r"^\s*(?:the|any|about|looking at|interested in)?\s*", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """One query, read."""

    text: str
    """Folded, without what it excludes: the key of its vector, and what is embedded."""
    tokens: tuple[str, ...]
    """Each once, in order of first appearance."""
    excluded: frozenset[str]
    """Tokens that must not score for a scene or field."""


def read(query: str) -> Asked:
    """Never fails: an empty or wordless query has no tokens."""
    tidied = tidy(query[:LONGEST])
    excluded: set[str] = set()

    def take_out(found: re.Match[str]) -> str:
        said = found["zh"] or _AFTER_NOT.sub("", found["en"] or "", count=1)
        excluded.update(tokens(said))
        return " "

    kept = _EXCLUSION.sub(take_out, tidied)
    wanted = tuple(dict.fromkeys(tokens(kept)))
    return Asked(
        text=fold(kept),
        tokens=tuple(token for token in wanted if token not in excluded),
        excluded=frozenset(excluded - set(wanted)),
    )
