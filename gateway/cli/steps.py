"""The three steps as a person reads them. Shows wire answers and nothing else: what an agent would see."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from rich.cells import cell_len
from rich.console import Group
from rich.panel import Panel
from rich.text import Text

from gateway.cli.terminal import out, show_problem, table

Wire = Mapping[str, Any]

_ROWS = 10
_CELL = 28  # where longer texts are folded
_SHOWN_PLACES = 4  # of a float; the JSON has them all


def show_step(tool: str, said: Wire) -> None:
    """One answer of one tool."""
    number = {"intentRecognition": "1", "fieldSelection": "2", "apiCall": "3"}[tool]
    out.print(Text(f"\n{number} {tool}", style="bold cyan"))
    if "error" in said:
        show_problem(said)
        return
    {"intentRecognition": _found, "fieldSelection": _selected, "apiCall": show_answer}[tool](said)


def _found(said: Wire) -> None:
    if said["status"] == "no_match":
        out.print(Text(f"no_match: {said['message']}", style="yellow"))
        for near in said["nearest"]:
            out.print(Text(f"  nearest: {near['title']} ({near['why']})"))
        seen = ", ".join(f"{it['title']} {it['scenes']}" for it in said["catalogue"])
        out.print(Text(f"  scenes per dimension: {seen}"))
        return
    if said["status"] == "ambiguous":
        out.print(Text(f"ambiguous: {said['message']}", style="yellow"))
    else:
        scene = said["scene"]
        out.print(
            Text(
                f"{scene['title']}  ({scene['sceneId']}@{scene['version']}, confidence {scene['confidence']})",
                style="bold",
            )
        )
        out.print(Text(f"  why: {'; '.join(scene['why'])}"))
        _show_parameters(said)
    for other in said["alternatives"]:
        out.print(
            Text(f"  or: {other['title']} ({other['sceneId']}, {other['confidence']}): {other['differs']}", style="dim")
        )


def _show_parameters(said: Wire) -> None:
    for parameter in said["parameters"]:
        told = ", ".join(map(_spoken, parameter["recognised"])) or "not mentioned"
        out.print(Text(f"  {parameter['name']}: {told}"))


def _selected(said: Wire) -> None:
    if "parameters" in said:  # where the scene was chosen here
        out.print(Text(f"chosen: {said['sceneId']}@{said['version']}", style="bold"))
        _show_parameters(said)
    rows = [
        (
            it["name"],
            it["role"],
            " ".join((it["type"], it.get("unit", ""))).strip(),
            _marked(it["about"], it["flags"]),
        )
        for it in said["fields"]
    ]
    out.print(table(None, ("field", "role", "type", "about"), rows, whole=(0, 2)))
    out.print(Text(f"  {said['of']['notRelevant']} of {said['of']['visible']} fields left out", style="dim"))


def _marked(about: str, flags: Sequence[str]) -> str:
    return f"{about} [{', '.join(flags)}]" if flags else about


def show_answer(said: Wire) -> None:
    """Completeness stands above the rows, as prominent as they are."""
    complete = said["completeness"]["complete"]
    lines: list[Text] = [Text(said["completeness"]["statement"])] if complete else []
    for reason in said["completeness"]["reasons"]:
        lines.append(Text(f"{reason['code']}: {reason['message']}"))
    if "empty" in said:
        lines.append(Text(said["empty"]["message"]))
    style = "green" if complete else "yellow"
    out.print(Panel(Group(*lines), title=said["status"], title_align="left", border_style=style, expand=False))
    if said["rows"]:
        _show_rows(said["columns"], said["rows"][:_ROWS])
    if len(said["rows"]) > _ROWS:
        out.print(Text(f"  … {len(said['rows']) - _ROWS} more rows on this page", style="dim"))
    for warning in said["warnings"]:
        out.print(Text(f"  ! {warning['code']}: {warning['message']}", style="dim"))
    scope = said["completeness"]["scope"]
    filters = filters_said(scope["filters"])
    out.print(Text(f"  scope: {filters or 'all rows'}, {scope['visibility']}", style="dim"))
    snapshot = said["completeness"]["snapshot"]
    age = f", data as of {snapshot['dataAsOf']}" if snapshot["dataAsOf"] else ""
    out.print(Text(f"  snapshot {snapshot['id']}{age}", style="dim"))


def _show_rows(columns: Sequence[Wire], rows: Sequence[Sequence[object]]) -> None:
    """The leading columns that the terminal has room for; the others are named."""
    titles = [f"{it['name']}\n({it['unit']})" if it.get("unit") else it["name"] for it in columns]
    cells = [[_cell(cell) for cell in row] for row in rows]
    fitting = _fitting([titles, *cells], out.width)
    numeric = [
        at for at, it in enumerate(columns[:fitting]) if it["type"].startswith(("int", "uint", "float", "decimal"))
    ]
    out.print(table(None, titles[:fitting], [row[:fitting] for row in cells], right=numeric))
    if fitting < len(columns):
        left_out = ", ".join(it["name"] for it in columns[fitting:])
        out.print(Text(f"  no room for {left_out} (a wider terminal or --json shows all)", style="dim"))


def _fitting(lines: Sequence[Sequence[str]], room: int) -> int:
    """How many leading columns have room side by side; at least one."""
    widths = [min(_CELL, max(map(_width, column))) + 3 for column in zip(*lines, strict=True)]
    return max(1, sum(total < room for total in accumulate(widths)))


def _width(text: str) -> int:
    return max(map(cell_len, text.splitlines()), default=0)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.{_SHOWN_PLACES}f}".rstrip("0").rstrip(".") if abs(value) >= 1 else f"{value:.{_SHOWN_PLACES}g}"
    return "" if value is None else str(value)


def filters_said(filters: Wire) -> str:
    """`day: 2026-11-29; channel: A, B`; nothing where there are none."""
    return "; ".join(f"{name}: {_filter(value)}" for name, value in filters.items())


def _filter(value: object) -> str:
    return ", ".join(map(_spoken, value)) if isinstance(value, list) else _spoken(value)


def _spoken(value: object) -> str:
    if isinstance(value, Mapping) and {"from", "to"} <= set(value):
        return str(value["from"]) if value["from"] == value["to"] else f"{value['from']} – {value['to']}"
    if isinstance(value, Mapping):  # operators, or one of several conditions
        return ", ".join(f"{name} {_filter(part)}" for name, part in value.items())
    return str(value)
