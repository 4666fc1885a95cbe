"""The retrieval table: every set with its figures, intervals and floors. Ends with status 1 where a figure is below.

A question about a database that the shipped weights were learned from is answered by weights learned without it, so
that the figures of the development sets are cross-validated; any other question is answered by the shipped weights.

Another embedder, or a reranker on top, is measured in the same table. One that was trained without fold N
(scripts/learn/cross_encoder.py) is measured with --fold N: only questions about these databases are asked, among all
scenes, and no floor applies.
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
from scene_kb.exchange import Question
from scene_kb.rerankers.base import open_reranker
from scripts.learn.databases import fold_of_database, weights_without

Floors = Mapping[str, Mapping[tuple[str, str], float]]
"""By set, then by part and figure."""

FLOORS: Floors = {
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
    parser.add_argument("--embedder", default="auto", help="as SANBU_EMBEDDER; give each its own --cache")
    parser.add_argument("--reranker", default="", help="as SANBU_RERANKER")
    parser.add_argument("--fold", type=int, help="ask only about the databases of this fold")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.bench is None:
        parser.error("name the folder of the sets with --bench or SANBU_BENCH")
    embedder, reranker = open_embedder(given.embedder), open_reranker(given.reranker)

    def counts(question: Question) -> bool:
        return given.fold is None or fold_of_database(question.scene or "") == given.fold

    found: dict[str, dict[str, Any]] = {}
    for folder in sorted(path.parent for path in Path(given.bench).glob("*/questions.jsonl")):
        report = evaluate_files(
            folder / "scenes.jsonl",
            folder / "questions.jsonl",
            embedder,
            weights_for=weights_without,
            reranker=reranker,
            counts=counts,
            folder=given.cache / folder.name,
        )
        found[folder.name] = report.to_json()
    floors = FLOORS if given.fold is None else {}
    misses = _misses(found, floors)
    if given.json:
        print(json.dumps(found))  # noqa: T201  # a script's output
    else:
        _print(found, floors)
    return 1 if misses else 0


def _misses(found: Mapping[str, Mapping[str, Any]], floors: Floors) -> set[tuple[str, str, str]]:
    return {
        (name, part, figure)
        for name, figures in found.items()
        for (part, figure), floor in floors.get(name, {}).items()
        if figures[part][figure] < floor
    }


def _print(found: Mapping[str, Mapping[str, Any]], floors: Floors) -> None:
    table = Table(title="retrieval")
    table.add_column("set")
    for part, figure in SHOWN:
        table.add_column(f"{part} {figure}", justify="right")
    table.add_column("ece", justify="right")
    table.add_column("ms p50/p95", justify="right")
    for name, figures in found.items():
        cells = [_cell(figures, part, figure, floors.get(name, {}).get((part, figure))) for part, figure in SHOWN]
        latency = figures["latencyMs"]
        times = f"{latency['p50']:.1f}/{latency['p95']:.1f}"
        table.add_row(f"{name}\nn {figures['routing']['n']}", *cells, f"{figures['calibration']['ece']:.3f}", times)
    Console().print(table)


def _cell(figures: Mapping[str, Any], part: str, figure: str, floor: float | None) -> str:
    value = figures[part][figure]
    if value is None:
        return "-"
    low, high = figures[part]["ci"][figure]
    against = "" if floor is None else f"\n{'below' if value < floor else 'floor'} {floor:.3f}"
    return f"{value:.3f} [{low:.3f}, {high:.3f}]".replace("[", r"\[") + against


if __name__ == "__main__":
    sys.exit(main())
