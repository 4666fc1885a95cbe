"""However large the catalog, the dataset or the result: each step's answer stays within its budget, and says what it
left out."""

import json
import threading
import zlib
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import bpe_openai
import duckdb
import numpy as np
import pytest
import yaml

from gateway.app import App, open_app
from gateway.settings import Settings
from tests.gateway.harness import NOW
from tests.gateway.test_steps import refused, session, take

pytestmark = pytest.mark.anyio

O200K = bpe_openai.get_encoding("o200k_base")
DIMENSIONS = [f"d{at}" for at in range(21)]
MEASURES = [f"m{at}" for at in range(24)]
SCENES = 500
FIELDS = 900

SERIES = """
COPY (
    SELECT
        n AS id,
        TIMESTAMP '2026-11-16 00:00' + to_minutes(5 * n) AS at,
        ['aB', 'AB', 'ab'][1 + n % 3] AS d0,
        n AS m0
    FROM range(14 * 24 * 12) AS numbers(n)
) TO '{path}' (FORMAT parquet)
"""


class _Embeddings(BaseHTTPRequestHandler):
    """A service that embeds any text at once; which texts are near each other does not matter for sizes."""

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        rows = [np.random.default_rng(zlib.crc32(text.encode())).standard_normal(8).tolist() for text in texts]
        body = json.dumps({"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture(scope="module")
def embedder() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1#any"
    server.shutdown()
    thread.join()
    server.server_close()


def _dimension(name: str, kind: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "role": "dimension", "type": kind, **more}


def _scene(scene_id: str, title: str, **more: Any) -> dict[str, Any]:
    default = {"default": ["d0", "m0"], "include": ["id", "at", "d0", "m0"]}
    return {
        **{"sceneId": scene_id, "title": title, "apiNo": "wide", "purpose": f"{title}的数据", "dimensions": ["place"]},
        **{"grain": ["d0"], "fields": default},
        **more,
    }


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of 900 fields and a series of 14 days at 5 minutes, under 500 scenes."""
    folder = tmp_path_factory.mktemp("crowded")
    for name in ("apis", "scenes", "data"):
        (folder / name).mkdir()
    duckdb.sql(SERIES.format(path=folder / "data" / "wide.parquet"))
    rest = FIELDS - len(DIMENSIONS) - len(MEASURES) - 2
    fields = [
        _dimension("id", "int64"),
        _dimension("at", "timestamp", about="时间"),
        *(_dimension(name, "string", about=f"维度{name}") for name in DIMENSIONS),
        *(
            {"name": it, "role": "metric", "type": "int64", "aggregation": "sum", "about": f"指标{it}"}
            for it in MEASURES
        ),
        *(_dimension(f"attribute_{at}", "string", about=f"属性{at}") for at in range(rest)),
    ]
    wide = {
        **{"apiNo": "wide", "title": "宽表", "key": ["id"], "timeColumn": "at", "timeZone": "Asia/Shanghai"},
        **{"sources": [{"name": "lake", "url": "duckdb:{data}/wide.parquet"}], "fields": fields},
    }
    scenes = [
        _scene("EVERYTHING", "全部字段", fields={"default": ["d0", "m0"]}),
        _scene("MATRIX", "指标矩阵", fields={"default": ["d0", "m0"], "include": ["at", "d[0-9]*", "m[0-9]*"]}),
        _scene("SERIES", "时间序列", grain=["at:hour"], parameters=[{"name": "at", "required": True, "maxDays": 31}]),
        _scene("Sales_Daily", "门店日报"),
        _scene("SALES_DAILY", "总部日报"),
        *(_scene(f"S{at}", f"第{at % 20}类场景") for at in range(SCENES - 5)),
    ]
    files = {
        "apis/wide.yaml": wide,
        "scenes/all.yaml": scenes,
        "synonyms.yaml": {"dimensions": {"place": {"title": "地点"}}},
        "policies.yaml": {
            "roles": {"all": {"datasets": {"wide": {}}, "scenes": {"allow": ["*"]}}},
            "localRoles": ["all"],
        },
    }
    for name, content in files.items():
        (folder / name).write_text(yaml.safe_dump(content, allow_unicode=True))
    return folder


@pytest.fixture(scope="module")
async def large(crowded: Path, tmp_path_factory: pytest.TempPathFactory, embedder: str) -> AsyncIterator[App]:
    cache, state = tmp_path_factory.mktemp("cache"), tmp_path_factory.mktemp("state")
    settings = Settings(catalog=str(crowded), cache_dir=cache, state_dir=state, now=NOW, embedder=embedder)
    async with open_app(settings) as app:
        yield app


def tokens(answer: object) -> int:
    return len(O200K.encode(json.dumps(answer, ensure_ascii=False, separators=(",", ":"))))


async def test_a_word_that_fits_every_scene_gets_a_few_of_them_and_no_catalogue(large: App) -> None:
    """FIELD_CASES 2: `数据` stands in the purpose of each of 500 scenes."""
    found = await take(large, "intentRecognition", query="数据")
    assert found["status"] in ("ambiguous", "no_match")
    assert tokens(found) < 1_000
    assert json.dumps(found).count('"sceneId"') <= 5


async def test_of_900_fields_a_dozen_is_selected_and_the_rest_counted(large: App) -> None:
    """FIELD_CASES 1."""
    sid = await session(large, "按维度看指标", scene="EVERYTHING")
    selected = await take(large, "fieldSelection", sessionId=sid)
    assert len(selected["fields"]) <= 12
    assert selected["of"] == {"visible": FIELDS, "notRelevant": FIELDS - len(selected["fields"])}
    assert tokens(selected) < 1_500


async def test_measures_by_dimensions_by_grains_are_not_multiplied(large: App) -> None:
    """FIELD_CASES 3: 24 measures, 21 dimensions, 6 grains."""
    sid = await session(large, "各维度的全部指标", scene="MATRIX")
    by_default = await take(large, "fieldSelection", sessionId=sid)
    assert tokens(by_default) < 1_500
    every = await take(large, "fieldSelection", sessionId=sid, include=["at", *DIMENSIONS, *MEASURES], limit=50)
    assert sorted(it["name"] for it in every["fields"]) == sorted(["at", *DIMENSIONS, *MEASURES])
    assert tokens(every) < 4_000


async def test_two_weeks_of_points_come_in_pages_that_a_context_can_hold(large: App) -> None:
    """FIELD_CASES 4: 14 days at 5 minutes are 4,032 points."""
    sid = await session(large, "2026-11-16到2026-11-29的数据", scene="SERIES")
    page = await take(large, "apiCall", sessionId=sid, fields=["at", "m0"], groupBy=["at"])
    (more,) = page["completeness"]["reasons"]
    assert (page["status"], page["totalRows"], more["code"]) == ("partial", 4032, "MORE_PAGES_AVAILABLE")
    assert tokens(page) < 4_500  # 4,000 for the rows
    following = await take(large, "apiCall", sessionId=sid, cursor=more["continuation"]["cursor"])
    assert following["rows"][0][0] > page["rows"][-1][0]
    by_day = await take(large, "apiCall", sessionId=sid, fields=["m0"], groupBy=["at:day"])
    assert (by_day["status"], by_day["returned"]) == ("complete", 14)


async def test_scenes_that_differ_only_in_case_are_two_scenes(large: App) -> None:
    """FIELD_CASES 40."""
    for scene_id, title in (("Sales_Daily", "门店日报"), ("SALES_DAILY", "总部日报")):
        for name in (scene_id, f"{scene_id}@1"):
            found = await take(large, "intentRecognition", query="日报", sceneId=name)
            assert (found["scene"]["sceneId"], found["scene"]["title"]) == (scene_id, title)
        sid = await session(large, "日报", scene=scene_id)
        answer = await take(large, "apiCall", sessionId=sid)
        assert answer["completeness"]["scope"]["scene"] == f"{scene_id}@1"
    absent = await refused(large, "intentRecognition", query="日报", sceneId="sales_daily")
    assert absent["error"] == "unknown_scene"
    assert set(absent["legalValues"][:2]) == {"Sales_Daily", "SALES_DAILY"}


async def test_text_ids_that_differ_only_in_case_are_different_ids(large: App) -> None:
    """FIELD_CASES 40, of rows: an id is filtered, grouped and echoed as it is written."""
    by_id = await take(large, "query", apiNo="wide", fields=["row_count"], groupBy=["d0"])
    assert by_id["rows"] == [["AB", 1344], ["aB", 1344], ["ab", 1344]]
    for wanted in ("AB", "aB", "ab"):
        asked: dict[str, Any] = {"apiNo": "wide", "fields": ["d0"], "groupBy": ["d0"], "filters": {"d0": wanted}}
        found = await take(large, "query", **asked)
        assert found["rows"] == [[wanted]]
        assert found["completeness"]["scope"]["filters"] == {"d0": [wanted]}
        assert found["warnings"] == []
    none = await take(large, "query", apiNo="wide", fields=["d0"], groupBy=["d0"], filters={"d0": "Ab"})
    assert (none["status"], none["rows"]) == ("complete", [])


async def test_days_of_moments_are_stated_with_their_zone(large: App) -> None:
    """A day is another stretch of time in every zone, and `at` holds moments."""
    asked: dict[str, Any] = {"apiNo": "wide", "fields": ["row_count"], "groupBy": []}
    by_day = await take(large, "query", **asked, filters={"at": "昨天"})
    scope = by_day["completeness"]["scope"]
    assert (scope["filters"], scope["timeZone"]) == (
        {"at": {"from": "2026-11-29", "to": "2026-11-29"}},
        "Asia/Shanghai",
    )
    by_hour = await take(large, "query", **asked, filters={"at": {"gte": "昨天8点"}})
    assert by_hour["completeness"]["scope"]["filters"] == {"at": {"gte": "2026-11-29T08:00:00+08:00"}}
    assert "timeZone" not in (await take(large, "query", **asked, filters={"d0": "AB"}))["completeness"]["scope"]
