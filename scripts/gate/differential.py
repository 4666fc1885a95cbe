"""The engine's answers under generated policies against the oracle's: rows, order, counts, ages, and what is refused.

Each query is asked by two callers inside the cache's life, and by both again once the policies are tighter.
"""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

from engine.backends.base import open_backend
from engine.cursors import Cursors
from engine.dataset import Dataset
from engine.errors import (
    CursorInvalid,
    EngineError,
    InvalidParameter,
    LimitExceeded,
    MissingParameter,
    UnknownDataset,
    UnknownField,
    UnknownValue,
)
from engine.evidence import EvidenceBook
from engine.pipeline import Engine, Request
from engine.policy import Policies, Principal
from engine.query import Answer, Column, DataQuery, PageBounds, VisibilityRestricted
from engine.snapshots.base import open_snapshots
from scripts.gate import cases
from scripts.gate.cases import Caller, Query
from scripts.gate.oracle import Expected, Refused, answer, view_of
from scripts.gate.table import definition, write

NOW = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
_KEY = "a secret of the check"
_WIDE = PageBounds(rows=1000, bytes=1 << 30, tokens=1 << 30)
_REFUSALS = (UnknownField, UnknownValue, UnknownDataset, InvalidParameter, MissingParameter, LimitExceeded)


DIFFERS = "differs from the oracle"


class Difference(Exception):
    """The engine said something else than it may."""


@dataclass(frozen=True)
class Ask:
    """One caller's query under some policies."""

    policies: cases.Policies
    caller: Caller
    query: Query


def opened(folder: Path) -> Engine:
    """An engine over the table, under no policies yet."""
    url = f"duckdb:{write(folder / 'sales.parquet')}"
    dataset = Dataset.model_validate(definition(url))
    store = open_snapshots("sqlite::memory:", max_bytes=64 << 20)
    ledgers = open_snapshots("sqlite::memory:", max_bytes=64 << 20)
    backends = {url: open_backend(url)}
    return Engine({"sales": dataset}, Policies(), backends, store, Cursors(["key"]), EvidenceBook(ledgers, ["key"]))


async def compare(engine: Engine, *, seed: int, pairs: int) -> Counter[str]:
    """How many answers were compared, of which kind. Raises Difference at the first one that differs."""
    counts: Counter[str] = Counter()
    chance = random.Random(seed)
    wall = NOW
    while counts["pairs"] < pairs:
        wall += timedelta(hours=1)  # what an earlier pair left is too old to be taken
        rules = cases.policies(chance)
        callers = [cases.caller(chance, rules, name) for name in ("ada", "bob")]
        query = _asked(chance, rules, callers)
        tighter = cases.tightened(chance, rules, query)
        under = replace(engine, policies=Policies.model_validate(rules).keyed(_KEY))
        cursor: tuple[Ask, str] | None = None
        for caller in callers:
            ask = Ask(rules, caller, query)
            counts[await _compare_one(under, ask, wall)] += 1
            if cursor is not None:
                await _refuses(under, replace(ask, query=query), cursor[1], wall, "otherCaller")
                counts["another's cursor refused"] += 1
            cursor = await _cursor(under, ask, wall) or cursor
        again = replace(under, policies=Policies.model_validate(tighter).keyed(_KEY))
        for caller in callers:
            counts[f"tightened: {await _compare_one(again, Ask(tighter, caller, query), wall)}"] += 1
        if cursor is not None and _sees(cursor[0].policies, cursor[0].caller) != _sees(tighter, cursor[0].caller):
            await _refuses(again, replace(cursor[0], policies=tighter), cursor[1], wall, "permissionChanged")
            counts["older cursors refused"] += 1
        counts["pairs"] += 4
    return counts


def _asked(chance: random.Random, rules: cases.Policies, callers: list[Caller]) -> Query:
    """Mostly one that somebody may ask: left to chance alone two of three are refused."""
    for _ in range(chance.choice((1, 6, 6, 6))):
        query = cases.query(chance)
        if any(_expected(Ask(rules, caller, query)) for caller in callers):
            break
    return query


async def _compare_one(engine: Engine, ask: Ask, wall: datetime) -> str:
    expected = _expected(ask)
    try:
        said = await engine.run(_request(ask), wall=wall)
    except EngineError as error:
        _check_refusal(error, expected, ask)
        return "refused"
    if expected is None:
        raise Difference(f"answered what must be refused\n{_case(ask)}\n{said.page.rows}")
    _check_answer(said, expected, ask)
    return "with rows" if expected.rows else "without rows"


