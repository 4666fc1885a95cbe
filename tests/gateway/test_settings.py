"""Every knob is documented, and the environment, the .env file and the command line say what it is."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.settings import Settings

OPERATOR_PAGE = Path(__file__).parents[2] / "docs" / "operator.md"


def test_every_setting_is_documented() -> None:
    page = OPERATOR_PAGE.read_text()
    for name, field in Settings.model_fields.items():
        assert f"SANBU_{name.upper()}" in page, f"{name} is missing from docs/operator.md"
        assert field.description, f"{name} has no description"


def test_the_environment_sets_a_knob(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANBU_PAGE_ROWS", "7")
    assert Settings().page_rows == 7
    assert Settings(page_rows=9).page_rows == 9


def test_a_clock_needs_an_offset() -> None:
    with pytest.raises(ValidationError, match="offset"):
        Settings.model_validate({"now": "2026-11-30T09:00:00"})


def test_keys_do_not_show_in_a_printed_setting() -> None:
    assert "hunter2" not in repr(Settings.model_validate({"signing_keys": ["hunter2"]}))
