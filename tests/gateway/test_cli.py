"""The command line as a newcomer meets it: help at once, JSON for programs, one clear sentence for a fault."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pytest

from gateway.settings import Settings
from tests.gateway.harness import fails_with, sanbu


def test_help_comes_at_once() -> None:
    """The best of three, since the first one may still be reading its bytecode from disk."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "gateway.cli", "--help"], capture_output=True, text=True, check=True
        )
        took.append(time.perf_counter() - began)
    for command in ("init", "demo", "serve", "ask", "query", "doctor", "kb", "trace"):
        assert command in done.stdout
    assert min(took) < 0.5, took


def test_ask_prints_one_object_with_the_three_steps(settings: Settings) -> None:
    done = sanbu(settings, "ask", "昨天各渠道的销售额", "--json")
    assert done.returncode == 0, done.stderr
    steps = json.loads(done.stdout)
    assert list(steps) == ["intentRecognition", "fieldSelection", "apiCall"]
    assert steps["apiCall"]["status"] == "complete"


def test_ask_ends_where_nothing_matches(settings: Settings) -> None:
    done = sanbu(settings, "ask", "帮我写一首诗", "--json")
    assert done.returncode == 0, done.stderr
    assert list(json.loads(done.stdout)) == ["intentRecognition"]


def test_a_person_is_told_how_to_look_behind_a_question_that_nothing_matches(settings: Settings) -> None:
    command = sanbu(settings, "ask", "帮我写一首诗").stdout.splitlines()[-1]
    assert command.startswith("sanbu trace show ")
    assert "no_match" in sanbu(settings, *command.split()[1:]).stdout


def test_ask_shows_the_steps_to_a_person(settings: Settings) -> None:
    done = sanbu(settings, "ask", "top 3 best-selling books last week")
    assert done.returncode == 0, done.stderr
    for shown in ("1 intentRecognition", "Best-selling books", "2 fieldSelection", "3 apiCall", "complete"):
        assert shown in done.stdout


def test_columns_without_room_are_named_instead_of_squeezed(settings: Settings) -> None:
    asked = ("-g", "channel", "-f", "amount", "-f", "copies", "-f", "row_count", "-f", "amount:avg")
    done = sanbu(settings, "query", "orders", *asked, COLUMNS="50")
    assert done.returncode == 0, done.stderr
    assert "no room for amount:avg" in " ".join(done.stdout.split())
    assert max(map(len, done.stdout.splitlines())) <= 50


def test_a_persons_query_runs_under_the_same_permissions(settings: Settings) -> None:
    done = sanbu(settings, "query", "orders", "-f", "amount", "-g", "channel", "-w", "day=昨天", "--json")
    assert done.returncode == 0, done.stderr
    assert [row[0] for row in json.loads(done.stdout)["rows"]] == ["A", "B", "C"]
    hidden = sanbu(settings, "query", "orders", "-f", "buyer_phone", "--json")
    assert hidden.returncode == 1
    assert json.loads(hidden.stdout)["error"] == "unknown_field"


def test_the_scope_says_filters_as_a_person_would(settings: Settings) -> None:
    either = '{"or": [{"channel": ["A", "B"]}, {"book_id": {"gte": 3}}]}'
    done = sanbu(settings, "query", "orders", "-f", "amount", "-g", "channel", "-w", either)
    assert done.returncode == 0, done.stderr
    assert "scope: or: book_id gte 3, channel A, B" in " ".join(done.stdout.split())


def test_explain_shows_the_plan_and_runs_nothing(settings: Settings) -> None:
    done = sanbu(settings, "query", "orders", "-f", "amount", "-w", "channel=A", "--explain")
    plan = json.loads(done.stdout)
    assert plan["parameters"]["p0"] == "A"
    assert "$p0" in plan["sql"]
    assert "'A'" not in plan["sql"]


def test_a_file_that_nobody_here_made_becomes_a_catalog(settings: Settings, tmp_path: Path) -> None:
    data = tmp_path / "rides.parquet"
    duckdb.sql(
        "COPY (SELECT DATE '2026-01-01' + (n % 50)::INTEGER AS ride_date, ['east', 'west'][1 + n % 2] AS district,"
        f" (n % 17)::DECIMAL(10, 2) AS fare FROM range(500) AS numbers(n)) TO '{data}' (FORMAT parquet)"
    )
    catalog = tmp_path / "rides"
    made = sanbu(settings, "init", str(data), "--out", str(catalog))
    assert made.returncode == 0, made.stderr
    assert sanbu(settings, "kb", "check", str(catalog)).returncode == 0
    question = ("ask", "total fare by district in January 2026", "--scene", "RIDES_BY_DISTRICT")
    asked = sanbu(settings, *question, "--json", "--catalog", str(catalog))
    assert asked.returncode == 0, asked.stderr
    assert json.loads(asked.stdout)["apiCall"]["rows"]
    fails_with(sanbu(settings, "init", str(data), "--out", str(catalog)), "not empty")