def _expected(ask: Ask) -> Expected | None:
    """None where the query must be refused."""
    try:
        return answer(view_of(ask.policies, ask.caller), ask.query, _KEY)
    except Refused:
        return None


def _sees(policies: cases.Policies, caller: Caller) -> object:
    try:
        view = view_of(policies, caller)
    except Refused:
        return None
    return view.fields, dict(view.masks), view.rows


def _check_refusal(error: EngineError, expected: Expected | None, ask: Ask) -> None:
    if expected is not None or not isinstance(error, _REFUSALS):
        raise Difference(f"refused what may be asked: {error!r}\n{_case(ask)}") from error
    asked = {name for name, _, _ in (label.removeprefix("-").partition(":") for label in _labels(ask.query))}
    try:
        hidden = set(cases.NAMES) - view_of(ask.policies, ask.caller).fields - asked
    except Refused:
        hidden = set(cases.NAMES) - asked
    told = {text for part in fields(error) for text in _texts(getattr(error, part.name))}
    if told & hidden:
        raise Difference(f"an error names hidden fields: {error!r}\n{_case(ask)}") from error


def _labels(query: Query) -> Iterator[str]:
    yield from (*query.fields, *query.filters, *(query.group_by or ()), *query.order_by)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield from (value, value.removeprefix("filters."))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _check_answer(said: Answer, expected: Expected, ask: Ask) -> None:
    rows = [tuple(map(_read, said.columns, row)) for row in said.page.rows]
    if len(rows) != len(expected.rows) or not all(map(_same_row, rows, expected.rows)):
        raise Difference(f"other rows\n{_case(ask)}\nengine {rows}\noracle {expected.rows}")
    if said.snapshot.total_rows != expected.total:
        raise Difference(f"another count: {said.snapshot.total_rows}, not {expected.total}\n{_case(ask)}")
    if said.snapshot.data_as_of != expected.as_of:
        raise Difference(f"another age: {said.snapshot.data_as_of}, not {expected.as_of}\n{_case(ask)}")
    restricted = any(isinstance(it, VisibilityRestricted) for it in said.completeness.reasons)
    if restricted != expected.restricted:
        raise Difference(f"restricted: {restricted}\n{_case(ask)}")
    empty = said.snapshot.empty
    if expected.without is not None and (empty is None or dict(empty.without) != expected.without):
        raise Difference(f"other counts beside nothing: {empty}, not {expected.without}\n{_case(ask)}")


def _same_row(mine: tuple[Any, ...], theirs: tuple[Any, ...]) -> bool:
    return len(mine) == len(theirs) and all(map(_same, mine, theirs))


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and isinstance(theirs, float):
        return abs(mine - theirs) <= 1e-9 * max(abs(mine), abs(theirs))
    return type(mine) is type(theirs) and bool(mine == theirs)


def _read(column: Column, value: Any) -> Any:
    """A wire value as Python has it."""
    if value is None:
        return None
    if column.type in ("int64", "uint64"):
        return int(value)
    if column.type.startswith("decimal"):
        return Decimal(value)
    return date.fromisoformat(value) if column.type == "date" else value


async def _cursor(engine: Engine, ask: Ask, wall: datetime) -> tuple[Ask, str] | None:
    """From a page of one row, where there are more."""
    try:
        said = await engine.run(replace(_request(ask), page_size=1), wall=wall)
    except EngineError:
        return None
    for reason in said.completeness.reasons:
        if (cursor := getattr(reason, "cursor", None)) is not None:
            return ask, str(cursor)
    return None


async def _refuses(
    engine: Engine, ask: Ask, cursor: str, wall: datetime, reason: Literal["otherCaller", "permissionChanged"]
) -> None:
    try:
        await engine.run(replace(_request(ask), cursor=cursor), wall=wall)
    except CursorInvalid as error:
        if error.reason != reason:
            raise Difference(f"a cursor was refused as {error.reason}, not as {reason}\n{_case(ask)}") from error
    except EngineError:
        return  # the query itself is refused, before the cursor is looked at
    else:
        raise Difference(f"a cursor was taken that must be refused as {reason}\n{_case(ask)}")


def _request(ask: Ask) -> Request:
    query = DataQuery(
        "sales",
        ask.query.filters,
        ask.query.fields,
        group_by=ask.query.group_by,
        order_by=ask.query.order_by,
        limit=ask.query.limit,
    )
    caller = Principal(id=ask.caller.name, roles=ask.caller.roles, attributes=ask.caller.attributes)
    return Request(query, caller, NOW, owner=caller.id, bounds=_WIDE)


def _case(ask: Ask) -> str:
    return f"{ask.policies}\n{ask.caller}\n{ask.query}"
