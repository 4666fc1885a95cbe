"""How well questions find their scenes and fields, measured on a knowledge base and questions with known answers."""

import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scene_kb.embedders.base import Embedder
from scene_kb.exchange import Question, labelled, read_questions, read_scenes
from scene_kb.index import open_index
from scene_kb.learned.weights import Weights
from scene_kb.measures import (
    Bin,
    Bools,
    Figure,
    Floats,
    Ranked,
    Share,
    bootstrap,
    ece,
    field_figures,
    no_match_figures,
    reliability,
    routing_figures,
    share,
)
from scene_kb.models import Match, SceneCard
from scene_kb.rerankers.base import Reranker
from scene_kb.resolver import HybridResolver, Resolver

Clock = Callable[[], float]
ResolverFor = Callable[[Question], Resolver]
WeightsOf = Callable[[Question], Weights]
Track = Callable[[Sequence[Question], str], Iterable[Question]]
"""(questions, what is done with them) -> the same questions, each reported to whoever waits."""


@dataclass(frozen=True)
class Miss:
    """A question whose first candidate is not its scene, or that nothing answers and that is `matched` all the same."""

    question: Question
    expected: str | None
    """The right scene's ref; None where nothing answers, or no longer without the withheld scenes."""
    match: Match

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.question.id,
            "query": self.question.query,
            "sceneId": self.expected,
            "status": self.match.verdict,
            "embedded": self.match.embedded,
            "candidates": [
                {"sceneId": it.ref, "confidence": it.confidence, "scores": dict(it.scores)}
                for it in self.match.candidates
            ],
        }


@dataclass(frozen=True)
class Report:
    """Figures are None where the questions hold nothing to measure them on.

    A resolver hands on its first few candidates: a right scene behind them counts as nothing in `mrr`.
    """

    routing: Mapping[str, Figure] | None
    routed: int
    fields: Mapping[str, Figure] | None
    fielded: int
    no_match: Mapping[str, Figure] | None
    judged: int
    matched_right: Share
    """How many of the questions that are `matched` have their scene in the first place."""
    answerable_matched: Share
    """How many of the questions that a scene answers are `matched`."""
    bins: tuple[Bin, ...]
    latency_ms: Mapping[str, Figure]
    embedded: float
    """share of the questions for which the query's vector was needed"""
    misses: tuple[Miss, ...]

    @property
    def ece(self) -> float:
        return ece(self.bins)

    def to_json(self) -> dict[str, Any]:
        return {
            "routing": _as_json(self.routing, self.routed, ("recall@1", "recall@3", "recall@5", "mrr")),
            "fields": _as_json(
                self.fields, self.fielded, ("recall@8", "recall@12", "recall@15", "strict@15", "precision@8")
            ),
            "noMatch": _as_json(self.no_match, self.judged if self.no_match else 0, ("auroc", "coverage@p95")),
            "calibration": {"ece": round(self.ece, 4)},
            "latencyMs": {name: round(figure.value, 2) for name, figure in self.latency_ms.items()},
        }


def evaluate_files(
    scenes: Path,
    questions: Path,
    embedder: Embedder,
    *,
    weights_for: Callable[[tuple[SceneCard, ...]], WeightsOf] | None = None,
    reranker: Reranker | None = None,
    counts: Callable[[Question], bool] = lambda _: True,
    folder: Path | None = None,
    clock: Clock = time.perf_counter,
) -> Report:
    """`folder`: where the index is kept, so that the next evaluation embeds only what is new.

    `weights_for`: of the cards, the weights of each question; for questions that the shipped ones were learned from.

    `counts`: which questions are asked at all; the scenes to choose from are the same.

    Raises MalformedLine, UnknownLabel, OSError, EmbedderUnavailable.
    """
    read = read_scenes(scenes)
    asked = [question for question in labelled(read_questions(questions), read.cards) if counts(question)]
    with tempfile.TemporaryDirectory() as passing:
        index = open_index(read.cards, folder or Path(passing), embedder)
    resolver = HybridResolver(index, embedder, reranker=reranker)
    weights_of = weights_for(read.cards) if weights_for else None
    return evaluate(
        index.by_ref,
        asked,
        lambda question: resolver.weighing(weights_of(question)) if weights_of else resolver,
        withheld=read.withheld,
        clock=clock,
    )


