"""Hostile texts in every string argument of every tool and endpoint: no internal error, foreign statement or leak."""

import json
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import httpx2
import pyarrow as pa
import sqlglot
from sqlglot import exp

from engine.backends.base import Backend, Reading
from engine.policy import Principal
from engine.query import Scalar
from gateway.app import App, open_app
from gateway.http import http_app
from gateway.identity import Caller
from gateway.log import configure_logging
from gateway.settings import Settings
from gateway.turns import Tool
from scripts.gate.payloads import EVERY, combined

_BOOKSHOP = Path(__file__).parents[2] / "tests" / "gateway" / "bookshop"
_HERE = "http://127.0.0.1:8722"
_NOW = datetime.fromisoformat("2026-11-30T09:00:00+08:00")
_ORDERS = """
COPY (
    SELECT
        18446744073709551615::UBIGINT - n::UBIGINT AS order_id,
        DATE '2026-11-01' + (n % 29)::INTEGER AS day,
        ['A', 'B', 'C'][1 + n % 3] AS channel,
        (n * 7 % 40)::INTEGER AS book_id,
        '书' || (n * 7 % 40) AS book,
        '1380000' || lpad((n % 10000)::VARCHAR, 4, '0') AS buyer_phone,
        (10 + n * 37 % 90)::DECIMAL(18, 2) AS amount,
        (1 + n % 4)::BIGINT AS copies,
        CASE WHEN n % 11 = 0 THEN 5.5 ELSE 0 END::DECIMAL(18, 2) AS refund
    FROM range(300) AS numbers(n)
) TO '{path}' (FORMAT parquet)
"""
_HIDDEN = ("buyer_phone", "买家手机号", "1380000", "BUYER_CONTACTS", "买家联系方式", "渠道C", "批发")
_INSIDE = (
    "Traceback",
    "duckdb",
    "sqlglot",
    "pydantic",
    "Binder Error",
    "Parser Error",
    "SELECT ",
    ".parquet",
    "signing.key",
)
_LITERALS = {"UTC", "Asia/Shanghai", "NaN", "1", "***"}
"""What statements may say in quotes: zones, steps and the like, none of them a caller's."""


class Leak(Exception):
    """Something got through."""


@dataclass(frozen=True)
class Slot:
    """One place for a text."""

    name: str
    tool: Tool
    given: Callable[[str, str], Mapping[str, Any]]
    """(session id, the text) -> arguments."""


def _value(name: str) -> Callable[[str, str], Mapping[str, Any]]:
    return lambda session, text: {"sessionId": session, "fields": ["channel"], "filters": {name: text}}


def _call(argument: str) -> Callable[[str, str], Mapping[str, Any]]:
    return lambda session, text: {"sessionId": session, argument: text}


def _query(**more: Any) -> Callable[[str, str], Mapping[str, Any]]:
    """A person's query in which every `TEXT` is the text."""

    def placed(value: Any, text: str) -> Any:
        if isinstance(value, dict):
            return {placed(key, text): placed(item, text) for key, item in value.items()}
        if isinstance(value, list):
            return [placed(item, text) for item in value]
        return text if value == "TEXT" else value

    return lambda session, text: placed({"apiNo": "orders", "fields": ["channel"], "limit": 5, **more}, text)


