"""The steps as JSON over HTTP, and what a broken request is told."""

import json
from collections.abc import Iterator

import httpx
import pytest

from gateway.http import openapi
from gateway.settings import Settings
from tests.gateway.harness import http_server


@pytest.fixture
def served(settings: Settings) -> Iterator[httpx.Client]:
    with http_server(settings) as address, httpx.Client(base_url=address) as client:
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

    unknown = served.post("/v1/apiCall", json={"sessionId": "nonsense"})
    assert (unknown.status_code, unknown.json()["error"]) == (404, "session_not_found")
    torn = served.post("/v1/query", content=b"{not json")
    assert (torn.status_code, torn.json()["error"]) == (400, "invalid_parameter")
    large = served.post("/v1/query", content=b'{"x": "' + b"a" * (1 << 20) + b'"}')
    assert (large.status_code, large.json()["field"]) == (400, "body")
    assert served.get("/openapi.json").json() == json.loads(json.dumps(openapi()))


def test_the_document_describes_every_endpoint_under_v1() -> None:
    assert set(openapi()["paths"]) == {"/v1/intentRecognition", "/v1/fieldSelection", "/v1/apiCall", "/v1/query"}
