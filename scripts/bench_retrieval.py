"""The retrieval table: every set with its figures, intervals and floors. Ends with status 1 where a figure is below.

A question about a database that the shipped weights were learned from is answered by weights learned without it, so
that the figures of the development sets are cross-validated; any other question is answered by the shipped weights.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from scene_kb.embedders.base import open_embedder
from scene_kb.evaluate import evaluate_files
from scripts.learn.databases import weights_without

FLOORS: Mapping[str, Mapping[tuple[str, str], float]] = {
    "spider": {
        ("routing", "recall@1"): 0.885,
        ("fields", "recall@8"): 0.932,
        ("noMatch", "coverage@p95"): 0.759,
    },
    "spider_syn": {
        ("routing", "recall@1"): 0.80,
        ("fields", "recall@8"): 0.900,
        ("noMatch", "coverage@p95"): 0.612,
    },
    "bird": {
        ("routing", "recall@1"): 0.90,
        ("fields", "recall@8"): 0.664,
        ("fields", "strict@15"): 0.549,
        ("noMatch", "coverage@p95"): 0.681,
    },
    "spider_route": {("routing", "recall@1"): 0.88, ("fields", "recall@8"): 0.916},
    "bird_route": {("routing", "recall@1"): 0.85, ("fields", "recall@8"): 0.666},
}
SHOWN = (
    ("routing", "recall@1"),
    ("routing", "recall@5"),
    ("routing", "mrr"),
    ("fields", "recall@8"),
    ("fields", "strict@15"),
    ("fields", "precision@8"),
    ("noMatch", "auroc"),
    ("noMatch", "coverage@p95"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, default=os.environ.get("SANBU_BENCH"), help="default: SANBU_BENCH")
    parser.add_argument("--cache", type=Path, default=Path(".bench"), help="where indexes are kept between runs")
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.bench is None:
        parser.error("name the folder of the sets with --bench or SANBU_BENCH")
    embedder = open_embedder(given.embedder)
    found: dict[str, dict[str, Any]] = {}
    for folder in sorted(path.parent for path in Path(given.bench).glob("*/questions.jsonl")):
        report = evaluate_files(
            folder / "scenes.jsonl",
            folder / "questions.jsonl",
            embedder,
            weights_for=weights_without,
            folder=given.cache / folder.name,
        )
        found[folder.name] = report.to_json()
    misses = _misses(found)
    if given.json:
        print(json.dumps(found))  # noqa: T201  # a script's output
    else:
        _print(found, misses)
    return 1 if misses else 0


def _misses(found: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str, str]]:
    return {
        (name, part, figure)
        for name, figures in found.items()
        for (part, figure), floor in FLOORS.get(name, {}).items()
        if figures[part][figure] < floor
    }


def _print(found: Mapping[str, Mapping[str, Any]], misses: set[tuple[str, str, str]]) -> None:
    table = Table(title="retrieval")
    table.add_column("set")
    for part, figure in SHOWN:
        table.add_column(f"{part} {figure}", justify="right")
    table.add_column("ms p50/p95", justify="right")
    for name, figures in found.items():
        cells = [_cell(name, part, figure, figures, misses) for part, figure in SHOWN]
        latency = figures["latencyMs"]
        table.add_row(name, *cells, f"{latency['p50']:.1f}/{latency['p95']:.1f}")
    Console().print(table)


def _cell(name: str, part: str, figure: str, figures: Mapping[str, Any], misses: set[tuple[str, str, str]]) -> str:
    value = figures[part][figure]
    if value is None:
        return "-"
    low, high = figures[part]["ci"][figure]
    floor = FLOORS.get(name, {}).get((part, figure))
    against = "" if floor is None else f"\n{'below' if (name, part, figure) in misses else 'floor'} {floor:.3f}"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]".replace("[", r"\[") + against


if __name__ == "__main__":
    sys.exit(main())
