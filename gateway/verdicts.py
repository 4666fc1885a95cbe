"""What verifying an evidence comes to: the refusals, each told apart, and what the evidence is evidence of."""

from dataclasses import dataclass
from datetime import date, datetime
from typing import Literal, get_args

from engine.dataset import Language
from engine.errors import EvidenceFault
from engine.evidence import Evidence
from engine.ledger import Id
from engine.query import Completeness, Plan

RowRefusal = Literal[
    "incomplete",
    "noKey",
    "idsNotInResult",
    "limitedScope",
    "idsInResult",
    "idsChanged",
    "idsVanished",
    "idsAppeared",
    "idsNotReread",
]
REFUSALS: tuple[str, ...] = (*(it for it in get_args(EvidenceFault) if it != "otherArguments"), *get_args(RowRefusal))
"""Every code of a refusal: what is verified is one query, so that there are no other arguments."""


@dataclass(frozen=True)
class Refusal:
    """One reason not to act, and the rows that it is about."""

    code: EvidenceFault | RowRefusal
    ids: tuple[Id, ...] = ()


@dataclass(frozen=True)
class Standing:
    """Evidence that its caller may still rest on, with what it is evidence of."""

    evidence: Evidence
    plan: Plan
    completeness: Completeness
    language: Language


@dataclass(frozen=True)
class Recheck:
    """The named rows as they are now."""

    read_at: datetime
    data_as_of: date | datetime | None
    unchanged: tuple[Id, ...]
    changed: tuple[Id, ...]
    """There, with other values."""
    vanished: tuple[Id, ...]
    """No longer in the scope."""
    appeared: tuple[Id, ...]
    """In the scope now, though they were said not to be."""
    unread: tuple[Id, ...]
    """Not among the rows that could be read, which were not all."""


@dataclass(frozen=True)
class Verdict:
    refusals: tuple[Refusal, ...]
    standing: Standing | None
    """None where the token itself is refused."""
    recheck: Recheck | None = None

    @property
    def verified(self) -> bool:
        return not self.refusals
