"""Evidence: a signed token for what an answer has named so far, on which scope, as of when, and whether that is all.

The token is a digest and a count, since agents pay for its length. What the digest stands for (scope, snapshot and
the ledger of keys, but no values) is kept beside the snapshots and outlives them and the session.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from cachetools import LRUCache

from engine.errors import EvidenceInvalid
from engine.ledger import DIGEST, named
from engine.query import DataQuery, Snapshot
from engine.signing import Signatures
from engine.snapshots.base import SnapshotStore

EVIDENCE_LIFE = timedelta(hours=24)
"""A person who approves on the next morning still finds it."""

_SALT = "sanbu.evidence"
_SCOPE = b"sanbu.scope"
_DIGEST_CHARACTERS = 24  # 96 bits: a second ledger with the same digest is out of reach
_KNOWN = 4096


@dataclass(frozen=True)
class Scope:
    """What was asked, and who asked it under which Grant."""

    query: DataQuery
    clock: datetime
    """What the query's words for times are counted from."""
    statement: str
    """Digest of what ran: filters, grouping, order and limit in canonical form, with the row rules."""
    principal_id: str
    grant: str
    """The Grant's fingerprint."""
    noted: Mapping[str, str]
    """What the caller of the engine wants to find again: a scene, a language."""


@dataclass(frozen=True)
class Evidence:
    """A token with what it stands for."""

    id: str
    scope: Scope
    snapshot: Snapshot
    """What was frozen: its key is the id that it had, its rows are the ledger in the order in which pages name them."""
    returned: int
    """How many entries the pages up to the token's have named."""

    @property
    def entries(self) -> pa.Table:
        """The rows that the caller has been given, and that are there."""
        return named(self.snapshot.rows.slice(0, self.returned))


class EvidenceBook:
    """Writes evidence, and reads it as long as it lives.

    The first of the keys, which is the newest, signs; any reads. `store` holds ledgers alone, so that a large snapshot
    drives none of them out.
    """

    def __init__(self, store: SnapshotStore, keys: Sequence[str], *, life: timedelta = EVIDENCE_LIFE) -> None:
        self._store, self._life = store, life
        self._signatures = Signatures(keys, salt=_SALT)
        self._known: LRUCache[tuple[str, str], str] = LRUCache(_KNOWN)

    def known(self, snapshot: Snapshot, scope: Scope) -> str | None:
        """The id under which this snapshot's ledger is kept for this scope, where this process has kept it."""
        return self._known.get((snapshot.id, _written(scope)))

    async def keep(self, snapshot: Snapshot, ledger: pa.Table, scope: Scope) -> str:
        """Stores what evidence of the snapshot's pages stands for, and returns its id: equal things have one id."""
        text = _written(scope)
        kept = replace(
            snapshot,
            key=snapshot.id,
            rows=ledger.replace_schema_metadata({_SCOPE: text}),
            expires_at=snapshot.taken_at + self._life,
            empty=None,
        )
        kept = replace(kept, id=_digest(kept))
        await self._store.keep(kept)
        self._known[snapshot.id, text] = kept.id
        return kept.id

    def token(self, evidence_id: str, returned: int) -> str:
        return self._signatures.sign(f"{evidence_id}~{returned}")

    async def read(self, token: str, principal_id: str, *, now: datetime) -> Evidence:
        """Raises EvidenceInvalid: altered, expired or otherCaller."""
        text = self._signatures.read(token)
        if text is None:
            raise EvidenceInvalid("altered")
        evidence_id, _, returned = text.partition("~")
        kept = await self._store.load(evidence_id, now=now)
        if kept is None:
            raise EvidenceInvalid("expired")
        scope = _read(kept.rows.schema.metadata[_SCOPE])
        if scope.principal_id != principal_id:
            raise EvidenceInvalid("otherCaller")
        return Evidence(evidence_id, scope, kept, int(returned))


def _written(scope: Scope) -> str:
    plain = {**asdict(scope), "clock": scope.clock.isoformat()}
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, default=str)


def _read(text: bytes) -> Scope:
    known: dict[str, Any] = json.loads(text)
    query: dict[str, Any] = {name: tuple(it) if isinstance(it, list) else it for name, it in known["query"].items()}
    return Scope(**{**known, "query": DataQuery(**query), "clock": datetime.fromisoformat(known["clock"])})


def _digest(kept: Snapshot) -> str:
    """Of all that the evidence says: scope, snapshot, what cut it, and every row with its key."""
    facts = [getattr(kept, it.name) for it in fields(kept) if it.name not in ("id", "rows")]
    digest = hashlib.sha256(json.dumps(facts, default=str).encode() + kept.rows.schema.metadata[_SCOPE])
    digest.update(b"".join(entry or bytes(1) for entry in kept.rows.column(DIGEST).to_pylist()))
    return digest.hexdigest()[:_DIGEST_CHARACTERS]
