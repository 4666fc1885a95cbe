"""Access tokens of an OAuth 2.1 authorization server: JWTs, verified by the keys that it publishes.

The gateway is a resource server: it issues nothing, asks the authorization server for keys alone, and believes nothing
of a token before its signature, issuer, audience and time hold.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from math import inf
from time import monotonic
from typing import Any

import anyio
import anyio.to_thread
import jwt
import structlog
from jwt.exceptions import ExpiredSignatureError, PyJWKClientConnectionError, PyJWTError

from engine.policy import Principal
from gateway.errors import ScopeMissing, StoreDown, Unidentified

_log = structlog.get_logger("sanbu")

# Only what is verified by a public key: with a shared secret, whoever verifies could also sign.
_ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
_LEEWAY_S = 10  # clocks of two machines that keep time
_KEYS_LIVE_S = 300
_COOLDOWN_S = 30  # between two looks for keys that nobody knows, which any caller can name
_PATIENCE_S = 5
_BACK_S = 10
_THREADS = 4
_MOST_CHARACTERS = 16_384


@dataclass(frozen=True)
class Claims:
    """Where a token says who it is for. A name is a claim's own, or a dotted path into nested ones."""

    roles: str = "roles"
    attributes: Mapping[str, str] | None = None
    """Attributes of policies.yaml by name, each with its claim."""


class AccessTokens:
    """What is accepted, and the keys by which it is verified, which are fetched when they are first needed."""

    def __init__(
        self,
        *,
        issuer: str,
        jwks_url: str,
        audience: str,
        claims: Claims,
        scopes: tuple[str, ...] = (),
        cooldown_s: float = _COOLDOWN_S,
    ) -> None:
        self.issuer = issuer
        self.scopes = scopes
        self._audience = audience
        self._claims = claims
        self._keys = _PublishedKeys(jwks_url, lifespan=_KEYS_LIVE_S, timeout=_PATIENCE_S, cooldown_duration=cooldown_s)
        # Its own, so that a silent authorization server holds up nothing but the callers that need it.
        self._threads = anyio.CapacityLimiter(_THREADS)

    async def principal_of(self, token: str) -> Principal:
        """Raises Unidentified or ScopeMissing, or StoreDown where the keys cannot be fetched: then no token holds."""
        if len(token) > _MOST_CHARACTERS:
            raise Unidentified("invalid", "too long")
        claims = await anyio.to_thread.run_sync(partial(self._verified, token), limiter=self._threads)
        lacking = tuple(scope for scope in self.scopes if scope not in _scopes(claims))
        if lacking:
            raise ScopeMissing(lacking)
        return Principal(
            id=f"oauth:{claims['sub']}",
            roles=_texts(_claim(claims, self._claims.roles)),
            attributes={name: _texts(_claim(claims, at)) for name, at in (self._claims.attributes or {}).items()},
        )

    async def reach(self) -> int:
        """How many keys the authorization server publishes. Raises StoreDown."""
        return len(await anyio.to_thread.run_sync(self._fetched, limiter=self._threads))

    def _fetched(self) -> list[jwt.PyJWK]:
        try:
            return self._keys.get_signing_keys(refresh=True)
        except PyJWTError as error:
            raise StoreDown("identity", _BACK_S) from error

    def _verified(self, token: str) -> Mapping[str, Any]:
        try:
            key = self._keys.get_signing_key_from_jwt(token)
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=list(_ALGORITHMS),
                audience=self._audience,
                issuer=self.issuer,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except PyJWKClientConnectionError as error:
            _log.error("the keys of the authorization server cannot be fetched", detail=str(error))
            raise StoreDown("identity", _BACK_S) from error
        except ExpiredSignatureError as error:
            raise Unidentified("expired", str(error)) from error
        except (PyJWTError, ValueError, TypeError, KeyError) as error:
            raise Unidentified("invalid", f"{type(error).__name__}: {error}"[:200]) from error
        if not isinstance(claims["sub"], str) or not claims["sub"]:
            raise Unidentified("invalid", "sub is no text")
        return claims


class _PublishedKeys(jwt.PyJWKClient):
    """Known keys are found without it; where the server failed, it is left alone for a while."""

    _failed_at = -inf

    def fetch_data(self) -> Any:
        """Raises PyJWKClientConnectionError, whatever is wrong with what comes back."""
        if monotonic() - self._failed_at < _BACK_S:
            raise PyJWKClientConnectionError("the authorization server failed a moment ago")
        try:
            return super().fetch_data()
        except (PyJWTError, ValueError, OSError) as error:
            self._failed_at = monotonic()
            raise PyJWKClientConnectionError(str(error)) from error


def _scopes(claims: Mapping[str, Any]) -> frozenset[str]:
    """By RFC 9068 one text; some servers write a list, and call it scp."""
    return frozenset(_texts(claims.get("scope", claims.get("scp"))))


def _claim(claims: Mapping[str, Any], name: str) -> object:
    """None where there is none. A claim whose own name holds dots, such as a URL, comes before a path."""
    if name in claims:
        return claims[name]
    found: object = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found


def _texts(value: object) -> tuple[str, ...]:
    """A list as its texts, numbers and truth values; one text as its words. Anything else says nothing."""
    if isinstance(value, str):
        return tuple(value.split())
    values = value if isinstance(value, list) else [value]
    return tuple(_text(it) for it in values if isinstance(it, str | int | float | bool))


def _text(value: str | int | float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
