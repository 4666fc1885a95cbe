"""On the demonstration catalogs the golden questions measure no less than a little below what was measured once."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path

import pytest

from scene_kb.cards import cards_of
from scene_kb.catalog import load_catalog
from scene_kb.embedders.e5 import E5
from scene_kb.evaluate import Report, evaluate
from scene_kb.exchange import labelled, read_questions
from scene_kb.index import open_index
from scene_kb.resolver import HybridResolver
from scene_kb.shipped import folder_of
from scene_kb.visibility import answering_scenes

FLOORS: Mapping[str, Mapping[str, float]] = {
    "ads": {"recall@1": 0.64, "recall@5": 0.89, "recall@8": 0.67, "auroc": 0.82, "matched": 0.77},
    "flights": {"recall@1": 0.53, "recall@5": 0.88, "recall@8": 0.72, "auroc": 0.83, "matched": 0.83},
}
"""Routing, then fields, then no match, then the share of `matched` that are right."""


def measured(name: str, folder: Path) -> Report:
    catalog = load_catalog(folder_of(name))
    answering = answering_scenes(catalog, today=date(2026, 11, 30))
    cards = dict(zip(answering, cards_of(answering.values(), catalog), strict=True))
    embedder = E5()
    resolver = HybridResolver(open_index(tuple(cards.values()), folder, embedder), embedder)
    questions = labelled(read_questions(folder_of(name) / "golden.jsonl"), cards.values())
    return evaluate(cards, questions, lambda _: resolver)


@pytest.mark.parametrize("name", FLOORS)
def test_no_figure_falls_below_its_floor(name: str, tmp_path: Path) -> None:
    report = measured(name, tmp_path)
    assert report.routing is not None
    assert report.fields is not None
    assert report.no_match is not None
    assert report.matched_right.figure is not None
    figures = {
        **{figure: report.routing[figure].value for figure in ("recall@1", "recall@5")},
        "recall@8": report.fields["recall@8"].value,
        "auroc": report.no_match["auroc"].value,
        "matched": report.matched_right.figure.value,
    }
    below = {figure: value for figure, value in figures.items() if value < FLOORS[name][figure]}
    assert below == {}
