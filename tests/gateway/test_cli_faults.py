"""What cannot be done is told in one sentence that names the setting as it was set, and with a status."""

import shutil
import stat
from pathlib import Path

import pytest

from gateway.settings import Settings
from tests.gateway.harness import fails_with, sanbu

QUESTION = ("ask", "昨天各渠道的销售额", "--json")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("SANBU_SIGNING_KEYS", '["hunter2'),
        ("SANBU_RESOLVER", "a:b"),
        ("SANBU_RESOLVER", "os:getcwd"),
        ("SANBU_STATE_DIR", "/proc/nope"),
        ("SANBU_STATE_DIR", "/etc/passwd"),
        ("SANBU_CACHE_DIR", "/proc"),
    ],
)
def test_a_setting_that_cannot_hold_is_named_as_the_environment_names_it(
    settings: Settings, setting: str, value: str
) -> None:
    done = sanbu(settings, *QUESTION, **{setting: value})
    fails_with(done, setting)
    assert len(done.stderr.splitlines()) == 1
    assert "hunter2" not in done.stderr


def test_a_server_over_stdio_ends_with_the_same_sentence_as_a_question(settings: Settings, tmp_path: Path) -> None:
    """What a task group was ended by is told like any other fault."""
    (tmp_path / "apis").mkdir()
    (tmp_path / "apis" / "orders.yaml").write_text("apiNo: [unclosed")
    for catalog in ("/nowhere", str(tmp_path)):
        served = sanbu(settings, "serve", "--stdio", "--catalog", catalog)
        fails_with(served)
        assert served.stderr == sanbu(settings, *QUESTION, "--catalog", catalog).stderr


def test_a_folder_that_cannot_be_written_is_named(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("channel,amount\nA,1\nB,2\n")
    for folder in ("/proc/y", str(tmp_path / "data.csv")):
        fails_with(sanbu(settings, "init", str(tmp_path / "data.csv"), "--out", folder), "--out", folder)


def test_the_state_folder_is_made_for_its_owner_alone(settings: Settings) -> None:
    for command in (("trace", "show", "nothing"), QUESTION):  # one opens the sessions alone, one everything
        shutil.rmtree(settings.state_dir, ignore_errors=True)
        sanbu(settings, *command)
        assert stat.S_IMODE(settings.state_dir.stat().st_mode) == 0o700
