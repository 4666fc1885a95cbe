"""`sanbu kb eval`: what questions with known answers tell a curator, and what is said where they cannot be used."""

import json
import shutil
from pathlib import Path

import pytest

from gateway.settings import Settings
from tests.exchange import LIBRARY, ZOO, Line, written
from tests.gateway.harness import fails_with, sanbu

WEIGHT: Line = {"id": "q1", "query": "weight of each species", "sceneId": "zoo", "fields": ["animals.weight"]}
TITLES: Line = {"id": "q2", "query": "每本书的书名", "sceneId": "library", "fields": ["book.title"]}
ASTRAY: Line = {"id": "q3", "query": "每张借书证号的书名", "sceneId": "zoo", "fields": []}
"""Asks for the library and is said to belong to the zoo: a miss for certain."""

GOLDEN: tuple[Line, ...] = (
    {"id": "g1", "query": "各渠道的销售额", "sceneId": "SALES_BY_CHANNEL", "fields": ["channel", "amount"]},
    {"id": "g2", "query": "best-selling books of last week", "sceneId": "BESTSELLERS@1", "fields": ["book", "copies"]},
    {"id": "g3", "query": "帮我写一首诗", "sceneId": None, "fields": []},
)


def files(folder: Path, *questions: Line) -> tuple[str, ...]:
    """The options that name two scenes and these questions."""
    scenes = written(folder / "scenes.jsonl", ZOO, LIBRARY)
    return "--scenes", str(scenes), "--questions", str(written(folder / "questions.jsonl", *questions))


