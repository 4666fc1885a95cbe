"""What a query says about a scene's parameters, and what of it a session keeps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sessions.models import Session


@dataclass(frozen=True)
class Told:
    """What a query says about a scene's parameters, by name."""

    recognised: Mapping[str, list[object]]
    """Every parameter; an empty list where the query does not speak of it."""
    unknown: Mapping[str, Sequence[str]]
    """What stands where a value would, and is none."""
    ambiguous: tuple[tuple[str, str, Mapping[str, str]], ...]
    """(parameter, the words, the span that they are taken for) of each time that could be another."""

    def facts(self, before: Session | None) -> dict[str, object]:
        """What the session keeps. Facts of an earlier question stay beneath unless something is said in their place."""
        earlier = {*mapping(before.facts, "recognised"), *mapping(before.facts, "unknown")} if before else set()
        nothing: dict[str, list[object]] = {name: [] for name in (*self.recognised, *earlier)}
        return {"recognised": {**nothing, **self.recognised}, "unknown": {**nothing, **self.unknown}}


NOTHING_TOLD = Told({}, {}, ())


def mapping(facts: Mapping[str, object], key: str) -> Mapping[str, Any]:
    value = facts.get(key)
    return value if isinstance(value, Mapping) else {}
