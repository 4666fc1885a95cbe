"""The samples in the documentation are true: what a reader pastes is accepted, and its names exist."""

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import httpx2
import pytest

from gateway.app import App
from gateway.cli.policy import run_explain, run_test
from gateway.http import http_app
from gateway.settings import Settings
from scene_kb.catalog import load_catalog
from scene_kb.shipped import folder_of
from tests.gateway.conftest import ORDERS
from tests.gateway.harness import sanbu

DOCS = Path(__file__).parents[2] / "docs"


def samples(page: str, language: str) -> list[str]:
    """The page's fenced blocks of a language, from the first to the last one."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (DOCS / page).read_text(), flags=re.DOTALL | re.MULTILINE)


def names_in(filters: dict[str, Any]) -> set[str]:
    alternatives = filters.get("or", [])
    return (set(filters) - {"or"}).union(*map(names_in, alternatives))


@pytest.fixture
def pasted(tmp_path: Path) -> Path:
    """A catalog folder with the YAML samples of the curator's page, and orders to ask about."""
    folder = tmp_path / "pasted"
    files = ("apis/orders.yaml", "scenes/bestsellers.yaml", "policies.yaml", "policy_tests.yaml", "synonyms.yaml")
    for file, text in zip(files, samples("curator.md", "yaml"), strict=True):
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)
    (folder / "data").mkdir()
    duckdb.sql(ORDERS.format(path=folder / "data" / "orders.parquet"))
    return folder


def test_the_curators_samples_make_one_sound_catalog_that_answers(settings: Settings, pasted: Path) -> None:
    checked = sanbu(settings, "kb", "check", str(pasted))
    assert checked.returncode == 0, checked.stderr
    asked = sanbu(settings, "ask", "top selling titles last week", "--catalog", str(pasted), "--json")
    assert asked.returncode == 0, asked.stderr
    answer = json.loads(asked.stdout)["apiCall"]
    assert answer["completeness"]["complete"]
    assert len(answer["rows"]) == 10


def test_a_clerk_of_the_sample_sees_no_phone_number(settings: Settings, pasted: Path) -> None:
    masked = sanbu(settings, "query", "orders", "-f", "buyer_phone", "--catalog", str(pasted), "--json")
    phones = [row[0] for row in json.loads(masked.stdout)["rows"]]
    assert phones
    assert all(re.fullmatch(r"\*\*\*\d{4}", phone) for phone in phones)


def test_the_samples_of_who_sees_what_hold(pasted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours = Settings(catalog=str(pasted))
    run_test(ours, as_json=False)
    assert "2 expectations, all met" in capsys.readouterr().out
    run_explain(ours, "anna", "orders", roles=["channel_b"], attributes=["channels=B"], as_json=False)
    said = capsys.readouterr().out.splitlines()
    printed = re.findall(r"^anna as .*?(?=^…$)", (DOCS / "curator.md").read_text(), flags=re.DOTALL | re.MULTILINE)
    assert printed[0].splitlines() == said[: len(printed[0].splitlines())]


def test_the_sample_of_golden_questions_names_scenes_and_fields_of_the_flights() -> None:
    catalog = load_catalog(folder_of("flights"))
    scenes = {scene.scene_id: scene for scene in catalog.scenes}
    questions = [json.loads(line) for text in samples("curator.md", "json") for line in text.splitlines()]
    assert questions
    for question in questions:
        if question["sceneId"] is not None:
            scene = scenes[question["sceneId"]]
            assert set(question["fields"]) <= set(scene.field_names(catalog.dataset_of(scene)))


def test_the_sample_filters_are_of_fields_that_exist_in_the_ads() -> None:
    fields = load_catalog(folder_of("ads")).datasets["ads_wide"].by_name
    filters = [json.loads(text) for text in samples("agent-builder.md", "json")]
    assert filters
    for each in filters:
        assert names_in(each) <= set(fields)


@pytest.mark.anyio
async def test_the_sample_that_fetches_a_whole_result_returns_every_row(app: App) -> None:
    code = next(it for it in samples("agent-builder.md", "python") if "fetch_all" in it)
    sample: dict[str, Any] = {}
    exec(code, sample)
    transport = httpx2.ASGITransport(app=http_app(app))
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:8722") as http:
        assert len(await sample["every_row"](http, "把2026-11-01的订单一条条列出来")) == 207
