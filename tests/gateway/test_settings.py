"""Every knob is documented, and the environment, the .env file and the command line say what it is."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.app import open_app
from gateway.cli.configured import settings_from
from gateway.cli.faults import Failure
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


@pytest.mark.anyio
@pytest.mark.parametrize("place", ["environment", "file", "flag"])
async def test_a_limit_is_obeyed_from_wherever_it_is_set(
    settings: Settings, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FIELD_CASES 11. What the argument asks holds within it; what stands beyond is said."""
    monkeypatch.chdir(tmp_path)
    if place == "environment":
        monkeypatch.setenv("SANBU_PAGE_ROWS", "2")
    if place == "file":
        (tmp_path / ".env").write_text("SANBU_PAGE_ROWS=2\n")
    known: dict[str, Any] = {name: getattr(settings, name) for name in ("catalog", "cache_dir", "state_dir", "now")}
    if place == "flag":
        known["page_rows"] = 2
    configured = Settings(**known)
    async with open_app(configured) as app:
        query = {"apiNo": "orders", "fields": ["order_id"], "filters": {"day": "昨天"}}
        default = (await app.gateway.answer("query", query, app.local)).said
        asked = (await app.gateway.answer("query", {**query, "pageSize": 5}, app.local)).said
    assert (default["returned"], asked["returned"]) == (2, 5)


@pytest.mark.parametrize("text", ["channel, book", '["channel", "book"]'])
def test_a_list_is_written_plainly_or_as_json(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANBU_DIMENSIONS", text)
    monkeypatch.setenv("SANBU_SIGNING_KEYS", text)
    assert Settings().dimensions == ("channel", "book")
    assert Settings().keys() == ("channel", "book")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("SANBU_PORT", "eighty"),
        ("SANBU_PORT", "99999"),
        ("SANBU_LOG_LEVEL", "LOUD"),
        ("SANBU_NOW", "2026-11-30T09:00:00"),
        ("SANBU_DIMENSIONS", "[channel"),
        ("SANBU_SIGNING_KEYS", '["hunter2'),
    ],
)
def test_a_setting_that_cannot_hold_is_named_as_it_was_set(
    setting: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(setting, value)
    with pytest.raises(Failure, match=f"^{setting}: (?!.*hunter2)"):
        settings_from({})


def test_an_option_that_cannot_hold_is_named_as_the_command_line_names_it() -> None:
    with pytest.raises(Failure, match=r"^--log-level: "):
        settings_from({"port": None, "log_level": "LOUD"})


def test_a_clock_needs_an_offset() -> None:
    with pytest.raises(ValidationError, match="offset"):
        Settings.model_validate({"now": "2026-11-30T09:00:00"})


def test_keys_do_not_show_in_a_printed_setting() -> None:
    assert "hunter2" not in repr(Settings.model_validate({"signing_keys": ["hunter2"]}))
