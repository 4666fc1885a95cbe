"""Every knob is documented, and the environment, the .env file and the command line say what it is."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gateway.app import open_app
from gateway.cli.configured import settings_from
from gateway.cli.faults import Failure
from gateway.settings import Settings, without_password

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
        ("SANBU_TOKENS_FILE", ""),
        ("SANBU_AUDIT", ""),
        ("SANBU_OAUTH_ATTRIBUTES", "channels"),
        ("SANBU_OAUTH_ATTRIBUTES", "{channels"),
        ("SANBU_PUBLIC_URL", "sanbu.example"),
        ("SANBU_PUBLIC_URL", "https://sanbu.example/mcp"),
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


def test_secrets_do_not_show_in_a_printed_setting_or_url() -> None:
    url = "async+redis://:hunter2@cache:6379/0"
    given = {"signing_keys": ["hunter2"], "quota_store": url, "session_store": url}
    settings = Settings.model_validate(given)
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in settings.model_dump_json()
    assert without_password(settings.session_url()) == "async+redis://***@cache:6379/0"


def test_secrets_may_lie_in_a_folder_a_file_for_each_and_the_environment_goes_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sanbu_signing_keys").write_text("new,old\n")
    (tmp_path / "sanbu_port").write_text("9000\n")
    monkeypatch.setenv("SANBU_SECRETS_DIR", str(tmp_path))
    assert (Settings().keys(), Settings().port) == (("new", "old"), 9000)
    monkeypatch.setenv("SANBU_PORT", "9001")
    assert Settings().port == 9001


@pytest.mark.parametrize(
    "text", ["channels=org.channels, region=region", '{"channels": "org.channels", "region": "region"}']
)
def test_a_mapping_is_written_plainly_or_as_json(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANBU_OAUTH_ATTRIBUTES", text)
    assert Settings().oauth_attributes == {"channels": "org.channels", "region": "region"}
