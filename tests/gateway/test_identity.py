"""Who calls over HTTP: access tokens of a real authorization server, static tokens, and nobody else."""

import json
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import time
from typing import Any

import httpx2
import jwt
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from engine.policy import Principal
from gateway.app import App, IdentityUnusable, open_identity
from gateway.cli.doctor import run_doctor
from gateway.cli.faults import Failure
from gateway.cli.serve import run_serve
from gateway.cli.tokens import run_add, run_list, run_remove
from gateway.errors import StoreDown, Unidentified
from gateway.http import http_app
from gateway.oauth import AccessTokens, Claims
from gateway.settings import Settings
from gateway.tokens import PREFIX, TokenFile, TokensUnusable
from tests.gateway.authority import AUDIENCE, Authority, authority
from tests.gateway.harness import capped, http_server

pytestmark = pytest.mark.anyio

PUBLIC = "https://sanbu.example"
ORDERS = {"apiNo": "orders", "fields": ["order_id"], "filters": {"day": "2026-11-01"}}
NEVER = datetime.now(UTC) + timedelta(days=1)


@pytest.fixture
def server() -> Iterator[Authority]:
    with authority() as made:
        yield made


def verifier(server: Authority, **options: Any) -> AccessTokens:
    claims = options.pop("claims", Claims())
    return AccessTokens(
        issuer=server.address, jwks_url=f"{server.address}/keys", audience=AUDIENCE, claims=claims, **options
    )


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


# Access tokens -------------------------------------------------------------------------------------------------------


async def test_a_token_says_who_calls_with_roles_and_attributes_by_the_mapping(server: Authority) -> None:
    claims = Claims("realm.roles", {"channels": "https://sanbu.example/channels", "levels": "org.level", "none": "x"})
    named: dict[str, Any] = {"https://sanbu.example/channels": "B C"}
    token = server.token(realm={"roles": ["channel_b", "clerk"]}, org={"level": [3, True]}, **named)
    assert await verifier(server, claims=claims).principal_of(token) == Principal(
        id="oauth:anna",
        roles=("channel_b", "clerk"),
        attributes={"channels": ("B", "C"), "levels": ("3", "true"), "none": ()},
    )


async def test_a_token_that_does_not_hold_in_any_one_point_is_nobodys(server: Authority) -> None:
    checks = verifier(server)
    await checks.principal_of(server.token())
    public = str(server.published()["keys"][0]["x"])
    with authority() as stranger:
        forged = stranger.token(iss=server.address)
    whole = server.token()
    head, body, signature = whole.split(".")
    none = urlsafe_b64encode(b'{"alg": "none", "kid": "k0"}').decode().rstrip("=")
    wrong = {
        "another issuer": server.token(iss="https://evil.example"),
        "another audience": server.token(aud="https://elsewhere.example"),
        "an audience that only begins alike": server.token(aud=AUDIENCE + "/x"),
        "no audience": server.token(aud=None),
        "no end": server.token(exp=None),
        "nobody": server.token(sub=None),
        "an empty name": server.token(sub=""),
        "a name that is no text": server.token(sub=7),
        "not yet": server.token(nbf=int(time()) + 100),
        "another's key by a known name": forged,
        "a key that nobody knows": server.token(kid="k9"),
        "no signature": f"{head}.{body}.",
        "a header that wants none": f"{none}.{body}.",
        "a secret that is public": jwt.encode(
            {"sub": "anna"}, public.ljust(64), algorithm="HS256", headers={"kid": "k0"}
        ),
        "a torn body": f"{head}.{body[:-4]}AAAA.{signature}",
        "no token": "nonsense",
        "a book": "x" * 20_000,
    }
    for what, token in wrong.items():
        with pytest.raises(Unidentified) as refusal:
            await checks.principal_of(token)
        assert refusal.value.fault == "invalid", what
    with pytest.raises(Unidentified) as refusal:
        await checks.principal_of(server.token(exp=int(time()) - 60))
    assert refusal.value.fault == "expired"


async def test_a_rotated_key_is_found_and_a_withdrawn_one_no_longer_holds(server: Authority) -> None:
    checks = verifier(server, cooldown_s=0)
    before = server.token()
    await checks.principal_of(before)
    server.rotate()
    await checks.principal_of(server.token())
    await checks.principal_of(before)
    server.rotate(keep=False)
    await checks.principal_of(server.token())
    with pytest.raises(Unidentified):
        await checks.principal_of(before)


