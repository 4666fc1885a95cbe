"""The doctor finds what is wrong, says each thing once, and finds nothing where nothing is."""

import json
import shutil
import socket
from pathlib import Path
from urllib.parse import urlsplit

import duckdb

from gateway.settings import Settings
from tests.gateway.harness import free_port, http_server, sanbu


def faults(settings: Settings, *arguments: str, **extra: str) -> dict[str, str]:
    """What is found wrong, by its check; the command's status agrees."""
    done = sanbu(settings, "doctor", "--json", *arguments, **{"SANBU_PORT": str(free_port()), **extra})
    findings = json.loads(done.stdout)
    bad = {it["check"]: it["says"] for it in findings if not it["ok"]}
    assert done.returncode == bool(bad), done.stderr
    return bad


def copied(bookshop: Path, folder: Path) -> Path:
    return Path(shutil.copytree(bookshop, folder / "copy"))


def test_nothing_is_wrong_here(settings: Settings) -> None:
    assert faults(settings) == {}


def test_a_source_is_opened_and_not_only_looked_at_from_outside(
    settings: Settings, bookshop: Path, tmp_path: Path
) -> None:
    catalog = copied(bookshop, tmp_path)
    data = catalog / "data" / "orders.parquet"
    duckdb.sql(f"COPY (SELECT * EXCLUDE (refund) FROM '{data}') TO '{tmp_path / 'less.parquet'}' (FORMAT parquet)")
    shutil.copy(tmp_path / "less.parquet", data)
    assert "no column refund" in faults(settings, "--catalog", str(catalog))["sources"]
    data.write_bytes(b"this is no parquet file")
    assert "orders.parquet" in faults(settings, "--catalog", str(catalog))["sources"]


def test_a_database_that_is_none_is_found(settings: Settings, tmp_path: Path) -> None:
    database = tmp_path / "shop.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute("CREATE TABLE orders AS SELECT i AS order_id, 'x' || i % 2 AS kind FROM range(9) t(i)")
    catalog = tmp_path / "catalog"
    sanbu(settings, "init", str(database), "--out", str(catalog))
    assert faults(settings, "--catalog", str(catalog)) == {}
    with duckdb.connect(str(database)) as connection:
        connection.execute("ALTER TABLE orders RENAME TO sales")
    assert "no table 'orders'" in faults(settings, "--catalog", str(catalog))["sources"]
    database.write_bytes(b"no database" * 2000)
    assert "shop.duckdb" in faults(settings, "--catalog", str(catalog))["sources"]


def test_a_fault_of_the_catalog_is_told_once(settings: Settings) -> None:
    assert list(faults(settings, "--catalog", "/nowhere")) == ["catalog"]


def test_a_resolver_that_cannot_be_loaded_is_found(settings: Settings) -> None:
    assert list(faults(settings, SANBU_RESOLVER="a:b")) == ["resolver"]


def test_a_reranker_that_cannot_be_loaded_is_found_and_what_to_do_is_said(settings: Settings) -> None:
    found = faults(settings, SANBU_RERANKER="cross-encoder:/nowhere")
    assert list(found) == ["reranker"]
    assert "pip install" in found["reranker"] or "write the folder" in found["reranker"]


def test_a_port_is_free_or_a_gateways_or_a_fault(settings: Settings) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert list(faults(settings, SANBU_PORT=str(other.getsockname()[1]))) == ["port"]
    with http_server(settings) as address:
        assert faults(settings, SANBU_PORT=str(urlsplit(address).port)) == {}
