"""Bounds of one page: rows, bytes and tokens.

A page is never empty for size; one row that alone exceeds it is cut cell by cell.
"""

import json
from collections.abc import Sequence
from itertools import accumulate

from engine.query import Column, Note, Page, PageBounds

_CELL_ENDS_WITH = "…"


def token_estimate(text: str) -> int:
    """Tokens of `text` in o200k, a little too many rather than too few.

    JSON with digits and quotes runs at 2.5 characters a token, Han at about one.
    """
    wide = sum(character > "\u2e7f" for character in text)
    return wide + round((len(text) - wide) / 2.5)


def cut_page(
    rows: Sequence[tuple[object, ...]], columns: Sequence[Column], *, offset: int, total: int, bounds: PageBounds
) -> Page:
    """The first rows that fit. `rows` are those from `offset` on, at least as many as `bounds.rows` where there are."""
    written = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in rows[: bounds.rows]]
    sizes = accumulate(len(text.encode()) for text in written)
    tokens = accumulate(token_estimate(text) for text in written)
    fitting = sum(size <= bounds.bytes and count <= bounds.tokens for size, count in zip(sizes, tokens, strict=True))
    kept = list(rows[:fitting])
    notes: tuple[Note, ...] = ()
    if written and not fitting:
        kept, notes = _cut_row(rows[0], columns, bounds)
    next_offset = offset + len(kept)
    return Page(tuple(kept), offset, next_offset if next_offset < total else None, notes)


def _cut_row(
    row: tuple[object, ...], columns: Sequence[Column], bounds: PageBounds
) -> tuple[list[tuple[object, ...]], tuple[Note, ...]]:
    """Every cell may take its share of the page; a cell that takes more is cut as text and named."""
    share = max(8, min(bounds.bytes // 4, bounds.tokens) // max(1, len(row)))
    cells, notes = [], []
    for column, value in zip(columns, row, strict=True):
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) <= share:
            cells.append(value)
            continue
        cells.append(text[: share - 1] + _CELL_ENDS_WITH)
        notes.append(Note("CELL_TRUNCATED", column.label, received=len(text), used=share))
    return [tuple(cells)], tuple(notes)
