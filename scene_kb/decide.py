"""From the candidates' scores to probabilities, and from these to a verdict."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from scene_kb.learned.weights import Stage, Thresholds
from scene_kb.rerank import Features
from scene_kb.view import Floats

Verdict = Literal["matched", "ambiguous", "no_match"]

_WIDEST = 4.0
"""Leads beyond this tell nothing more, and a scene that stands alone has no lead to measure."""

STRANGE = 0.05
"""What is left of a confidence where no scene is called what the query asks for."""

KEYWORD_SIGNS = ("covered", "met", "covered_group", "joint", "best_field", "bm25")
"""Features of the first place that are taken over as they are."""
DENSE_SIGNS = ("dense_best", "dense_purpose", "dense_field", "dense_fields", "unmet_best", "both_fields")
"""The same where the query has a vector. With words alone more signs than those above made the outcome worse."""
LEADS = ("joint", "covered", "covered_group")
"""Features of which the first place's lead over the second is a sign of its own."""


@dataclass(frozen=True)
class Decision:
    verdict: Verdict
    order: tuple[int, ...]
    """Places of the candidates, best first."""
    confidences: tuple[float, ...]
    """In that order: of the candidates given confidence c, about the share c is right."""
    decisive: bool


@dataclass(frozen=True)
class Standing:
    """Scores in order, and the signs from which probabilities are read."""

    order: tuple[int, ...]
    scores: Floats
    signs: dict[str, float]


def standing(features: Features, scores: Floats, *, words: int, scenes: int, best_cosine: float | None) -> Standing:
    """`words`: tokens of the query; `scenes`: how many are visible. Ties keep the candidates' order, which is by ref.

    There must be at least one candidate.
    """
    order = np.lexsort((np.arange(len(scores)), -scores))
    ordered = scores[order]
    shares = np.exp(ordered - ordered[0])
    shares /= shares.sum()
    signs = {
        "lead": min(float(ordered[0] - ordered[1]), _WIDEST) if len(ordered) > 1 else _WIDEST,
        "share": float(shares[0]),
        "above_rest": min(float(ordered[0] - ordered[1:].mean()), 2 * _WIDEST) if len(ordered) > 1 else _WIDEST,
        "score": float(ordered[0]),
        "words": float(np.log1p(words)),
    }
    first = dict(zip(features.names, features.values[order[0]].tolist(), strict=True))
    signs |= {name: first[name] for name in KEYWORD_SIGNS}
    if best_cosine is not None:
        # Cosines of multilingual-e5-small lie between 0.75 and 0.95; spread them like the other signs.
        signs["cosine"] = (best_cosine - 0.85) * 10
        signs["rivals"] = float(np.log(np.exp(ordered - ordered[0]).sum()))
        signs["scenes"] = float(np.log1p(scenes))
        second = features.values[order[1]].tolist() if len(order) > 1 else [0.0] * len(features.names)
        behind = dict(zip(features.names, second, strict=True))
        signs |= {name: first[name] for name in DENSE_SIGNS}
        signs |= {f"{name}_lead": first[name] - behind[name] for name in LEADS}
    return Standing(tuple(int(place) for place in order), ordered, signs)


def decide(stand: Standing, stage: Stage, thresholds: Thresholds, *, strange: bool, familiar: bool) -> Decision:
    """`strange`: no candidate is called what the query asks for, though they share a language. Vectors alone are then
    no evidence: every text is near some text. `familiar`: a candidate has by name all that it asks for; then some scene
    answers it, however many have it.
    """
    right = stage.right.probability(stand.signs)
    answerable = max(stage.answerable.probability(stand.signs), right)
    if strange:
        right, answerable = min(right, STRANGE), min(answerable, STRANGE)
    # What is left of the probability is shared among the others by their scores.
    weights = np.exp(stand.scores[1:] - stand.scores[0]) if len(stand.scores) > 1 else np.zeros(0)
    total = float(weights.sum())
    others = [min(right, (answerable - right) * float(weight) / total) for weight in weights] if total > 0 else []
    if right >= thresholds.matched:
        verdict: Verdict = "matched"
    elif answerable < thresholds.no_match and not familiar:
        verdict = "no_match"
    else:
        verdict = "ambiguous"
    return Decision(verdict, stand.order, (right, *others), right >= thresholds.decisive)
