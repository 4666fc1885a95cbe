"""The composition root: settings in, an open gateway out. Everything that opens is opened here, on one exit stack."""

import hashlib
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import structlog

from engine.backends.base import Backend, open_backend
from engine.cursors import Cursors
from engine.dataset import Dataset
from engine.evidence import EvidenceBook
from engine.pipeline import Engine
from engine.query import PageBounds
from engine.signing import secret_for
from engine.snapshots.base import open_snapshots
from gateway.audit import AuditLog
from gateway.identity import Caller, Identity, local_caller
from gateway.limits import open_quotas
from gateway.oauth import AccessTokens, Claims
from gateway.questions import Asking
from gateway.settings import LOOPBACK, Settings, local_user, without_password
from gateway.steps import Steps
from gateway.tokens import TokenFile
from gateway.turns import Gateway
from scene_kb import shipped
from scene_kb.cards import cards_of
from scene_kb.catalog import load_catalog
from scene_kb.embedders.base import Embedder, EmbedderUnavailable, open_embedder
from scene_kb.index import Index, Progress, open_index
from scene_kb.models import Catalog
from scene_kb.rerankers.base import open_reranker
from scene_kb.resolver import Resolver
from sessions import trace
from sessions.stores.base import StoreUnavailable, open_store

_log = structlog.get_logger("sanbu")
_DATA = re.compile(r"\{data\}((?:/\.\.(?=/|$))*)")
_ENVIRONMENT = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass
class ResolverUnavailable(Exception):
    """The setting names no class that finds scenes."""

    name: str
    detail: str


@dataclass
class IdentityUnusable(Exception):
    """Settings do not add up to a way by which callers can be identified."""

    setting: str
    detail: str


_NO_IDENTITY = "it needs an identity: set SANBU_TOKENS_FILE or SANBU_OAUTH_ISSUER, since other machines may call then"


@dataclass(frozen=True)
class App:
    """An open gateway, and the caller that this machine's own user is."""

    gateway: Gateway
    local: Caller
    settings: Settings
    identity: Identity | None = None
    """Who calls over HTTP. None: the local caller, from this machine alone."""

    async def keep_traces_short(self) -> None:
        """Forgets sessions that are older than traces are kept, once an hour, until cancelled."""
        while True:
            try:
                await self.gateway.steps.sessions.forget(datetime.now(UTC) - timedelta(days=self.settings.trace_days))
            except StoreUnavailable as down:
                _log.warning(
                    "old sessions could not be forgotten", store=without_password(down.url), detail=down.detail
                )
            await anyio.sleep(3600)

    async def warm(self) -> None:
        """Loads word lists, statistics and the embedding model, which the first question would wait for."""
        steps = self.gateway.steps
        visible = frozenset(steps.visible_scenes(self.local))
        try:
            await anyio.to_thread.run_sync(
                lambda: steps.resolver.match("预热", visible=visible), abandon_on_cancel=True
            )
        except EmbedderUnavailable as down:
            _log.warning("questions cannot be embedded", detail=str(down))
        except Exception:  # raised beside a server it would end it, and over stdio leave it deaf until its client goes
            _log.exception("the resolver cannot be warmed")


@dataclass(frozen=True)
class Place:
    """Where a catalog's files and its data are."""

    folder: Path
    data: Path


@asynccontextmanager
async def open_app(settings: Settings, *, progress: Progress = lambda *_: None) -> AsyncIterator[App]:
    """Everything open, and closed again in reverse order.

    Raises CatalogFault, ResolverUnavailable, EmbedderUnavailable, RerankerUnavailable, SourceUnavailable,
    StoreUnavailable, QuotaStoreUnusable, IdentityUnusable, FolderUnusable or DataUnavailable.
    """
    trace.install()
    identity = open_identity(settings)
    make_resolver = resolver_maker(settings)
    place = locate(settings)
    catalog = load_catalog(place.folder)
    index, embedder = open_knowledge(catalog, place.folder, settings, progress=progress)
    resolver = make_resolver(index, embedder)
    async with AsyncExitStack() as stack:
        backends = open_backends(catalog.datasets, place.data)
        for backend in backends.values():
            stack.push_async_callback(backend.close)
        snapshots = open_snapshots(
            f"sqlite:{settings.state_file('snapshots.sqlite')}", max_bytes=settings.snapshot_bytes
        )
        stack.push_async_callback(snapshots.close)
        ledgers = open_snapshots(f"sqlite:{settings.state_file('evidence.sqlite')}", max_bytes=settings.evidence_bytes)
        stack.push_async_callback(ledgers.close)
        book = EvidenceBook(ledgers, settings.keys(), life=timedelta(hours=settings.evidence_hours))
        sessions = open_store(settings.session_url())
        stack.push_async_callback(sessions.close)
        policies = catalog.policies.keyed(secret_for("masks", settings.keys()))
        engine = Engine(catalog.datasets, policies, backends, snapshots, Cursors(settings.keys()), book)
        quotas = open_quotas(settings.quota_store.get_secret_value())
        stack.push_async_callback(quotas.close)
        steps = Steps(
            catalog=catalog,
            cards=index.by_ref,
            resolver=resolver,
            engine=engine,
            sessions=sessions,
            lifetime=settings.lifetime,
            bounds=PageBounds(settings.page_rows, settings.page_bytes, settings.page_tokens),
            quotas=quotas,
            audit=AuditLog(settings.audit_file()),
            wall=lambda: datetime.now(UTC),
            fixed_now=settings.now,
        )
        local = local_caller(local_user(), catalog.policies, dimensions=settings.dimensions)
        asking = Asking(settings.ambiguous, settings.missing, settings.choice_seconds, settings.keys())
        yield App(Gateway(steps, asking), local, settings, identity)


