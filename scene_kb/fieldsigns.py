"""What speaks for each field of some scenes, given a query: the features of field ranking."""

from collections.abc import Mapping

import numpy as np

from scene_kb.corpus import IDENTIFIER, NAMING, NUMBER, SHOWN, TIME, Corpus, Ints, Lists
from scene_kb.evidence import Evidence
from scene_kb.recall import field_cosines, weighted
from scene_kb.terms import Terms
from scene_kb.view import Floats, View

KEYWORD_SIGNS = (
    "share",  # how much of the field's best name the query covers
    "joint",  # share of the query that the field answers, times that
    "joint_here",  # the same with rarity counted over the scene's fields
    "best_word",  # its best word alone
    "value",  # the query names one of its legal values
    "group",  # share of the query in the field's group, against the scene's best group
    "group_title",  # the query names the group
    "group_best",  # the best field of the group, against the scene's best field
    "identifier",
    "identifier_in_group",  # an identifier, times how good its group is
    "link",  # another good group has a field of the same name: a join key
    "naming_in_group",  # a name or title, times how good its group is
    "time_asked",  # a time, and the query speaks of time
    "number_asked",  # a number, and the query counts or compares
    "shown",  # the scene shows it by itself: a default field or metric
)
DENSE_SIGNS = (
    "dense",  # cosine of query and field, in standard deviations over the scene's fields
    "dense_lead",  # cosine below the scene's best field
    "dense_group",  # the best cosine of its group, likewise
)


def rarity_among(corpus: Corpus, fields: Ints) -> tuple[Floats, float]:
    """(vocabulary,) the rarity of words among these fields, by name, group and legal value, and that of a word of none.

    Over one wide table every scene has the same words: what tells its fields apart is rare among them alone.
    """
    names = corpus.field_names.take(fields)
    words = corpus.names.take(names.items)
    titles, values = corpus.group_title.take(corpus.field_group[fields]), corpus.field_values.take(fields)
    owner = np.concatenate([names.owners()[words.owners()], titles.owners(), values.owners()]).astype(np.int64)
    token = np.concatenate([words.items, titles.items, values.items])
    once = np.unique(owner * len(corpus.vocabulary) + token) % len(corpus.vocabulary)
    counts = np.bincount(once, minlength=len(corpus.vocabulary))
    rarity = np.where(counts > 0, np.log1p((len(fields) - counts + 0.5) / (counts + 0.5)), 0)
    return rarity.astype(np.float32), float(np.log1p((len(fields) + 0.5) / 0.5))


def field_signs(
    view: View, terms: Terms, evidence: Evidence, *, asks_time: bool, asks_number: bool, vector: Floats | None
) -> Floats:
    """(fields of the evidence, signs): KEYWORD_SIGNS, and DENSE_SIGNS where the vector is given."""
    kinds = view.corpus.field_kind[evidence.fields]
    here = _rarity_here(evidence)
    weights = terms.weights / max(float(terms.weights.sum()), 1e-6)
    local = here * terms.weights[:, None]
    local /= np.maximum(local.sum(axis=0, keepdims=True), 1e-6)
    scene = evidence.field_lists.owners()
    groups = Lists(evidence.group_lists.starts, np.arange(len(evidence.group_met.T), dtype=np.int32))
    group_scene = groups.owners()
    joint = weighted(weights, evidence.field_joint)
    by_group = weighted(weights, evidence.group_met)
    group = _against_best(by_group, groups, group_scene)
    best_in_group = _highest_at(joint, evidence.field_group, len(by_group))
    good = 0.5 * (group + _against_best(best_in_group, groups, group_scene))
    identifier = (kinds & IDENTIFIER > 0).astype(np.float32)
    columns: dict[str, Floats] = {
        "share": evidence.field_share,
        "joint": joint,
        "joint_here": np.einsum("tf,tf->f", evidence.field_joint, local[:, scene]),
        "best_word": (weights[:, None] * evidence.field_met).max(axis=0, initial=0.0),
        "value": weighted(weights, evidence.field_value),
        "group": group[evidence.field_group],
        "group_title": weighted(weights, evidence.title_met)[evidence.field_group],
        "group_best": _against_best(best_in_group, groups, group_scene)[evidence.field_group],
        "identifier": identifier,
        "identifier_in_group": identifier * good[evidence.field_group],
        "link": identifier * _linked(view, evidence, good),
        "naming_in_group": (kinds & NAMING > 0) * good[evidence.field_group],
        "time_asked": (kinds & TIME > 0) * np.float32(asks_time),
        "number_asked": (kinds & NUMBER > 0) * np.float32(asks_number),
        "shown": (kinds & SHOWN > 0).astype(np.float32),
    }
    names: tuple[str, ...] = KEYWORD_SIGNS
    if vector is not None:
        names += DENSE_SIGNS
        columns |= _dense(view, evidence, vector, scene)
    return np.stack([np.asarray(columns[name], np.float32) for name in names], axis=1)


def _rarity_here(evidence: Evidence) -> Floats:
    """(tokens, scenes) how rare a token is among a scene's fields; of an absent one 0."""
    sizes = np.maximum(evidence.field_lists.sizes, 1)
    here = np.zeros((len(evidence.field_met), len(evidence.scenes)), np.float32)
    for row, met in enumerate(evidence.field_met):
        counts = evidence.field_lists.sums((met > 0).astype(np.float32))
        here[row] = np.where(counts > 0, np.log1p(sizes / np.maximum(counts, 1)), 0)
    return here


def _against_best(values: Floats, lists: Lists, owner: Ints) -> Floats:
    """As shares of the best value of the same scene."""
    best = lists.highest(values.astype(np.float32))
    return (values / np.maximum(best[owner], 1e-6)).astype(np.float32)


def _highest_at(values: Floats, at: Ints, size: int) -> Floats:
    highest = np.zeros(size, np.float32)
    np.maximum.at(highest, at, values)
    return highest


def _linked(view: View, evidence: Evidence, good: Floats) -> Floats:
    """For each field how good the best other group is that has a field of the same identifier."""
    twin = view.corpus.field_twin[evidence.fields]
    own = good[evidence.field_group]
    first, inverse = np.unique(twin, return_inverse=True)
    best = np.zeros(len(first), np.float32)
    np.maximum.at(best, inverse, own)
    count = np.bincount(inverse)[inverse]
    # The lesser of the best partner and the field's own group: both sides of a join must matter.
    return np.where(count > 1, np.minimum(best[inverse], own), 0).astype(np.float32)


def _dense(view: View, evidence: Evidence, vector: Floats, scene: Ints) -> Mapping[str, Floats]:
    near = field_cosines(view, evidence.fields, vector)
    lists = evidence.field_lists
    sizes = np.maximum(lists.sizes, 1)
    mean = lists.sums(near) / sizes
    spread = np.sqrt(np.maximum(lists.sums(near**2) / sizes - mean**2, 1e-8))
    z = (near - mean[scene]) / spread[scene]
    best = lists.highest(near)
    lead = (near - best[scene]) * 10
    by_group = np.full(len(evidence.group_met.T), -1, np.float32)
    np.maximum.at(by_group, evidence.field_group, z)
    return {"dense": z, "dense_lead": lead, "dense_group": by_group[evidence.field_group]}