async def test_unknown_keys_do_not_make_the_gateway_ask_again_and_again(server: Authority) -> None:
    checks = verifier(server)
    await checks.principal_of(server.token())
    for at in range(20):
        with pytest.raises(Unidentified):
            await checks.principal_of(server.token(kid=f"guess{at}"))
    assert server.fetched == 1


async def test_keys_that_cannot_be_fetched_let_nobody_in_who_is_not_known_by_the_old_ones(server: Authority) -> None:
    known = verifier(server, cooldown_s=0)
    await known.principal_of(server.token())
    server.answers = False
    await known.principal_of(server.token())
    for checks, token in ((known, server.token(kid="new")), (verifier(server), server.token())):
        asked = server.fetched
        for _ in range(3):
            with pytest.raises(StoreDown):
                await checks.principal_of(token)
        assert server.fetched == asked + 1


# Static tokens -------------------------------------------------------------------------------------------------------


def made(file: TokenFile, principal: str = "agent", *roles: str, expires_at: datetime | None = None) -> tuple[str, str]:
    """(its id, the token)"""
    kept, token = file.add(principal, roles=roles or ("clerk",), attributes={}, expires_at=expires_at)
    return kept.id, token


def test_a_token_holds_until_it_is_removed_or_over_and_its_file_gives_nothing_away(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json")
    now = datetime.now(UTC)
    token_id, token = made(file)
    _, short = made(file, "guest", expires_at=now + timedelta(minutes=1))
    assert file.principal_of(token, now=now) == Principal(id="token:agent", roles=("clerk",))
    assert file.principal_of(short, now=now).id == "token:guest"
    with pytest.raises(Unidentified, match="expired"):
        file.principal_of(short, now=now + timedelta(minutes=1))
    text = file.path.read_text()
    assert token not in text
    assert token.removeprefix(PREFIX) not in text
    assert file.path.stat().st_mode & 0o777 == 0o600
    assert TokenFile(file.path).remove(token_id) is not None
    with pytest.raises(Unidentified):
        file.principal_of(token, now=now)


def test_a_file_that_cannot_be_read_lets_nobody_in_and_is_not_written_over(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json")
    with pytest.raises(StoreDown):
        file.principal_of(f"{PREFIX}x", now=NEVER)
    _, token = made(file)
    file.path.write_text('[{"sha256": "torn')
    with pytest.raises(StoreDown):
        file.principal_of(token, now=NEVER)
    with pytest.raises(TokensUnusable):
        made(file)
    assert "torn" in file.path.read_text()


# Over HTTP -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def guarded(settings: Settings, server: Authority, tmp_path: Path) -> Settings:
    return settings.model_copy(
        update={
            "tokens_file": tmp_path / "tokens.json",
            "oauth_issuer": server.address,
            "oauth_jwks_url": f"{server.address}/keys",
            "oauth_attributes": {"channels": "channels"},
            "public_url": PUBLIC,
            "allowed_origins": ("https://pages.example",),
        }
    )


def behind(app: App, guarded: Settings) -> App:
    return replace(app, settings=guarded, identity=open_identity(guarded))


@asynccontextmanager
async def served(app: App) -> AsyncIterator[httpx2.AsyncClient]:
    site = http_app(app)
    transport = httpx2.ASGITransport(app=site)
    async with site.router.lifespan_context(site), httpx2.AsyncClient(transport=transport, base_url=PUBLIC) as client:
        yield client


async def test_without_an_identity_that_holds_every_route_but_two_is_401_and_says_where_to_get_one(
    app: App, guarded: Settings, server: Authority
) -> None:
    """FIELD_CASES 42: a broken identity never falls back to the one who runs the gateway."""
    assert guarded.tokens_file
    made(TokenFile(guarded.tokens_file))
    async with served(behind(app, guarded)) as http:
        metadata = f"{PUBLIC}/.well-known/oauth-protected-resource/mcp"
        whole, late = server.token(), server.token(exp=int(time()) - 60)
        for headers, error in (
            ({}, None),
            (bearer("nonsense"), "invalid_token"),
            (bearer(f"{PREFIX}nonsense"), "invalid_token"),
            (bearer(late), "invalid_token"),
            ({"Authorization": "Basic YTpi"}, "invalid_token"),
            ({"Authorization": "Bearer"}, "invalid_token"),
            ({"Authorization": f"Basic {whole}"}, "invalid_token"),
            ([("Authorization", f"Bearer {whole}"), ("Authorization", "Bearer nonsense")], "invalid_token"),
        ):
            for method, path in (
                *(("POST", path) for path in ("/v1/intentRecognition", "/v1/query", "/evidence/verify", "/mcp")),
                *(("GET", path) for path in ("/v1/results/x.csv", "/openapi.json", "/mcp", "/nowhere")),
            ):
                refused = await http.request(method, path, json=ORDERS, headers=headers)
                problem = refused.json()
                assert (refused.status_code, problem["error"]) == (401, "not_permitted"), (path, headers)
                assert problem["field"] == "Authorization"
                assert problem["received"] is None
                assert problem["traceId"]
                challenge = refused.headers["www-authenticate"]
                assert f'resource_metadata="{metadata}"' in challenge
                assert (error is None) == ("error=" not in challenge)
        assert (await http.get("/livez")).status_code == 200
        described = (await http.get(metadata)).json()
        assert described["resource"] == f"{PUBLIC}/mcp"
        assert described["authorization_servers"] == [server.address]


@pytest.mark.parametrize("mode", ["legacy", "auto"])
async def test_over_mcp_a_caller_sees_what_the_token_permits(
    app: App, guarded: Settings, server: Authority, mode: str
) -> None:
    token = server.token(roles=["channel_b"], channels=["B"])
    async with served(behind(app, guarded)) as http:
        http.headers.update(bearer(token))
        async with Client(streamable_http_client(f"{PUBLIC}/mcp", http_client=http), mode=mode) as client:
            found = (await client.call_tool("intentRecognition", {"query": "昨天各渠道的销售额"})).structured_content
            assert found
            said = (await client.call_tool("apiCall", {"sessionId": found["sessionId"]})).structured_content
    assert said
    assert {row[0] for row in said["rows"]} == {"B"}


async def test_sessions_cursors_evidence_and_links_are_useless_to_another_identified_caller(
    app: App, guarded: Settings, server: Authority
) -> None:
    app = behind(app, guarded)
    assert guarded.tokens_file
    anna = bearer(server.token())
    _, static = made(TokenFile(guarded.tokens_file), "anna")
    async with served(app) as http:
        asked = {"query": "2026年11月1日每一笔订单", "sceneId": "ORDER_DETAIL"}
        found = (await http.post("/v1/intentRecognition", json=asked, headers=anna)).json()
        called = {"sessionId": found["sessionId"]}
        answer = (await http.post("/v1/apiCall", json=called, headers=anna)).json()
        person = (await http.post("/v1/query", json=ORDERS, headers=anna)).json()
        link = answer["links"]["parquet"]
        assert link.startswith(f"{PUBLIC}/v1/results/")
        assert (await http.get(link, headers=anna)).status_code == 200
        cursor = {"cursor": person["completeness"]["reasons"][0]["continuation"]["cursor"]}
        for other in (bearer(server.token(sub="bert")), bearer(static)):
            stolen = (await http.post("/v1/apiCall", json=called, headers=other)).json()
            unknown = (await http.post("/v1/apiCall", json={"sessionId": "0" * 32}, headers=other)).json()
            assert stolen["error"] == unknown["error"] == "session_not_found"
            assert stolen["reason"] == unknown["reason"]
            assert (await http.get(link, headers=other)).status_code == 404
            assert (await http.post("/v1/query", json=cursor, headers=other)).json()["error"] == "cursor_invalid"
            claim = {"token": answer["evidence"]}
            verdict = (await http.post("/evidence/verify", json=claim, headers=other)).json()
            assert not verdict["verified"]
    principals = {json.loads(line)["principal"] for line in app.gateway.steps.audit.lines()}
    assert principals == {"oauth:anna", "oauth:bert", "token:anna"}


async def test_a_session_of_mcps_own_transport_is_its_callers_alone(
    app: App, guarded: Settings, server: Authority
) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}},
    }
    taken = {"Accept": "application/json, text/event-stream"}
    anna, bert = bearer(server.token()) | taken, bearer(server.token(sub="bert")) | taken
    async with served(behind(app, guarded)) as http:
        opened = await http.post("/mcp", json=hello, headers=anna)
        session = {"Mcp-Session-Id": opened.headers["mcp-session-id"], "Mcp-Protocol-Version": "2025-11-25"}
        listing = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}
        assert (await http.post("/mcp", json=listing, headers=anna | session)).status_code == 200
        assert (await http.post("/mcp", json=listing, headers=bert | session)).status_code == 404


