"""What the engine's tests share: the shop's file, an engine over it, and a loop for tests that call it many times."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine import shop
from tests.engine.house import House, open_house


@pytest.fixture(scope="session")
def shop_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return shop.write(tmp_path_factory.mktemp("shop") / "shop.parquet")


@pytest.fixture
def house(shop_file: Path) -> House:
    return open_house(shop.dataset(shop_file))


@pytest.fixture(scope="session")
def run() -> Iterator[Callable[[Awaitable[Any]], Any]]:
    """Runs one awaitable to its end on a loop that all tests share."""
    with asyncio.Runner() as runner:

        async def awaited(it: Awaitable[Any]) -> Any:
            return await it

        yield lambda it: runner.run(awaited(it))
