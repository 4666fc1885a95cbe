"""Who calls: the only place where a caller becomes a Principal.

Over stdio and on the command line it is the person who runs the gateway. Over HTTP it is that person too, as long as
no identity is configured and the gateway listens to this machine alone; else it is whoever the bearer token says, and
where that does not hold it is nobody.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from engine.policy import Policies, Principal
from gateway.errors import Unidentified
from gateway.oauth import AccessTokens
from gateway.tokens import PREFIX, TokenFile

_SCHEME = "bearer"


@dataclass(frozen=True)
class Caller:
    """A principal, and what its connection carries."""

    principal: Principal
    dimensions: tuple[str, ...] = ()
    """A filter on scenes."""
    reached_at: str | None = None
    """The gateway's address as this connection reaches it over HTTP, without a slash at its end."""


@dataclass(frozen=True)
class Identity:
    """The ways by which callers over HTTP are identified; there is at least one."""

    tokens: TokenFile | None
    access_tokens: AccessTokens | None
    wall: Callable[[], datetime]
    dimensions: tuple[str, ...] = ()

    async def caller(self, authorization: list[str]) -> Caller:
        """From the request's Authorization headers.

        Raises Unidentified, ScopeMissing, or StoreDown where it cannot be told. A static token is never tried as an
        access token, nor the other way round.
        """
        if not authorization:
            raise Unidentified("missing")
        scheme, _, token = authorization[0].partition(" ")
        token = token.strip()
        if len(authorization) > 1 or scheme.lower() != _SCHEME or not token:
            raise Unidentified("invalid", "not one bearer token")
        return Caller(await self._principal(token), self.dimensions)

    async def _principal(self, token: str) -> Principal:
        if token.startswith(PREFIX):
            if self.tokens is None:
                raise Unidentified("invalid", "static tokens are not configured")
            return self.tokens.principal_of(token, now=self.wall())
        if self.access_tokens is None:
            raise Unidentified("invalid", "access tokens are not configured")
        return await self.access_tokens.principal_of(token)


def local_caller(user: str, policies: Policies, *, dimensions: tuple[str, ...] = ()) -> Caller:
    """The person who runs the gateway on this machine."""
    return Caller(Principal(id=f"local:{user}", roles=policies.local_roles), dimensions)
