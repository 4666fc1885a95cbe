"""A whole result as a file: the same rows as its pages, for the same caller alone, and as long as they live."""

import csv
import io
import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import httpx2
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from engine.dataset import Field
from engine.query import Column
from gateway.app import App
from gateway.client import fetch_all, over_http
from gateway.errors import NoSuchResult
from gateway.http import http_app
from gateway.identity import Caller
from gateway.links import METADATA, as_arrow, as_csv, as_parquet, fetched, guarded
from tests.gateway.harness import caller

pytestmark = pytest.mark.anyio

AT = "http://127.0.0.1:8722"
QUERY = {"query": "2026年11月1日每一笔订单", "sceneId": "ORDER_DETAIL"}
FIELDS = {"fields": ["order_id", "day", "book", "amount"]}


@pytest.fixture
async def http(app: App) -> AsyncIterator[httpx2.AsyncClient]:
    served = http_app(app)
    transport = httpx2.ASGITransport(app=served)
    async with served.router.lifespan_context(served), httpx2.AsyncClient(transport=transport, base_url=AT) as client:
        yield client


async def first_page(app: App, who: Caller | None = None, **arguments: Any) -> dict[str, Any]:
    """Of 207 rows, as one who reaches the gateway over HTTP is answered."""
    who = replace(who or app.local, reached_at=AT)
    found = await app.gateway.answer("intentRecognition", QUERY, who)
    answered = await app.gateway.answer("apiCall", {"sessionId": found.said["sessionId"], **FIELDS, **arguments}, who)
    assert not answered.is_error, answered.said
    return dict(answered.said)


def name_in(said: dict[str, Any]) -> str:
    return str(said["links"]["parquet"]).rpartition("/")[2]


# Where it is ---------------------------------------------------------------------------------------------------------


async def test_only_a_first_page_of_several_has_a_link(app: App, http: httpx2.AsyncClient) -> None:
    found = (await http.post("/v1/intentRecognition", json=QUERY)).json()
    asked = {"sessionId": found["sessionId"], **FIELDS}
    first = (await http.post("/v1/apiCall", json=asked)).json()
    assert first["links"] == {"parquet": f"{AT}/v1/results/{first['evidence']}.parquet"}
    more = {"cursor": first["completeness"]["reasons"][0]["continuation"]["cursor"]}
    assert "links" not in (await http.post("/v1/apiCall", json=asked | more)).json()
    assert "links" not in (await http.post("/v1/apiCall", json=asked | {"limit": 3})).json()
    person = {"apiNo": "orders", "fields": ["order_id"], "filters": {"day": "2026-11-01"}}
    linked = (await http.post("/v1/query", json=person)).json()["links"]["parquet"]
    assert len(pq.read_table(io.BytesIO((await http.get(linked)).content))) == 207


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_mcp_over_http_carries_the_link(http: httpx2.AsyncClient, mode: str) -> None:
    async with Client(streamable_http_client(f"{AT}/mcp", http_client=http), mode=mode) as client:
        found = (await client.call_tool("intentRecognition", QUERY)).structured_content
        assert found
        said = (await client.call_tool("apiCall", {"sessionId": found["sessionId"], **FIELDS})).structured_content
    assert said
    assert (await http.get(said["links"]["parquet"])).status_code == 200


async def test_who_does_not_reach_the_gateway_over_http_gets_no_link(app: App) -> None:
    found = await app.gateway.answer("intentRecognition", QUERY, app.local)
    answered = await app.gateway.answer("apiCall", {"sessionId": found.said["sessionId"]}, app.local)
    assert answered.said["status"] == "partial"
    assert "links" not in answered.said


# What it holds -------------------------------------------------------------------------------------------------------


