"""Everything that can go wrong below the gateway, as facts; the words for callers stand in `gateway.problems`.

EngineError
├── UnknownDataset            no such dataset, or none that the caller may see
├── UnknownField              no such field, or none that the caller may see; the legal ones, nearest first
├── UnknownValue              not one of a field's legal values; the legal ones, nearest first
├── InvalidParameter          an argument cannot be read, or does not fit its field
├── MissingParameter          required filters are absent, all named at once
├── LimitExceeded             asked for more than a hard bound
├── TimeBudgetExceeded        the query was cancelled when its time was up
├── SourceUnavailable         the store does not answer, or cannot be read
├── Busy                      no slot became free in time; the query has not started
├── CursorInvalid             a cursor is altered, expired, or no longer permitted
└── EvidenceInvalid           evidence is altered, expired, another's, or of something else than what is asked
"""

from dataclasses import dataclass, field
from typing import Literal, get_args


class EngineError(Exception):
    """Base of this package's errors. Each carries facts; none carries advice."""


@dataclass
class UnknownDataset(EngineError):
    api_no: str


@dataclass
class UnknownField(EngineError):
    name: str
    legal: tuple[str, ...]
    """Visible fields, nearest to `name` first."""
    argument: str = "fields"


@dataclass
class UnknownValue(EngineError):
    field: str
    received: object
    legal: tuple[str, ...]
    """Visible values, nearest to `received` first."""


Fault = Literal[
    "notADate",
    "impossibleDate",
    "notANumber",
    "notWhole",
    "notABoolean",
    "notText",
    "badOperator",
    "operatorForType",
    "emptyList",
    "rangeReversed",
    "timeNotPlain",
    "notGrouped",
    "notADimension",
    "badGrain",
    "badAggregation",
    "badShape",
    "ambiguous",
    "unsortable",
    "needsGroups",
    "needsTwoGroups",
    "measureInOr",
    "openRange",
    "needsKey",
    "masked",
]


FAULTS: tuple[Fault, ...] = get_args(Fault)


@dataclass
class InvalidParameter(EngineError):
    argument: str
    """Dotted path of the argument, such as filters.date."""
    received: object
    fault: Fault
    expected: tuple[str, ...] = ()
    """Legal alternatives or the bound that was crossed, where there are any."""


@dataclass
class MissingParameter(EngineError):
    names: tuple[str, ...]


@dataclass
class LimitExceeded(EngineError):
    argument: str
    received: int
    limit: int


@dataclass
class TimeBudgetExceeded(EngineError):
    budget_ms: int
    suggested_ms: int | None
    """A budget within which the same query may well finish, no promise; None where the caller may have no more."""


@dataclass
class SourceUnavailable(EngineError):
    source: str
    retry_after_s: int
    detail: str = field(default="", repr=False)
    """For the log and the trace; never shown to a caller."""


@dataclass
class Busy(EngineError):
    retry_after_s: int


CursorFault = Literal["altered", "expired", "otherArguments", "otherCaller", "permissionChanged"]
CURSOR_REASONS: tuple[CursorFault, ...] = get_args(CursorFault)


@dataclass
class CursorInvalid(EngineError):
    reason: CursorFault


EvidenceFault = Literal["altered", "expired", "otherCaller", "permissionChanged", "definitionChanged", "otherArguments"]
EVIDENCE_REASONS: tuple[EvidenceFault, ...] = get_args(EvidenceFault)


@dataclass
class EvidenceInvalid(EngineError):
    reason: EvidenceFault
