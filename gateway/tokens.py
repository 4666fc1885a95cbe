"""Static tokens: a file of their hashes, each with the principal, the roles and the attributes that it stands for.

A token has 256 random bits, so that a plain hash of it gives nothing away. Nothing holds the token itself.
"""

import hashlib
import json
import os
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import structlog
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from pydantic import Field as Setting

from engine.policy import Principal
from gateway.errors import StoreDown, Unidentified

_log = structlog.get_logger("sanbu")

PREFIX = "sanbu_"
"""By which a token is told from a JWT, and found by whoever looks for leaked ones."""

_RANDOM_BYTES = 32
_ID_BYTES = 4
_BACK_S = 30  # somebody has to mend the file first


class StoredToken(BaseModel):
    """What the file knows of a token."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Names it in lists; tells nothing of it."""
    principal: str = Setting(min_length=1)
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = {}
    sha256: str = Setting(pattern="^[0-9a-f]{64}$", repr=False)
    expires_at: datetime | None = None

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


_STORED = TypeAdapter(tuple[StoredToken, ...])


@dataclass
class TokensUnusable(Exception):
    """The file of tokens cannot be read or written."""

    path: Path
    detail: str


class TokenFile:
    """The file is looked at for every request, and read again where it changed: a removed token is refused at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen: tuple[int, int, int] | None = None
        self._by_hash: Mapping[str, StoredToken] = {}

    def principal_of(self, token: str, *, now: datetime) -> Principal:
        """Raises Unidentified, or StoreDown where the file cannot be read: then no token holds."""
        try:
            known = self._current().get(_hash(token))
        except TokensUnusable as unusable:
            _log.error("the tokens cannot be read", path=str(unusable.path), detail=unusable.detail)
            raise StoreDown("tokens", _BACK_S) from unusable
        if known is None:
            raise Unidentified("invalid", "no such token")
        if known.has_expired(now):
            raise Unidentified("expired", f"token {known.id}")
        return Principal(id=f"token:{known.principal}", roles=known.roles, attributes=known.attributes)

    def tokens(self) -> tuple[StoredToken, ...]:
        """In the order in which they were made; none where there is no file. Raises TokensUnusable."""
        return self._read() if self.path.exists() else ()

    def add(
        self,
        principal: str,
        *,
        roles: tuple[str, ...],
        attributes: Mapping[str, tuple[str, ...]],
        expires_at: datetime | None,
    ) -> tuple[StoredToken, str]:
        """(what is kept, the token, which is not). Raises TokensUnusable."""
        token = PREFIX + secrets.token_urlsafe(_RANDOM_BYTES)
        kept = StoredToken(
            id=secrets.token_hex(_ID_BYTES),
            principal=principal,
            roles=roles,
            attributes=attributes,
            sha256=_hash(token),
            expires_at=expires_at,
        )
        self._write((*self.tokens(), kept))
        return kept, token

    def remove(self, token_id: str) -> StoredToken | None:
        """The token that no longer holds; None where there was none of that id. Raises TokensUnusable."""
        held = self.tokens()
        gone = next((it for it in held if it.id == token_id), None)
        if gone is not None:
            self._write(tuple(it for it in held if it is not gone))
        return gone

    def _current(self) -> Mapping[str, StoredToken]:
        try:
            found = self.path.stat()
        except OSError as error:
            raise TokensUnusable(self.path, error.strerror or str(error)) from error
        seen = (found.st_mtime_ns, found.st_size, found.st_ino)
        if seen != self._seen:
            self._by_hash = {it.sha256: it for it in self._read()}
            self._seen = seen
        return self._by_hash

    def _read(self) -> tuple[StoredToken, ...]:
        try:
            return _STORED.validate_json(self.path.read_bytes())
        except OSError as error:
            raise TokensUnusable(self.path, error.strerror or str(error)) from error
        except ValidationError as error:  # its text would repeat hashes
            raise TokensUnusable(self.path, f"no list of tokens ({error.error_count()} faults)") from None

    def _write(self, tokens: tuple[StoredToken, ...]) -> None:
        """For its owner alone, and whole or not at all."""
        text = json.dumps(_STORED.dump_python(tokens, mode="json", exclude_defaults=True), ensure_ascii=False, indent=2)
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(dir=self.path.parent)  # made with mode 600
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text + "\n")
            Path(name).replace(self.path)
        except OSError as error:
            raise TokensUnusable(self.path, error.strerror or str(error)) from error


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode(errors="replace")).hexdigest()
