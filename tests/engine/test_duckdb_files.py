"""Files as DuckDB's backend reads them."""

import asyncio
from pathlib import Path

import pytest

from engine.backends.duckdb import DuckDB
from engine.errors import SourceUnavailable

MARKED = "code,n,day,note\nNA,1,2026-01-01,NA\nDE,NA,NA,\nFR,3,2026-01-03,x\n"


def table(path: Path) -> tuple[dict[str, str], list[dict[str, object]]]:
    """(column types, rows) of a file."""

    async def work() -> tuple[dict[str, str], list[dict[str, object]]]:
        backend = DuckDB(f"duckdb:{path}")
        try:
            (info,) = await backend.inspect()
            rows = await backend.fetch(f"SELECT * FROM {backend.relation(None)}", {}, timeout_s=10)
            return {column.name: column.type for column in info.columns}, rows.to_pylist()
        finally:
            await backend.close()

    return asyncio.run(work())


def test_a_mark_for_a_missing_value_is_null_among_numbers_and_times_and_a_text_among_texts(tmp_path: Path) -> None:
    (tmp_path / "marked.csv").write_text(MARKED, encoding="utf-8")
    types, rows = table(tmp_path / "marked.csv")
    assert types == {"code": "string", "n": "int64", "day": "date", "note": "string"}
    assert [(row["code"], row["n"], str(row["day"])) for row in rows] == [
        ("NA", 1, "2026-01-01"),
        ("DE", None, "None"),
        ("FR", 3, "2026-01-03"),
    ]
    assert rows[0]["note"] == "NA"


def test_a_header_above_marks_alone_is_still_a_header(tmp_path: Path) -> None:
    (tmp_path / "t.CSV").write_text("a,b\nNA,1\n2,NA\n", encoding="utf-8")
    assert table(tmp_path / "t.CSV") == ({"a": "int64", "b": "int64"}, [{"a": None, "b": 1}, {"a": 2, "b": None}])


def test_names_with_quotes_and_paths_with_apostrophes_are_read(tmp_path: Path) -> None:
    folder = tmp_path / "it's here"
    folder.mkdir()
    (folder / "t.csv").write_text('"a ""b""",n\nx,NA\ny,2\n', encoding="utf-8")
    assert table(folder / "t.csv")[0] == {'a "b"': "string", "n": "int64"}


@pytest.mark.parametrize("name", ["absent.csv", "broken.csv", "broken.parquet", "broken.duckdb", "broken.xlsx", "."])
def test_a_file_that_cannot_be_read_is_an_unavailable_source(tmp_path: Path, name: str) -> None:
    if name.startswith("broken"):
        (tmp_path / name).write_bytes(bytes(range(256)) * 40)
    with pytest.raises(SourceUnavailable):
        table(tmp_path / name)
