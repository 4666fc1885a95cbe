"""The steps as JSON over HTTP, and what a broken request is told."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import jsonschema
import pytest

from gateway.openapi import openapi
from gateway.settings import Settings
from tests.gateway.harness import NOW, http_server

pytestmark = pytest.mark.xdist_group("served")  # of one process, and so of one served gateway


@pytest.fixture(scope="module")
def served(bookshop: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """One gateway for all tests here, since none of them leaves anything that another could meet."""
    state = tmp_path_factory.mktemp("state")
    settings = Settings(catalog=str(bookshop), cache_dir=cache, state_dir=state, now=NOW)
    with http_server(settings) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def test_three_steps_and_a_persons_query_over_json(served: httpx.Client) -> None:
    found = served.post(
        "/v1/intentRecognition", json={"query": "昨天各渠道的销售额", "sceneId": "SALES_BY_CHANNEL"}
    ).json()
    session = {"sessionId": found["sessionId"]}
    assert served.post("/v1/fieldSelection", json=session).json()["status"] == "selected"
    answer = served.post("/v1/apiCall", json=session).json()
    assert answer["status"] == "complete"
    query = {"apiNo": "orders", "fields": ["amount"], "groupBy": ["channel"], "filters": {"day": "昨天"}}
    assert [row[0] for row in served.post("/v1/query", json=query).json()["rows"]] == ["A", "B", "C"]

    claim = {"token": answer["evidence"], "ids": ["A", "D"], "requireComplete": True}
    verdict = served.post("/evidence/verify", json=claim)
    assert (verdict.status_code, verdict.json()["verified"]) == (200, False)
    assert [(it["code"], it["ids"]) for it in verdict.json()["refusals"]] == [("idsNotInResult", ["D"])]
    schema = openapi()["paths"]["/evidence/verify"]["post"]["responses"]["200"]["content"]["application/json"]["schema"]
    jsonschema.validate(verdict.json(), schema)
    assert served.post("/evidence/verify", json={"ids": ["A"]}).json()["error"] == "missing_parameter"

    unknown = served.post("/v1/apiCall", json={"sessionId": "nonsense"})
    assert (unknown.status_code, unknown.json()["error"]) == (404, "session_not_found")
    assert served.get("/openapi.json").json() == json.loads(json.dumps(openapi()))


def test_a_body_that_json_cannot_say_back_is_an_invalid_parameter(served: httpx.Client) -> None:
    bodies = {
        "torn": b"{not json",
        "no object": b"[]",
        "too large": b'{"x": "' + b"a" * (1 << 20) + b'"}',
        "not a number": b'{"apiNo": "orders", "limit": NaN}',
        "infinity": b'{"apiNo": "orders", "limit": -Infinity}',
        "beyond a float": b'{"apiNo": "orders", "filters": {"amount": 1e400}}',
        "half a surrogate pair": rb'{"apiNo": "\ud800"}',
        "nested deep": b'{"apiNo": ' + b"[" * 20_000 + b"]" * 20_000 + b"}",
        "no UTF-8": b'{"apiNo": "\xff"}',
    }
    for what, body in bodies.items():
        refused = served.post("/v1/query", content=body, headers={"Content-Type": "application/json"})
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_parameter"), what
        assert refused.json()["field"] == "body", what
        assert len(refused.json()["traceId"]) == 32, what


def test_a_path_or_method_that_there_is_not_is_a_problem_that_names_those_there_are(served: httpx.Client) -> None:
    for method, path, nearest in (
        ("POST", "/v1/apicall", "POST /v1/apiCall"),
        ("GET", "/v2/query", "POST /v1/query"),
        ("GET", "/livezz", "GET /livez"),
        ("GET", "/", None),
        ("POST", "/mcp/查询", None),
    ):
        refused = served.request(method, path, json={})
        problem = refused.json()
        assert refused.status_code == 404, path
        assert (problem["error"], problem["field"], problem["received"]) == ("invalid_parameter", "path", path)
        assert len(problem["legalValues"]) == len(EVERY_ROUTE) - 1  # MCP takes several methods
        assert nearest is None or nearest == problem["legalValues"][0]
        assert len(problem["traceId"]) == 32, path
    for method, path, legal in (("GET", "/v1/query", "POST"), ("POST", "/openapi.json", "GET")):
        refused = served.request(method, path)
        problem = refused.json()
        assert (refused.status_code, legal in refused.headers["allow"]) == (405, True), path
        assert (problem["field"], problem["received"], problem["legalValues"]) == ("method", method, [legal])


# Pages of other sites -----------------------------------------------------------------------------------------------

EVERY_ROUTE = [
    *((method.upper(), path) for path, item in openapi()["paths"].items() for method in item),
    ("POST", "/mcp"),
    *(("GET", path) for path in ("/openapi.json", "/livez", "/mcp")),
]


def test_no_route_answers_a_page_of_another_site_or_another_hosts_name(served: httpx.Client) -> None:
    for method, path in EVERY_ROUTE:
        for header, received, status in (
            ("Origin", "https://evil.example", 403),
            ("Origin", "null", 403),
            ("Host", "evil.example", 421),  # a name that its owner has pointed here
        ):
            refused = served.request(method, path, json={}, headers={header: received})
            problem = refused.json()
            assert refused.status_code == status, (method, path, received)
            assert (problem["error"], problem["field"], problem["received"]) == ("not_permitted", header, received)
            assert problem["traceId"]


def test_a_page_from_this_machine_and_any_port_is_answered(served: httpx.Client) -> None:
    for headers in ({"Origin": "http://localhost:3000"}, {"Origin": "http://127.0.0.1"}, {"Host": "localhost"}):
        assert served.get("/livez", headers=headers).status_code == 200, headers


def test_a_body_must_be_called_json(served: httpx.Client) -> None:
    """Any other type a page of any site may post without asking first."""
    body = b'{"apiNo": "orders", "fields": ["amount"]}'
    for media_type in ("text/plain", "application/x-www-form-urlencoded", "text/json", ""):
        refused = served.post("/v1/query", content=body, headers={"Content-Type": media_type})
        problem = refused.json()
        assert refused.status_code == 415, media_type
        assert (problem["error"], problem["field"]) == ("invalid_parameter", "Content-Type"), media_type
        assert problem["traceId"]
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert served.post("/v1/query", content=body, headers=headers).status_code == 200


def test_the_document_describes_every_endpoint() -> None:
    assert set(openapi()["paths"]) == {
        *("/v1/intentRecognition", "/v1/fieldSelection", "/v1/apiCall", "/v1/query"),
        "/v1/results/{name}",
        "/evidence/verify",
    }
