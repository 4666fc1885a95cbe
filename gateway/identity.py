"""Who calls: the only place where a caller becomes a Principal."""

from dataclasses import dataclass

from engine.policy import Policies, Principal


@dataclass(frozen=True)
class Caller:
    """A principal, and what its connection carries."""

    principal: Principal
    dimensions: tuple[str, ...] = ()
    """A filter on scenes."""
    reached_at: str | None = None
    """The gateway's address as this connection reaches it over HTTP, without a slash at its end."""


def local_caller(user: str, policies: Policies, *, dimensions: tuple[str, ...] = ()) -> Caller:
    """The person who runs the gateway on this machine: over stdio, on the command line, and over loopback HTTP."""
    return Caller(Principal(id=f"local:{user}", roles=policies.local_roles), dimensions)
