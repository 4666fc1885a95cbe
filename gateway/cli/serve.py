"""`sanbu serve`: MCP over stdin and stdout, or MCP and JSON over HTTP."""

import socket

import anyio
import structlog
import uvicorn
from mcp.server.stdio import stdio_server

from gateway.app import open_app
from gateway.cli.faults import Failure
from gateway.cli.terminal import index_progress
from gateway.http import http_app
from gateway.log import configure_logging
from gateway.mcp import mcp_server
from gateway.settings import Settings

_log = structlog.get_logger("sanbu")

_GRACE_S = 10  # running queries may finish; the longest that a role allows by default


def run_serve(settings: Settings, *, stdio: bool, http: bool) -> None:
    """Serves until stopped. Raises Failure for a choice that cannot be served."""
    if stdio == http:
        raise Failure("choose one: --stdio for a local agent, or --http for the network")
    if http:
        _refuse_strangers(settings)
    configure_logging(settings.log_level)
    if http and settings.listens_beyond_this_machine and not settings.public_url.startswith("https://"):
        _log.warning("tokens may travel in the clear: put TLS in front, and SANBU_PUBLIC_URL to its https address")
    anyio.run(_serve_stdio if stdio else _serve_http, settings)


def _refuse_strangers(settings: Settings) -> None:
    """Raises Failure where other machines can reach an address, and nobody or no name is known by which they may."""
    if not settings.listens_beyond_this_machine:
        return
    if not settings.identifies_callers:
        raise Failure(
            f"{settings.host} is reachable from other machines, and nobody who calls from there can be identified;"
            " listen on 127.0.0.1, or set SANBU_TOKENS_FILE or SANBU_OAUTH_ISSUER"
        )
    if not settings.known_hosts:
        raise Failure(
            f"{settings.host} is reachable from other machines, and no name is known by which they may call;"
            " set SANBU_PUBLIC_URL or SANBU_ALLOWED_HOSTS"
        )


async def _serve_stdio(settings: Settings) -> None:
    # stdin and stdout are claimed before anything else is loaded, so that no library can write into the protocol.
    async with stdio_server() as (read, write):
        with index_progress() as progress:
            async with open_app(settings, progress=progress) as app, anyio.create_task_group() as beside:
                beside.start_soon(app.keep_traces_short)
                beside.start_soon(app.warm)
                server = mcp_server(app.gateway, lambda _: app.local)
                await server.run(read, write, server.create_initialization_options())
                beside.cancel_scope.cancel()


async def _serve_http(settings: Settings) -> None:
    listening = bound(settings.host, settings.port)
    with index_progress() as progress:
        async with open_app(settings, progress=progress) as app, anyio.create_task_group() as beside:
            beside.start_soon(app.keep_traces_short)
            beside.start_soon(app.warm)
            config = uvicorn.Config(
                http_app(app),
                log_config=None,
                access_log=False,
                timeout_graceful_shutdown=_GRACE_S,
                server_header=False,
            )
            await uvicorn.Server(config).serve(sockets=[listening])
            beside.cancel_scope.cancel()


def bound(host: str, port: int) -> socket.socket:
    """Raises Failure where the port is taken or the address is not this machine's."""
    try:
        return socket.create_server((host, port), reuse_port=False)
    except OSError as error:
        raise Failure(
            f"cannot listen on {host}:{port}: {error.strerror}; stop what listens there, or choose another --port"
        ) from error
