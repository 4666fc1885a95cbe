"""An evaluation of files, from end to end."""

import json
from pathlib import Path

import pytest

from scene_kb.embedders.base import Embedder
from scene_kb.evaluate import Report, evaluate_files
from scene_kb.exchange import MalformedLine, Question, UnknownLabel, labelled, read_questions, read_scenes
from scene_kb.models import FieldCard, SceneCard
from tests.exchange import LIBRARY, ZOO, written

QUESTIONS = (
    {"id": "1", "query": "What is the weight of each species?", "sceneId": "zoo", "fields": ["animals.weight"]},
    {"id": "2", "query": "list the keeper names", "sceneId": "zoo", "fields": ["keepers.name"], "source": "ignored"},
    {"id": "3", "query": "每本书的书名", "sceneId": "library", "fields": ["book.title"]},
    {"id": "4", "query": "动物的体重", "sceneId": "zoo", "fields": []},
)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Report:
    folder = tmp_path_factory.mktemp("sets")
    return evaluate_files(
        written(folder / "scenes.jsonl", ZOO, LIBRARY), written(folder / "questions.jsonl", *QUESTIONS), embedder
    )


def test_the_json_has_the_promised_shape(report: Report) -> None:
    found = report.to_json()
    assert set(found) == {"routing", "fields", "noMatch", "calibration", "latencyMs"}
    assert set(found["routing"]) == {"n", "recall@1", "recall@3", "recall@5", "mrr", "ci"}
    assert set(found["fields"]) == {"n", "recall@8", "recall@12", "recall@15", "strict@15", "precision@8", "ci"}
    assert set(found["noMatch"]) == {"n", "auroc", "coverage@p95", "ci"}
    assert set(found["calibration"]) == {"ece"}
    assert set(found["latencyMs"]) == {"p50", "p95"}
    assert set(found["routing"]["ci"]) == {"recall@1", "recall@3", "recall@5", "mrr"}
    json.dumps(found)


def test_a_question_without_fields_counts_for_routing_only(report: Report) -> None:
    assert (report.routed, report.fielded, report.judged) == (4, 3, 4)


def test_questions_find_their_scenes_across_languages(report: Report) -> None:
    assert report.routing is not None
    assert report.routing["recall@1"].value == 1.0


def test_a_set_without_withheld_scenes_has_no_no_match_figure(tmp_path: Path, embedder: Embedder) -> None:
    scenes = written(tmp_path / "scenes.jsonl", *({**scene, "withhold": False} for scene in (ZOO, LIBRARY)))
    found = evaluate_files(scenes, written(tmp_path / "questions.jsonl", *QUESTIONS), embedder).to_json()
    assert found["noMatch"]["auroc"] is None
    assert found["noMatch"]["coverage@p95"] is None


@pytest.mark.parametrize("line", ["{", "[]", '{"title": "no id"}'])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "scenes.jsonl"
    path.write_text(json.dumps(ZOO) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(MalformedLine) as refused:
        read_scenes(path)
    assert refused.value.line == 2


def test_a_question_without_a_scene_is_one_that_nothing_answers(tmp_path: Path) -> None:
    (question,) = read_questions(written(tmp_path / "q.jsonl", {"id": "1", "query": "x", "sceneId": None}))
    assert question.scene is None


CARD = SceneCard("ZOO@2", ("zoo",), (FieldCard("weight"), FieldCard("name")))


def test_a_scene_may_be_named_without_its_version() -> None:
    asked = [Question("1", "x", "ZOO"), Question("2", "x", "ZOO@2", frozenset({"name"})), Question("3", "x", None)]
    assert [question.scene for question in labelled(asked, [CARD])] == ["ZOO@2", "ZOO@2", None]


@pytest.mark.parametrize(
    ("question", "kind", "name"),
    [
        (Question("1", "x", "ZOO@1"), "scene", "ZOO@1"),
        (Question("1", "x", "ZOO", frozenset({"wait"})), "field", "wait"),
    ],
)
def test_a_label_that_does_not_exist_is_refused(question: Question, kind: str, name: str) -> None:
    with pytest.raises(UnknownLabel) as refused:
        labelled([question], [CARD])
    assert (refused.value.kind, refused.value.name) == (kind, name)