def evaluate(
    cards: Mapping[str, SceneCard],
    asked: Sequence[Question],
    resolver_for: ResolverFor,
    *,
    withheld: frozenset[str] = frozenset(),
    track: Track = lambda questions, _: questions,
    clock: Clock = time.perf_counter,
) -> Report:
    """Routing, fields and latency over all cards; no match over the cards without the withheld ones.

    `cards`: by ref, the scenes to choose from, one version of each. `asked`: `labelled` with these cards.

    Raises EmbedderUnavailable.
    """
    everything = frozenset(cards)
    rest = everything - withheld
    if asked:
        # The first question pays for loading word lists and models, which is no property of the questions.
        for word in ("预热", "warm"):
            resolver_for(asked[0]).match(word, visible=everything)
    matches: list[Match] = []
    took: list[float] = []
    for question in track(asked, "finding scenes"):
        started = clock()
        matches.append(resolver_for(question).match(question.query, visible=everything))
        took.append((clock() - started) * 1000)
    remaining = (
        [resolver_for(it).match(it.query, visible=rest) for it in track(asked, "without the withheld scenes")]
        if withheld
        else matches
    )
    expected = [question.scene if question.scene in rest else None for question in asked]
    judged = _judged(expected, remaining)
    routed = [_routed(question.scene, match) for question, match in zip(asked, matches, strict=True) if question.scene]
    ranked = _ranked_fields(asked, cards, resolver_for, track)
    milliseconds = np.asarray(took)
    return Report(
        routing=routing_figures(routed) if routed else None,
        routed=len(routed),
        fields=field_figures(ranked) if ranked else None,
        fielded=len(ranked),
        no_match=judged.figures(),
        judged=len(asked),
        matched_right=share(judged.right, judged.matched),
        answerable_matched=share(judged.matched, judged.answerable),
        bins=reliability(judged.confidence, judged.right),
        latency_ms={
            name: bootstrap(lambda chosen, at=at: float(np.percentile(milliseconds[chosen], at)), len(took))  # type: ignore[misc]
            for name, at in (("p50", 50), ("p95", 95))
        },
        embedded=float(np.mean([match.embedded for match in matches])) if matches else 0.0,
        misses=_misses(asked, matches, expected, remaining),
    )


@dataclass(frozen=True)
class _Judged:
    """Each question in the world without the withheld scenes."""

    confidence: Floats
    right: Bools
    answerable: Bools
    matched: Bools

    def figures(self) -> Mapping[str, Figure] | None:
        if self.answerable.all() or not self.answerable.any():
            return None
        return no_match_figures(self.confidence, self.right, self.answerable)


def _judged(expected: Sequence[str | None], matches: Sequence[Match]) -> _Judged:
    return _Judged(
        np.array([match.candidates[0].confidence if match.candidates else 0.0 for match in matches], float),
        np.array([it is not None and _first(match) == it for it, match in zip(expected, matches, strict=True)], bool),
        np.array([it is not None for it in expected], bool),
        np.array([match.verdict == "matched" for match in matches], bool),
    )


def _misses(
    asked: Sequence[Question], matches: Sequence[Match], expected: Sequence[str | None], remaining: Sequence[Match]
) -> tuple[Miss, ...]:
    """In the questions' order."""
    misses: list[Miss] = []
    for question, match, left, later in zip(asked, matches, expected, remaining, strict=True):
        if question.scene is not None and _first(match) != question.scene:
            misses.append(Miss(question, question.scene, match))
        if left is None and later.verdict == "matched":
            misses.append(Miss(question, None, later))
    return tuple(misses)


def _ranked_fields(
    asked: Sequence[Question], cards: Mapping[str, SceneCard], resolver_for: ResolverFor, track: Track
) -> list[Ranked]:
    ranked: list[Ranked] = []
    everything = frozenset(cards)
    for question in track(asked, "ranking fields"):
        if question.scene and question.fields:
            permitted = [field.name for field in cards[question.scene].fields]
            order = resolver_for(question).rank_fields(
                question.query, question.scene, visible=everything, permitted=permitted
            )
            ranked.append(Ranked(tuple(field.name for field in order), question.fields))
    return ranked


def _routed(scene: str, match: Match) -> Ranked:
    return Ranked(tuple(candidate.ref for candidate in match.candidates), frozenset({scene}))


def _first(match: Match) -> str | None:
    return match.candidates[0].ref if match.candidates else None


def _as_json(figures: Mapping[str, Figure] | None, count: int, names: tuple[str, ...]) -> dict[str, Any]:
    said: dict[str, Any] = {"n": count}
    said |= {name: round(figures[name].value, 4) if figures else None for name in names}
    said["ci"] = {
        name: [round(figures[name].low, 4), round(figures[name].high, 4)] if figures else None for name in names
    }
    return said
