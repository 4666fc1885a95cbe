"""Every knob of the gateway, with its unit, default and reason. Read once; nothing below `app` sees the environment."""

import getpass
import json
import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import urlsplit

from platformdirs import user_cache_path, user_state_path
from pydantic import BeforeValidator, Field, SecretStr, field_validator
from pydantic_settings import (
    BaseSettings,
    NoDecode,
    PydanticBaseSettingsSource,
    SecretsSettingsSource,
    SettingsConfigDict,
)

from sessions.models import Lifetime

PREFIX = "SANBU_"
_SECRETS_DIR = f"{PREFIX}SECRETS_DIR"
"""Names a folder of files such as sanbu_signing_keys; no setting itself, since it says where settings are."""
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


@dataclass
class FolderUnusable(Exception):
    """A folder cannot be made, or nothing can be written into it."""

    setting: str
    """The environment's name for it."""
    folder: Path
    detail: str


def _listed(value: object) -> object:
    """`a, b` as a list of two, a JSON list as what it holds."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        try:
            return json.loads(value)
        except ValueError:  # its text may be a secret: not a word of it is repeated
            raise ValueError('neither a JSON list such as ["a", "b"] nor a text such as a,b') from None
    return [part.strip() for part in value.split(",") if part.strip()]


def _paired(value: object) -> object:
    """`a=b, c=d` as a mapping, a JSON object as what it holds."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("{"):
        return json.loads(value)
    pairs = [part.partition("=") for part in value.split(",") if part.strip()]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError("write NAME=CLAIM, several with commas, or a JSON object")
    return {name.strip(): claim.strip() for name, _, claim in pairs}


class Settings(BaseSettings):
    """From the command line, the environment as SANBU_NAME, a .env file, and a folder of secrets, in this order."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=".env", extra="ignore", frozen=True)

    catalog: str = Field("ads", description="a catalog folder, or the name of a catalog that comes with the package")
    embedder: str = Field(
        "auto", description="auto, e5, a sentence-transformers model or folder, or an embeddings endpoint"
    )
    reranker: str = Field(
        "", description="cross-encoder:MODEL_OR_FOLDER reads the first candidates again; empty: none, the faster way"
    )
    ambiguous: Literal["agent", "client", "person"] = Field(
        "agent", description="who chooses where a match is ambiguous: the agent, the client's model, or the person"
    )
    missing: Literal["agent", "person"] = Field(
        "person",
        description="who gives required filters that a call lacks: the person if the client can ask, or the agent",
    )
    choice_seconds: float = Field(20, gt=0, description="that client or person is waited for so long")
    resolver: str = Field("scene_kb.resolver:HybridResolver", description="MODULE:CLASS that finds scenes")
    state_dir: Path = Field(
        user_state_path("sanbu"), description="sessions, snapshots and keys; must outlive a restart"
    )
    cache_dir: Path = Field(user_cache_path("sanbu"), description="indexes and demonstration data; may be deleted")
    session_store: SecretStr = Field(
        SecretStr(""), description="url of the session store; empty: a SQLite file in state_dir"
    )
    signing_keys: Annotated[tuple[SecretStr, ...], NoDecode, BeforeValidator(_listed)] = Field(
        (), description="newest first; empty: one is made and kept in state_dir"
    )
    now: datetime | None = Field(
        None, description="a fixed clock with offset, for demonstrations and tests; empty: the real one"
    )
    session_idle_seconds: int = Field(
        300, ge=10, description="a session sleeps so long; an agent's pause between two calls"
    )
    session_age_seconds: int = Field(3600, ge=60, le=3600, description="a session ends so long after its first call")
    trace_days: int = Field(7, ge=1, description="turns are kept so long, for whoever asks what happened last night")
    page_rows: int = Field(50, ge=1, le=500, description="rows of a page unless pageSize says otherwise")
    page_bytes: int = Field(64 << 10, ge=1024, description="bytes of a page")
    page_tokens: int = Field(4_000, ge=200, description="tokens of a page unless tokenBudget says otherwise")
    snapshot_bytes: int = Field(512 << 20, ge=1 << 20, description="bytes of all stored snapshots; the oldest give way")
    evidence_hours: int = Field(24, ge=1, description="evidence can be verified so long; a person may approve tomorrow")
    evidence_bytes: int = Field(
        128 << 20, ge=1 << 20, description="bytes of what evidence stands for; the oldest gives way"
    )
    dimensions: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)] = Field(
        (), description="a hard dimension filter for every call of this process"
    )
    audit: Path | None = Field(None, description="the audit log's file; empty: audit.jsonl in state_dir")
    quota_store: SecretStr = Field(
        SecretStr(""), description="async+redis://HOST:PORT, where replicas share counts; empty: each counts for itself"
    )
    tokens_file: Path | None = Field(
        None, description="hashes of static tokens, made by sanbu token add; empty: none holds"
    )
    oauth_issuer: str = Field("", description="the authorization server whose access tokens hold; empty: none holds")
    oauth_jwks_url: str = Field("", description="where the authorization server publishes its keys")
    oauth_audience: str = Field("", description="what tokens must be made for; empty: public_url with /mcp")
    oauth_scopes: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)] = Field(
        (), description="what every access token must allow"
    )
    oauth_roles: str = Field("roles", description="the claim that holds roles of policies.yaml; a.b steps into a claim")
    oauth_attributes: Annotated[Mapping[str, str], NoDecode, BeforeValidator(_paired)] = Field(
        {}, description="attributes of policies.yaml, each with the claim that holds its values"
    )
    public_url: str = Field("", description="how other machines reach HTTP, without a path; links begin with it")
    allowed_hosts: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)] = Field(
        (), description="names beside this machine's and public_url's by which HTTP may be called; HOST or HOST:PORT"
    )
    allowed_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)] = Field(
        (), description="sites whose pages may call HTTP, as https://HOST"
    )
    host: str = Field("127.0.0.1", description="where HTTP listens; anything but loopback needs an identity")
    port: int = Field(8722, ge=1, le=65535, description="the port of HTTP")
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field("INFO", description="what goes to stderr")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Last, a folder with a file for each secret, as container platforms mount them."""
        folder = os.environ.get(_SECRETS_DIR)
        secrets_source = SecretsSettingsSource(settings_cls, secrets_dir=folder) if folder else file_secret_settings
        return init_settings, env_settings, dotenv_settings, secrets_source

    @field_validator("tokens_file", "audit", mode="before")
    @classmethod
    def _names_a_file(cls, path: object) -> object:
        """An empty text would be the working folder, and taking it for nothing would let everybody in."""
        if path == "":
            raise ValueError("is empty; name a file, or leave it out")
        return path

    @field_validator("public_url")
    @classmethod
    def _an_origin(cls, url: str) -> str:
        url = url.rstrip("/")
        parts = urlsplit(url)
        if url and (parts.scheme not in ("http", "https") or not parts.hostname or parts.path or parts.query):
            raise ValueError("write https://HOST, without a path")
        return url

    @field_validator("now")
    @classmethod
    def _clock_has_an_offset(cls, now: datetime | None) -> datetime | None:
        if now is not None and now.tzinfo is None:
            raise ValueError("a clock needs an offset, such as 2026-11-30T09:00:00+08:00")
        return now

    @property
    def listens_beyond_this_machine(self) -> bool:
        return self.host not in LOOPBACK

    @property
    def known_hosts(self) -> tuple[str, ...]:
        """The names beside this machine's by which HTTP may be called."""
        public = urlsplit(self.public_url).netloc
        return (public, *self.allowed_hosts) if public else self.allowed_hosts

    @property
    def identifies_callers(self) -> bool:
        """Whether callers over HTTP need a token."""
        return self.tokens_file is not None or bool(self.oauth_issuer)

    @property
    def lifetime(self) -> Lifetime:
        return Lifetime(timedelta(seconds=self.session_idle_seconds), timedelta(seconds=self.session_age_seconds))

    def session_url(self) -> str:
        """Raises FolderUnusable where the sessions are kept in state_dir."""
        return self.session_store.get_secret_value() or f"sqlite:{self.state_file('sessions.sqlite')}"

    def state_file(self, name: str) -> Path:
        """A file in state_dir, which is made for its owner alone. Raises FolderUnusable."""
        return _usable(self.state_dir, f"{PREFIX}STATE_DIR", mode=0o700) / name

    def cache_folder(self, *names: str) -> Path:
        """A folder below cache_dir, which is made; the folder itself is left to its user. Raises FolderUnusable."""
        return _usable(self.cache_dir, f"{PREFIX}CACHE_DIR", mode=0o777).joinpath(*names)

    def audit_file(self) -> Path:
        """Raises FolderUnusable where it is kept in state_dir."""
        return self.audit or self.state_file("audit.jsonl")

    def keys(self) -> tuple[str, ...]:
        """The signing keys; where none is configured, the one in state_dir, made on first use for its owner alone.

        Raises FolderUnusable.
        """
        if self.signing_keys:
            return tuple(key.get_secret_value() for key in self.signing_keys)
        path = self.state_file("signing.key")
        if not path.exists():
            descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(secrets.token_hex(32))
        return (path.read_text().strip(),)


def _usable(folder: Path, setting: str, *, mode: int) -> Path:
    """The folder, made where it is missing; a mode is never changed, since a folder that exists may be shared."""
    try:
        folder.mkdir(mode=mode, parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=folder).close()  # permission bits alone say nothing of read-only file systems
    except OSError as error:
        raise FolderUnusable(setting, folder, error.strerror or str(error)) from error
    return folder


def without_password(url: str) -> str:
    """The url as it may be shown: what stands before its host is a secret."""
    return re.sub(r"//[^/@]*@", "//***@", url)


def local_user() -> str:
    """The operating system's name for whoever runs this process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user id without an entry
        return f"uid{os.getuid()}"
