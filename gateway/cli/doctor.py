"""`sanbu doctor`: each thing that can be wrong with an installation, looked at, with what to do about it."""

import os
import socket
import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version

import anyio

from gateway.app import locate, open_backends, open_knowledge
from gateway.cli.faults import sentence_for
from gateway.cli.terminal import index_progress, out, print_json, table
from gateway.log import configure_logging
from gateway.settings import Settings
from scene_kb.catalog import load_catalog
from sessions.stores.base import open_store

Finding = tuple[str, bool, str]


def run_doctor(settings: Settings, *, as_json: bool) -> None:
    """Prints every finding. Status 1 where one is bad."""
    configure_logging("ERROR")
    findings = anyio.run(_look, settings)
    if as_json:
        print_json([{"check": what, "ok": ok, "says": says} for what, ok, says in findings])
    else:
        out.print(
            table(None, ("check", "", "says"), [(what, "ok" if ok else "✗", says) for what, ok, says in findings])
        )
    if not all(ok for _, ok, _ in findings):
        raise SystemExit(1)


async def _look(settings: Settings) -> list[Finding]:
    checks: list[tuple[str, Callable[[Settings], Awaitable[str]]]] = [
        ("versions", _versions),
        ("state folder", _state),
        ("session store", _store),
        ("catalog", _catalog),
        ("index and embedder", _index),
        ("sources", _sources),
        ("port", _port),
    ]
    return [await _found(what, check, settings) for what, check in checks]


async def _found(what: str, check: Callable[[Settings], Awaitable[str]], settings: Settings) -> Finding:
    try:
        return what, True, await check(settings)
    except Exception as error:  # a doctor reports what hurts, whatever it is
        return what, False, sentence_for(error) or f"{type(error).__name__}: {error}"


async def _versions(_: Settings) -> str:
    names = ("sanbu", "mcp", "duckdb", "lancedb", "sqlglot")
    return f"Python {sys.version.split()[0]}, " + ", ".join(f"{name} {version(name)}" for name in names)


async def _state(settings: Settings) -> str:
    settings.state_dir.mkdir(parents=True, exist_ok=True)
    if not os.access(settings.state_dir, os.W_OK):
        raise PermissionError(f"{settings.state_dir} cannot be written; set SANBU_STATE_DIR")
    return str(settings.state_dir)


async def _store(settings: Settings) -> str:
    store = open_store(settings.session_url())
    await store.turns("doctor")
    await store.close()
    return settings.session_url()


async def _catalog(settings: Settings) -> str:
    catalog = load_catalog(locate(settings).folder)
    return f"{catalog.name}: {len(catalog.scenes)} scenes over {len(catalog.datasets)} datasets"


async def _index(settings: Settings) -> str:
    place = locate(settings)
    with index_progress() as progress:
        index, embedder = open_knowledge(load_catalog(place.folder), place.folder, settings, progress=progress)
    return f"{len(index.rows)} texts by {embedder.name}"


async def _sources(settings: Settings) -> str:
    place = locate(settings)
    catalog = load_catalog(place.folder)
    backends = open_backends(catalog.datasets, place.data)
    try:
        versions = [await backends[it.url].version(it.table) for ds in catalog.datasets.values() for it in ds.sources]
    finally:
        for backend in backends.values():
            await backend.close()
    return f"{len(versions)} readable"


async def _port(settings: Settings) -> str:
    with socket.socket() as probe:
        if probe.connect_ex((settings.host, settings.port)) == 0:
            return f"{settings.port} is in use; serve --http needs another --port"
    return f"{settings.port} is free"
