"""Cursors: signed handles on the rest of a snapshot, bound to caller, session, arguments and permission.

Deterministic: the same page of the same snapshot always carries the same cursor.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from hmac import compare_digest

from itsdangerous import Signer

from engine.errors import CursorInvalid

_SALT = "sanbu.cursor"
_SEPARATOR = "."
_DIGEST_CHARACTERS = 10


@dataclass(frozen=True)
class Binding:
    """What a cursor is good for: whose it is (caller and session), and for which arguments under which Grant."""

    owner: str
    arguments: str
    grant: str


@dataclass(frozen=True)
class Position:
    snapshot_id: str
    offset: int


class Cursors:
    """Signs with the newest of the keys, reads with any of them."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._signers = [Signer(key.encode(), salt=_SALT, sep=_SEPARATOR, digest_method=hashlib.sha256) for key in keys]

    def write(self, position: Position, binding: Binding) -> str:
        parts = (
            position.snapshot_id,
            str(position.offset),
            *map(_digest, (binding.owner, binding.arguments, binding.grant)),
        )
        return self._signers[-1].sign("~".join(parts)).decode()

    def position(self, cursor: str) -> Position:
        """Where the cursor points, whoever holds it. Raises CursorInvalid where it is altered."""
        snapshot_id, offset, *_ = self._parts(cursor)
        return Position(snapshot_id, int(offset))

    def read(self, cursor: str, binding: Binding) -> Position:
        """Raises CursorInvalid with the first thing that does not fit."""
        snapshot_id, offset, owner, arguments, grant = self._parts(cursor)
        if owner != _digest(binding.owner):
            raise CursorInvalid("otherCaller")
        if grant != _digest(binding.grant):
            raise CursorInvalid("permissionChanged")
        if arguments != _digest(binding.arguments):
            raise CursorInvalid("otherArguments")
        return Position(snapshot_id, int(offset))

    def _parts(self, cursor: str) -> list[str]:
        given = cursor.encode(errors="replace")
        value, _, _ = given.rpartition(_SEPARATOR.encode())
        for signer in self._signers:
            # Compared as text: a base64 signature has other spellings that decode alike.
            if compare_digest(signer.sign(value), given):
                return value.decode().split("~")
        raise CursorInvalid("altered")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