SLOTS: tuple[Slot, ...] = (
    Slot("query", "intentRecognition", lambda session, text: {"query": text}),
    Slot("dimensions", "intentRecognition", lambda session, text: {"query": "订单", "dimensions": [text]}),
    Slot("sceneId", "intentRecognition", lambda session, text: {"query": "订单", "sceneId": text}),
    Slot("sessionId", "intentRecognition", lambda session, text: {"query": "订单", "sessionId": text}),
    Slot("unknown argument", "intentRecognition", lambda session, text: {"query": "订单", text: text}),
    Slot("task", "fieldSelection", _call("task")),
    Slot("sceneId of a selection", "fieldSelection", _call("sceneId")),
    Slot("include", "fieldSelection", lambda session, text: {"sessionId": session, "include": [text]}),
    Slot("exclude", "fieldSelection", _call("exclude")),
    Slot("sessionId of a selection", "fieldSelection", lambda session, text: {"sessionId": text}),
    *(Slot(f"value of {name}", "apiCall", _value(name)) for name in ("channel", "order_id", "day", "book", "book_id")),
    *(Slot(name, "apiCall", _call(name)) for name in ("filters", "fields", "groupBy", "orderBy", "cursor", "since")),
    Slot("number as text", "apiCall", _call("limit")),
    Slot("sessionId of a call", "apiCall", lambda session, text: {"sessionId": text}),
    Slot("apiNo", "query", _query(apiNo="TEXT")),
    Slot("name of a filter", "query", _query(filters={"TEXT": "B"})),
    Slot("operator", "query", _query(filters={"book": {"TEXT": "x"}})),
    Slot("operand", "query", _query(filters={"book": {"contains": "TEXT"}})),
    Slot("operands", "query", _query(filters={"book": {"notIn": ["TEXT", "书1"]}})),
    Slot("or", "query", _query(filters={"or": [{"book": "TEXT"}, {"book": {"startsWith": "TEXT"}}]})),
    Slot("range", "query", _query(filters={"day": {"from": "TEXT", "to": "2026-11-30"}})),
    Slot("name of a field", "query", _query(fields=["TEXT"])),
    Slot("name of a group", "query", _query(groupBy=["TEXT"], fields=["row_count"])),
    Slot("name in an order", "query", _query(orderBy=["TEXT", "-TEXT"])),
    Slot("cursor of a query", "query", _query(cursor="TEXT")),
    Slot("since of a query", "query", _query(since="TEXT")),
    Slot("token", "verifyEvidence", lambda session, text: {"token": text, "ids": [text]}),
    Slot("language", "verifyEvidence", lambda session, text: {"token": "x", "language": text}),
)


class Watched:
    """A backend that keeps every statement that reaches it."""

    def __init__(self, inner: Backend, statements: Counter[str]) -> None:
        self._inner, self._statements, self.dialect = inner, statements, inner.dialect

    async def fetch(self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float) -> pa.Table:
        self._statements[sql] += 1
        return await self._inner.fetch(sql, parameters, timeout_s=timeout_s)

    async def read(
        self, sql: str, parameters: Mapping[str, Scalar], *, timeout_s: float, most_rows: int, most_bytes: int
    ) -> Reading:
        self._statements[sql] += 1
        return await self._inner.read(sql, parameters, timeout_s=timeout_s, most_rows=most_rows, most_bytes=most_bytes)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


async def attack(*, seed: int, inputs: int) -> Mapping[str, int]:
    """How many inputs were sent, and what came back. Raises Leak at the first that gets through."""
    configure_logging("ERROR")
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    statements: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        settings = _settings(Path(folder))
        async with open_app(settings) as opened:
            app = _watched(opened, statements)
            session = ""
            for at, text in enumerate(islice(combined(chance), inputs)):
                if at % _CALLS_OF_A_SESSION == 0:
                    session = await _session(app)
                slot = chance.choice(SLOTS)
                counts[await _send(app, slot, slot.given(session, text), text, folder)] += 1
                counts["hostile inputs"] += 1
            for text in EVERY:
                await _fetch(app, text, folder)
                counts["hostile addresses"] += 1
    for sql in statements:
        _check_statement(sql)
    return {
        "hostile inputs": counts.pop("hostile inputs"),
        "hostile addresses": counts.pop("hostile addresses"),
        "texts written by hand": len(EVERY),
        "places for a text": len(SLOTS),
        "statements that ran": statements.total(),
        "different statements": len(statements),
        "foreign statements": 0,
        "internal errors": 0,
        "leaks": 0,
        **{f"ended as {code}": number for code, number in sorted(counts.items())},
    }


_CALLS_OF_A_SESSION = 100


