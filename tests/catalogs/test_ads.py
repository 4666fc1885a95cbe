"""The ads catalog: its made-up table is as its README says, and its files fit the table and each other."""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from rapidfuzz import fuzz
from ruamel.yaml import YAML

from engine.backends.base import open_backend
from engine.cursors import Cursors
from engine.dataset import Dataset, Field, language_of
from engine.evidence import EvidenceBook
from engine.permissions import authorize, sees_scene
from engine.pipeline import Engine, Request
from engine.policy import Policies, Principal
from engine.query import DataQuery, PageBounds
from engine.snapshots.embedded import EmbeddedSnapshots
from scene_kb.catalog import load_catalog
from scene_kb.catalogs.ads import data
from scene_kb.catalogs.ads.anomalies import LAST_DAY_SPIKES, Anomaly, Kind
from scene_kb.catalogs.ads.world import DAYS, FIRST_DATE, LAST_DATE
from scene_kb.models import Scene, Synonyms

FOLDER = Path(data.__file__).parent
SHOWN = "看一下昨天渠道A广告消耗异常的TOP10"
YESTERDAY, DAY_BEFORE = LAST_DATE, date(2026, 11, 28)

CATALOG = load_catalog(FOLDER)
DATASET = CATALOG.datasets["ads_wide"]
SCENES = {scene.scene_id: scene for scene in CATALOG.scenes}
CROSSING = [scene for scene in CATALOG.scenes if len(scene.dimensions) > 1 and scene.grain]

_WORLD, _ANOMALIES = data.world_and_anomalies()
_README_NAMES: dict[Kind, int] = {"spendSpike": 2, "spendDrop": 3, "conversionLoss": 4, "complaintSurge": 5}


def ad_id(anomaly: Anomaly) -> str:
    return f"a{10001 + anomaly.ad}"


def channel_of(anomaly: Anomaly) -> str:
    return "ABCDE"[_WORLD.ads.channel[anomaly.ad]]


def of_the_last_day(kind: Kind, channel: str | None = None) -> dict[str, float]:
    """Ad to factor."""
    return {
        ad_id(it): it.factor
        for it in _ANOMALIES
        if it.kind == kind and it.day == DAYS - 1 and channel in (None, channel_of(it))
    }


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return data.build(tmp_path_factory.mktemp("ads"))


