"""Ids and field names out of whatever tables and columns are called."""

import re
import unicodedata

from engine.dataset import ROW_COUNT

_RESERVED = frozenset({"or", ROW_COUNT, ""})  # what a filter or a field list already means by these words
_LONGEST = 120


class Ids:
    """Hands out each id once, whatever its case: some file systems know none."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def make(self, text: str, *, otherwise: str) -> str:
        """`text` in ASCII letters, digits and _; numbered after `otherwise` where nothing of it is left."""
        ascii_text = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
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
