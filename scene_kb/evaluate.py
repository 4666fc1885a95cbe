"""How well questions find their scenes and fields, measured on a knowledge base and questions with known answers."""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scene_kb.embedders.base import Embedder
from scene_kb.exchange import Question, read_questions, read_scenes
from scene_kb.index import Index, build
from scene_kb.learned.weights import Weights
from scene_kb.measures import (
    Bin,
    Figure,
    Ranked,
    bootstrap,
    ece,
    field_figures,
    no_match_figures,
    reliability,
    routing_figures,
)
from scene_kb.models import Match, SceneCard
from scene_kb.resolver import HybridResolver

Clock = Callable[[], float]
WeightsOf = Callable[[Question], Weights]


@dataclass(frozen=True)
class Miss:
    """A question whose first candidate is not its scene, with every candidate's signals."""

    question: Question
    match: Match


@dataclass(frozen=True)
class Report:
    """Figures are None where the questions hold nothing to measure them on."""

    routing: Mapping[str, Figure] | None
    routed: int
    fields: Mapping[str, Figure] | None
    fielded: int
    no_match: Mapping[str, Figure] | None
    judged: int
    verdicts: Mapping[str, float]
    """precision of `matched`, and the share of answerable questions that are `matched`"""
    bins: tuple[Bin, ...]
    latency_ms: Mapping[str, Figure]
    embedded: float
    """share of the questions for which the query's vector was needed"""
    misses: tuple[Miss, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "routing": _as_json(self.routing, self.routed, ("recall@1", "recall@3", "recall@5", "mrr")),
            "fields": _as_json(
                self.fields, self.fielded, ("recall@8", "recall@12", "recall@15", "strict@15", "precision@8")
            ),
            "noMatch": _as_json(self.no_match, self.judged, ("auroc", "coverage@p95")),
            "calibration": {"ece": round(ece(self.bins), 4)},
            "latencyMs": {name: round(figure.value, 2) for name, figure in self.latency_ms.items()},
        }


def evaluate_files(
    scenes: Path,
    questions: Path,
    embedder: Embedder,
    *,
    weights_for: Callable[[tuple[SceneCard, ...]], WeightsOf] | None = None,
    folder: Path | None = None,
    clock: Clock = time.perf_counter,
) -> Report:
    """`folder`: where the index is kept, so that the next evaluation embeds only what is new.

    `weights_for`: of the cards, the weights of each question, as `evaluate` takes them.

    Raises MalformedLine, OSError, EmbedderUnavailable.
    """
    read = read_scenes(scenes)
    with tempfile.TemporaryDirectory() as passing:
        index = build(read.cards, folder or Path(passing), embedder, digest=str(scenes))
    return evaluate(
        index,
        read_questions(questions),
        embedder,
        withheld=read.withheld,
        weights_of=weights_for(read.cards) if weights_for else None,
        clock=clock,
    )


def evaluate(
    index: Index,
    questions: Sequence[Question],
    embedder: Embedder,
    *,
    withheld: frozenset[str] = frozenset(),
    weights_of: WeightsOf | None = None,
    clock: Clock = time.perf_counter,
) -> Report:
    """Routing, fields and latency over all scenes; no match over the scenes without the withheld ones.

    A question names its scene by id, with or without a version. `weights_of`: where the shipped weights were learned
    from what is measured, the weights that were not. Raises EmbedderUnavailable.
    """
    resolver = HybridResolver(index, embedder)

    def of(question: Question) -> HybridResolver:
        return resolver.weighing(weights_of(question)) if weights_of else resolver

    everything = frozenset(index.by_ref)
    known = tuple(_with_ref(question, index) for question in questions)
    asked = tuple(question for question in known if question.scene in everything)
    if asked:
        # The first question pays for loading word lists and models, which is no property of the questions.
        resolver.view(everything).warm()
        resolver.match("预热 warm", visible=everything)
    matches: list[Match] = []
    took: list[float] = []
    for question in asked:
        started = clock()
        matches.append(of(question).match(question.query, visible=everything))
        took.append((clock() - started) * 1000)
    judged = _judged(of, known, everything - withheld, asked, matches, withheld)
    ranked = _ranked_fields(of, asked, index.by_ref, everything)
    milliseconds = np.asarray(took)
    return Report(
        routing=routing_figures([_routed(*pair) for pair in zip(asked, matches, strict=True)]) if asked else None,
        routed=len(asked),
        fields=field_figures(ranked) if ranked else None,
        fielded=len(ranked),
        no_match=judged.figures(),
        judged=len(judged.confidence),
        verdicts=judged.verdicts(),
        bins=reliability(judged.confidence, judged.right),
        latency_ms={
            name: bootstrap(lambda chosen, share=share: float(np.percentile(milliseconds[chosen], share)), len(took))  # type: ignore[misc]
            for name, share in (("p50", 50), ("p95", 95))
        },
        embedded=float(np.mean([match.embedded for match in matches])) if matches else 0.0,
        misses=tuple(
            Miss(question, match)
            for question, match in zip(asked, matches, strict=True)
            if not match.candidates or match.candidates[0].ref != question.scene
        ),
    )


