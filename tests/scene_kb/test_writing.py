"""Definitions are written as YAML that a curator likes to read, and that reads back as the same definition."""

from hypothesis import given
from hypothesis import strategies as st

from engine.dataset import Dataset, Definition
from engine.policy import Policies
from scene_kb.catalog import MINIMAL_POLICIES
from scene_kb.definitions import define
from scene_kb.documents import read_document
from scene_kb.importers.base import EVERYTHING_FOR_ADMIN
from scene_kb.models import Scene
from scene_kb.writing import yaml_of


def read_back(definition: Definition) -> Definition:
    return define(type(definition), read_document("written.yaml", yaml_of(definition).encode())).it


@given(name=st.text(min_size=1, max_size=40).filter(lambda text: text != "row_count"), about=st.text(max_size=60))
def test_any_text_reads_back_as_it_was_written(name: str, about: str) -> None:
    dataset = Dataset.model_validate(
        {
            "apiNo": "a",
            "title": "t",
            "key": (name,),
            "sources": [{"name": "main", "url": "duckdb:x"}],
            "fields": [{"name": name, "role": "dimension", "type": "string", "about": {"en": about}}],
        }
    )
    assert read_back(dataset) == dataset


@given(value=st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()))
def test_a_value_keeps_its_type(value: bool | int | float | str) -> None:
    scene = Scene.model_validate(
        {
            "sceneId": "S",
            "title": "t",
            "apiNo": "a",
            "purpose": {"zh": "", "en": ""},
            "dimensions": ["d"],
            "parameters": [{"name": "p", "default": value}],
            "fields": {"default": ["p"]},
            "status": "deprecated",
            "deprecatedUntil": "2026-11-30",
        }
    )
    assert read_back(scene) == scene


def test_what_was_not_set_is_not_written_and_entries_have_a_line_each() -> None:
    assert yaml_of(
        EVERYTHING_FOR_ADMIN, head="Who may\nread what.", comments={("localRoles",): "On this machine."}
    ) == (
        "# Who may\n"
        "# read what.\n"
        "roles:\n"
        '  admin: {datasets: {"*": {}}, scenes: {allow: ["*"]}}\n'
        "# On this machine.\n"
        "localRoles: [admin]\n"
    )


def test_a_draft_starts_with_the_policies_that_are_advised_where_none_are() -> None:
    assert define(Policies, read_document("policies.yaml", MINIMAL_POLICIES.encode())).it == EVERYTHING_FOR_ADMIN