@pytest.fixture(scope="module")
def catalog(bookshop: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bookshop with golden questions."""
    folder = tmp_path_factory.mktemp("golden") / "bookshop"
    shutil.copytree(bookshop, folder, ignore=shutil.ignore_patterns("data"))
    written(folder / "golden.jsonl", *GOLDEN)
    return folder


def test_the_json_has_every_figure_beside_its_interval(settings: Settings, tmp_path: Path) -> None:
    done = sanbu(settings, "kb", "eval", *files(tmp_path, WEIGHT, TITLES, ASTRAY), "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    figures = {
        "routing": ["recall@1", "recall@3", "recall@5", "mrr"],
        "fields": ["recall@8", "recall@12", "recall@15", "strict@15", "precision@8"],
        "noMatch": ["auroc", "coverage@p95"],
    }
    assert list(found) == [*figures, "calibration", "latencyMs"]
    for part, names in figures.items():
        assert list(found[part]) == ["n", *names, "ci"]
        assert list(found[part]["ci"]) == names
        for name in names:
            low, high = found[part]["ci"][name]
            assert low <= found[part][name] <= high
    assert list(found["calibration"]) == ["ece"]
    assert list(found["latencyMs"]) == ["p50", "p95"]
    assert {part: found[part]["n"] for part in figures} == {"routing": 3, "fields": 2, "noMatch": 3}
    assert found["routing"]["recall@1"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["fields"]["recall@8"] == 1.0


def test_a_miss_shows_every_candidate_with_its_scores(settings: Settings, tmp_path: Path) -> None:
    given = files(tmp_path, WEIGHT, ASTRAY)
    found = json.loads(sanbu(settings, "kb", "eval", *given, "--explain", "5", "--json").stdout)
    miss = found["misses"][0]
    assert (miss["id"], miss["query"], miss["sceneId"]) == ("q3", ASTRAY["query"], "zoo")
    assert [candidate["sceneId"] for candidate in miss["candidates"]] == ["library", "zoo"]
    assert all({"bm25", "names"} <= set(candidate["scores"]) for candidate in miss["candidates"])
    shown = sanbu(settings, "kb", "eval", *given, "--explain", "5").stdout
    for line in ("q3: 每张借书证号的书名", "expected zoo;", "  1  library", "  2  zoo  ← expected", "bm25 "):
        assert line in shown


def test_a_person_sees_intervals_and_how_confidence_fits_what_is_right(settings: Settings, tmp_path: Path) -> None:
    done = sanbu(settings, "kb", "eval", *files(tmp_path, WEIGHT, TITLES, ASTRAY))
    assert done.returncode == 0, done.stderr
    for shown in ("routing recall@1", "0.667", "95 % interval", "expected calibration error", "reliability", "█", "│"):
        assert shown in done.stdout
    assert "1 miss; --explain N" in done.stdout


def test_a_catalog_is_measured_by_its_own_golden_questions(settings: Settings, catalog: Path) -> None:
    done = sanbu(settings, "kb", "eval", "--catalog", str(catalog), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["routing"]["n"] == found["fields"]["n"] == 2
    assert found["routing"]["recall@1"] == 1.0
    assert found["noMatch"]["n"] == 3
    assert found["noMatch"]["auroc"] == 1.0


def test_questions_that_all_have_answers_say_nothing_of_no_match(settings: Settings, tmp_path: Path) -> None:
    scenes = written(tmp_path / "scenes.jsonl", ZOO, {**LIBRARY, "withhold": False})
    questions = written(tmp_path / "questions.jsonl", WEIGHT, TITLES)
    given = ("--scenes", str(scenes), "--questions", str(questions))
    found = json.loads(sanbu(settings, "kb", "eval", *given, "--json").stdout)
    nothing = {"auroc": None, "coverage@p95": None}
    assert found["noMatch"] == {"n": 0, **nothing, "ci": nothing}


def test_the_second_evaluation_reads_the_index_that_the_first_one_left(settings: Settings, tmp_path: Path) -> None:
    given = files(tmp_path, WEIGHT)
    first = json.loads(sanbu(settings, "kb", "eval", *given, "--json").stdout)
    left = sorted(path for path in settings.cache_dir.rglob("*") if path.is_file())
    second = json.loads(sanbu(settings, "kb", "eval", *given, "--json").stdout)
    assert sorted(path for path in settings.cache_dir.rglob("*") if path.is_file()) == left
    assert {**first, "latencyMs": None} == {**second, "latencyMs": None}


# Bad input ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "words"),
    [
        pytest.param("{", ["questions.jsonl:2: ", "JSON"], id="no JSON"),
        pytest.param("[]", ["questions.jsonl:2: ", "object"], id="no object"),
        pytest.param('{"id": "q", "sceneId": "zoo"}', ["questions.jsonl:2: query: "], id="no query"),
        pytest.param('{"id": "q", "query": "x", "scene": "zoo"}', ["questions.jsonl:2: sceneId: "], id="misspelt key"),
        pytest.param('{"id": "q", "query": "x", "sceneId": "zo"}', ["'q'", "scene 'zo'", "zoo"], id="no such scene"),
        pytest.param(
            '{"id": "q", "query": "x", "sceneId": "zoo", "fields": ["animals.wait"]}',
            ["'q'", "field 'animals.wait'", "animals.weight"],
            id="no such field",
        ),
    ],
)
def test_a_question_that_cannot_be_used_is_named_before_anything_is_built(
    settings: Settings, tmp_path: Path, question: str, words: list[str]
) -> None:
    given = files(tmp_path, WEIGHT)
    with (tmp_path / "questions.jsonl").open("a", encoding="utf-8") as more:
        more.write(question + "\n")
    done = sanbu(settings, "kb", "eval", *given, "--json", SANBU_CACHE_DIR=str(tmp_path / "cache"))
    fails_with(done, *words)
    says_one_sentence(done.stdout, done.stderr)
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize(
    ("scenes", "words"),
    [
        pytest.param("{\n", ["scenes.jsonl:1: ", "JSON"], id="no JSON"),
        pytest.param('{"sceneId": "zoo", "title": "zoo"}\n', ["scenes.jsonl:1: fields: "], id="no fields"),
        pytest.param((json.dumps(ZOO) + "\n") * 2, ["scenes.jsonl:2: ", "'zoo'", "second time"], id="twice"),
        pytest.param("", ["scenes.jsonl", "no scene"], id="empty"),
    ],
)
def test_scenes_that_cannot_be_used_are_named(
    settings: Settings, tmp_path: Path, scenes: str, words: list[str]
) -> None:
    given = files(tmp_path, WEIGHT)
    (tmp_path / "scenes.jsonl").write_text(scenes, encoding="utf-8")
    done = sanbu(settings, "kb", "eval", *given)
    fails_with(done, *words)
    says_one_sentence(done.stdout, done.stderr)


def test_a_missing_or_empty_file_is_named(settings: Settings, tmp_path: Path) -> None:
    _, scenes, _, questions = files(tmp_path)
    fails_with(sanbu(settings, "kb", "eval", "--scenes", scenes, "--questions", questions), questions, "no question")
    nowhere = str(tmp_path / "nowhere.jsonl")
    for given in (("--scenes", nowhere, "--questions", questions), ("--scenes", scenes, "--questions", nowhere)):
        done = sanbu(settings, "kb", "eval", *given)
        fails_with(done, nowhere, "No such file")
        says_one_sentence(done.stdout, done.stderr)


def test_files_come_in_pairs_and_without_a_catalog(settings: Settings, tmp_path: Path) -> None:
    given = files(tmp_path, WEIGHT)
    for wrong in (given[:2], given[2:], (*given, "--catalog", "flights")):
        fails_with(sanbu(settings, "kb", "eval", *wrong), "--scenes", "--questions", "--catalog")


def test_a_catalog_without_golden_questions_says_what_to_write(settings: Settings, bookshop: Path) -> None:
    done = sanbu(settings, "kb", "eval", "--catalog", str(bookshop))
    fails_with(done, str(bookshop), "golden.jsonl", '"sceneId"')
    says_one_sentence(done.stdout, done.stderr)


def test_a_golden_question_about_a_scene_that_is_gone_is_named(
    settings: Settings, catalog: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "bookshop"
    shutil.copytree(catalog, copy)
    written(copy / "golden.jsonl", {"id": "g1", "query": "x", "sceneId": "BESTSELLER", "fields": []})
    fails_with(sanbu(settings, "kb", "eval", "--catalog", str(copy)), "'g1'", "'BESTSELLER'", "BESTSELLERS")


def says_one_sentence(stdout: str, stderr: str) -> None:
    assert stdout == ""
    assert len(stderr.splitlines()) == 1