async def test_a_token_without_the_scope_is_403_and_says_which(app: App, guarded: Settings, server: Authority) -> None:
    scoped = guarded.model_copy(update={"oauth_scopes": ("data:read",)})
    async with served(behind(app, scoped)) as http:
        refused = await http.post("/v1/query", json=ORDERS, headers=bearer(server.token(scope="other")))
        assert (refused.status_code, refused.json()["error"]) == (403, "not_permitted")
        assert 'error="insufficient_scope", scope="data:read"' in refused.headers["www-authenticate"]
        for scope in ("other data:read", ["data:read"]):
            given = bearer(server.token(scope=scope))
            assert (await http.post("/v1/query", json=ORDERS, headers=given)).status_code == 200


async def test_where_nobody_can_be_told_it_is_503_and_never_the_local_user(
    app: App, guarded: Settings, server: Authority
) -> None:
    server.answers = False
    async with served(behind(app, guarded)) as http:
        for token in (server.token(), f"{PREFIX}x"):
            refused = await http.post("/v1/query", json=ORDERS, headers=bearer(token))
            assert (refused.status_code, refused.json()["error"]) == (503, "source_unavailable")
            assert refused.headers["retry-after"] == str(refused.json()["retryAfterSeconds"])


async def test_a_quota_is_429_with_the_seconds_to_wait_over_http(
    app: App, guarded: Settings, server: Authority
) -> None:
    async with served(behind(capped(app, "clerk", calls_per_minute=1), guarded)) as http:
        anna, bert = bearer(server.token()), bearer(server.token(sub="bert"))
        assert (await http.post("/v1/query", json=ORDERS, headers=anna)).status_code == 200
        refused = await http.post("/v1/query", json=ORDERS, headers=anna)
        assert (refused.status_code, refused.json()["error"]) == (429, "busy")
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert (await http.get("/v1/results/x.csv", headers=anna)).status_code == 429
        assert (await http.post("/v1/query", json=ORDERS, headers=bert)).status_code == 200


