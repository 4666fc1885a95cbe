"""A bookshop: a small catalog over made-up orders, opened as an app on a fixed clock."""

import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import duckdb
import pytest

from engine.backends.base import open_backend
from gateway.app import App, open_app
from gateway.settings import Settings
from tests.gateway.harness import NOW, with_engine

ORDERS = """
COPY (
    SELECT
        18446744073709551615::UBIGINT - n::UBIGINT AS order_id,
        DATE '2026-11-01' + (n % 29)::INTEGER AS day,
        ['A', 'B', 'C'][1 + n % 3] AS channel,
        (n * 7 % 40)::INTEGER AS book_id,
        '书' || (n * 7 % 40) AS book,
        '1380000' || lpad((n % 10000)::VARCHAR, 4, '0') AS buyer_phone,
        (10 + n * 37 % 9000 / 100.0)::DECIMAL(18, 2) AS amount,
        (1 + n % 4)::BIGINT AS copies,
        CASE WHEN n % 11 = 0 THEN 5.5 ELSE 0 END::DECIMAL(18, 2) AS refund
    FROM range(6000) AS numbers(n)
) TO '{path}' (FORMAT parquet)
"""


@pytest.fixture(scope="session")
def bookshop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalog folder with its data."""
    folder = tmp_path_factory.mktemp("catalogs") / "bookshop"
    shutil.copytree(Path(__file__).parent / "bookshop", folder)
    (folder / "data").mkdir()
    duckdb.sql(ORDERS.format(path=folder / "data" / "orders.parquet"))
    return folder


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Holds the index, which is built once for all tests of a process."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def settings(bookshop: Path, cache: Path, tmp_path: Path) -> Settings:
    return Settings(catalog=str(bookshop), cache_dir=cache, state_dir=tmp_path / "state", now=NOW)


@pytest.fixture
async def app(settings: Settings) -> AsyncIterator[App]:
    async with open_app(settings) as app:
        yield app


@pytest.fixture
async def live(app: App, bookshop: Path, tmp_path: Path) -> AsyncIterator[App]:
    """The bookshop with orders of its own, so that they may come and go. No text of it has to be embedded again."""
    file = tmp_path / "orders.parquet"
    shutil.copy(bookshop / "data" / "orders.parquet", file)
    orders = app.gateway.steps.engine.datasets["orders"]
    source = orders.sources[0].model_copy(update={"url": f"duckdb:{file}"})
    backend = open_backend(source.url)
    datasets = {"orders": orders.model_copy(update={"sources": (source,)})}
    yield with_engine(app, datasets=datasets, backends={source.url: backend})
    await backend.close()
