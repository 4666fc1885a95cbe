"""A whole result as a file, for code that works outside the context: where it is, and what it holds.

The link is the answer's evidence: for its caller alone, under the Grant that it was read with, as long as the frozen
rows live. A file says itself whether it is complete.
"""

import json
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import anyio.to_thread
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import structlog

from engine.completeness import assess
from engine.encode import encode_rows
from engine.errors import EvidenceInvalid, LimitExceeded
from engine.ledger import key_columns
from engine.query import Column, Completeness, Page, Snapshot, columns_of
from gateway.audit import Disclosure, keys_digest
from gateway.errors import NoSuchResult, QuotaReached
from gateway.evidence import standing_evidence
from gateway.identity import Caller
from gateway.present.answers import as_of, moment, reason_of, scope
from gateway.present.scene import Wire
from gateway.steps import Steps
from gateway.verdicts import Standing

_log = structlog.get_logger("sanbu")

METADATA = "sanbu"
"""The key under which the schema of a Parquet or Arrow file says what it holds, as JSON."""

_GUARD = "'"
_FORMULA = frozenset("=+-@＝＋－＠\t\r\n" + _GUARD)
"""What a spreadsheet may take for the start of a formula; the guard itself, so that taking one away is exact."""
_WHOLE = Page((), 0, None, ())


@dataclass(frozen=True)
class File:
    body: bytes
    media_type: str
    headers: Mapping[str, str]


async def fetched(steps: Steps, caller: Caller, name: str) -> File:
    """The result that an answer's link names: all rows that were frozen, not those of its page.

    Raises NoSuchResult alike for what is unknown, altered, expired, another caller's or no longer permitted;
    QuotaReached and LimitExceeded where the file is more than the caller may still have, or may have at all; StoreDown.
    """
    principal, caps = caller.principal.id, steps.caps(caller)
    await steps.quotas.call(principal, caps)
    token, _, ending = name.rpartition(".")
    if ending not in _WRITERS:
        raise NoSuchResult(tuple(_WRITERS))
    try:
        standing = await standing_evidence(steps, caller, token)
    except EvidenceInvalid as invalid:
        raise NoSuchResult(tuple(_WRITERS)) from invalid
    snapshot = await steps.engine.snapshots.load(standing.evidence.snapshot.key, now=steps.wall())
    if snapshot is None:
        raise NoSuchResult(tuple(_WRITERS))
    completeness = assess(standing.plan, snapshot, _WHOLE, cursor=None)
    write, media_type = _WRITERS[ending]
    resolved = standing.plan.resolved
    told = json.dumps(_told(standing, snapshot, completeness), ensure_ascii=False)
    body = await anyio.to_thread.run_sync(
        lambda: write(snapshot.rows, columns_of(snapshot, resolved), resolved.dataset.zone, {METADATA: told})
    )
    left = await steps.quotas.left(principal, caps)
    if left is not None and len(body) > left.limit:
        raise LimitExceeded("file", len(body), left.limit)
    if left is not None and len(body) > left.left:
        raise QuotaReached("bytes", left.limit, left.retry_after_s)
    await steps.quotas.spend(principal, caps, len(body))
    steps.audit.record(
        "result",
        caller,
        at=steps.wall(),
        arguments={"name": name},
        outcome="complete" if completeness.complete else "partial",
        told=_disclosed(standing, snapshot, len(body)),
        trace_id=secrets.token_hex(16),
    )
    _log.info("result fetched", principal=principal, snapshot=snapshot.id, format=ending, bytes=len(body))
    return File(body, media_type, _headers(f"{snapshot.id}.{ending}", snapshot, completeness))


def _disclosed(standing: Standing, snapshot: Snapshot, size: int) -> Disclosure:
    plan = standing.plan
    resolved, columns = plan.resolved, columns_of(snapshot, plan.resolved)
    keys = key_columns(resolved) or columns
    named = snapshot.rows.select([columns.index(key) for key in keys])
    rows, _ = encode_rows(named, keys, zone=resolved.dataset.zone)
    return Disclosure(
        scene=standing.evidence.scope.noted.get("scene"),
        grant=plan.grant.fingerprint,
        api_no=resolved.dataset.api_no,
        filters=scope(plan, None, "en")["filters"],
        snapshot=snapshot.id,
        rows=len(rows),
        bytes=size,
        keys=keys_digest(rows, keys, keys),
    )


def _headers(name: str, snapshot: Snapshot, completeness: Completeness) -> dict[str, str]:
    codes = [reason_of(it, "en")["code"] for it in completeness.reasons]
    return {
        "Content-Disposition": f'attachment; filename="{name}"',
        "Cache-Control": "private, no-store",
        "X-Content-Type-Options": "nosniff",
        "Sanbu-Complete": "true" if completeness.complete else "false",
        **({"Sanbu-Reasons": ",".join(codes)} if codes else {}),
        "Sanbu-Rows": str(snapshot.rows.num_rows),
    }


