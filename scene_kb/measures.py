"""The figures of an evaluation as pure functions: each with its bootstrap interval over questions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import ir_measures
import numpy as np
from ir_measures import RR, Measure, P, R, Success
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

RESAMPLES = 1000
_SEED = 20261130
_BINS = 10


@dataclass(frozen=True)
class Figure:
    """A mean or share with its 95 % bootstrap interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Ranked:
    """One question's ranking, best first, and what is right in it."""

    order: tuple[str, ...]
    right: frozenset[str]


@dataclass(frozen=True)
class Bin:
    """Answers of like confidence: how sure they were, and how many were right."""

    count: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Share:
    """Of how many; no figure where there is nothing to take a share of."""

    of: int
    figure: Figure | None


def routing_figures(ranked: Sequence[Ranked]) -> Mapping[str, Figure]:
    """recall@1, @3, @5 and mrr."""
    named = {"recall@1": Success @ 1, "recall@3": Success @ 3, "recall@5": Success @ 5, "mrr": RR}
    return _means(ranked, named)


def field_figures(ranked: Sequence[Ranked]) -> Mapping[str, Figure]:
    """recall@8, @12 and @15: mean shares; strict@15: the share of questions with all of them; precision@8."""
    named = {"recall@8": R @ 8, "recall@12": R @ 12, "recall@15": R @ 15, "precision@8": P @ 8}
    found = dict(_means(ranked, named))
    whole = np.array([each.right <= set(each.order[:15]) for each in ranked], float)
    found["strict@15"] = bootstrap(lambda chosen: float(whole[chosen].mean()), len(whole))
    return found


def no_match_figures(confidence: Floats, right: Bools, answerable: Bools) -> Mapping[str, Figure]:
    """auroc of the confidence for answerable, and coverage@p95; both kinds of question must be present."""
    return {
        "auroc": bootstrap(lambda chosen: auroc(confidence[chosen], answerable[chosen]), len(right)),
        "coverage@p95": bootstrap(
            lambda chosen: coverage(confidence[chosen], right[chosen], answerable[chosen]), len(right)
        ),
    }


def share(part: Bools, of: Bools) -> Share:
    """How many of `of` are in `part` as well."""
    both = part & of

    def drawn(chosen: NDArray[np.intp]) -> float:
        total = int(of[chosen].sum())
        return float(both[chosen].sum() / total) if total else float("nan")

    return Share(int(of.sum()), bootstrap(drawn, len(of)) if of.any() else None)


def auroc(confidence: Floats, answerable: Bools) -> float:
    """The chance that an answerable question has the higher confidence (Mann-Whitney); 0.5 where one kind is absent."""
    positive = int(answerable.sum())
    negative = len(answerable) - positive
    if not positive or not negative:
        return 0.5
    _, inverse, counts = np.unique(confidence, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    middle = ends - (counts - 1) / 2  # ties share their middle rank
    return float((middle[inverse][answerable].sum() - positive * (positive + 1) / 2) / (positive * negative))


def coverage(confidence: Floats, right: Bools, answerable: Bools, *, precision: float = 0.95) -> float:
    """The largest share of answerable questions answered while at least `precision` of the answers are right."""
    order = np.argsort(-confidence, kind="stable")
    reached = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    # A threshold cannot part answers of equal confidence.
    cut = np.append(np.diff(confidence[order]) < 0, True)
    good = np.flatnonzero((reached >= precision) & cut)
    if not len(good) or not answerable.any():
        return 0.0
    return float(answerable[order][: good[-1] + 1].sum() / answerable.sum())


def reliability(confidence: Floats, right: Bools) -> tuple[Bin, ...]:
    """Ten bins of equally many answers, ascending."""
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, _BINS) if len(part)]
    return tuple(Bin(len(part), float(confidence[part].mean()), float(right[part].mean())) for part in parts)


def ece(bins: Sequence[Bin]) -> float:
    """Expected calibration error: the mean distance of confidence from the share of right ones, weighted by size."""
    total = sum(each.count for each in bins)
    return sum(each.count * abs(each.confidence - each.right) for each in bins) / total if total else 0.0


def bootstrap(figure: Callable[[NDArray[np.intp]], float], count: int) -> Figure:
    """The figure over all questions, and its interval over resampled ones. The same data gives the same interval.

    A resample on which there is nothing to measure gives NaN and is passed over.
    """
    if not count:
        return Figure(0.0, 0.0, 0.0)
    random = np.random.default_rng(_SEED)
    drawn = [figure(random.integers(0, count, count)) for _ in range(RESAMPLES)]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Figure(figure(np.arange(count)), float(low), float(high))


def _means(ranked: Sequence[Ranked], named: Mapping[str, Measure]) -> Mapping[str, Figure]:
    values = _per_question(ranked, tuple(named.values()))
    return {
        name: bootstrap(lambda chosen, row=row: float(row[chosen].mean()), len(row))  # type: ignore[misc]
        for name, row in zip(named, values, strict=True)
    }


def _per_question(ranked: Sequence[Ranked], measures: Sequence[Measure]) -> list[Floats]:
    """One row a measure, in the questions' order."""
    # A question goes by its number: ids come from files, where two may be the same.
    judged = [ir_measures.Qrel(str(at), right, 1) for at, each in enumerate(ranked) for right in each.right]
    run = [
        ir_measures.ScoredDoc(str(at), it, -place)
        for at, each in enumerate(ranked)
        for place, it in enumerate(each.order)
    ]
    rows = {str(measure): np.zeros(len(ranked)) for measure in measures}
    for found in ir_measures.iter_calc(list(measures), judged, run):
        rows[str(found.measure)][int(found.query_id)] = found.value
    return [rows[str(measure)] for measure in measures]
