"""The SELECT that reads a Parquet file, a folder of them, or a CSV file in DuckDB.

CSV is read as DuckDB sniffs it, with one addition: in a column of numbers or times, the usual marks for a missing value
are null. In a column of texts NA stays a text, such as Namibia's code.
"""

from pathlib import Path

import duckdb

_MISSING = ("", "NA", "N/A", "NULL", "null")


def file_select(connection: duckdb.DuckDBPyConnection, path: Path) -> str:
    """Raises duckdb.Error where a CSV file cannot be read; Parquet is looked at only when it is queried."""
    full = path.resolve()
    if path.is_dir():
        files = literal(str(full / "**" / "*.parquet"))
        return f"SELECT * FROM read_parquet({files}, hive_partitioning = true, union_by_name = true)"
    if path.suffix.lower() in (".csv", ".tsv", ".txt"):
        return _csv_select(connection, literal(str(full)))
    return f"SELECT * FROM read_parquet({literal(str(full))})"


def _csv_select(connection: duckdb.DuckDBPyConnection, file: str) -> str:
    marks = ", ".join(map(literal, _MISSING))
    found = connection.execute(f"SELECT HasHeader FROM sniff_csv({file}, nullstr = [{marks}])").fetchone()
    # The header is told, since above columns of texts alone, as marks make them, it would be taken for a row.
    plain = f"read_csv({file}, header = {'true' if found and found[0] else 'false'})"
    written = _types(connection, plain)
    meant = _types(connection, f"read_csv({file}, nullstr = [{marks}])")
    mended = [
        f"CASE WHEN {quoted(name)} NOT IN ({marks}) THEN CAST({quoted(name)} AS {kind}) END AS {quoted(name)}"
        for name, kind in meant.items()
        if kind != "VARCHAR" and written.get(name) == "VARCHAR"
    ]
    replaced = f" REPLACE ({', '.join(mended)})" if mended else ""
    return f"SELECT *{replaced} FROM {plain}"


def _types(connection: duckdb.DuckDBPyConnection, reader: str) -> dict[str, str]:
    return {name: kind for name, kind, *_ in connection.execute(f"DESCRIBE SELECT * FROM {reader}").fetchall()}


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