def _settings(folder: Path) -> Settings:
    catalog = folder / "bookshop"
    shutil.copytree(_BOOKSHOP, catalog)
    (catalog / "data").mkdir()
    duckdb.sql(_ORDERS.format(path=catalog / "data" / "orders.parquet"))
    return Settings(catalog=str(catalog), cache_dir=folder / "cache", state_dir=folder / "state", now=_NOW)


def _watched(app: App, statements: Counter[str]) -> App:
    steps = app.gateway.steps
    backends: dict[str, Backend] = {url: Watched(it, statements) for url, it in steps.engine.backends.items()}
    steps = replace(steps, engine=replace(steps.engine, backends=backends))
    caller = Caller(Principal(id="mallory", roles=("channel_b",), attributes={"channels": ("B",)}))
    return replace(app, gateway=replace(app.gateway, steps=steps), local=caller)


async def _session(app: App) -> str:
    given = {"query": "昨天的订单", "sceneId": "ORDER_DETAIL"}
    return str((await app.gateway.answer("intentRecognition", given, app.local)).said["sessionId"])


async def _send(app: App, slot: Slot, given: Mapping[str, Any], text: str, folder: str) -> str:
    answered = await app.gateway.answer(slot.tool, given, app.local)
    said = dict(answered.said)
    code = str(said.get("error", said.get("status", "verdict")))
    if code == "internal":
        raise Leak(f"an internal error: {slot.name} {text!r} {said}")
    _check_said(json.dumps(said, ensure_ascii=False), text, f"{slot.name} {text!r}", folder)
    columns = [column["name"] for column in said.get("columns", ())]
    if "channel" in columns and {row[columns.index("channel")] for row in said["rows"]} - {"B"}:
        raise Leak(f"rows of another channel: {slot.name} {text!r} {said}")
    return code


async def _fetch(app: App, text: str, folder: str) -> None:
    """As a path, a header's value and a body over HTTP."""
    transport = httpx2.ASGITransport(app=http_app(app))
    async with httpx2.AsyncClient(transport=transport, base_url=_HERE) as http:
        for path in (f"/v1/results/{quote(text[:500], safe='')}", f"/{quote(text[:500], safe='/')}"):
            got = await http.get(path)
            away = got.is_redirect and not got.headers["location"].startswith(_HERE)
            if away or got.status_code not in (307, 400, 401, 403, 404, 405, 410, 413):
                raise Leak(f"{got.status_code} for {path!r}, {got.headers.get('location')}")
            _check_said(got.text, text, path, folder)
        got = await http.post("/v1/query", content=text.encode(), headers={"content-type": "application/json"})
        if got.status_code >= 500:
            raise Leak(f"{got.status_code} for the body {text!r}")
        _check_said(got.text, text, f"body {text!r}", folder)


def _check_said(said: str, text: str, where: str, folder: str) -> None:
    """Nothing that is hidden, and nothing of the inside, but what the text itself brought."""
    for word in (*_HIDDEN, *_INSIDE, folder):
        if word.lower() in said.lower() and word.lower() not in json.dumps(text, ensure_ascii=False).lower():
            raise Leak(f"{word!r} is told: {where} {said[:600]}")


def _check_statement(sql: str) -> None:
    """One SELECT over the one relation, its own columns, and no literal of a caller's."""
    parsed = sqlglot.parse(sql, dialect="duckdb")
    if len(parsed) != 1 or not isinstance(parsed[0], exp.Select):
        raise Leak(f"another statement: {sql}")
    tree = parsed[0]
    layers = {it.alias for it in tree.find_all(exp.CTE)}
    tables = {it.name for it in tree.find_all(exp.Table)} - layers
    literals = {it.this for it in tree.find_all(exp.Literal) if it.is_string}
    foreign = {it for it in literals - _LITERALS if it.upper() not in _STEPS}
    if len(tables) != 1 or foreign or list(tree.find_all(exp.Command, exp.DDL, exp.DML)):
        raise Leak(f"a foreign statement: tables {tables}, literals {foreign}: {sql}")


_STEPS = {"HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR"}
