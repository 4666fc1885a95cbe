"""`sanbu doctor`: each thing that can be wrong with an installation, looked at, with what to do about it."""

import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from http.client import HTTPConnection, HTTPException
from importlib.metadata import version

import anyio
import anyio.to_thread

from engine.backends.base import TableInfo
from engine.dataset import Dataset, Source
from engine.errors import EngineError
from gateway.app import Place, locate, open_backends, open_identity, open_knowledge, resolver_class
from gateway.cli.faults import Failure, sentence_for
from gateway.cli.serve import bound
from gateway.cli.terminal import counted, index_progress, out, print_json, table
from gateway.errors import StoreDown
from gateway.http import LIVE
from gateway.log import configure_logging
from gateway.settings import Settings, without_password
from scene_kb.catalog import load_catalog
from scene_kb.models import Catalog
from scene_kb.rerankers.base import open_reranker
from sessions.stores.base import open_store

_PROBE_S, _PROBE_BYTES = 2, 1000


@dataclass(frozen=True)
class Finding:
    check: str
    ok: bool
    says: str


def run_doctor(settings: Settings, *, as_json: bool) -> None:
    """Prints every finding. Status 1 where one is bad."""
    configure_logging("ERROR")
    findings = anyio.run(_look, settings)
    if as_json:
        print_json([asdict(it) for it in findings])
    else:
        rows = [(it.check, "ok" if it.ok else "✗", it.says) for it in findings]
        out.print(table(None, ("check", "", "says"), rows, whole=(0,)))
    if not all(it.ok for it in findings):
        raise SystemExit(1)


async def _look(settings: Settings) -> list[Finding]:
    """What needs the catalog is looked at only where there is one, so that its faults are told once."""
    findings = [
        await _found("versions", _versions),
        await _found("state folder", lambda: _state(settings)),
        await _found("session store", lambda: _store(settings)),
        await _found("port", lambda: _port(settings)),
        await _found("identity", lambda: _identity(settings)),
        await _found("resolver", lambda: _resolver(settings)),
        await _found("reranker", lambda: _reranker(settings)),
    ]
    try:
        place = locate(settings)
        catalog = load_catalog(place.folder)
    except Exception as error:
        return [*findings, _hurt("catalog", error)]
    return [
        *findings,
        Finding("catalog", True, _size(catalog)),
        await _found("index and embedder", lambda: _index(settings, place, catalog)),
        await _found("sources", lambda: _sources(place, catalog)),
    ]


async def _found(check: str, look: Callable[[], Awaitable[str]]) -> Finding:
    try:
        return Finding(check, True, await look())
    except Exception as error:
        return _hurt(check, error)


def _hurt(check: str, error: Exception) -> Finding:
    """A doctor reports what hurts, whatever it is."""
    return Finding(check, False, sentence_for(error) or f"{type(error).__name__}: {error}")


async def _versions() -> str:
    names = ("sanbu", "mcp", "duckdb", "lancedb", "sqlglot")
    return f"Python {sys.version.split()[0]}, " + ", ".join(f"{name} {version(name)}" for name in names)


async def _state(settings: Settings) -> str:
    return str(settings.state_file("signing.key").parent)


async def _store(settings: Settings) -> str:
    store = open_store(settings.session_url())
    await store.turns("doctor")
    await store.close()
    return without_password(settings.session_url())


async def _port(settings: Settings) -> str:
    try:
        bound(settings.host, settings.port).close()
    except Failure:
        if await anyio.to_thread.run_sync(_a_gateway_answers, settings):
            return f"a gateway is serving at {settings.port}"
        raise
    return f"{settings.port} is free"


def _a_gateway_answers(settings: Settings) -> bool:
    connection = HTTPConnection(settings.host, settings.port, timeout=_PROBE_S)
    try:
        connection.request("GET", "/livez")
        return bool(json.loads(connection.getresponse().read(_PROBE_BYTES)) == LIVE)
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()


async def _identity(settings: Settings) -> str:
    """Who may call over HTTP; every way of telling is tried. Raises Failure, IdentityUnusable or TokensUnusable."""
    identity = open_identity(settings)
    if identity is None:
        return "none: whoever reaches the loopback address is the local user"
    found = []
    if identity.tokens is not None:
        if not identity.tokens.path.exists():
            raise Failure(f"SANBU_TOKENS_FILE: there is no {identity.tokens.path}; sanbu token add makes it")
        found.append(counted(len(identity.tokens.tokens()), "static token"))
    if identity.access_tokens is not None:
        try:
            keys = await identity.access_tokens.reach()
        except StoreDown as down:
            raise Failure(f"SANBU_OAUTH_JWKS_URL: no keys can be read there: {down.__cause__}") from down
        found.append(f"access tokens of {identity.access_tokens.issuer} by {counted(keys, 'key')}")
    return ", ".join(found)


async def _resolver(settings: Settings) -> str:
    resolver_class(settings)
    return settings.resolver


async def _reranker(settings: Settings) -> str:
    reranker = open_reranker(settings.reranker)
    return reranker.name if reranker else "none, which is the default"


def _size(catalog: Catalog) -> str:
    scenes, datasets = counted(len(catalog.scenes), "scene"), counted(len(catalog.datasets), "dataset")
    return f"{catalog.name}: {scenes} over {datasets}"


async def _index(settings: Settings, place: Place, catalog: Catalog) -> str:
    with index_progress() as progress:
        index, embedder = open_knowledge(catalog, place.folder, settings, progress=progress)
    return f"{counted(len(index.rows), 'text')} by {embedder.name}"


async def _sources(place: Place, catalog: Catalog) -> str:
    """Every source is opened and asked what it holds. Raises Failure with all that is not as the catalog says."""
    backends = open_backends(catalog.datasets, place.data)
    faults: list[str] = []
    try:
        for url, backend in backends.items():
            try:
                tables = await backend.inspect()
            except EngineError as error:
                faults.append(sentence_for(error) or str(error))
                continue
            for dataset in catalog.datasets.values():
                faults += [_missing(dataset, it, tables) for it in dataset.sources if it.url == url]
    finally:
        for backend in backends.values():
            await backend.close()
    if any(faults):
        raise Failure("\n".join(filter(None, faults)))
    return f"{counted(sum(len(it.sources) for it in catalog.datasets.values()), 'source')} readable"


def _missing(dataset: Dataset, source: Source, tables: Sequence[TableInfo]) -> str:
    """Which table or columns of the dataset its source lacks; empty for none."""
    table = next((it for it in tables if source.table in (None, it.name)), None)
    if table is None:
        return f"{dataset.api_no}: its source has no table '{source.table}'; correct apis/*.yaml, or bring it back"
    held = {column.name.casefold() for column in table.columns}
    named = [*(it.source_column for it in dataset.fields if it.stored), *filter(None, [source.version_column])]
    lacking = [column for column in named if column.casefold() not in held]
    if not lacking:
        return ""
    return f"{dataset.api_no}: its source has no column {', '.join(lacking)}; correct apis/*.yaml, or bring them back"
