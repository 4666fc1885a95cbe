"""Second pass: the candidates' features, in the field's terms, and their fusion by learned weights."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scene_kb.corpus import CHUNK_KINDS
from scene_kb.evidence import Evidence
from scene_kb.recall import Floats, Recalled, Terms, View, cosines, weighted

KEYWORD_FEATURES = (
    "bm25",  # share of the best reachable score
    "bm25_lead",  # share of the best score among the candidates
    "names",  # word-to-name late interaction, weighted by rarity, of the best name alone
    "joint",  # the same, counting how much of the name the whole query covers
    "covered",  # share of the query's rarity that stands anywhere in the scene
    "covered_fields",  # ... in names of fields
    "covered_group",  # ... in the best group
    "covered_groups",  # ... in the best two groups
    "about",  # ... in title, purpose and questions
    "best_field",  # the best covered field, as a share of the query
    "next_fields",  # the mean of the three best covered fields, as a share of the query
    "value",  # ... in legal values
    "dimensions",  # share of the dimensions that the query names which the scene has
    "spare_dimensions",  # share of the scene's dimensions that the query does not name, where it names some
    "excluded",  # share of the scene's own words that the query excludes
)
DENSE_FEATURES = (
    "dense_best",  # best chunk of any kind, in standard deviations over the visible scenes
    "dense_purpose",
    "dense_question",
    "dense_group",
    "dense_fields",  # mean of the three best fields
)


@dataclass(frozen=True)
class Features:
    names: tuple[str, ...]
    values: Floats
    """(candidates, features)"""

    def weighed(self, weights: Mapping[str, float]) -> Floats:
        """(candidates,) their scores."""
        vector = np.array([weights.get(name, 0.0) for name in self.names], np.float32)
        return np.asarray(np.vecdot(self.values, vector), np.float32)


@dataclass(frozen=True)
class DimensionHits:
    """(s,) the share of the query's dimensions that the scene has, and of the scene's that the query does not name."""

    agreement: Floats
    spare: Floats


def keyword_features(
    view: View, terms: Terms, recalled: Recalled, evidence: Evidence, hits: DimensionHits, excluded: Floats
) -> Features:
    mass = max(float(terms.weights.sum()), 1e-6)
    weights = terms.weights / mass
    keyword = recalled.keyword[recalled.places]
    joint = evidence.field_lists.highest(evidence.field_joint)
    by_field = weighted(weights, evidence.field_joint)
    columns = {
        "bm25": keyword,
        "bm25_lead": keyword / max(float(keyword.max(initial=0.0)), 1e-6),
        "names": recalled.names[recalled.places],
        "joint": weighted(weights, joint),
        "covered": weighted(weights, evidence.scene_met),
        "covered_fields": weighted(weights, evidence.field_lists.highest(evidence.field_met)),
        "covered_group": evidence.group_lists.highest(weighted(weights, evidence.group_met)),
        "covered_groups": _best_two_groups(weights, evidence),
        "about": weighted(weights, evidence.about_met),
        "best_field": evidence.field_lists.highest(by_field),
        "next_fields": _mean_of_best(by_field, evidence, 3),
        "value": weighted(weights, evidence.field_lists.highest(evidence.field_value)),
        "dimensions": hits.agreement,
        "spare_dimensions": hits.spare,
        "excluded": excluded,
    }
    return Features(KEYWORD_FEATURES, _stack(columns, KEYWORD_FEATURES))


def dense_features(view: View, recalled: Recalled, evidence: Evidence, vector: Floats) -> Features:
    assert recalled.dense is not None, "the candidates were recalled without the vector"
    kinds = {kind: _z_of(recalled.dense[number])[recalled.places] for number, kind in enumerate(CHUNK_KINDS)}
    best = recalled.dense.max(axis=0)
    near = cosines(view.index.vectors[view.corpus.field_rows[evidence.fields]].astype(np.float32), vector)
    columns = {
        "dense_best": _z_of(best)[recalled.places],
        "dense_purpose": kinds["purpose"],
        "dense_question": kinds["question"],
        "dense_group": kinds["group"],
        "dense_fields": _z_of(_mean_of_best(near, evidence, 3)),
    }
    return Features(DENSE_FEATURES, _stack(columns, DENSE_FEATURES))


def joined(first: Features, second: Features) -> Features:
    return Features(first.names + second.names, np.hstack([first.values, second.values]))


def _best_two_groups(weights: Floats, evidence: Evidence) -> Floats:
    """The share that the best group and its best companion cover together."""
    single = weighted(weights, evidence.group_met)
    best = np.zeros(len(evidence.scenes), np.float32)
    for place in range(len(evidence.scenes)):
        start, end = evidence.group_lists.starts[place], evidence.group_lists.starts[place + 1]
        if end > start:
            first = start + int(single[start:end].argmax())
            both = np.maximum(evidence.group_met[:, start:end], evidence.group_met[:, first : first + 1])
            best[place] = weighted(weights, both).max()
    return best


def _mean_of_best(values: Floats, evidence: Evidence, count: int) -> Floats:
    starts = evidence.field_lists.starts
    best = np.zeros(len(evidence.scenes), np.float32)
    for place in range(len(evidence.scenes)):
        own = values[starts[place] : starts[place + 1]]
        if len(own):
            best[place] = np.sort(own)[-count:].sum() / count
    return best


def _stack(columns: Mapping[str, Floats], names: tuple[str, ...]) -> Floats:
    return np.stack([np.asarray(columns[name], np.float32) for name in names], axis=1)


def _z_of(scores: Floats) -> Floats:
    """In standard deviations over the scenes that have a score at all; 0 for the others."""
    told = scores > -1
    if not told.any():
        return np.zeros_like(scores)
    spread = float(scores[told].std())
    if spread < 1e-6:
        return np.zeros_like(scores)
    return np.where(told, (scores - scores[told].mean()) / spread, 0).astype(np.float32)
