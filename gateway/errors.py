"""What can go wrong between the steps, as facts. The words stand in `problems`.

GatewayError
├── SessionNotFound      unknown, another caller's, or of no use: all the same to a caller
├── SessionExpired       slept too long or grew too old
├── StepOutOfOrder       a step that needs an earlier one
├── UnknownScene         no such scene, or none that the caller may see
├── NothingPermitted     the caller's roles allow no scene at all
├── UnknownDimension     no such dimension among the visible scenes
├── ParameterNotGiven    required filters are absent, and what became of asking for them
├── InvalidArguments     an argument is missing, unknown, or of the wrong shape
├── NoSuchRoute          over HTTP, a path that nothing stands at, or a method that it does not take
├── NoSuchResult         over HTTP, no file of a result for this caller, whatever the reason
├── ForeignRequest       over HTTP, from another site's page or by another host's name
├── Unidentified         over HTTP, no identity, or one that does not hold
├── ScopeMissing         over HTTP, an identity whose token was not made for this
├── QuotaReached         as many calls, bytes or queries at a time as the caller may have
└── StoreDown            sessions, the index, quotas, identities or the audit log cannot be reached
"""

from dataclasses import dataclass
from typing import Literal

from gateway.questions import Form, Outcome


class GatewayError(Exception):
    """Base of this package's errors. Each carries facts; none carries advice."""


@dataclass
class SessionNotFound(GatewayError):
    session_id: str


@dataclass
class SessionExpired(GatewayError):
    session_id: str
    idle_seconds: int


@dataclass
class StepOutOfOrder(GatewayError):
    step: str
    first: str
    """The step to take before."""


@dataclass
class UnknownScene(GatewayError):
    scene_id: str
    legal: tuple[str, ...]
    """Visible scenes, nearest first."""


@dataclass
class NothingPermitted(GatewayError):
    roles: tuple[str, ...]


@dataclass
class UnknownDimension(GatewayError):
    name: str
    legal: tuple[str, ...]


@dataclass
class ParameterNotGiven(GatewayError):
    names: tuple[str, ...]
    outcome: Outcome | None
    """None: nobody was to be asked."""
    form: Form | None
    """For a client that asks by itself; None where the person has been asked and does not want to answer."""


@dataclass
class InvalidArguments(GatewayError):
    argument: str
    received: object
    fault: str
    """missing, unknown, type, tooLong, tooShort, tooSmall, tooLarge, choice or id"""
    expected: tuple[str, ...] = ()


@dataclass
class NoSuchRoute(GatewayError):
    what: Literal["path", "method"]
    received: str
    legal: tuple[str, ...]
    """The paths, each with its method, nearest first; or the path's methods."""


@dataclass
class NoSuchResult(GatewayError):
    endings: tuple[str, ...]
    """The kinds of file there are."""


@dataclass
class ForeignRequest(GatewayError):
    header: str
    """Host or Origin"""
    received: str


@dataclass
class Unidentified(GatewayError):
    fault: Literal["missing", "invalid", "expired"]
    detail: str = ""
    """For the log: what does not hold. Never shown to a caller, and never the token."""


@dataclass
class ScopeMissing(GatewayError):
    names: tuple[str, ...]


@dataclass
class QuotaReached(GatewayError):
    what: Literal["calls", "bytes", "concurrent"]
    limit: int
    retry_after_s: int


@dataclass
class StoreDown(GatewayError):
    what: str
    retry_after_s: int
