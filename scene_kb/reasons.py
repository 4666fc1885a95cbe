"""Why a scene stands where it stands: true statements about which of its texts met the query."""

import numpy as np

from scene_kb.corpus import tokens_of_card
from scene_kb.evidence import Evidence
from scene_kb.models import Reason
from scene_kb.recall import weighted
from scene_kb.terms import Terms
from scene_kb.text import is_pair
from scene_kb.view import View

_MOST = 4
_FIELDS = 2


def reasons_for(view: View, evidence: Evidence, terms: Terms, place: int) -> tuple[Reason, ...]:
    """Strongest first; empty where only the vectors met. `place`: the scene's among the evidence's.

    A purpose, question or dimension is told by the query's words that stand in it, a field or metric by its name.
    """
    card = view.corpus.cards[evidence.scenes[place]]
    weights = dict(zip(terms.tokens, terms.weights.tolist(), strict=True))
    found: list[tuple[float, Reason]] = []
    for kind, texts in (("purpose", (*card.titles, *card.purposes)), ("question", card.questions)):
        met = _most_met(texts, weights)
        if met:
            found.append((sum(weights[word] for word in met), Reason(kind, " ".join(met))))
    for names in card.dimension_names:
        said = [
            name for name in names if tokens_of_card(name) and all(token in weights for token in tokens_of_card(name))
        ]
        if said:
            found.append((sum(weights[token] for token in tokens_of_card(said[0])), Reason("dimension", said[0])))
    start, end = evidence.field_lists.starts[place], evidence.field_lists.starts[place + 1]
    scores = weighted(terms.weights, evidence.field_joint[:, start:end])
    for at in np.argsort(-scores, kind="stable")[:_FIELDS]:
        if scores[at] > 0:
            name = card.fields[at].name
            found.append((float(scores[at]), Reason("metric" if name in card.metrics else "field", name)))
    found.sort(key=lambda pair: -pair[0])
    return tuple(reason for _, reason in found[:_MOST])


def _most_met(texts: tuple[str, ...], weights: dict[str, float]) -> tuple[str, ...]:
    """The query's words in the text that holds the weightiest of them, in the text's order; pairs are no words."""
    met = [
        tuple(dict.fromkeys(word for word in tokens_of_card(text) if word in weights and not is_pair(word)))
        for text in texts
    ]
    return max(met, key=lambda words: sum(weights[word] for word in words), default=())