def _told(standing: Standing, snapshot: Snapshot, completeness: Completeness) -> Wire:
    """What the file holds, in the words of an answer."""
    plan, language = standing.plan, standing.language
    zone = plan.resolved.dataset.zone
    return {
        "complete": completeness.complete,
        "reasons": [reason_of(it, language) for it in completeness.reasons],
        "scope": scope(plan, standing.evidence.scope.noted.get("scene"), language),
        "snapshot": {
            "id": snapshot.id,
            "takenAt": moment(snapshot.taken_at),
            "dataAsOf": as_of(snapshot.data_as_of, zone),
        },
        "rows": snapshot.rows.num_rows,
        "totalRows": snapshot.total_rows,
        "columns": [
            {"name": it.label, "type": it.type, **({"unit": it.unit} if it.unit else {})}
            for it in columns_of(snapshot, plan.resolved)
        ],
        "timeZone": zone.key,
    }


Writer = Callable[[pa.Table, Sequence[Column], ZoneInfo, Mapping[str, str]], bytes]


def as_parquet(rows: pa.Table, columns: Sequence[Column], zone: ZoneInfo, told: Mapping[str, str]) -> bytes:
    """The frozen values in the store's own types."""
    sink = pa.BufferOutputStream()
    pyarrow.parquet.write_table(_typed(rows, columns, zone, told), sink)
    return bytes(sink.getvalue())


def as_arrow(rows: pa.Table, columns: Sequence[Column], zone: ZoneInfo, told: Mapping[str, str]) -> bytes:
    """The same as an IPC file, not compressed: some readers know no compression."""
    table = _typed(rows, columns, zone, told)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def as_csv(rows: pa.Table, columns: Sequence[Column], zone: ZoneInfo, told: Mapping[str, str]) -> bytes:
    """The values of the pages, to the letter; but a text that a spreadsheet may take for a formula begins with '.

    Null is nothing at all, an empty text is two quotes. UTF-8. What is told stands in the response's headers.
    """
    values = _as_on_the_wire(rows, columns, zone)
    arrays = [_cells(held, column) for held, column in zip(values, columns, strict=True)]
    table = pa.Table.from_arrays(arrays, names=[guarded(column.label) for column in columns])
    sink = pa.BufferOutputStream()
    pyarrow.csv.write_csv(table, sink)
    return bytes(sink.getvalue())


def guarded(text: str) -> str:
    return _GUARD + text if text[:1] in _FORMULA and text else text


def _typed(rows: pa.Table, columns: Sequence[Column], zone: ZoneInfo, told: Mapping[str, str]) -> pa.Table:
    arrays = list(rows.columns)
    for at, stored in enumerate(arrays):
        if pa.types.is_interval(stored.type):  # Parquet has no such type, and a file of either kind says the same
            [texts] = _as_on_the_wire(rows.select([at]), columns[at : at + 1], zone)
            arrays[at] = pa.chunked_array([pa.array(map(_text, texts), pa.string())])
    return pa.Table.from_arrays(arrays, names=[it.label for it in columns]).replace_schema_metadata(told)


def _as_on_the_wire(rows: pa.Table, columns: Sequence[Column], zone: ZoneInfo) -> list[tuple[object, ...]]:
    """By column."""
    encoded, _ = encode_rows(rows, columns, zone=zone)
    return list(zip(*encoded, strict=True)) or [() for _ in columns]


def _cells(values: Sequence[object], column: Column) -> pa.Array:
    """Numbers as numbers, so that they are not quoted; all else as text, with the guard."""
    if (exact := _exact_type(column.type)) is not None:
        try:
            return pa.array([None if it is None else str(it) for it in values], pa.string()).cast(exact)
        except pa.ArrowInvalid:  # the source holds something else than the catalog says: as it is
            pass
    elif all(it is None or isinstance(it, bool | float) for it in values):
        return pa.array(values)
    return pa.array([None if it is None else guarded(str(_text(it))) for it in values], pa.string())


def _exact_type(kind: str) -> pa.DataType | None:
    if kind.startswith("decimal"):
        return pa.decimal128(38, int(kind.rstrip(")").rpartition(",")[2]))
    if "int" in kind:
        return pa.uint64() if kind.startswith("u") else pa.int64()
    return None


def _text(value: object) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_WRITERS: Mapping[str, tuple[Writer, str]] = {
    "parquet": (as_parquet, "application/vnd.apache.parquet"),
    "csv": (as_csv, "text/csv; charset=utf-8; header=present"),
    "arrow": (as_arrow, "application/vnd.apache.arrow.file"),
}
MEDIA_TYPES = tuple(media_type for _, media_type in _WRITERS.values())
