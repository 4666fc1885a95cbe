"""What an answer has named: the key of each row and a digest of the row, but no values.

Rows are told apart by their key: the group columns of a grouped answer, the dataset's key columns of raw rows.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from engine.dataset import Dataset
from engine.encode import encode_rows, encoder, python_values
from engine.query import Column, Resolved

DIGEST = "row:digest"
"""The ledger's last column, null where the row is no more; no field and no aggregation is called so."""

_DIGEST_BYTES = 8
_WRITTEN_ONE_BY_ONE = (pa.types.is_floating, pa.types.is_nested, pa.types.is_null, pa.types.is_interval)
_BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
_MOST_DIGITS = 40  # of an id; 1e999999999 is short to write and would take all memory to read
_BETWEEN, _NULL = b"\x1f", b"\x00null"

Id = str | int | float | bool | Mapping[str, object] | None
"""A row as a caller names it: the value of the only key column, or the values of some by their names."""


@dataclass
class NotAnId(Exception):
    """An id that no row of the answer could have."""

    id: object
    expected: tuple[str, ...]
    """The key columns' names; the column with its type where the value does not fit it."""


def key_columns(resolved: Resolved) -> tuple[Column, ...]:
    """The answer's columns by which its rows are named; none where raw rows come without their key."""
    if resolved.grouped:
        return resolved.groups
    key = resolved.dataset.key
    return tuple(it for it in resolved.columns if it.field is not None and it.label in key)


def missing_key(resolved: Resolved) -> tuple[str, ...]:
    """The key columns that raw rows lack; without them rows cannot be told apart."""
    if resolved.grouped:
        return ()
    held = {column.label for column in resolved.columns}
    return tuple(name for name in resolved.dataset.key if name not in held)


def ledger_of(rows: pa.Table, resolved: Resolved) -> pa.Table:
    """(n rows) -> n entries: the key columns as they are stored, then DIGEST."""
    labels = [column.label for column in resolved.columns]
    keys = key_columns(resolved)
    entries = [rows.column(labels.index(column.label)) for column in keys]
    digests = row_digests(rows, resolved.columns, resolved.dataset.zone)
    return pa.table([*entries, digests], names=[*(column.label for column in keys), DIGEST])


def row_digests(rows: pa.Table, columns: Sequence[Column], zone: ZoneInfo) -> pa.Array:
    """Equal for rows that the wire shows alike."""
    texts = [_as_texts(stored, column, zone) for stored, column in zip(rows.columns, columns, strict=True)]
    joined = pc.binary_join_element_wise(
        *texts, pa.scalar(_BETWEEN, pa.large_binary()), null_handling="replace", null_replacement=_NULL
    )
    digests = [hashlib.blake2b(text, digest_size=_DIGEST_BYTES).digest() for text in joined.to_pylist()]
    return pa.array(digests, pa.binary(_DIGEST_BYTES))


def _as_texts(stored: pa.ChunkedArray, column: Column, zone: ZoneInfo) -> pa.Array:
    """A column as bytes, one for each row: whole columns at once where the store's type is exact."""
    values = stored.combine_chunks()
    if isinstance(values, pa.ExtensionArray):  # a UUID, which Arrow knows as bytes with a name
        values = values.storage
    kind = values.type
    if any(told(kind) for told in _WRITTEN_ONE_BY_ONE):
        # Sums of doubles differ in the last digits from call to call: as the wire rounds them.
        encode = encoder(column, zone, single=pa.types.is_float32(kind))
        texts = (None if value is None else encode(value) for value in python_values(values))
        return pa.array([None if text is None else repr(text).encode() for text in texts], pa.large_binary())
    if pa.types.is_temporal(kind):
        values = values.view(pa.int64() if kind.bit_width == 64 else pa.int32())
    if not any(binary(kind) for binary in _BINARY):
        values = values.cast(pa.large_string())
    return values.cast(pa.large_binary())


def named(entries: pa.Table) -> pa.Table:
    """The entries of rows that are there."""
    return entries.filter(pc.is_valid(entries.column(DIGEST)))


class Rows:
    """A ledger's entries by what a caller calls them: values are compared as the wire writes them."""

    def __init__(self, entries: pa.Table, columns: Sequence[Column], dataset: Dataset) -> None:
        self._columns = {column.label: column for column in columns}
        self._zone = dataset.zone
        keys, _ = encode_rows(entries.select(list(self._columns)), columns, zone=self._zone)
        self._keys = [dict(zip(self._columns, map(_text, key), strict=True)) for key in keys] if columns else []

    def at(self, ids: Iterable[Id]) -> list[tuple[Id, list[int]]]:
        """Each id with the positions of the entries that it names. Raises NotAnId."""
        by_labels: dict[tuple[str, ...], dict[tuple[str | None, ...], list[int]]] = {}
        found = []
        for each in ids:
            wanted = self._read(each)
            labels = tuple(wanted)
            if labels not in by_labels:
                by_labels[labels] = self._index(labels)
            found.append((each, by_labels[labels].get(tuple(wanted.values()), [])))
        return found

    def _index(self, labels: tuple[str, ...]) -> dict[tuple[str | None, ...], list[int]]:
        positions: dict[tuple[str | None, ...], list[int]] = {}
        for at, key in enumerate(self._keys):
            positions.setdefault(tuple(key[label] for label in labels), []).append(at)
        return positions

    def _read(self, given: Id) -> dict[str, str | None]:
        """The id's values by the columns' names, in the columns' order, as the wire would write them."""
        labels = tuple(self._columns)
        if not isinstance(given, Mapping):
            if len(labels) != 1:  # which of them is meant would be a guess, and a wrong one could prove an absence
                raise NotAnId(given, labels)
            given = {labels[0]: given}
        if not given or not set(given) <= set(labels):
            raise NotAnId(dict(given), labels)
        return {label: self._written(given[label], self._columns[label]) for label in labels if label in given}

    def _written(self, value: object, column: Column) -> str | None:
        if value is None:
            return None
        try:
            return _text(encoder(column, self._zone)(_typed(value, column.type)))
        except (ValueError, ArithmeticError) as error:
            raise NotAnId(value, (f"{column.label} ({column.type})",)) from error


def _typed(value: object, kind: str) -> object:
    """A wire value as the column's type holds it. Raises ValueError or ArithmeticError where it cannot."""
    if isinstance(value, float) and "int" in kind and not abs(value) < 2**53:
        raise ValueError("a double holds no such number exactly")
    if isinstance(value, dict | list) or isinstance(value, bool) != (kind == "boolean"):
        raise ValueError(f"no {kind}")
    if kind.startswith(("int", "uint")):
        number = Decimal(str(value))
        if number.adjusted() > _MOST_DIGITS or number != int(number):
            raise ValueError("a fraction, or more digits than any column holds")
        return int(number)
    if kind.startswith("decimal"):
        return Decimal(str(value))
    if kind.startswith("float"):
        return float(str(value))
    if kind == "date":
        return date.fromisoformat(str(value))
    if kind.startswith("timestamp"):
        return datetime.fromisoformat(str(value))
    return value if kind == "boolean" else str(value)


def _text(value: object) -> str | None:
    return None if value is None else str(value)
