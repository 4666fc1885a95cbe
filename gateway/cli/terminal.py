"""How the command line speaks: tables and progress on a terminal, JSON for programs, one sentence for a fault."""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from gateway.app import Place, locate
from gateway.settings import Settings
from scene_kb.index import Progress as IndexProgress

out = Console()
err = Console(stderr=True)


def print_json(value: object) -> None:
    """Plain JSON on stdout, whatever the terminal."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def counted(number: int, what: str, several: str = "") -> str:
    """`1 scene`, `2 scenes`; `several` where it takes more than an s."""
    return f"{number} {what}" if number == 1 else f"{number} {several or what + 's'}"


def prepared(settings: Settings) -> Place:
    """The catalog's place; where demonstration data has to be made, that is said on stderr."""
    return locate(
        settings, starting=lambda: err.print(f"{settings.catalog}: making its data (up to half a minute, once)")
    )


@contextmanager
def index_progress() -> Iterator[IndexProgress]:
    """A bar on stderr while texts are embedded; nothing where there is nothing to embed."""
    columns = (TextColumn("building the index"), BarColumn(), MofNCompleteColumn(), TextColumn("texts"))
    with Progress(*columns, console=err, transient=True, disable=not err.is_terminal) as bar:
        task = bar.add_task("embed", total=None, visible=False)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, visible=total > 0)

        yield update


def table(
    title: str | None,
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    right: Sequence[int] = (),
    whole: Sequence[int] = (),
) -> Table:
    """Cells are data and shown as text: no markup in them is obeyed. Columns in `whole` are never folded."""
    made = Table(*[], title=title, title_justify="left", header_style="bold")
    for position, column in enumerate(columns):
        justify: Literal["left", "right"] = "right" if position in right else "left"
        made.add_column(Text(column), justify=justify, overflow="fold", no_wrap=position in whole)
    for row in rows:
        made.add_row(*(Text("" if cell is None else str(cell)) for cell in row))
    return made


def show_problem(problem: Mapping[str, Any]) -> None:
    out.print(Text(f"✗ {problem['error']}: {problem['reason']}"), style="red", soft_wrap=True)
    out.print(Text(f"  → {problem['suggestion']}"), soft_wrap=True)
    if problem.get("legalValues"):
        out.print(Text(f"  {', '.join(map(str, problem['legalValues']))}"), style="dim", soft_wrap=True)
