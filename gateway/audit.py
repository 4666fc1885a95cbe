"""The audit log: who asked what, under which Grant, and what left, as JSON lines that are only ever appended.

Never holds a value of a row: of rows it keeps their number, their bytes, and a hash of the keys that named them.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import structlog

from engine.budget import page_bytes
from engine.ledger import key_columns
from engine.query import Answer, Column
from gateway.errors import StoreDown
from gateway.identity import Caller
from gateway.present.answers import echoed

_log = structlog.get_logger("sanbu")

_BACK_S = 30  # somebody has to make room first


@dataclass(frozen=True)
class Disclosure:
    """What an answer told, and under which Grant."""

    scene: str | None = None
    grant: str | None = None
    """The Grant's fingerprint."""
    api_no: str | None = None
    filters: Mapping[str, object] | None = None
    """In canonical form, as the answer's scope states them."""
    snapshot: str | None = None
    rows: int = 0
    bytes: int = 0
    """Of the rows in compact JSON, or of the file."""
    keys: str | None = None
    """Of the rows, in their order."""


@dataclass(frozen=True)
class AuditLog:
    """One file for all processes of this machine: every line is a single write at its end.

    The file is opened for each line, so that it may be moved away at any time. A line is handed to the operating
    system before its answer leaves; no line is forced to the disk.
    """

    path: Path

    def record(
        self,
        what: str,
        caller: Caller,
        *,
        at: datetime,
        arguments: Mapping[str, object],
        outcome: str,
        told: Disclosure | None,
        trace_id: str,
    ) -> None:
        """Raises StoreDown where the line cannot be written: then nothing may leave."""
        told = told or Disclosure()
        line: dict[str, Any] = {
            "at": at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "what": what,
            "principal": caller.principal.id,
            "roles": list(caller.principal.roles),
            "arguments": digest(arguments),
            "outcome": outcome,
            "scene": told.scene,
            "apiNo": told.api_no,
            "filters": told.filters,
            "grant": told.grant,
            "snapshot": told.snapshot,
            "rows": told.rows,
            "bytes": told.bytes,
            "keys": told.keys,
            "traceId": trace_id,
        }
        text = json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            try:
                os.write(descriptor, f"{text}\n".encode(errors="replace"))
            finally:
                os.close(descriptor)
        except OSError as error:
            _log.error("the audit log cannot be written", path=str(self.path), detail=error.strerror, trace_id=trace_id)
            raise StoreDown("audit", _BACK_S) from error

    def lines(self, *, since: datetime | None = None) -> Iterator[str]:
        """Each line from `since` on, as it was written. Nothing where there is no file."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as file:
            for line in file:
                if since is None or datetime.fromisoformat(json.loads(line)["at"]) >= since:
                    yield line.rstrip("\n")


def disclosure(answer: Answer, scene: str | None) -> Disclosure:
    """What a page told."""
    plan = answer.plan
    resolved = plan.resolved
    return Disclosure(
        scene=scene,
        grant=plan.grant.fingerprint,
        api_no=resolved.dataset.api_no,
        filters={name: echoed(it, resolved.dataset.zone) for name, it in resolved.spoken_filters.items()},
        snapshot=answer.snapshot.id,
        rows=len(answer.page.rows),
        bytes=page_bytes(answer.page),
        keys=keys_digest(answer.page.rows, answer.columns, key_columns(resolved)),
    )


def keys_digest(rows: Sequence[tuple[object, ...]], columns: Sequence[Column], keys: Sequence[Column]) -> str | None:
    """Of the key columns of wire rows, or of whole rows where nothing names them; None for no row."""
    if not rows:
        return None
    labels = [column.label for column in columns]
    places = [labels.index(key.label) for key in keys] or list(range(len(labels)))
    return digest([[row[place] for place in places] for row in rows])


def digest(value: object) -> str:
    """sha256 of compact JSON with its names in order."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
