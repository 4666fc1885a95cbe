"""Our reader of time expressions and the libraries, on the labelled set: how much each reads right, and how fast.

The libraries are no dependencies; they run in an environment of their own:

    python -m venv /tmp/dates
    /tmp/dates/bin/pip install dateparser jionlp parsedatetime recognizers-text-date-time 'emoji<2' tzdata
    python -m scripts.bench_times --python /tmp/dates/bin/python

Right means every span of the text, both ends, and none too many; silence where there is nothing to read, or nothing
that a calendar has. A library's end may be the last day or the first one after it, whichever it means by an end.
"""

import argparse
import json
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any
from zoneinfo import ZoneInfo

from rich.console import Console
from rich.table import Table

from engine.times.spans import ImpossibleDate, spans_in
from scripts.times_libraries import LIBRARIES

ROOT = Path(__file__).parents[1]
LABELLED = ROOT / "tests" / "engine" / "cases" / "timespans.jsonl"
ONE_LANGUAGE = {"jionlp": "zh", "parsedatetime": "en"}
KINDS = ("one span of days", "one span of hours", "several spans", "impossible", "no time at all")

Row = dict[str, Any]
Pair = tuple[datetime, datetime]


@dataclass(frozen=True)
class Read:
    """What a reader made of the rows; None for one that it cannot read at all."""

    name: str
    spans: Sequence[list[Pair] | None]
    ms: Sequence[float]


def labelled() -> list[Row]:
    return [json.loads(line) for line in LABELLED.read_text().splitlines()]


def kind_of(row: Row) -> str:
    if row.get("error"):
        return "impossible"
    if len(row["spans"]) != 1:
        return "several spans" if row["spans"] else "no time at all"
    return "one span of hours" if row.get("exclusive") else "one span of days"


def expected(row: Row) -> list[Pair]:
    """By the row's zone, half-open."""
    after = timedelta(0) if row.get("exclusive") else timedelta(days=1)
    return [
        (_wall(span["from"], row), _wall(span["to"], row) + after)
        for span in ([] if row.get("error") else row["spans"])
    ]


def is_right(row: Row, found: Sequence[Pair]) -> bool:
    wanted = expected(row)
    slack = (timedelta(0), timedelta(days=1)) if not row.get("exclusive") else (timedelta(0),)
    return len(found) == len(wanted) and all(
        start == mine and any(end == last + more for more in slack)
        for (start, end), (mine, last) in zip(sorted(wanted), sorted(found), strict=True)
    )


def ours(rows: Sequence[Row]) -> Read:
    spans: list[list[Pair] | None] = []
    ms = []
    for row in rows:
        now, zone, start = datetime.fromisoformat(row["now"]), ZoneInfo(row["zone"]), perf_counter()
        try:
            found = spans_in(row["text"], now=now, zone=zone, week_start=row["weekStart"])
        except ImpossibleDate:
            found = ()
        ms.append((perf_counter() - start) * 1000)
        spans.append([(it.start.replace(tzinfo=None), it.end.replace(tzinfo=None)) for it in found])
    return Read("ours", spans, ms)


def library(name: str, rows: Sequence[Row], python: str) -> Read | None:
    """None where that environment does not have it."""
    asked = [row for row in rows if ONE_LANGUAGE.get(name, row["lang"]) == row["lang"]]
    done = subprocess.run(
        [python, str(ROOT / "scripts" / "times_libraries.py")],
        input=json.dumps({"library": name, "rows": asked}),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    told = json.loads(done.stdout)
    by_text = {(row["text"], row["now"]): it for row, it in zip(asked, told["rows"], strict=True)}
    answers = [by_text.get((row["text"], row["now"])) for row in rows]
    spans = [None if it is None else [_pair(pair) for pair in it["spans"]] for it in answers]
    return Read(f"{name} {told['version']}", spans, [it["ms"] for it in answers if it])


def table(rows: Sequence[Row], readers: Sequence[Read]) -> Table:
    shown = Table("kind", "rows zh + en", *(it.name for it in readers))
    for kind in (*KINDS, "together"):
        of_kind = [at for at, row in enumerate(rows) if kind in (kind_of(row), "together")]
        by_language = {lang: [at for at in of_kind if rows[at]["lang"] == lang] for lang in ("zh", "en")}
        sizes = " + ".join(str(len(places)) for places in by_language.values())
        shown.add_row(kind, sizes, *(_right(reader, rows, by_language) for reader in readers))
    shown.add_row("milliseconds, median / 95 %", "", *(_times(reader.ms) for reader in readers))
    return shown


def _right(reader: Read, rows: Sequence[Row], by_language: dict[str, list[int]]) -> str:
    counts = []
    for places in by_language.values():
        read = [(rows[at], found) for at in places if (found := reader.spans[at]) is not None]
        counts.append(str(sum(is_right(row, found) for row, found in read)) if read else "–")
    return " + ".join(counts)


def _times(ms: Sequence[float]) -> str:
    return f"{statistics.median(ms):.1f} / {statistics.quantiles(ms, n=20)[-1]:.1f}"


def _wall(text: str, row: Row) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(ZoneInfo(row["zone"])).replace(tzinfo=None) if moment.tzinfo else moment


def _pair(pair: Sequence[str]) -> Pair:
    return datetime.fromisoformat(pair[0]), datetime.fromisoformat(pair[1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable, help="of the environment that has the libraries")
    python = parser.parse_args().python
    rows, console = labelled(), Console()
    found = [ours(rows), *(library(name, rows, python) for name in LIBRARIES)]
    console.print(table(rows, [reader for reader in found if reader is not None]))
    missing = [name for name, reader in zip(LIBRARIES, found[1:], strict=True) if reader is None]
    if missing:
        console.print(f"not measured, for it cannot be imported there: {', '.join(missing)}")


if __name__ == "__main__":
    main()
