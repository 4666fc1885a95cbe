"""Which of a scene's hundreds of fields a task needs: ranking by learned weights, and the selection made from it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from engine.dataset import ROW_COUNT
from scene_kb.asked import Asked
from scene_kb.corpus import Ints
from scene_kb.evidence import Evidence, evidence_of
from scene_kb.fieldsigns import DENSE_SIGNS, KEYWORD_SIGNS, field_signs, rarity_among
from scene_kb.grouping import grouped_by
from scene_kb.learned.weights import Weights
from scene_kb.models import RankedField, Reason, SceneCard
from scene_kb.speech import asks_count, asks_number, asks_time
from scene_kb.terms import Terms
from scene_kb.text import is_pair
from scene_kb.view import Floats, View

DEFAULT_LIMIT = 12

_EXCLUDED = -100.0
"""Added to a field of which every word is excluded: it comes after all others, and is never selected by rank."""


@dataclass(frozen=True)
class SelectedFields:
    names: tuple[str, ...]
    """Grain first, then the rest by rank."""
    missing: tuple[str, ...]
    """What was asked for by name and is not permitted or does not exist: the two are not told apart."""
    not_relevant: int
    """Permitted fields that were left out."""


def rank_fields(
    view: View,
    scene: int,
    asked: Asked,
    terms: Terms,
    *,
    permitted: Collection[str],
    vector: Floats | None,
    weights: Weights,
) -> tuple[RankedField, ...]:
    """The permitted fields of one scene, best first, ties in the card's order. Other fields change nothing."""
    card = view.corpus.cards[scene]
    terms, evidence = evidence_among(view, terms, scene, _numbers(view, scene, permitted))
    signs = signs_of(view, asked, terms, evidence, vector)
    model, names = (
        (weights.fields_keyword, KEYWORD_SIGNS)
        if vector is None
        else (weights.fields_full, KEYWORD_SIGNS + DENSE_SIGNS)
    )
    scores = np.vecdot(signs, np.array([model.weights.get(name, 0.0) for name in names], np.float32))
    scores += _EXCLUDED * _excluded(view, evidence, asked)
    order = np.lexsort((np.arange(len(scores)), -scores))
    own = [
        card.fields[number - view.corpus.fields.items[view.corpus.fields.starts[scene]]] for number in evidence.fields
    ]
    return tuple(
        RankedField(
            own[place].name, round(float(scores[place]), 4), _why(card, evidence, terms, int(place), own[place].name)
        )
        for place in order
    )


def evidence_among(view: View, terms: Terms, scene: int, fields: Ints) -> tuple[Terms, Evidence]:
    """The evidence for some fields of one scene, by the rarity of words among them."""
    rarity, unknown = rarity_among(view.corpus, fields)
    here = terms.among(rarity, unknown)
    return here, evidence_of(view, here, np.asarray([scene], np.int32), fields=fields, rarity=rarity)


def signs_of(view: View, asked: Asked, terms: Terms, evidence: Evidence, vector: Floats | None) -> Floats:
    return field_signs(
        view, terms, evidence, asks_time=asks_time(asked.text), asks_number=asks_number(asked.text), vector=vector
    )


def select_fields(
    card: SceneCard,
    ranked: Sequence[RankedField],
    *,
    task: str = "",
    include: Collection[str] = (),
    exclude: Collection[str] = (),
    limit: int = DEFAULT_LIMIT,
) -> SelectedFields:
    """At most `limit` fields, but never fewer than the grain and what `include` names.

    First the grain and the included; then a ready combination that the best ranked fields point to; then by rank,
    the scene's metrics and default fields before what nothing in the task met. In a grouped scene a dimension of its
    own makes more groups: it is taken only where the scene shows it, or the task asks for it (各地区, by region).
    """
    permitted = {field.name for field in ranked}
    if ROW_COUNT in (*card.default_fields, *include):  # it belongs to every dataset, and so is no one's field
        permitted.add(ROW_COUNT)
    excluded = set(exclude) - set(include)
    chosen: dict[str, None] = {}

    def choose(names: Collection[str], most: int) -> None:
        for name in names:
            if len(chosen) >= most:
                return
            if name in permitted and name not in excluded:
                chosen.setdefault(name)

    everything = len(ranked)
    choose(card.grain, everything)
    choose(tuple(include), everything)
    grouping = asked_groups(card, task)
    choose(grouping, everything)
    if asks_count(task):
        choose((ROW_COUNT,), everything)
    shown = {*card.default_fields, *grouping, *(name for combination in card.combinations for name in combination)}
    split = {field.name for field in card.fields if field.role == "dimension"} - shown if card.grain else set()
    met = [field.name for field in ranked if field.why and field.name not in split]
    choose(met[: max(1, limit // 3)], limit)
    choose(_ready(card, met[:limit]), limit)
    choose(met, limit)
    choose(card.metrics, limit)
    choose(card.default_fields, limit)
    if not card.metrics and not card.default_fields:
        choose([field.name for field in ranked], limit)
    missing = tuple(name for name in dict.fromkeys(include) if name not in permitted)
    return SelectedFields(tuple(chosen), missing, len(ranked) - len(chosen.keys() - {ROW_COUNT}))


def asked_groups(card: SceneCard, task: str) -> tuple[str, ...]:
    """The dimensions that the task wants rows apart by: 各地区, 按渠道, by region, per carrier, each month."""
    dimensions = {field.name: (*field.titles, *field.aliases) for field in card.fields if field.role == "dimension"}
    asked = grouped_by(task, dimensions)
    return tuple(name for name in dimensions if name in asked)


def _ready(card: SceneCard, met: Sequence[str]) -> tuple[str, ...]:
    """The combination that holds most of what the task met; none where it holds fewer than two of them."""
    held = [(len(set(combination) & set(met)), combination) for combination in card.combinations]
    count, best = max(held, key=lambda pair: pair[0], default=(0, ()))
    return best if count >= 2 else ()


def _numbers(view: View, scene: int, permitted: Collection[str]) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    card = view.corpus.cards[scene]
    allowed = frozenset(permitted)
    first = int(view.corpus.fields.starts[scene])
    return view.corpus.fields.items[
        [first + place for place, field in enumerate(card.fields) if field.name in allowed]
    ].astype(np.int32)


def _excluded(view: View, evidence: Evidence, asked: Asked) -> Floats:
    """1 for a field with a name that consists of excluded words alone."""
    vocabulary = view.corpus.vocabulary
    words = [vocabulary[token] for token in asked.excluded if token in vocabulary]
    if not words:
        return np.zeros(len(evidence.fields), np.float32)
    own = view.corpus.field_names.take(evidence.fields)
    names = view.corpus.names.take(own.items)
    said = names.highest(1 - np.isin(names.items, words).astype(np.float32))  # 1 where a word is not excluded
    return own.highest(1 - said)


def _why(card: SceneCard, evidence: Evidence, terms: Terms, place: int, name: str) -> tuple[Reason, ...]:
    met = np.maximum(evidence.field_met[:, place], evidence.field_value[:, place])
    words = [terms.tokens[row] for row in np.flatnonzero(met > 0) if not is_pair(terms.tokens[row])]
    if not words and not met.any():
        return ()
    kind = "metric" if name in card.metrics else "field"
    return (Reason(kind, " ".join(words) or terms.tokens[int(met.argmax())].removeprefix(":")),)