async def test_each_kind_of_file_holds_the_rows_of_all_pages(http: httpx2.AsyncClient) -> None:
    found = (await http.post("/v1/intentRecognition", json=QUERY)).json()
    asked = {"sessionId": found["sessionId"], **FIELDS}
    pages = await fetch_all(over_http(http), asked)
    link = (await http.post("/v1/apiCall", json=asked)).json()["links"]["parquet"].removesuffix("parquet")

    text = await http.get(f"{link}csv")
    assert text.headers["content-type"] == "text/csv; charset=utf-8; header=present"
    assert text.headers["sanbu-complete"] == "true"
    header, *rows = csv.reader(io.StringIO(text.text))
    assert header == ["order_id", "day", "book", "amount"]
    assert rows == [list(row) for row in pages.rows]

    parquet, arrow = (await http.get(f"{link}parquet")), (await http.get(f"{link}arrow"))
    stored = pq.read_table(io.BytesIO(parquet.content))
    assert stored.schema.types == [pa.uint64(), pa.date32(), pa.string(), pa.decimal128(18, 2)]
    assert [str(it) for it in stored["order_id"].to_pylist()] == [row[0] for row in pages.rows]
    assert [str(it) for it in stored["amount"].to_pylist()] == [row[3] for row in pages.rows]
    assert pa.ipc.open_file(arrow.content).read_all().equals(stored, check_metadata=True)
    told = json.loads(stored.schema.metadata[METADATA.encode()])
    assert (told["complete"], told["reasons"], told["rows"]) == (True, [], 207)
    assert told["scope"]["filters"] == {"day": {"from": "2026-11-01", "to": "2026-11-01"}}
    assert told["columns"][3] == {"name": "amount", "type": "decimal(18,2)", "unit": "CNY"}
    for response in (text, parquet, arrow):
        assert response.headers["cache-control"] == "private, no-store"
        assert response.headers["content-disposition"].startswith('attachment; filename="')


async def test_a_file_that_is_not_the_whole_says_so(app: App) -> None:
    """Not of pages, which it holds all of, but of rows that the caller may not read."""
    who = caller("channel_b", channels=("B",))
    said = await first_page(app, who)
    file = await fetched(app.gateway.steps, who, name_in(said))
    assert (file.headers["Sanbu-Complete"], file.headers["Sanbu-Reasons"]) == ("false", "VISIBILITY_RESTRICTED")
    stored = pq.read_table(io.BytesIO(file.body))
    told = json.loads(stored.schema.metadata[METADATA.encode()])
    assert (told["complete"], told["reasons"][0]["code"]) == (False, "VISIBILITY_RESTRICTED")
    assert len(stored) == said["totalRows"] < 207


# Who gets it ---------------------------------------------------------------------------------------------------------


async def test_whoever_may_not_have_it_is_told_that_there_is_none(app: App) -> None:
    who = caller("admin")
    name = name_in(await first_page(app, who))
    steps = app.gateway.steps
    assert (await fetched(steps, who, name)).headers["Sanbu-Rows"] == "207"
    later = replace(steps, wall=lambda: datetime.now(UTC) + timedelta(minutes=16))
    orders = steps.catalog.policies.roles["clerk"]
    narrower = steps.catalog.policies.model_copy(update={"roles": {"admin": orders}})
    tightened = replace(steps, engine=replace(steps.engine, policies=narrower, grants={}))
    refusals = []
    for its_steps, its_caller, its_name in (
        (later, who, name),  # the frozen rows are gone
        (tightened, who, name),  # the role may read less than then
        (steps, caller("admin", name="another"), name),
        (steps, who, name[1:]),
        (steps, who, f"unknown{name[7:]}"),
        (steps, who, name.replace("parquet", "xlsx")),
    ):
        with pytest.raises(NoSuchResult) as refused:
            await fetched(its_steps, its_caller, its_name)
        refusals.append(refused.value)
    assert all(refusal == refusals[0] for refusal in refusals)


async def test_no_such_file_is_one_problem_over_http(app: App, http: httpx2.AsyncClient) -> None:
    name = name_in(await first_page(app, caller("admin")))
    problems = []
    for path in (name, "nothing.csv", "nothing", f"{name}.exe"):
        refused = await http.get(f"/v1/results/{path}")
        assert refused.status_code == 404
        problems.append({**refused.json(), "traceId": ""})
    assert problems[0]["error"] == "cursor_invalid"
    assert all(problem == problems[0] for problem in problems)
    refused = await http.post(f"/v1/results/{name}", json={})
    assert (refused.status_code, refused.json()["legalValues"]) == (405, ["GET"])


