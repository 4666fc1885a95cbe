"""What is wrong in a catalog's files: where, in one sentence, and what to do about it."""

from collections.abc import Iterable
from dataclasses import dataclass

from engine.folding import nearest


@dataclass(frozen=True, order=True)
class Diagnostic:
    file: str
    """Relative to the catalog's folder, with forward slashes; the folder itself where no file is at fault."""
    line: int
    """Counted from 1; 0 where the fault is about the file as a whole."""
    message: str
    fix: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.message}; {self.fix}"


class CatalogFault(Exception):
    """A catalog, or a part of it, cannot be used. Holds every fault that was found, in the order of the files."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(sorted(set(diagnostics)))
        super().__init__("\n".join(map(str, self.diagnostics)))


def instead_of(name: str, legal: Iterable[str]) -> str:
    """A fix for an unknown name: the legal ones, nearest first."""
    best = nearest(name, {known: () for known in legal})
    if not best:
        return "there is none to name yet"
    others = f" (also: {', '.join(best[1:5])}{', ...' if len(best) > 5 else ''})" if len(best) > 1 else ""
    return f"did you mean '{best[0]}'?{others}"
