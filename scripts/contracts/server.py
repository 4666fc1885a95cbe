"""A server over the contracts' catalog, with data made on the spot, and calls to it."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import httpx2

from gateway.cli.serve import bound
from scene_kb.models import Match
from scene_kb.resolver import HybridResolver
from tests.engine.slow import broken, slow

IDLE_S = 15
NOW = "2026-11-30T09:00:00+08:00"
FRAGILE = "break"
"""A query with this word is an internal error of this server."""
_STARTED_WITHIN_S = 120

_READINGS = """
COPY (
    SELECT
        n AS id,
        DATE '2026-11-01' + (n % 29)::INTEGER AS day,
        CASE WHEN n % 2 = 0 THEN 'north' ELSE 'south' END AS region,
        CASE WHEN n = 28 THEN repeat('long ', 100000) ELSE 'as usual' END AS note,
        'c' || n AS secret,
        (n % 500 / 10.0)::DECIMAL(18, 2) AS usage,
        CASE WHEN n = 57 THEN 'nan'::DOUBLE ELSE n / 7.0 END AS pressure
    FROM range(30000) AS counted(n)
) TO '{folder}/readings.parquet' (FORMAT parquet)
"""


class Fragile(HybridResolver):
    """Fails where it is told to."""

    def match(self, query: str, *, visible: frozenset[str], dimensions: frozenset[str] = frozenset()) -> Match:
        if FRAGILE in query:
            raise RuntimeError("told to break")
        return super().match(query, visible=visible, dimensions=dimensions)


@dataclass(frozen=True)
class Server:
    address: str
    data: Path

    def client(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self.address, timeout=120)


@contextmanager
def served(folder: Path, port: int, *, roles: str = "[clerk]", idle_s: int = IDLE_S) -> Iterator[Server]:
    """Fails where it does not come up in time. `roles`: those of whoever calls."""
    catalog = folder / "catalog"
    shutil.copytree(Path(__file__).parent, catalog, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    policies = catalog / "policies.yaml"
    policies.write_text(policies.read_text().replace("localRoles: [clerk]", f"localRoles: {roles}"))
    _make_data(catalog / "data")
    environment = {
        **os.environ,
        "SANBU_CATALOG": str(catalog),
        "SANBU_STATE_DIR": str(folder / "state"),
        "SANBU_CACHE_DIR": str(folder / "cache"),
        "SANBU_NOW": NOW,
        "SANBU_SESSION_IDLE_SECONDS": str(idle_s),
        "SANBU_AMBIGUOUS": "client",
        "SANBU_RESOLVER": f"{__name__}:{Fragile.__name__}",
    }
    command = [sys.executable, "-m", "gateway.cli", "serve", "--http", "--port", str(port)]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait_for(address, process)
        yield Server(address, catalog / "data")
    finally:
        process.terminate()
        process.wait(timeout=30)


def free_port() -> int:
    with bound("127.0.0.1", 0) as probe:
        return int(probe.getsockname()[1])


def _make_data(folder: Path) -> None:
    folder.mkdir()
    duckdb.sql(_READINGS.format(folder=folder))
    shops = (
        "SELECT n AS id, CASE WHEN n % 2 = 0 THEN 'north' ELSE 'south' END AS region, n AS staff FROM range(10) t(n)"
    )
    duckdb.sql(f"COPY ({shops}) TO '{folder}/shops.parquet' (FORMAT parquet)")
    duckdb.sql(f"COPY (SELECT 1::BIGINT AS id) TO '{folder}/gone.parquet' (FORMAT parquet)")
    slow(folder)
    broken(folder)


def _wait_for(address: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _STARTED_WITHIN_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            if httpx2.get(f"{address}/livez").status_code == httpx2.codes.OK:
                return
        except httpx2.TransportError:
            time.sleep(0.1)
    raise SystemExit("the server did not come up; run `sanbu doctor --catalog scripts/contracts`")


Wire = Mapping[str, Any]
