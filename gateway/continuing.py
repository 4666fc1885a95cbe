"""A person's cursor: the engine's, with the query that it continues, since no session remembers what was asked.

The query travels unsigned: the engine's cursor is bound to what it asks for, so that another one is refused.
"""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.errors import CursorInvalid
from engine.query import Answer, Completeness, MorePages

_SEPARATOR = ":"  # stands in no cursor of the engine
_MOST_BYTES = 1 << 20  # as much as a request may hold; a few bytes can unpack to any size


def carrying(answer: Answer, arguments: Mapping[str, object]) -> Answer:
    """The answer, its cursor now with the arguments in it."""
    packed = zlib.compress(json.dumps(arguments, ensure_ascii=False).encode())
    payload = urlsafe_b64encode(packed).decode().rstrip("=")
    reasons = (
        replace(it, cursor=f"{it.cursor}{_SEPARATOR}{payload}") if isinstance(it, MorePages) else it
        for it in answer.completeness.reasons
    )
    return replace(answer, completeness=Completeness(tuple(reasons)))


def own_cursor(cursor: str) -> str:
    """The engine's part."""
    return cursor.partition(_SEPARATOR)[0]


def begun(cursor: str) -> Mapping[str, Any]:
    """The arguments that the cursor came from. Raises CursorInvalid where they cannot be read."""
    payload = cursor.partition(_SEPARATOR)[2]
    try:
        packed = urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        arguments = json.loads(zlib.decompressobj().decompress(packed, _MOST_BYTES))
    except (ValueError, zlib.error, RecursionError) as error:
        raise CursorInvalid("altered") from error
    if not isinstance(arguments, dict):
        raise CursorInvalid("altered")
    return arguments
