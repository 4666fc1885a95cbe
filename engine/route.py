"""Which of a dataset's sources serves a query, by fixed rules.

The reason goes into the trace, never into the answer.
"""

from dataclasses import dataclass

from engine.dataset import Source
from engine.query import Condition, Resolved


@dataclass(frozen=True)
class Route:
    source: Source
    reason: str


def route(resolved: Resolved) -> Route:
    """Key look-ups go to a row store, all else to the first analytical source; a single source serves everything."""
    sources = resolved.dataset.sources
    if len(sources) == 1:
        return Route(sources[0], "only source")
    wanted = "rows" if _is_key_lookup(resolved) else "olap"
    for source in sources:
        if source.kind == wanted:
            return Route(source, "key look-up" if wanted == "rows" else "scan or aggregate")
    return Route(sources[0], f"no {wanted} source; first in order")


def _is_key_lookup(resolved: Resolved) -> bool:
    fixed = {it.field for it in resolved.where if isinstance(it, Condition) and it.operator == "in"}
    return not resolved.grouped and fixed.issuperset(resolved.dataset.key)
