"""The golden questions: sound, of their catalog, and those that measure strangers to all that ranking may read.

Their labels say which scene a careful curator would send a question to, and which fields the answer needs.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine.folding import fold
from gateway.cli.demo import QUESTIONS
from scene_kb.catalog import load_catalog
from scene_kb.models import Catalog
from scene_kb.shipped import SHIPPED, folder_of
from scripts.learn.learn import LEARNING_CATALOGS

LEARNED = ("stores", "support", "parcels")
"""Catalogs whose golden questions the ranking is learned from, and so measures nothing by."""
AT_LEAST: Mapping[str, int] = {"ads": 200, "flights": 100, "stores": 130, "support": 130, "parcels": 130}


@dataclass(frozen=True)
class Golden:
    """A line of golden.jsonl, whose keys are exactly these."""

    id: str
    query: str
    sceneId: str | None
    """None where no scene of the catalog answers the question."""
    fields: list[str]
    """Grouped by or shown, computed, and filtered on, by their names in the dataset."""


def place_of(name: str) -> Path:
    return folder_of(name) if name in SHIPPED else LEARNING_CATALOGS / name


@pytest.fixture(scope="module", params=[*SHIPPED, *LEARNED])
def catalog(request: pytest.FixtureRequest) -> Catalog:
    return load_catalog(place_of(request.param))


@pytest.fixture(scope="module")
def golden(catalog: Catalog) -> list[Golden]:
    return questions_of(catalog.name)


def questions_of(name: str) -> list[Golden]:
    text = (place_of(name) / "golden.jsonl").read_text(encoding="utf-8")
    return [Golden(**json.loads(line)) for line in text.splitlines()]


def bare(question: str) -> str:
    """Without what only looks different: case, width, traditional forms, spaces and punctuation."""
    return re.sub(r"[\W_]+", "", fold(question))


def test_there_are_enough_questions_and_a_fifth_or_more_have_no_answer(catalog: Catalog, golden: list[Golden]) -> None:
    assert len(golden) >= AT_LEAST[catalog.name]
    assert 0.15 <= sum(it.sceneId is None for it in golden) / len(golden) <= 0.4


def test_ids_count_up_and_no_question_is_asked_twice(catalog: Catalog, golden: list[Golden]) -> None:
    assert [it.id for it in golden] == [f"{catalog.name}-{at:03}" for at in range(1, len(golden) + 1)]
    assert len({bare(it.query) for it in golden}) == len(golden)


def test_every_answer_lies_in_a_scene_of_the_catalog(catalog: Catalog, golden: list[Golden]) -> None:
    fields = {scene.scene_id: set(scene.field_names(catalog.dataset_of(scene))) for scene in catalog.scenes}
    astray = {
        it.id: set(it.fields) - fields.get(it.sceneId, set())
        for it in golden
        if it.sceneId is not None and not set(it.fields) <= fields.get(it.sceneId, set())
    }
    assert astray == {}


def test_a_question_has_fields_exactly_if_it_has_a_scene(golden: list[Golden]) -> None:
    assert [it.id for it in golden if bool(it.fields) != (it.sceneId is not None)] == []
    assert [it.id for it in golden if len(set(it.fields)) < len(it.fields)] == []


def test_no_question_stands_in_a_scene_or_in_the_demonstration(catalog: Catalog, golden: list[Golden]) -> None:
    known = {bare(question) for scene in catalog.scenes for question in scene.questions}
    known |= {bare(shown.query) for shown in QUESTIONS}
    assert [it.id for it in golden if bare(it.query) in known] == []


def test_no_question_that_measures_is_learned_from() -> None:
    learned = {bare(it.query) for name in LEARNED for it in questions_of(name)}
    assert [it.id for name in SHIPPED for it in questions_of(name) if bare(it.query) in learned] == []
