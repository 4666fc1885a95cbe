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


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("empty.csv", b"\n \n", "is empty"),
        ("torn.parquet", b"PAR1 nothing of it PAR1", "cannot be read"),
        ("book.xlsx", b"PK\x03\x04 a spreadsheet", "CSV"),
        ("gbk.csv", "渠道,金额\n官网,3\n".encode("gbk"), "utf-8"),
        ("torn.duckdb", b"no database" * 2000, "cannot be read"),
    ],
)
def test_a_file_that_holds_no_table_is_named_with_what_would_do(
    settings: Settings, tmp_path: Path, name: str, content: bytes, says: str
) -> None:
    (tmp_path / name).write_bytes(content)
    done = sanbu(settings, "init", str(tmp_path / name), "--out", str(tmp_path / "catalog"))
    fails_with(done, name, says, "give a Parquet, CSV or DuckDB file")
    assert len(done.stderr.splitlines()) == 1
    assert "SELECT" not in done.stderr


def test_one_is_not_many(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("day,note\n")
    done = sanbu(settings, "init", str(tmp_path / "data.csv"), "--out", str(tmp_path / "catalog"))
    assert f"{tmp_path / 'catalog'}: 1 scene over 1 dataset\n" in done.stdout
    assert done.stdout.index("sanbu kb check") < done.stdout.index("sanbu ask")
