"""`sanbu demo`: five questions through a real MCP client over stdio, and how to connect one's own."""

import os
from dataclasses import dataclass

import anyio
from mcp import Client, StdioServerParameters
from rich.text import Text

from gateway.app import open_knowledge
from gateway.cli.ask import three_steps
from gateway.cli.faults import Failure
from gateway.cli.steps import show_step
from gateway.cli.terminal import err, index_progress, out, prepared
from gateway.connect import client_files, server_command
from gateway.log import configure_logging
from gateway.settings import Settings
from scene_kb.catalog import load_catalog
from scene_kb.shipped import SHIPPED


@dataclass(frozen=True)
class Shown:
    """A question of the demonstration, and what it is there to show."""

    catalog: str
    what: str
    query: str


QUESTIONS = (
    Shown("ads", "one scene, a recognised day and channel, a TOP10", "看一下昨天渠道A广告消耗异常的TOP10"),
    Shown("flights", "English, real data, a top 5", "Which 5 routes had the longest arrival delays in July?"),
    Shown("ads", "two dimensions at once", "上个月各项目在不同渠道的激活成本"),
    Shown("ads", "no scene answers this, and that is said", "珠穆朗玛峰有多高"),
    Shown("ads", "nothing matches, and why", "渠道B在2020年1月的消耗是多少"),
)


def run_demo(settings: Settings, catalog: str | None) -> None:
    """Asks the questions of one catalog, or all of them. Status 1 where a step was refused."""
    if catalog is not None and catalog not in SHIPPED:
        raise Failure(f"there is no demonstration '{catalog}'; choose {' or '.join(SHIPPED)}, or leave it out for both")
    configure_logging("ERROR")
    names = [catalog] if catalog else list(SHIPPED)
    for name in names:
        _made_ready(settings.model_copy(update={"catalog": name}))
    if not anyio.run(_ask_all, names):
        raise SystemExit(1)
    _show_clients(names)


def _made_ready(settings: Settings) -> None:
    """Data and index, on first use: before a client waits for a server, and with a word on what takes so long."""
    place = prepared(settings)
    err.print(f"{settings.catalog}: looking through its index, or building it (up to half a minute, once)")
    with index_progress() as progress:
        open_knowledge(load_catalog(place.folder), place.folder, settings, progress=progress)


async def _ask_all(names: list[str]) -> bool:
    """Whether no step was refused."""
    sound = True
    for number, shown in enumerate((it for it in QUESTIONS if it.catalog in names), start=1):
        out.rule(Text(f"{number}  {shown.catalog}: {shown.what}"), align="left")
        out.print(Text(f"“{shown.query}”", style="bold"))
        if shown.catalog == "ads":
            out.print(Text("(synthetic data; its clock stands at 2026-11-30)", style="dim"))
        command, arguments = server_command(shown.catalog)
        # The whole environment: by itself a client hands on little of it, and the server would look elsewhere for data.
        server = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        async with Client(server) as client:
            steps = await three_steps(client, {"query": shown.query}, shown=show_step)
        sound = sound and not any("error" in said for said in steps.values())
    return sound


def _show_clients(names: list[str]) -> None:
    out.rule(Text("connect your own client"), align="left")
    for file in client_files(names[0], next(it.query for it in QUESTIONS if it.catalog == names[0])):
        out.print(Text(f"\n{file.client}: {file.path}", style="bold"))
        out.print(Text(file.text), soft_wrap=True)