def test_a_drafted_catalog_moves_together_with_the_data_beside_it(settings: Settings, tmp_path: Path) -> None:
    before, after, elsewhere = tmp_path / "before", tmp_path / "after", tmp_path / "elsewhere"
    before.mkdir()
    data = before / "rides.csv"
    data.write_text("ride_id,district,fare\n1,east,3.5\n2,west,4.5\n3,east,5.5\n")
    for catalog in (before / "rides", elsewhere / "rides"):
        assert sanbu(settings, "init", str(data), "--out", str(catalog)).returncode == 0
    assert str(data) in (elsewhere / "rides" / "apis" / "rides.yaml").read_text()
    before.rename(after)
    query = ("query", "rides", "-f", "row_count", "--json", "--catalog")
    moved = sanbu(settings, *query, str(after / "rides"))
    assert moved.returncode == 0, moved.stdout
    assert json.loads(moved.stdout)["rows"] == [[3]]
    left = sanbu(settings, *query, str(elsewhere / "rides"))
    assert json.loads(left.stdout)["error"] == "source_unavailable"


# Bad input ----------------------------------------------------------------------------------------------------------


def test_a_broken_file_is_named_with_its_line(settings: Settings, bookshop: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "broken"
    shutil.copytree(bookshop, broken)
    scenes = broken / "scenes" / "sales.yaml"
    scenes.write_text(scenes.read_text().replace("grain: [channel]", "grain: [chanel]", 1))
    done = sanbu(settings, "kb", "check", str(broken))
    fails_with(done, "scenes/sales.yaml:", "chanel", "channel")
    (broken / "apis" / "orders.yaml").write_text("apiNo: [unclosed")
    fails_with(sanbu(settings, "kb", "check", str(broken)), "apis/orders.yaml:")
    fails_with(sanbu(settings, "ask", "销售额", "--catalog", str(broken)), "apis/orders.yaml:")


def test_a_missing_folder_says_how_to_make_one(settings: Settings) -> None:
    fails_with(sanbu(settings, "ask", "销售额", "--catalog", "/nowhere"), "/nowhere", "sanbu init")
    fails_with(sanbu(settings, "init", "/nowhere.parquet", "--out", "/tmp/never"), "/nowhere.parquet", "does not exist")


def test_a_busy_port_says_so(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        fails_with(sanbu(settings, "serve", "--http", "--port", str(port)), str(port), "--port")


def test_an_unreadable_database_says_so(settings: Settings, bookshop: Path, tmp_path: Path) -> None:
    import shutil

    broken = tmp_path / "torn"
    shutil.copytree(bookshop, broken)
    (broken / "data" / "orders.parquet").write_bytes(b"this is no parquet file")
    done = sanbu(settings, "ask", "昨天各渠道的销售额", "--catalog", str(broken), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout)["apiCall"]["error"] == "source_unavailable"
    fails_with(
        sanbu(settings, "init", str(broken / "data" / "orders.parquet"), "--out", str(tmp_path / "x")), "orders.parquet"
    )


def test_a_network_address_without_identity_is_refused(settings: Settings) -> None:
    fails_with(sanbu(settings, "serve", "--http", "--host", "0.0.0.0"), "0.0.0.0", "identified")


@pytest.mark.parametrize("arguments", [["serve"], ["serve", "--stdio", "--http"], ["demo", "nonsense"]])
def test_a_choice_that_cannot_be_served_is_explained(settings: Settings, arguments: list[str]) -> None:
    fails_with(sanbu(settings, *arguments))


def test_a_clock_without_offset_is_refused(settings: Settings) -> None:
    fails_with(sanbu(settings, "ask", "销售额", "--now", "2026-11-30T09:00:00"), "offset")


def test_the_state_folder_may_be_anywhere(settings: Settings, tmp_path: Path) -> None:
    elsewhere = tmp_path / "deep" / "er"
    done = sanbu(settings, "ask", "昨天各渠道的销售额", "--json", SANBU_STATE_DIR=str(elsewhere))
    assert done.returncode == 0, done.stderr
    assert (elsewhere / "sessions.sqlite").exists()
    assert os.stat(elsewhere / "signing.key").st_mode & 0o077 == 0
