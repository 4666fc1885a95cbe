"""Second pass: the candidates' features, in the field's terms, to be fused by learned weights.

Shares are of the query's rarity: the summed rarity of its words, unknown ones included.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from scene_kb.corpus import CHUNK_KINDS, MEASURED, SHOWN
from scene_kb.evidence import Evidence, highest_by
from scene_kb.recall import Recalled, field_cosines, weighted
from scene_kb.terms import Terms
from scene_kb.view import Floats, View

KEYWORD_FEATURES = (
    "bm25",  # share of the best score that any document could reach
    "bm25_lead",  # share of the best candidate's score
    "bm25_deviation",  # in standard deviations over the visible scenes
    "names",  # word-to-name late interaction, each word against the name that it fills most
    "names_lead",  # share of the best scene's
    "joint",  # each word against its best name, times how much of that name the whole query covers
    "joint_group",  # the same within the best group
    "covered",  # share of the query that stands anywhere in the scene
    "met",  # share of the query's words, each alike, that stand anywhere in the scene
    "covered_fields",  # ... in names of fields
    "covered_group",  # ... in the best group
    "covered_groups",  # ... in the best two groups
    "about",  # ... in title, purposes and questions
    "shown",  # share of the query in names of what the scene shows by itself: grain, metrics, default fields
    "metrics",  # ... in names of its metrics
    "value",  # ... in legal values
    "best_field",  # the best covered field
    "next_fields",  # the mean of the three best
    "whole_name",  # the best field of which the query holds a whole name
    "size",  # logarithm of the number of fields: a large scene covers much by chance
    "dimensions",  # share of the dimensions that the query names which the scene has
    "spare_dimensions",  # share of the scene's dimensions that the query does not name, where it names some
    "groups",  # share of the dimensions by which the query wants rows apart that the scene has
    "spare_groups",  # share of the scene's dimensions that are not among those, where there are any
    "excluded",  # whether the scene's title or purpose holds what the query excludes
)
DENSE_FEATURES = (
    "dense_best",  # best chunk of any kind, in standard deviations over the visible scenes, like the next three
    "dense_purpose",
    "dense_question",
    "dense_group",
    "dense_field",  # the best field, in standard deviations over the candidates
    "dense_fields",  # the mean of the three best
    "dense_more_fields",  # the mean of the five best
    "unmet_best",  # the best chunk's distance from the best candidate's, times the share that no candidate covers
    "unmet_purpose",
    "both_fields",  # the mean of the five best fields by words and cosine together
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
    """(s,) of dimensions that the query names, and of those that it wants rows apart by: the share that the scene has,
    and the share of the scene's own that are not among them.
    """

    agreement: Floats
    spare: Floats
    groups: Floats
    spare_groups: Floats


def keyword_features(
    view: View, terms: Terms, recalled: Recalled, evidence: Evidence, hits: DimensionHits, excluded: Floats
) -> Features:
    weights = _shares(terms)
    keyword = recalled.keyword[recalled.places]
    names = recalled.names[recalled.places]
    by_field = weighted(weights, evidence.field_joint)
    fields, groups = evidence.field_lists, evidence.group_lists
    measured = (view.corpus.field_kind[evidence.fields] & MEASURED > 0).astype(np.float32)
    shown = (view.corpus.field_kind[evidence.fields] & SHOWN > 0).astype(np.float32)
    group_joint = highest_by(evidence.field_joint, evidence.field_group, evidence.group_met.shape[1])
    columns = {
        "bm25": keyword,
        "bm25_lead": _lead(keyword),
        "bm25_deviation": _deviation(recalled.keyword)[recalled.places],
        "names": names,
        "names_lead": _lead(names),
        "joint": weighted(weights, fields.highest(evidence.field_joint)),
        "joint_group": groups.highest(weighted(weights, group_joint)),
        "covered": weighted(weights, evidence.scene_met),
        "met": weighted(terms.alike, evidence.scene_met) / max(float(terms.alike.sum()), 1.0),
        "covered_fields": weighted(weights, fields.highest(evidence.field_met)),
        "covered_group": groups.highest(weighted(weights, evidence.group_met)),
        "covered_groups": _best_two_groups(weights, evidence),
        "about": weighted(weights, evidence.about_met),
        "shown": weighted(weights, fields.highest(evidence.field_joint * shown)),
        "metrics": weighted(weights, fields.highest(evidence.field_joint * measured)),
        "value": weighted(weights, fields.highest(evidence.field_value)),
        "best_field": fields.highest(by_field),
        "next_fields": _mean_of_best(by_field, evidence, 3),
        "whole_name": fields.highest((evidence.field_share > 0.99) * by_field),
        "size": np.log1p(fields.sizes),
        "dimensions": hits.agreement,
        "spare_dimensions": hits.spare,
        "groups": hits.groups,
        "spare_groups": hits.spare_groups,
        "excluded": excluded,
    }
    return Features(KEYWORD_FEATURES, _stack(columns, KEYWORD_FEATURES))


def dense_features(view: View, terms: Terms, recalled: Recalled, evidence: Evidence, vector: Floats) -> Features:
    assert recalled.dense is not None, "the candidates were recalled without the vector"
    weights = _shares(terms)
    kinds = dict(zip(CHUNK_KINDS, recalled.dense, strict=True))
    best = recalled.dense.max(axis=0)
    near = field_cosines(view, evidence.fields, vector)
    unmet = 1 - float(weighted(weights, evidence.scene_met).max(initial=0.0))
    # Cosines of multilingual-e5-small differ by a few hundredths where words differ by tenths.
    both = (near - near.max(initial=-1.0)) * 10 + weighted(weights, evidence.field_joint) * 6

    def distance(scores: Floats) -> Floats:
        own = scores[recalled.places]
        return np.asarray((own - own.max()) * 20, np.float32)

    columns = {
        "dense_best": _deviation(best)[recalled.places],
        "dense_purpose": _deviation(kinds["purpose"])[recalled.places],
        "dense_question": _deviation(kinds["question"])[recalled.places],
        "dense_group": _deviation(kinds["group"])[recalled.places],
        "dense_field": _deviation(evidence.field_lists.highest(near)),
        "dense_fields": _deviation(_mean_of_best(near, evidence, 3)),
        "dense_more_fields": _deviation(_mean_of_best(near, evidence, 5)),
        "unmet_best": distance(best) * unmet,
        "unmet_purpose": distance(kinds["purpose"]) * unmet,
        "both_fields": _mean_of_best(both, evidence, 5),
    }
    return Features(DENSE_FEATURES, _stack(columns, DENSE_FEATURES))


def joined(first: Features, second: Features) -> Features:
    return Features(first.names + second.names, np.hstack([first.values, second.values]))


def _shares(terms: Terms) -> Floats:
    return terms.weights / max(float(terms.weights.sum()), 1e-6)


def _lead(scores: Floats) -> Floats:
    return np.asarray(scores / max(float(scores.max(initial=0.0)), 1e-6), np.float32)


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
            best[place] = np.partition(own, max(len(own) - count, 0))[-count:].mean()
    return best


def _stack(columns: Mapping[str, Floats], names: tuple[str, ...]) -> Floats:
    return np.stack([np.asarray(columns[name], np.float32) for name in names], axis=1)


def _deviation(scores: Floats) -> Floats:
    """In standard deviations over the scenes that have a score at all (a cosine of -1 is none); 0 for the others."""
    told = scores > -1
    if not told.any():
        return np.zeros_like(scores)
    spread = max(float(scores[told].std()), 1e-6)
    return np.where(told, (scores - scores[told].mean()) / spread, 0).astype(np.float32)
