"""What the tests of the gateway share: callers, the command line, served gateways, connected clients."""

import os
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryFile
from time import sleep
from typing import Any

import duckdb
import httpx
from mcp import Client, StdioServerParameters

from engine.policy import Caps, Principal
from gateway.app import App, open_app
from gateway.identity import Caller
from gateway.mcp import mcp_server
from gateway.settings import Settings

NOW = datetime.fromisoformat("2026-11-30T09:00:00+08:00")


def caller(*roles: str, name: str = "somebody", **attributes: tuple[str, ...]) -> Caller:
    return Caller(Principal(id=name, roles=roles, attributes=attributes))


def with_engine(app: App, **parts: Any) -> App:
    """The same app with other parts in its engine."""
    steps = replace(app.gateway.steps, engine=replace(app.gateway.steps.engine, **parts))
    return replace(app, gateway=replace(app.gateway, steps=steps))


def capped(app: App, role: str, **caps: int) -> App:
    """The same app, whose role has these caps and the default ones beside them."""
    policies = app.gateway.steps.engine.policies
    held = policies.roles[role].model_copy(update={"caps": Caps.model_validate(caps)})
    return with_engine(app, policies=policies.model_copy(update={"roles": {**policies.roles, role: held}}), grants={})


def orders_become(app: App, select: str) -> None:
    """Writes the orders of a `live` app again, from {orders}."""
    file = app.gateway.steps.engine.datasets["orders"].sources[0].url.removeprefix("duckdb:")
    duckdb.sql(f"COPY ({select.format(orders=f'read_parquet({file!r})')}) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").replace(file)


def environment(settings: Settings) -> dict[str, str]:
    assert settings.now is not None
    return {
        **os.environ,
        "SANBU_CATALOG": settings.catalog,
        "SANBU_CACHE_DIR": str(settings.cache_dir),
        "SANBU_STATE_DIR": str(settings.state_dir),
        "SANBU_NOW": settings.now.isoformat(),
    }


def sanbu(settings: Settings, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli", *arguments],
        env={**environment(settings), "COLUMNS": "160", **extra},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def fails_with(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """One sentence on stderr, a status, and no traceback."""
    assert done.returncode != 0
    assert "Traceback" not in done.stderr
    for word in words:
        assert word in done.stderr


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def http_server(settings: Settings, log: Path | None = None, **extra: str) -> Iterator[str]:
    """A served gateway's address. Fails where it is not up within a minute.

    `log`: where its stderr goes; `extra`: variables of its environment.
    """
    port = free_port()
    command = [sys.executable, "-m", "gateway.cli", "serve", "--http", "--port", str(port)]
    with log.open("wb+") if log else TemporaryFile() as written:
        process = subprocess.Popen(
            command, env={**environment(settings), **extra}, stdout=subprocess.DEVNULL, stderr=written
        )
        try:
            address = f"http://127.0.0.1:{port}"
            with httpx.Client(transport=httpx.HTTPTransport(retries=0)) as probe:
                for _ in range(600):
                    assert process.poll() is None, (written.seek(0), written.read().decode())
                    try:
                        if probe.get(f"{address}/livez").status_code == 200:
                            break
                    except httpx.TransportError:
                        sleep(0.1)
            yield address
        finally:
            process.terminate()
            process.wait(timeout=20)


@asynccontextmanager
async def connected(transport: str, mode: str, settings: Settings) -> AsyncIterator[Client]:
    if transport == "in-process":
        async with open_app(settings) as app, Client(mcp_server(app.gateway, lambda _: app.local), mode=mode) as client:
            yield client
    elif transport == "stdio":
        server = StdioServerParameters(
            command=sys.executable, args=["-m", "gateway.cli", "serve", "--stdio"], env=environment(settings)
        )
        async with Client(server, mode=mode) as client:
            yield client
    else:
        with http_server(settings) as address:
            async with Client(f"{address}/mcp", mode=mode) as client:
                yield client