async def test_only_known_names_and_sites_may_call_and_a_known_site_may_read_the_answer(
    app: App, guarded: Settings, server: Authority
) -> None:
    async with served(behind(app, guarded)) as http:
        anna, page = bearer(server.token()), {"Origin": "https://pages.example"}
        for headers, status in (
            ({"Host": "sanbu.example:443"}, 200),
            ({"Host": "127.0.0.1:8722"}, 200),
            ({"Host": "evil.example"}, 421),
            ({"Host": "evil.sanbu.example"}, 421),
            ({"Origin": "https://evil.example"}, 403),
            ({"Origin": "https://pages.example.evil"}, 403),
        ):
            answered = await http.post("/v1/query", json=ORDERS, headers=anna | headers)
            assert answered.status_code == status, headers
        ask = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type"}
        assert (await http.options("/v1/query", headers=page | ask)).status_code == 200
        answered = await http.post("/v1/query", json=ORDERS, headers=anna | page)
        assert answered.headers["access-control-allow-origin"] == "https://pages.example"


async def test_every_response_carries_the_security_headers(app: App, guarded: Settings, server: Authority) -> None:
    async with served(behind(app, guarded)) as http:
        anna = bearer(server.token())
        for response in (
            await http.get("/livez"),
            await http.get("/nowhere"),
            await http.get("/livez", headers={"Host": "evil.example"}),
            await http.post("/v1/query", json=ORDERS, headers=anna),
        ):
            assert response.headers["x-content-type-options"] == "nosniff"
            assert response.headers["cache-control"] == "no-store"
            assert "default-src 'none'" in response.headers["content-security-policy"]
            assert response.headers["strict-transport-security"]


