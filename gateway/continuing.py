"""A person's cursor: the engine's, with the query that it continues and when that was said, since no session knows it.

The query travels unsigned: the engine's cursor is bound to what it asks for, so that another one is refused.
"""

import json
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from engine.errors import CursorInvalid
from engine.query import Answer, Completeness, MorePages

_SEPARATOR = ":"  # stands in no cursor of the engine
_YEARS = range(1000, 9000)  # of any clock; nearer to an end of the calendar a time before or after may not exist
_MOST_BYTES = 1 << 20  # as much as a request may hold; a few bytes can unpack to any size


@dataclass(frozen=True)
class Begun:
    """What a cursor continues."""

    arguments: Mapping[str, Any]
    said_at: datetime
    """What its words for times are counted from: 昨天 means one date on all pages, past midnight too."""


def carrying(answer: Answer, begun: Begun) -> Answer:
    """The answer, its cursor now with what it continues in it."""
    told = [begun.arguments, begun.said_at.isoformat()]
    packed = zlib.compress(json.dumps(told, ensure_ascii=False).encode())
    payload = urlsafe_b64encode(packed).decode().rstrip("=")
    reasons = (
        replace(it, cursor=f"{it.cursor}{_SEPARATOR}{payload}") if isinstance(it, MorePages) else it
        for it in answer.completeness.reasons
    )
    return replace(answer, completeness=Completeness(tuple(reasons)))


def own_cursor(cursor: str) -> str:
    """The engine's part."""
    return cursor.partition(_SEPARATOR)[0]


def begun(cursor: str) -> Begun:
    """What the cursor came from. Raises CursorInvalid where it cannot be read."""
    payload = cursor.partition(_SEPARATOR)[2]
    try:
        packed = urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
        arguments, said_at = json.loads(zlib.decompressobj().decompress(packed, _MOST_BYTES))
        found = Begun(dict(arguments), datetime.fromisoformat(said_at))
    except (ValueError, TypeError, zlib.error, RecursionError) as error:
        raise CursorInvalid("altered") from error
    if found.said_at.tzinfo is None or found.said_at.year not in _YEARS:
        raise CursorInvalid("altered")
    return found
