"""Turns in one SQLite file, or in memory. One machine; processes may share the file."""

import dataclasses
import json
import sqlite3
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import anyio.to_thread

from sessions.models import SpanRecord, Turn
from sessions.stores.base import SessionStore, SessionSummary, StoreUnavailable

T = TypeVar("T")

_SCHEMA = """
CREATE TABLE IF NOT EXISTS turns (
    number INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, trace_id TEXT NOT NULL, at REAL NOT NULL,
    body TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS by_session ON turns (session_id, number);
CREATE INDEX IF NOT EXISTS by_trace ON turns (trace_id, number);
CREATE INDEX IF NOT EXISTS by_time ON turns (at);
"""

_LAST_CHARACTER = "\U0010ffff"
_SUMMARIES = """
WITH found AS (
    SELECT session_id, min(number) AS first, max(number) AS last, max(at) AS last_at, count(*) AS turns FROM turns
    WHERE session_id BETWEEN :from AND :to
        OR session_id IN (SELECT session_id FROM turns WHERE trace_id BETWEEN :from AND :to)
    GROUP BY session_id ORDER BY last DESC LIMIT :limit)
SELECT found.session_id, first, body, last_at, turns FROM found JOIN turns ON number = first ORDER BY last DESC
"""


class SQLiteSessions:
    """`sqlite:PATH` or `sqlite::memory:`."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        path = url.partition(":")[2]
        try:
            if path != ":memory:":
                Path(path).parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=5)
            self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)
        except (sqlite3.Error, OSError) as error:
            raise StoreUnavailable(url, str(error)) from error

    async def append(self, turn: Turn) -> Turn:
        sql = "INSERT INTO turns (session_id, trace_id, at, body) VALUES (?, ?, ?, ?)"
        values = (turn.session_id, turn.trace_id, turn.at.timestamp(), _written(turn))
        number = await self._in_thread(lambda connection: connection.execute(sql, values).lastrowid)
        return dataclasses.replace(turn, number=number)

    async def turns(self, session_id: str) -> tuple[Turn, ...]:
        sql = "SELECT number, body FROM turns WHERE session_id = ? ORDER BY number"
        found = await self._in_thread(lambda connection: connection.execute(sql, (session_id,)).fetchall())
        return tuple(_read(number, body) for number, body in found)

    async def sessions(self, *, prefix: str = "", limit: int) -> tuple[SessionSummary, ...]:
        values = {"from": prefix, "to": prefix + _LAST_CHARACTER, "limit": limit}
        found = await self._in_thread(lambda connection: connection.execute(_SUMMARIES, values).fetchall())
        return tuple(
            SessionSummary(session_id, _read(number, body), datetime.fromtimestamp(last_at, UTC), turns)
            for session_id, number, body, last_at, turns in found
        )

    async def forget(self, before: datetime) -> int:
        sql = (
            "DELETE FROM turns WHERE session_id IN"
            " (SELECT session_id FROM turns GROUP BY session_id HAVING max(at) < ?)"
        )
        return await self._in_thread(lambda connection: connection.execute(sql, (before.timestamp(),)).rowcount)

    async def close(self) -> None:
        self._connection.close()

    async def _in_thread(self, work: Callable[[sqlite3.Connection], T]) -> T:
        def alone() -> T:
            with self._lock:
                try:
                    return work(self._connection)
                except sqlite3.Error as error:
                    raise StoreUnavailable(self._url, str(error)) from error

        return await anyio.to_thread.run_sync(alone)


def _conforms(it: SQLiteSessions) -> SessionStore:
    return it


def _written(turn: Turn) -> str:
    body = dataclasses.asdict(turn) | {"at": turn.at.isoformat()}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _read(number: int, body: str) -> Turn:
    known = json.loads(body)
    spans = tuple(SpanRecord(**span) for span in known.pop("spans"))
    return Turn(**known | {"at": datetime.fromisoformat(known["at"]), "spans": spans, "number": number})