# Values --------------------------------------------------------------------------------------------------------------


def column(label: str, kind: str) -> Column:
    return Column(label, Field(name=label, role="dimension", type=kind))


COLUMNS = [
    column("id", "uint64"),
    column("amount", "decimal(38,10)"),
    column("rate", "float64"),
    column("sold", "boolean"),
    column("=note", "string"),
    column("raw", "binary"),
    column("tags", "json"),
    column("at", "timestamp"),
    column("off", "string"),
]
ROWS = pa.table(
    [
        pa.array([2**64 - 1, None], pa.uint64()),
        pa.array([Decimal("-1234567890123456789012345678.0000000001"), None], pa.decimal128(38, 10)),
        pa.array([0.1, float("nan")]),
        pa.array([True, None]),
        pa.array(['=HYPERLINK("http://evil.example")', ""]),
        pa.array([b"\xfb\xff", None]),
        pa.array([["a", "b"], None]),
        pa.array([datetime(1969, 12, 31, 23, 59, 59, 1), None], pa.timestamp("us")),
        pa.array([None, "负号"]),
    ],
    names=[it.label for it in COLUMNS],
)
SHANGHAI = ZoneInfo("Asia/Shanghai")


def test_a_csv_file_holds_the_wires_values_and_no_formula() -> None:
    lines = as_csv(ROWS, COLUMNS, SHANGHAI, {}).decode().splitlines()
    assert lines == [
        '"id","amount","rate","sold","\'=note","raw","tags","at","off"',
        "18446744073709551615,-1234567890123456789012345678.0000000001,0.1,true,"
        '"\'=HYPERLINK(""http://evil.example"")","\'+/8=","[""a"", ""b""]","1969-12-31T23:59:59.000001+08:00",',
        ',,,,"",,,,"负号"',
    ]


def test_a_value_that_is_no_number_of_its_column_stays_what_it_is() -> None:
    rows = pa.table([pa.array(["n/a", "-3"])], names=["n"])
    assert as_csv(rows, [column("n", "int64")], SHANGHAI, {}).decode().splitlines() == ['"n"', '"n/a"', '"\'-3"']


def test_parquet_and_arrow_hold_the_stored_values() -> None:
    by_parquet = pq.read_table(io.BytesIO(as_parquet(ROWS, COLUMNS, SHANGHAI, {METADATA: "{}"})))
    by_arrow = pa.ipc.open_file(as_arrow(ROWS, COLUMNS, SHANGHAI, {METADATA: "{}"})).read_all()
    assert by_arrow.schema.metadata == by_parquet.schema.metadata == {b"sanbu": b"{}"}
    for table in (by_parquet, by_arrow):
        assert str(table.to_pydict()) == str(ROWS.to_pydict())


def test_what_parquet_has_no_type_for_is_text() -> None:
    query = "SELECT INTERVAL 90 MINUTE AS spell, DATE '2026-11-01' AS day"
    rows = duckdb.connect().sql(query).to_arrow_table()
    columns = [column("spell", "string"), column("day", "date")]
    stored = pq.read_table(io.BytesIO(as_parquet(rows, columns, SHANGHAI, {})))
    assert isinstance(stored["spell"][0].as_py(), str)
    assert stored["day"][0].as_py() == date(2026, 11, 1)


def test_no_row_is_a_file_all_the_same() -> None:
    assert as_csv(ROWS.slice(0, 0), COLUMNS, SHANGHAI, {}).decode().count("\n") == 1
    assert len(pq.read_table(io.BytesIO(as_parquet(ROWS.slice(0, 0), COLUMNS, SHANGHAI, {})))) == 0


@given(st.text())
def test_taking_one_apostrophe_away_gives_the_text_back(text: str) -> None:
    written = guarded(text)
    assert written[:1] not in set("=+-@＝＋－＠\t\r\n")
    assert written.removeprefix("'") == text
