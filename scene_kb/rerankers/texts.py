"""What a reranker reads of a candidate: a few lines in the query's language, what the query meets first."""

from collections.abc import Sequence

import numpy as np

from scene_kb.evidence import Evidence
from scene_kb.models import FieldCard, SceneCard
from scene_kb.recall import field_cosines, weighted
from scene_kb.terms import Terms
from scene_kb.text import has_han
from scene_kb.view import Floats, View

LONGEST_QUERY = 400
"""Characters of a query that are read."""
_FIELDS = 12
_CHARACTERS = 320
"""About 80 tokens of English; a cross-encoder's time grows with each."""
_WORDS_TO_COSINE = 0.6
"""Cosines of multilingual-e5-small differ by a few hundredths where words differ by tenths."""


def candidate_texts(
    view: View, terms: Terms, evidence: Evidence, vector: Floats | None, places: Sequence[int], *, chinese: bool
) -> list[str]:
    """One text for each of the places among the evidence's scenes. `vector`: the query's, where there is one."""
    shares = terms.weights / max(float(terms.weights.sum()), 1e-6)
    near = weighted(shares, evidence.field_joint)
    if vector is not None:
        near = near * _WORDS_TO_COSINE + field_cosines(view, evidence.fields, vector)
    texts: list[str] = []
    for place in places:
        card = view.index.cards[evidence.scenes[place]]
        start, end = evidence.field_lists.starts[place], evidence.field_lists.starts[place + 1]
        best = np.argsort(-near[start:end], kind="stable")[:_FIELDS]
        texts.append(card_text(card, [card.fields[at] for at in best], chinese=chinese))
    return texts


def card_text(card: SceneCard, fields: Sequence[FieldCard], *, chinese: bool) -> str:
    """Title and purposes, what rows are grouped by and what is measured, and the given fields by group."""
    named = {field.name: field for field in card.fields}
    dimensions = [_spoken(names, chinese=chinese)[0] for names in card.dimension_names]
    metrics = [_title(named[name], chinese=chinese) for name in card.metrics if name in named]
    groups: dict[str, list[str]] = {}
    for field in fields:
        groups.setdefault(field.group, []).append(_title(field, chinese=chinese))
    parts = [
        " / ".join(_spoken(card.titles, chinese=chinese)),
        *_spoken(card.purposes, chinese=chinese),
        ", ".join(dimensions),
        ", ".join(dict.fromkeys(metrics)),
        *(f"{group}: {', '.join(titles)}" if group else ", ".join(titles) for group, titles in groups.items()),
    ]
    return ". ".join(filter(None, parts))[:_CHARACTERS]


def _title(field: FieldCard, *, chinese: bool) -> str:
    return _spoken(field.titles or (field.name,), chinese=chinese)[0]


def _spoken(texts: Sequence[str], *, chinese: bool) -> Sequence[str]:
    """Those in the query's language; all of them where none is."""
    return [text for text in texts if has_han(text) == chinese] or texts
