"""An evaluation of files, from end to end."""

import json
from pathlib import Path

import pytest

from scene_kb.embedders.base import Embedder
from scene_kb.evaluate import Report, evaluate_files
from scene_kb.exchange import MalformedLine, Question, UnknownLabel, labelled, read_questions, read_scenes
from scene_kb.models import FieldCard, SceneCard

SCENES = (
    {
        "sceneId": "zoo",
        "title": "zoo",
        "lang": "en",
        "groups": ["animals", "keepers"],
        "fields": [
            {"name": "animals.species", "title": "species", "group": "animals", "type": "text"},
            {"name": "animals.weight", "title": "weight", "group": "animals", "type": "number"},
            {"name": "keepers.name", "title": "keeper name", "group": "keepers", "type": "text"},
        ],
        "withhold": False,
    },
    {
        "sceneId": "library",
        "title": "图书馆",
        "lang": "zh",
        "groups": ["图书", "读者"],
        "fields": [
            {"name": "book.title", "title": "书名", "group": "图书", "type": "text"},
            {"name": "reader.card", "title": "借书证号", "group": "读者", "type": "text"},
        ],
        "withhold": True,
    },
)
QUESTIONS = (
    {"id": "1", "query": "What is the weight of each species?", "sceneId": "zoo", "fields": ["animals.weight"]},
    {"id": "2", "query": "list the keeper names", "sceneId": "zoo", "fields": ["keepers.name"], "source": "ignored"},
    {"id": "3", "query": "每本书的书名", "sceneId": "library", "fields": ["book.title"]},
    {"id": "4", "query": "动物的体重", "sceneId": "zoo", "fields": []},
)


def _write(folder: Path, name: str, rows: tuple[dict[str, object], ...]) -> Path:
    path = folder / name
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, embedder: Embedder) -> Report:
    folder = tmp_path_factory.mktemp("sets")
    return evaluate_files(
        _write(folder, "scenes.jsonl", SCENES), _write(folder, "questions.jsonl", QUESTIONS), embedder
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
    scenes = _write(tmp_path, "scenes.jsonl", tuple({**scene, "withhold": False} for scene in SCENES))
    found = evaluate_files(scenes, _write(tmp_path, "questions.jsonl", QUESTIONS), embedder).to_json()
    assert found["noMatch"]["auroc"] is None
    assert found["noMatch"]["coverage@p95"] is None


@pytest.mark.parametrize("line", ["{", "[]", '{"title": "no id"}'])
def test_a_broken_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "scenes.jsonl"
    path.write_text(json.dumps(SCENES[0]) + "\n" + line + "\n", encoding="utf-8")
    with pytest.raises(MalformedLine) as refused:
        read_scenes(path)
    assert refused.value.line == 2


def test_a_question_without_a_scene_is_one_that_nothing_answers(tmp_path: Path) -> None:
    (question,) = read_questions(_write(tmp_path, "q.jsonl", ({"id": "1", "query": "x", "sceneId": None},)))
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
