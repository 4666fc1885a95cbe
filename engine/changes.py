"""What changed between the rows that an evidence has named and the same query's rows now. Compares digests by key."""

import secrets
from dataclasses import dataclass, replace

import pyarrow as pa

from engine.evidence import Evidence, EvidenceBook, Scope
from engine.ledger import DIGEST, ledger_of
from engine.query import CHANGE, Resolved, Since, Snapshot


@dataclass(frozen=True)
class Changes:
    """Positions: in the entries that were named before, and in the rows as they are now."""

    before: pa.Table
    now: pa.Table
    """The ledger of the rows as they are now."""
    removed: tuple[int, ...]
    """In `before`."""
    added: tuple[int, ...]
    """In `now`, as the next two."""
    changed: tuple[int, ...]
    unchanged: tuple[int, ...]


def compare(before: pa.Table, rows: pa.Table, resolved: Resolved) -> Changes:
    """`before`: the entries that were named; a row that was not yet named counts as added."""
    now = ledger_of(rows, resolved)
    known, there = _by_key(before), _by_key(now)
    kinds: dict[str, list[int]] = {"added": [], "changed": [], "unchanged": []}
    for at, (key, digest) in enumerate(zip(_keys(now), now.column(DIGEST).to_pylist(), strict=True)):
        kinds["added" if key not in known else "unchanged" if known[key] == digest else "changed"].append(at)
    removed = tuple(at for at, key in enumerate(_keys(before)) if key not in there)
    return Changes(before, now, removed, *(tuple(kinds[it]) for it in ("added", "changed", "unchanged")))


async def frozen(evidence: Evidence, fresh: Snapshot, resolved: Resolved, book: EvidenceBook, scope: Scope) -> Snapshot:
    """The changes as a result that can be paged, with the evidence of what its reader knows then.

    First the rows that are no more, with their keys alone, then the added and changed ones in the query's order.
    """
    changes = compare(evidence.entries, fresh.rows, resolved)
    shown = sorted((*changes.added, *changes.changed))
    gone = changes.before.take(pa.array(changes.removed, pa.int64()))
    rows = _rows(changes, shown, gone, fresh.rows, resolved)
    snapshot = replace(
        fresh,
        id=secrets.token_hex(8),
        key=f"since {evidence.id}",
        rows=rows,
        total_rows=rows.num_rows,
        empty=None,
    )
    return replace(
        snapshot,
        since=Since(
            evidence=await book.keep(snapshot, _ledger(changes, shown, gone), scope),
            taken_at=evidence.snapshot.taken_at,
            added=len(changes.added),
            changed=len(changes.changed),
            removed=len(changes.removed),
            unchanged=len(changes.unchanged),
        ),
    )


def _rows(changes: Changes, shown: list[int], gone: pa.Table, now: pa.Table, resolved: Resolved) -> pa.Table:
    kinds = {**dict.fromkeys(changes.added, "added"), **dict.fromkeys(changes.changed, "changed")}
    words = pa.array(["removed"] * len(gone) + [kinds[at] for at in shown], pa.string())
    labels = [column.label for column in resolved.columns]
    there = now.take(pa.array(shown, pa.int64()))
    held = {name: gone.column(name) for name in gone.column_names if name != DIGEST}
    columns = [
        pa.chunked_array([*_as(held.get(label), it.type, len(gone)).chunks, *it.chunks], it.type)
        for label, it in zip(labels, there.columns, strict=True)
    ]
    return pa.table([words, *columns], names=[CHANGE.label, *labels])


def _ledger(changes: Changes, shown: list[int], gone: pa.Table) -> pa.Table:
    """What stayed, which the reader has from before, then the pages' rows; those that are no more without a digest."""
    stayed = changes.now.take(pa.array(changes.unchanged, pa.int64()))
    digests = pa.nulls(len(gone), stayed.schema.field(DIGEST).type)
    gone = gone.set_column(gone.num_columns - 1, DIGEST, digests).cast(stayed.schema)
    return pa.concat_tables([stayed, gone, changes.now.take(pa.array(shown, pa.int64()))])


def _as(values: pa.ChunkedArray | None, kind: pa.DataType, length: int) -> pa.ChunkedArray:
    return pa.chunked_array([pa.nulls(length, kind)]) if values is None else values.cast(kind)


def _by_key(entries: pa.Table) -> dict[tuple[object, ...], object]:
    return dict(zip(_keys(entries), entries.column(DIGEST).to_pylist(), strict=True))


def _keys(entries: pa.Table) -> list[tuple[object, ...]]:
    columns = [entries.column(name).to_pylist() for name in entries.column_names if name != DIGEST]
    return list(zip(*columns, strict=True)) if columns else [()] * len(entries)
