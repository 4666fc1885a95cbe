"""What every test may rely on: asynchronous tests run on asyncio."""

import pytest


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"
