"""Cursors: signed handles on the rest of a snapshot, bound to caller, session, arguments and permission.

Deterministic: the same page of the same snapshot always carries the same cursor.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from engine.errors import CursorInvalid
from engine.signing import Signatures

_SALT = "sanbu.cursor"
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
    """Signs with the first of the keys, which is the newest, and reads with any of them."""

    def __init__(self, keys: Sequence[str]) -> None:
        self._signatures = Signatures(keys, salt=_SALT)

    def write(self, position: Position, binding: Binding) -> str:
        parts = (
            position.snapshot_id,
            str(position.offset),
            *map(_digest, (binding.owner, binding.arguments, binding.grant)),
        )
        return self._signatures.sign("~".join(parts))

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
        text = self._signatures.read(cursor)
        if text is None:
            raise CursorInvalid("altered")
        return text.split("~")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARACTERS]