def open_identity(settings: Settings) -> Identity | None:
    """None where nothing is configured by which callers could be identified. Reaches no server.

    Raises IdentityUnusable, also where something that needs an identity is set without one.
    """
    if not settings.identifies_callers:
        for setting in ("public_url", "allowed_hosts", "allowed_origins", "oauth_jwks_url", "oauth_audience"):
            if getattr(settings, setting):
                raise IdentityUnusable(setting, _NO_IDENTITY)
        return None
    tokens = TokenFile(settings.tokens_file) if settings.tokens_file else None
    return Identity(tokens, _access_tokens(settings), lambda: datetime.now(UTC), settings.dimensions)


def _access_tokens(settings: Settings) -> AccessTokens | None:
    if not settings.oauth_issuer:
        return None
    for setting in ("oauth_jwks_url", "public_url"):
        if not getattr(settings, setting):
            raise IdentityUnusable(setting, "access tokens cannot be verified without it")
    for setting in ("oauth_issuer", "oauth_jwks_url"):
        parts = urlsplit(getattr(settings, setting))
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise IdentityUnusable(setting, "write https://…; anybody on the way could give tokens otherwise")
    return AccessTokens(
        issuer=settings.oauth_issuer,
        jwks_url=settings.oauth_jwks_url,
        audience=settings.oauth_audience or f"{settings.public_url}/mcp",
        claims=Claims(settings.oauth_roles, settings.oauth_attributes),
        scopes=settings.oauth_scopes,
    )


def locate(settings: Settings, *, starting: Callable[[], None] = lambda: None) -> Place:
    """A catalog that comes with the package by its name, with its data made on first use; else a folder.

    `starting` is called where data has to be made.

    Raises DataUnavailable where demonstration data cannot be made, or FolderUnusable.
    """
    if settings.catalog in shipped.SHIPPED:
        data = settings.cache_folder("data", settings.catalog)
        shipped.ensure_data(settings.catalog, data, starting=starting)
        return Place(shipped.folder_of(settings.catalog), data)
    folder = Path(settings.catalog).expanduser()
    return Place(folder, folder / "data")


def open_knowledge(
    catalog: Catalog, folder: Path, settings: Settings, *, progress: Progress = lambda *_: None
) -> tuple[Index, Embedder]:
    """The index of the catalog in `folder`, built where it is missing or stale, and the embedder of its vectors.

    Raises EmbedderUnavailable or FolderUnusable.
    """
    embedder = open_embedder(settings.embedder)
    # By where the catalog lies, so that an edited one takes over the vectors of all that stayed.
    place = hashlib.sha256(str(folder.resolve()).encode()).hexdigest()[:12]
    built = settings.cache_folder("index", f"{catalog.name}-{place}")
    return open_index(cards_of(catalog.scenes, catalog), built, embedder, progress=progress), embedder


def resolver_maker(settings: Settings) -> Callable[[Index, Embedder], Resolver]:
    """What finds scenes, with the reranker of the settings where there is one, which is a keyword argument then.

    Raises ResolverUnavailable or RerankerUnavailable.
    """
    made: Callable[..., Resolver] = resolver_class(settings)
    reranker = open_reranker(settings.reranker)
    return made if reranker is None else partial(made, reranker=reranker)


def resolver_class(settings: Settings) -> Callable[[Index, Embedder], Resolver]:
    """What finds scenes, not yet made. Raises ResolverUnavailable."""
    try:
        found = resolve_name(settings.resolver)
    except (ValueError, ImportError, AttributeError) as error:
        raise ResolverUnavailable(settings.resolver, str(error)) from error
    if not callable(getattr(found, "match", None)):
        raise ResolverUnavailable(settings.resolver, "it has no method match")
    made: Callable[[Index, Embedder], Resolver] = found
    return made


def open_backends(datasets: Mapping[str, Dataset], data: Path) -> dict[str, Backend]:
    """One backend for each distinct url. Raises SourceUnavailable for a scheme that nothing serves."""
    urls = {source.url for dataset in datasets.values() for source in dataset.sources}
    return {url: open_backend(resolved_url(url, data)) for url in sorted(urls)}


def resolved_url(url: str, data: Path, environment: Callable[[str], str | None] = os.environ.get) -> str:
    """The url with {data} and ${NAME} filled in; an unset name stays as it is, and then names itself in the error.

    {data}/.. is the catalog's folder, also where there is no data folder to step out of.
    """
    filled = _ENVIRONMENT.sub(lambda found: environment(found[1]) or found[0], url)
    return _DATA.sub(lambda found: os.path.normpath(f"{data}{found[1]}"), filled)
