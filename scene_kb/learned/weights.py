"""The learned weights as typed, frozen values. The file says which data and which script made it."""

import importlib.resources
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

VERSION = 1
"""Of the file's shape and of the features' meaning; a file of another version is refused."""


@dataclass(frozen=True)
class Linear:
    """A weighted sum over named features; a name without weight counts nothing."""

    weights: Mapping[str, float]
    bias: float = 0.0

    def of(self, features: Mapping[str, float]) -> float:
        return self.bias + sum(weight * features[name] for name, weight in self.weights.items())

    def probability(self, features: Mapping[str, float]) -> float:
        """The logistic function of the sum."""
        return 1 / (1 + math.exp(-min(max(self.of(features), -30.0), 30.0)))


@dataclass(frozen=True)
class Stage:
    """One pass: how its features are fused, and what the outcome is worth."""

    ranking: Linear
    right: Linear
    """that the first place is right"""
    answerable: Linear
    """that any scene answers at all"""


@dataclass(frozen=True)
class Thresholds:
    """Probabilities from which a verdict is given; what each means was measured on development data."""

    matched: float
    decisive: float
    no_match: float
    """below it, as the probability of an answer, the verdict is no_match"""
    gate: float
    """from it, as the keyword pass's probability of being right, the query is not embedded"""


@dataclass(frozen=True)
class Weights:
    provenance: Mapping[str, Any]
    keyword: Stage
    full: Stage
    fields_keyword: Linear
    fields_full: Linear
    thresholds: Thresholds


class WeightsMismatch(Exception):
    """The weights file is of another version than this code."""

    def __init__(self, found: int) -> None:
        super().__init__(f"weights.json is of version {found}; this code reads version {VERSION}")
        self.found = found


@lru_cache(maxsize=1)
def learned_weights() -> Weights:
    """Raises WeightsMismatch."""
    text = importlib.resources.files("scene_kb.learned").joinpath("weights.json").read_text("utf-8")
    return weights_from(json.loads(text))


def weights_from(facts: Mapping[str, Any]) -> Weights:
    """Raises WeightsMismatch."""
    if facts["version"] != VERSION:
        raise WeightsMismatch(int(facts["version"]))
    return Weights(
        provenance=facts["provenance"],
        keyword=_stage(facts["keyword"]),
        full=_stage(facts["full"]),
        fields_keyword=_linear(facts["fields"]["keyword"]),
        fields_full=_linear(facts["fields"]["full"]),
        thresholds=Thresholds(**facts["thresholds"]),
    )


def _stage(facts: Mapping[str, Any]) -> Stage:
    return Stage(_linear(facts["ranking"]), _linear(facts["right"]), _linear(facts["answerable"]))


def _linear(facts: Mapping[str, Any]) -> Linear:
    return Linear(facts["weights"], facts["bias"])