@pytest.fixture(scope="module")
def table(file: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE VIEW ads AS SELECT * FROM '{file}'")
        yield connection


def number(table: duckdb.DuckDBPyConnection, sql: str) -> int:
    row = table.execute(sql).fetchone()
    assert row is not None
    return int(row[0])


def change_since_the_day_before(table: duckdb.DuckDBPyConnection, metric: str, channel: str = "%") -> dict[str, float]:
    """Ad to yesterday's value over that of the day before."""
    rows = table.execute(
        f"SELECT ad_id, sum({metric}) FILTER (date = ?) / sum({metric}) FILTER (date = ?) FROM ads"
        " WHERE channel LIKE ? GROUP BY ad_id",
        [YESTERDAY, DAY_BEFORE, channel],
    ).fetchall()
    return {ad: ratio for ad, ratio in rows if ratio is not None}


# The table -----------------------------------------------------------------------------------------------------------


def test_the_table_is_large_and_its_file_small(file: Path, table: duckdb.DuckDBPyConnection) -> None:
    assert number(table, "SELECT count(*) FROM ads") >= 200_000
    assert file.stat().st_size < 60_000_000


def test_two_builds_give_the_same_bytes_and_leave_nothing_else(tmp_path: Path) -> None:
    first, second = data.build(tmp_path / "a", days=4), data.build(tmp_path / "b", days=4)
    assert first.read_bytes() == second.read_bytes()
    assert list((tmp_path / "a").iterdir()) == [first]


def test_a_row_is_one_day_of_one_ad_and_one_material(table: duckdb.DuckDBPyConnection) -> None:
    assert number(table, "SELECT count(*) - count(DISTINCT (date, ad_id, material_id)) FROM ads") == 0
    assert number(table, "SELECT count(DISTINCT date) FROM ads") == (LAST_DATE - FIRST_DATE).days + 1


def test_yesterday_every_channel_is_busy(table: duckdb.DuckDBPyConnection) -> None:
    ads = dict(
        table.execute(
            "SELECT channel, count(DISTINCT ad_id) FROM ads WHERE date = ? GROUP BY 1", [YESTERDAY]
        ).fetchall()
    )
    assert set(ads) == set("ABCDE")
    assert ads["A"] >= 40
    assert min(ads.values()) >= 40


def test_money_and_steps_add_up_in_every_row(table: duckdb.DuckDBPyConnection) -> None:
    faults = """
        cost != cash_cost + gift_cost OR cost < 0 OR clicks > impressions OR landing_views > clicks
        OR installs > downloads OR activations > installs OR registrations > activations OR first_pays > registrations
        OR orders > add_to_carts OR refunds > orders OR refund_amount > gmv OR coupons_used > coupons_claimed
        OR video_completes > video_plays_75 OR video_plays_3s > video_plays
        OR NOT (revenue_d0 <= revenue_d1 AND revenue_d1 <= revenue_d7 AND revenue_d7 <= revenue_d30)
        OR (material_type != 'video' AND video_plays > 0)
    """
    assert number(table, f"SELECT count(*) FROM ads WHERE {faults}") == 0


def test_retention_counts_only_days_that_have_passed(table: duckdb.DuckDBPyConnection) -> None:
    rows = table.execute("SELECT date, sum(retained_d7) FROM ads GROUP BY 1 ORDER BY 1 DESC LIMIT 10").fetchall()
    assert [total > 0 for _, total in rows] == [False] * 7 + [True] * 3


def test_a_material_wears_out(table: duckdb.DuckDBPyConnection) -> None:
    rates = table.execute(
        "SELECT sum(clicks) / sum(impressions) FROM ads"
        " GROUP BY least(material_age_days // 20, 4) ORDER BY least(material_age_days // 20, 4)"
    ).fetchall()
    assert rates == sorted(rates, reverse=True)
    assert rates[-1][0] < 0.6 * rates[0][0]


def test_games_spend_more_at_weekends_and_finance_less(table: duckdb.DuckDBPyConnection) -> None:
    weekend = dict(
        table.execute(
            "SELECT product_line, (sum(cost) FILTER (is_weekend) / 52) / (sum(cost) FILTER (NOT is_weekend) / 130)"
            " FROM ads GROUP BY 1"
        ).fetchall()
    )
    assert weekend["game"] > 1.05
    assert weekend["finance"] < 0.95


# Anomalies -----------------------------------------------------------------------------------------------------------


def test_every_channel_has_spend_anomalies_yesterday(table: duckdb.DuckDBPyConnection) -> None:
    for channel, spikes in LAST_DAY_SPIKES.items():
        change = change_since_the_day_before(table, "cost", channel)
        assert len(of_the_last_day("spendSpike", channel)) == spikes
        for ad, factor in {**of_the_last_day("spendSpike", channel), **of_the_last_day("spendDrop", channel)}.items():
            # What is left is the ordinary noise of two days and a Saturday against a Sunday.
            assert change[ad] == pytest.approx(factor, rel=0.35)


def test_the_ten_largest_changes_in_channel_a_are_all_injected(table: duckdb.DuckDBPyConnection) -> None:
    change = change_since_the_day_before(table, "cost", "A")
    largest = sorted(change, key=lambda ad: -change[ad])[:10]
    assert set(largest) <= set(of_the_last_day("spendSpike", "A"))


def test_most_ads_have_no_anomaly(table: duckdb.DuckDBPyConnection) -> None:
    change = change_since_the_day_before(table, "cost")
    assert sum(0.7 < ratio < 1.4 for ratio in change.values()) > 0.8 * len(change)


def test_lost_conversions_and_complaints_show_without_a_change_in_spend(table: duckdb.DuckDBPyConnection) -> None:
    spend, downloads = change_since_the_day_before(table, "cost"), change_since_the_day_before(table, "downloads")
    complaints = dict(
        table.execute("SELECT ad_id, sum(complaints) FROM ads WHERE date = ? GROUP BY 1", [YESTERDAY]).fetchall()
    )
    usual = sorted(complaints.values())[len(complaints) * 3 // 4]
    for ad in of_the_last_day("conversionLoss"):
        assert downloads[ad] < 0.4
        assert 0.6 < spend[ad] < 1.6
    for ad in of_the_last_day("complaintSurge"):
        assert complaints[ad] > usual


def test_the_readme_lists_the_anomalies_of_the_last_day() -> None:
    listed = (FOLDER / "README.md").read_text()
    for channel in "ABCDE":
        cells = next(line for line in listed.splitlines() if line.startswith(f"| {channel} |")).split("|")
        for kind, column in _README_NAMES.items():
            written = {ad: float(factor) for ad, factor in re.findall(r"(a\d+) ×([\d.]+)", cells[column])}
            assert written == pytest.approx(of_the_last_day(kind, channel), abs=0.005)


# The files -----------------------------------------------------------------------------------------------------------


def test_every_file_is_read_by_the_models() -> None:
    yaml = YAML(typ="safe", pure=True)
    assert Dataset.model_validate(yaml.load(FOLDER / "apis" / "ads_wide.yaml")) == DATASET
    assert Policies.model_validate(yaml.load(FOLDER / "policies.yaml")) == CATALOG.policies
    assert Synonyms.model_validate(yaml.load(FOLDER / "synonyms.yaml")) == CATALOG.synonyms
    for path in (FOLDER / "scenes").iterdir():
        scene = Scene.model_validate(yaml.load(path))
        assert path.name == f"{scene.scene_id.lower()}.yaml"
        assert scene == SCENES[scene.scene_id]


def test_the_dataset_says_that_it_is_synthetic() -> None:
    assert DATASET.synthetic
    assert "合成" in DATASET.title.zh
    assert "synthetic" in DATASET.title.en


def test_stored_fields_and_columns_are_the_same_with_the_same_types(file: Path) -> None:
    columns = {column.name: str(column.type) for column in pq.read_schema(file)}
    arrow_types = {
        "string": "string",
        "boolean": "bool",
        "int32": "int32",
        "int64": "int64",
        "date": "date32[day]",
        "decimal(18,2)": "decimal128(18, 2)",
    }
    stored = [field for field in DATASET.fields if field.stored]
    assert {field.source_column for field in stored} == set(columns)
    for field in stored:
        if field.aggregation != "countDistinct":
            assert columns[field.source_column] == arrow_types[field.type], field.name


def test_there_are_at_least_300_fields_and_most_are_computed() -> None:
    assert len(DATASET.fields) >= 300
    assert sum(field.stored for field in DATASET.fields) < len(DATASET.fields) / 2


def test_every_field_is_described_in_both_languages() -> None:
    assert [field.name for field in DATASET.fields if not (field.about.zh and field.about.en)] == []


def test_no_two_fields_are_called_alike() -> None:
    owners: dict[str, str] = {}
    for field in DATASET.fields:
        for name in {name.casefold() for name in field.names()}:
            assert owners.setdefault(name, field.name) == field.name, name


def test_listed_values_are_exactly_those_that_are_stored(table: duckdb.DuckDBPyConnection) -> None:
    for field in DATASET.fields:
        if field.values:
            rows = table.execute(f'SELECT DISTINCT "{field.name}" FROM ads').fetchall()
            assert {value for (value,) in rows} == {value.value for value in field.values}, field.name


def test_a_metric_carries_the_warnings_of_what_it_is_computed_from() -> None:
    def inherited(field: Field) -> set[str]:
        operands = [DATASET.by_name[name] for name in field.operand_names()]
        return {flag for operand in operands for flag in (*operand.flags, *inherited(operand))}

    for field in DATASET.fields:
        assert inherited(field) <= set(field.flags), field.name


# Scenes --------------------------------------------------------------------------------------------------------------


def test_there_are_enough_scenes_and_enough_that_cross_dimensions() -> None:
    assert len(SCENES) >= 40
    assert sum(bool(scene.combinations) for scene in CROSSING) >= 8


@pytest.mark.parametrize("scene", CROSSING, ids=lambda scene: scene.scene_id)
def test_a_crossing_scene_has_a_ready_combination_of_its_dimensions(scene: Scene) -> None:
    assert any(set(combination.dimensions) == set(scene.dimensions) for combination in scene.combinations)


@pytest.mark.parametrize("scene", CATALOG.scenes, ids=lambda scene: scene.scene_id)
def test_a_scene_speaks_both_languages(scene: Scene) -> None:
    for words in (scene.title, scene.purpose, scene.differs):
        assert language_of(words.zh) == "zh"
        assert language_of(words.en) == "en"
    english = [
        question for question in scene.questions if re.search(r"[a-z]+ [a-z]+", question)
    ]  # names may be Chinese
    assert 3 <= len(english) <= 6
    assert 3 <= len(scene.questions) - len(english) <= 6


@pytest.mark.parametrize("scene", CATALOG.scenes, ids=lambda scene: scene.scene_id)
def test_no_text_of_a_scene_resembles_the_question_that_is_shown(scene: Scene) -> None:
    for text in (*scene.questions, *scene.title.every(), *scene.purpose.every(), *scene.differs.every()):
        assert fuzz.ratio(text.casefold(), SHOWN.casefold()) < 60


def test_no_question_stands_in_two_scenes() -> None:
    questions = [question.casefold() for scene in CATALOG.scenes for question in scene.questions]
    assert len(questions) == len(set(questions))


def test_the_spend_anomaly_scene_asks_for_the_date_and_sorts_by_the_change() -> None:
    scene = SCENES["QUERY_AD_SPEND_ANOMALY"]
    assert scene.grain == ("ad_id", "ad_name")
    assert {parameter.name: parameter.required for parameter in scene.parameters}["date"]
    assert "channel" in {parameter.name for parameter in scene.parameters}
    assert {"cost", "cost_dod"} <= set(scene.metrics)
    assert (scene.suggested.order_by, scene.suggested.limit) == (("-cost_dod",), 10)


# Roles ---------------------------------------------------------------------------------------------------------------


def seen_by(role: str, **attributes: tuple[str, ...]) -> tuple[Principal, set[str]]:
    principal = Principal(id="someone", roles=(role,), attributes=attributes)
    return principal, {
        scene.scene_id
        for scene in CATALOG.scenes
        if sees_scene(CATALOG.policies, principal, scene_id=scene.scene_id, tags=scene.tags)
    }


@pytest.mark.parametrize("role", ["ops", "channel_a_ops", "external"])
def test_sensitive_fields_stay_hidden(role: str) -> None:
    principal, scenes = seen_by(role)
    grant = authorize(CATALOG.policies, DATASET, principal)
    assert not {field.name for field in DATASET.fields if "sensitive" in field.flags} & grant.fields
    assert "QUERY_COMMISSION" not in scenes


def test_whoever_runs_the_gateway_here_has_the_role_ops() -> None:
    assert CATALOG.policies.local_roles == ("ops",)


def test_each_role_sees_what_it_is_for() -> None:
    assert len(seen_by("admin")[1]) == len(SCENES)
    assert {"QUERY_COMMISSION", "QUERY_ACCOUNT_BALANCE"} <= seen_by("finance")[1]
    assert 0 < len(seen_by("external")[1]) < 6
    restricted = authorize(CATALOG.policies, DATASET, seen_by("channel_a_ops")[0]).rows
    assert [(scope.field, scope.values, scope.kind) for scopes in restricted for scope in scopes] == [
        ("channel", ("A",), "restriction")
    ]


# Answers -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def engine(file: Path) -> Engine:
    url = f"duckdb:{file}"
    dataset = DATASET.model_copy(update={"sources": (DATASET.sources[0].model_copy(update={"url": url}),)})
    return Engine(
        {"ads_wide": dataset},
        CATALOG.policies,
        {url: open_backend(url)},
        EmbeddedSnapshots(),
        Cursors(["k"]),
        EvidenceBook(EmbeddedSnapshots(), ["k"]),
    )


def request(scene: Scene, fields: tuple[str, ...], filters: dict[str, object]) -> Request:
    defaults = {it.name: it.default for it in scene.parameters if it.default is not None}
    required = {it.name: "昨天" for it in scene.parameters if it.required}
    query = DataQuery(
        "ads_wide",
        {**defaults, **required, **filters},
        fields,
        grain=scene.grain,
        order_by=scene.suggested.order_by,
        limit=scene.suggested.limit,
        within=scene.field_names(DATASET),
        max_days=next((it.max_days for it in scene.parameters if it.name == "date"), None),
    )
    assert DATASET.clock is not None
    principal = Principal(id="someone", roles=("finance",) if "sensitive" in scene.tags else ("ops",))
    return Request(query, principal, DATASET.clock, owner="someone", bounds=PageBounds())


@pytest.mark.parametrize("scene", CATALOG.scenes, ids=lambda scene: scene.scene_id)
def test_a_scene_can_be_asked_as_it_suggests(scene: Scene, engine: Engine, table: duckdb.DuckDBPyConnection) -> None:
    plan = engine.explain(request(scene, scene.fields.default, {}))
    columns = plan.resolved.columns
    assert set(scene.fields.default) <= {column.field.name if column.field else column.label for column in columns}
    if scene.grain:  # a dimension shown beside the grain, such as an ad's channel, must not split its groups
        grouped = [column for column in columns if column.groups]
        assert set(scene.grain) <= {column.label for column in grouped}
        names = [column.field.name for column in grouped if column.field]
        groups = "SELECT count(DISTINCT ({})) FROM ads"
        assert number(table, groups.format(", ".join(names))) == number(
            table, groups.format(", ".join(scene.grain_fields))
        )


@pytest.mark.anyio
async def test_the_weekly_report_has_one_row_a_week(engine: Engine) -> None:
    asked = request(SCENES["QUERY_WEEKLY_REPORT"], ("date", "cost"), {"date": "近28天"})
    rows = (await engine.run(asked, wall=asked.now)).snapshot.rows.to_pylist()
    assert [row["date:week"].isoweekday() for row in rows] == [1] * len(rows)
    assert len(rows) == 4


@pytest.mark.anyio
async def test_the_anomaly_scene_finds_the_injected_spikes_in_order(engine: Engine) -> None:
    asked = request(SCENES["QUERY_AD_SPEND_ANOMALY"], ("ad_id", "ad_name", "cost", "cost_dod"), {"channel": "渠道A"})
    answer = await engine.run(asked, wall=asked.now)
    rows = answer.snapshot.rows.to_pylist()
    changes = [row["cost_dod"] for row in rows]
    assert len(rows) == 10
    assert changes == sorted(changes, reverse=True)
    assert {row["ad_id"] for row in rows} <= set(of_the_last_day("spendSpike", "A"))
    assert all(isinstance(row["cost"], Decimal) for row in rows)