# Settings ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"allowed_hosts": ("sanbu.example",)}, "allowed_hosts"),
        ({"public_url": PUBLIC}, "public_url"),
        ({"oauth_issuer": "https://login.example"}, "oauth_jwks_url"),
        ({"oauth_issuer": "https://login.example", "oauth_jwks_url": "https://login.example/k"}, "public_url"),
        (
            {"oauth_issuer": "http://login.example", "oauth_jwks_url": "https://login.example/k", "public_url": PUBLIC},
            "oauth_issuer",
        ),
    ],
)
def test_settings_that_identify_nobody_are_refused_by_name(
    settings: Settings, given: dict[str, Any], named: str
) -> None:
    with pytest.raises(IdentityUnusable) as refusal:
        open_identity(settings.model_copy(update=given))
    assert refusal.value.setting == named


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "SANBU_TOKENS_FILE"),
        ({"tokens_file": Path("tokens.json")}, "SANBU_ALLOWED_HOSTS"),
    ],
)
def test_an_address_that_other_machines_reach_needs_an_identity_and_a_name(
    settings: Settings, given: dict[str, Any], words: str
) -> None:
    beyond = settings.model_copy(update={"host": "0.0.0.0", **given})
    with pytest.raises(Failure, match=words):
        run_serve(beyond, stdio=False, http=True)


def test_the_command_line_makes_lists_and_removes_tokens_and_shows_each_once(
    settings: Settings, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(Failure, match="SANBU_TOKENS_FILE"):
        run_list(settings, as_json=True)
    with_file = settings.model_copy(update={"tokens_file": tmp_path / "new" / "tokens.json"})
    run_add(with_file, "bot", roles=["channel_b"], attributes=["channels=B", "channels=C"], days=7)
    token = capsys.readouterr().out.strip()
    assert token.startswith(PREFIX)
    run_list(with_file, as_json=True)
    listed = capsys.readouterr().out
    [kept] = json.loads(listed)
    assert token not in listed
    assert (kept["principal"], kept["attributes"]) == ("bot", {"channels": ["B", "C"]})
    assert TokenFile(tmp_path / "new" / "tokens.json").principal_of(token, now=datetime.now(UTC)).id == "token:bot"
    run_remove(with_file, kept["id"])
    with pytest.raises(Failure, match="there is no token"):
        run_remove(with_file, kept["id"])
    with pytest.raises(Failure, match="--attribute"):
        run_add(with_file, "bot", roles=[], attributes=["channels"], days=None)


def identity_found(settings: Settings, capsys: pytest.CaptureFixture[str]) -> tuple[bool, str]:
    with suppress(SystemExit):
        run_doctor(settings, as_json=True)
    [found] = [it for it in json.loads(capsys.readouterr().out) if it["check"] == "identity"]
    return found["ok"], found["says"]


def test_the_doctor_counts_tokens_and_fetches_the_keys(
    guarded: Settings, server: Authority, capsys: pytest.CaptureFixture[str]
) -> None:
    ok, says = identity_found(guarded, capsys)
    assert (ok, "sanbu token add" in says) == (False, True)
    assert guarded.tokens_file
    made(TokenFile(guarded.tokens_file))
    assert identity_found(guarded, capsys) == (True, f"1 static token, access tokens of {server.address} by 1 key")
    server.answers = False
    ok, says = identity_found(guarded, capsys)
    assert (ok, "SANBU_OAUTH_JWKS_URL" in says) == (False, True)


async def test_a_served_gateway_takes_a_token_and_its_log_holds_none_even_at_debug(
    settings: Settings, tmp_path: Path
) -> None:
    file, secrets_folder = TokenFile(tmp_path / "tokens.json"), tmp_path / "secrets"
    _, token = made(file)
    secrets_folder.mkdir()
    (secrets_folder / "sanbu_signing_keys").write_text("hunter2-hunter2\n")
    log = tmp_path / "log"
    given = {"SANBU_TOKENS_FILE": str(file.path), "SANBU_SECRETS_DIR": str(secrets_folder), "SANBU_LOG_LEVEL": "DEBUG"}
    with http_server(settings, log, **given) as address:
        async with httpx2.AsyncClient(headers=bearer(token), timeout=60) as http:
            async with Client(streamable_http_client(f"{address}/mcp", http_client=http)) as client:
                found = (
                    await client.call_tool("intentRecognition", {"query": "昨天各渠道的销售额"})
                ).structured_content
            assert (await http.post(f"{address}/v1/query", json=ORDERS)).status_code == 200
            wrong = await http.post(f"{address}/v1/query", json=ORDERS, headers=bearer(f"{token}x"))
        assert wrong.status_code == 401
    assert found
    assert found["status"] == "matched"
    written = log.read_text()
    assert "request refused" in written
    assert token not in written
    assert "hunter2" not in written
    assert not (tmp_path / "state" / "signing.key").exists()
