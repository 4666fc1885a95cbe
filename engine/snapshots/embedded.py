"""Snapshots in one SQLite file, or in memory: Arrow streams, bounded in bytes, oldest out first.

Survive a restart within their life where they have a file. One process at a time.
"""

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date, datetime
from typing import Any, TypeVar

import anyio.to_thread
import pyarrow as pa
from cachetools import LRUCache

from engine.query import EmptyFinding, OutOfTime, Since, Snapshot, SourceFailed, Stopped
from engine.snapshots.base import SnapshotStore

T = TypeVar("T")

# The blob stands last: SQLite reads through it to reach what comes after. What is told of all rows is in an index.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS snapshots (
    id TEXT PRIMARY KEY, key TEXT NOT NULL, taken_at TEXT NOT NULL, expires_at TEXT NOT NULL,
    facts TEXT NOT NULL, bytes INTEGER NOT NULL, rows BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_key ON snapshots (key, taken_at);
CREATE INDEX IF NOT EXISTS by_age ON snapshots (taken_at, id, bytes);
CREATE INDEX IF NOT EXISTS by_end ON snapshots (expires_at);
"""
_SELECT = "SELECT id, facts, rows FROM snapshots"
_DECODED = 8  # recently used tables are kept decoded, since pages of one result come in quick succession: 1/8 of all


class EmbeddedSnapshots:
    """`sqlite:PATH` or `sqlite::memory:`. `max_bytes` bounds the stored streams."""

    def __init__(self, url: str = "sqlite::memory:", *, max_bytes: int = 512 << 20) -> None:
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._decoded: LRUCache[str, Snapshot] = LRUCache(
            max_bytes // _DECODED, getsizeof=lambda it: max(1, it.rows.nbytes)
        )
        self._connection = sqlite3.connect(url.partition(":")[2], check_same_thread=False, isolation_level=None)
        self._connection.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;" + _SCHEMA)

    async def newest(self, key: str, *, not_before: datetime, now: datetime) -> Snapshot | None:
        sql = _SELECT + " WHERE key = ? AND taken_at >= ? AND expires_at > ? ORDER BY taken_at DESC LIMIT 1"
        return await self._in_thread(lambda: self._read(sql, (key, _stamp(not_before), _stamp(now))))

    async def load(self, snapshot_id: str, *, now: datetime) -> Snapshot | None:
        sql = _SELECT + " WHERE id = ? AND expires_at > ?"
        return await self._in_thread(lambda: self._read(sql, (snapshot_id, _stamp(now))))

    async def keep(self, snapshot: Snapshot) -> None:
        await self._in_thread(lambda: self._write(snapshot))

    async def close(self) -> None:
        self._connection.close()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        def alone() -> T:
            with self._lock:
                return work()

        return await anyio.to_thread.run_sync(alone)

    def _read(self, sql: str, parameters: tuple[str, ...]) -> Snapshot | None:
        found = self._connection.execute(sql, parameters).fetchone()
        if found is None:
            return None
        snapshot_id, facts, stream = found
        if snapshot_id not in self._decoded:
            self._remember(_decoded(facts, stream))
        return self._decoded.get(snapshot_id) or _decoded(facts, stream)

    def _write(self, snapshot: Snapshot) -> None:
        stream = _stream(snapshot.rows)
        if len(stream) > self._max_bytes:
            return
        with self._transaction():
            self._connection.execute("DELETE FROM snapshots WHERE expires_at <= ?", (_stamp(snapshot.taken_at),))
            self._make_room(len(stream))
            self._connection.execute(
                "INSERT OR REPLACE INTO snapshots (id, key, taken_at, expires_at, facts, bytes, rows)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    snapshot.id,
                    snapshot.key,
                    _stamp(snapshot.taken_at),
                    _stamp(snapshot.expires_at),
                    _facts(snapshot),
                    len(stream),
                    stream,
                ),
            )
        self._remember(snapshot)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN")
        try:
            yield
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _make_room(self, wanted: int) -> None:
        (held,) = self._connection.execute("SELECT coalesce(sum(bytes), 0) FROM snapshots").fetchone()
        if held + wanted <= self._max_bytes:
            return
        oldest_first = "SELECT id, bytes FROM snapshots ORDER BY taken_at"
        for snapshot_id, size in self._connection.execute(oldest_first).fetchall():
            self._connection.execute("DELETE FROM snapshots WHERE id = ?", (snapshot_id,))
            self._decoded.pop(snapshot_id, None)
            held -= size
            if held + wanted <= self._max_bytes:
                return

    def _remember(self, snapshot: Snapshot) -> None:
        if snapshot.rows.nbytes < self._decoded.maxsize:
            self._decoded[snapshot.id] = snapshot


def _conforms(it: EmbeddedSnapshots) -> SnapshotStore:
    return it


def _stamp(moment: datetime) -> str:
    """Epoch microseconds, padded so that texts sort like times."""
    return f"{round(moment.timestamp() * 1_000_000):020d}"


def _stream(rows: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, rows.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        writer.write_table(rows)
    return bytes(sink.getvalue())


def _facts(snapshot: Snapshot) -> str:
    as_of = snapshot.data_as_of
    return json.dumps(
        {
            "id": snapshot.id,
            "key": snapshot.key,
            "taken_at": snapshot.taken_at.isoformat(),
            "expires_at": snapshot.expires_at.isoformat(),
            "data_as_of": as_of.isoformat() if as_of else None,
            "total_rows": snapshot.total_rows,
            "cut_by": snapshot.cut_by,
            "source": snapshot.source,
            "empty": asdict(snapshot.empty) if snapshot.empty else None,
            "since": _since_facts(snapshot.since),
            "data_since": snapshot.data_since.isoformat() if snapshot.data_since else None,
            "stopped": asdict(snapshot.stopped) if snapshot.stopped else None,
        }
    )


def _decoded(facts: str, stream: bytes) -> Snapshot:
    known = json.loads(facts)
    return Snapshot(
        id=known["id"],
        key=known["key"],
        taken_at=datetime.fromisoformat(known["taken_at"]),
        expires_at=datetime.fromisoformat(known["expires_at"]),
        data_as_of=_moment(known["data_as_of"]),
        rows=pa.ipc.open_stream(stream).read_all(),
        total_rows=known["total_rows"],
        cut_by=known["cut_by"],
        source=known["source"],
        empty=EmptyFinding(**known["empty"]) if known["empty"] else None,
        since=_since(known.get("since")),
        data_since=_moment(known.get("data_since")),
        stopped=_stopped(known.get("stopped")),
    )


def _stopped(facts: dict[str, int] | None) -> Stopped | None:
    if facts is None:
        return None
    return OutOfTime(**facts) if "budget_ms" in facts else SourceFailed(**facts)


def _since_facts(since: Since | None) -> dict[str, object] | None:
    return None if since is None else {**asdict(since), "taken_at": since.taken_at.isoformat()}


def _since(facts: dict[str, Any] | None) -> Since | None:
    return None if facts is None else Since(**{**facts, "taken_at": datetime.fromisoformat(facts["taken_at"])})


def _moment(text: str | None) -> date | datetime | None:
    if text is None:
        return None
    return datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