@dataclass(frozen=True)
class _Judged:
    """Each question in the world without the withheld scenes."""

    confidence: np.ndarray[tuple[int], np.dtype[np.float64]]
    right: np.ndarray[tuple[int], np.dtype[np.bool_]]
    answerable: np.ndarray[tuple[int], np.dtype[np.bool_]]
    matched: np.ndarray[tuple[int], np.dtype[np.bool_]]

    def figures(self) -> Mapping[str, Figure] | None:
        if self.answerable.all() or not self.answerable.any():
            return None
        return no_match_figures(self.confidence, self.right, self.answerable)

    def verdicts(self) -> Mapping[str, float]:
        given, possible = int(self.matched.sum()), int(self.answerable.sum())
        return {
            "matched@precision": float(self.right[self.matched].mean()) if given else 1.0,
            "matched@coverage": float((self.matched & self.answerable).sum() / possible) if possible else 0.0,
        }


def _judged(
    of: Callable[[Question], HybridResolver],
    questions: Sequence[Question],
    visible: frozenset[str],
    asked: Sequence[Question],
    matches: Sequence[Match],
    withheld: frozenset[str],
) -> _Judged:
    # Without withheld scenes both worlds are one, and what was answered there need not be asked again.
    answered = dict(zip((question.id for question in asked), matches, strict=True)) if not withheld else {}
    every = [answered.get(each.id) or of(each).match(each.query, visible=visible) for each in questions]
    return _Judged(
        np.array([match.candidates[0].confidence if match.candidates else 0.0 for match in every], float),
        np.array(
            [
                bool(match.candidates) and match.candidates[0].ref == question.scene
                for question, match in zip(questions, every, strict=True)
            ],
            bool,
        ),
        np.array([question.scene in visible for question in questions], bool),
        np.array([match.verdict == "matched" for match in every], bool),
    )


def _ranked_fields(
    of: Callable[[Question], HybridResolver],
    asked: Sequence[Question],
    cards: Mapping[str, SceneCard],
    visible: frozenset[str],
) -> list[Ranked]:
    ranked: list[Ranked] = []
    for question in asked:
        if question.fields and question.scene:
            permitted = [field.name for field in cards[question.scene].fields]
            order = of(question).rank_fields(question.query, question.scene, visible=visible, permitted=permitted)
            ranked.append(Ranked(question.id, tuple(field.name for field in order), question.fields))
    return ranked


def _routed(question: Question, match: Match) -> Ranked:
    return Ranked(
        question.id, tuple(candidate.ref for candidate in match.candidates), frozenset({question.scene or ""})
    )


def _with_ref(question: Question, index: Index) -> Question:
    """A scene named without its version is the version that the index holds."""
    if question.scene is None or question.scene in index.by_ref:
        return question
    versions = [ref for ref in index.by_ref if ref.partition("@")[0] == question.scene]
    return Question(question.id, question.query, versions[-1] if versions else None, question.fields)


def _as_json(figures: Mapping[str, Figure] | None, count: int, names: tuple[str, ...]) -> dict[str, Any]:
    said: dict[str, Any] = {"n": count}
    said |= {name: round(figures[name].value, 4) if figures else None for name in names}
    said["ci"] = {
        name: [round(figures[name].low, 4), round(figures[name].high, 4)] if figures else None for name in names
    }
    return said
