"""From a query to a verdict over the scenes that the caller may see: the seam behind which retrieval stands."""

import copy
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from cachetools import LRUCache

from scene_kb.asked import Asked, read
from scene_kb.cards import shown_card
from scene_kb.corpus import Ints, corpus_of
from scene_kb.decide import Decision, Standing, decide, standing
from scene_kb.embedders.base import Embedder
from scene_kb.evidence import Evidence, evidence_of, is_familiar, is_strange
from scene_kb.fields import rank_fields
from scene_kb.grouping import grouped_by
from scene_kb.index import Index
from scene_kb.learned.weights import Linear, Stage, Weights, learned_weights
from scene_kb.meaning import Meanings
from scene_kb.models import Candidate, Match, RankedField
from scene_kb.reasons import reasons_for
from scene_kb.recall import Recalled, recall
from scene_kb.rerank import DimensionHits, Features, dense_features, joined, keyword_features
from scene_kb.rerankers.base import Reranker
from scene_kb.rerankers.texts import LONGEST_QUERY, candidate_texts
from scene_kb.terms import Terms, terms_of, text_to_embed
from scene_kb.text import has_han
from scene_kb.view import Floats, View

_VIEWS = 16
"""Different sets of visible scenes whose statistics are kept: as many as roles."""
_QUERY_VECTORS = 4096
"""1.5 KiB each."""
_ANSWERS = 8
"""Candidates that a match carries."""
_EXPLAINED = 5
"""Of these, the ones that say why: the first and four alternatives."""
_RERANKED = 8
"""First candidates that a reranker reads; behind them stands the right scene of one development question in 300."""
RERANKER_WEIGHT = 1.0
"""Of a standard deviation among the scores of those that were read, in the units of the learned scores."""


class Resolver(Protocol):
    """Deterministic, safe to call from several threads; a scene outside `visible` never influences the answer."""

    def match(self, query: str, *, visible: frozenset[str], dimensions: frozenset[str] = frozenset()) -> Match:
        """`visible`: refs. `dimensions`: where given, only scenes that have one of them are candidates.

        Raises EmbedderUnavailable where the query must be embedded and cannot be.
        """
        ...

    def rank_fields(
        self, task: str, ref: str, *, visible: frozenset[str], permitted: Collection[str]
    ) -> tuple[RankedField, ...]:
        """The permitted fields of a visible scene, best first for this task; fields outside `permitted` change nothing.

        Raises KeyError for a scene that is not visible, EmbedderUnavailable where the task cannot be embedded.
        """
        ...


@dataclass(frozen=True)
class Passed:
    """One pass over the candidates: what it saw and how it ordered them."""

    recalled: Recalled
    evidence: Evidence
    features: Features
    scores: Floats
    best_cosine: float | None
    stand: Standing


class Views:
    """One index's corpus, and its statistics over each set of visible scenes, made once."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._corpus = corpus_of(index)
        self._meanings = Meanings(self._corpus.vocabulary)
        self._numbers: Mapping[str, int] = {card.ref: number for number, card in enumerate(index.cards)}
        self._made: LRUCache[frozenset[str], View] = LRUCache(_VIEWS)
        self._making = threading.Lock()

    def over(self, visible: frozenset[str]) -> View:
        with self._making:
            if visible not in self._made:
                numbers = sorted(self._numbers[ref] for ref in visible if ref in self._numbers)
                self._made[visible] = View(self._index, self._corpus, self._meanings, np.asarray(numbers, np.int32))
            return self._made[visible]

    def number(self, ref: str) -> int:
        return self._numbers[ref]


class HybridResolver:
    """Keywords and late interaction first; the query's vector only where they do not decide."""

    def __init__(
        self, index: Index, embedder: Embedder, *, weights: Weights | None = None, reranker: Reranker | None = None
    ) -> None:
        """Raises ValueError where the index was made by another embedder."""
        if index.embedder != embedder.name:
            raise ValueError(
                f"the index holds vectors of {index.embedder}, and queries would be ones of {embedder.name}"
            )
        self.embedder = embedder
        self._weights = weights or learned_weights()
        self._reranker = reranker
        shown = tuple(map(shown_card, index.cards))
        self._every_field = Views(index)
        # Scenes over one wide table share its fields: they are told apart by what each shows.
        self._shown_fields = Views(replace(index, cards=shown)) if shown != index.cards else self._every_field
        self._vectors: LRUCache[str, Floats] = LRUCache(_QUERY_VECTORS)
        self._caches = threading.Lock()

    def weighing(self, weights: Weights) -> "HybridResolver":
        """The same resolver, sharing all it holds, with other weights."""
        other = copy.copy(self)
        other._weights = weights
        return other

    def match(self, query: str, *, visible: frozenset[str], dimensions: frozenset[str] = frozenset()) -> Match:
        view = self.view(visible)
        asked = read(query)
        allowed = self._allowed(view, dimensions)
        if not len(allowed) or not asked.tokens:
            return Match("no_match", (), decisive=False, embedded=False)
        terms = terms_of(view, asked)
        if not len(terms.words):  # perhaps a field that no scene shows by itself
            view = self.fields_view(visible)
            terms = terms_of(view, asked)
        passed = self.keyword_pass(view, asked, terms, allowed)
        if passed is not None and passed[1] >= self._weights.thresholds.gate:
            stage, vector = self._weights.keyword, None
            seen = passed[0]
        else:
            stage, vector = self._weights.full, self.vector(view, asked)
            seen = self.full_pass(view, asked, terms, allowed, vector)
        decision = self._decision(view, asked, terms, seen, stage)
        if self._reranker is not None and not decision.decisive:
            seen = self._reranked(view, asked, terms, seen, stage.ranking, vector, self._reranker)
            decision = self._decision(view, asked, terms, seen, stage)
        candidates = self._candidates(visible, asked, seen, decision)
        return Match(decision.verdict, candidates, decision.decisive, embedded=vector is not None)

    def rank_fields(
        self, task: str, ref: str, *, visible: frozenset[str], permitted: Collection[str]
    ) -> tuple[RankedField, ...]:
        if ref not in visible:
            raise KeyError(ref)
        view = self.fields_view(visible)
        asked = read(task)
        # Measured on BIRD: with the vector two fields in three of the needed ones are among the first eight, without it
        # one in ten fewer; the vector is mostly there since the scene was found.
        vector = self.vector(view, asked) if asked.tokens else None
        return rank_fields(
            view,
            self._every_field.number(ref),
            asked,
            terms_of(view, asked),
            permitted=permitted,
            vector=vector,
            weights=self._weights,
        )

    def view(self, visible: frozenset[str]) -> View:
        """What routing looks at."""
        return self._shown_fields.over(visible)

    def fields_view(self, visible: frozenset[str]) -> View:
        """What the ranking of fields looks at."""
        return self._every_field.over(visible)

    def vector(self, view: View, asked: Asked) -> Floats:
        """The query's unit vector. Raises EmbedderUnavailable."""
        text = text_to_embed(view, asked)
        with self._caches:
            known = self._vectors.get(text)
        if known is None:
            known = self.embedder.embed([text], side="query")[0]
            with self._caches:
                self._vectors[text] = known
        return known

    def keyword_pass(self, view: View, asked: Asked, terms: Terms, allowed: Ints) -> tuple[Passed, float] | None:
        """The pass without a vector, and the probability that its first place is right; None where no keyword met."""
        recalled = recall(view, terms, None, allowed=allowed)
        if not recalled.names[recalled.places].any():
            return None
        evidence = evidence_of(view, terms, view.scenes[recalled.places])
        features = self._keyword_features(view, asked, terms, recalled, evidence)
        passed = self._passed(asked, recalled, evidence, features, self._weights.keyword.ranking, None)
        return passed, self._weights.keyword.right.probability(passed.stand.signs)

    def full_pass(self, view: View, asked: Asked, terms: Terms, allowed: Ints, vector: Floats) -> Passed:
        recalled = recall(view, terms, vector, allowed=allowed)
        evidence = evidence_of(view, terms, view.scenes[recalled.places])
        features = joined(
            self._keyword_features(view, asked, terms, recalled, evidence),
            dense_features(view, terms, recalled, evidence, vector),
        )
        return self._passed(asked, recalled, evidence, features, self._weights.full.ranking, recalled.dense)

    def _passed(
        self,
        asked: Asked,
        recalled: Recalled,
        evidence: Evidence,
        features: Features,
        ranking: Linear,
        dense: Floats | None,
    ) -> Passed:
        scores = features.weighed(ranking.weights)
        best_cosine = None if dense is None else float(dense[:, recalled.places].max())
        stand = standing(features, scores, words=len(asked.tokens), scenes=len(recalled.names), best_cosine=best_cosine)
        return Passed(recalled, evidence, features, scores, best_cosine, stand)

    def _decision(self, view: View, asked: Asked, terms: Terms, seen: Passed, stage: Stage) -> Decision:
        return decide(
            seen.stand,
            stage,
            self._weights.thresholds,
            strange=strange(view, asked, terms, seen.evidence),
            familiar=is_familiar(terms, seen.evidence),
        )

    def _reranked(
        self,
        view: View,
        asked: Asked,
        terms: Terms,
        seen: Passed,
        ranking: Linear,
        vector: Floats | None,
        reranker: Reranker,
    ) -> Passed:
        """The pass with the reranker's word as one feature more: 0, which is its mean, for what it did not read.

        The confidence is then read from the same signs of the new order.
        """
        places = seen.stand.order[:_RERANKED]
        texts = candidate_texts(view, terms, seen.evidence, vector, places, chinese=has_han(asked.text))
        read = reranker.scores(asked.text[:LONGEST_QUERY], texts)
        column = np.zeros((len(seen.scores), 1), np.float32)
        column[list(places), 0] = (read - read.mean()) / max(float(read.std()), 1e-6)
        features = joined(seen.features, Features(("reranker",), column))
        ranking = Linear({**ranking.weights, "reranker": RERANKER_WEIGHT}, ranking.bias)
        return self._passed(asked, seen.recalled, seen.evidence, features, ranking, seen.recalled.dense)

    def _allowed(self, view: View, dimensions: frozenset[str]) -> Ints:
        if not dimensions:
            return np.arange(len(view.scenes), dtype=np.int32)
        wanted = {name.casefold() for name in dimensions}
        return np.asarray(
            [
                place
                for place, scene in enumerate(view.scenes)
                if wanted & {name.casefold() for name in view.index.cards[scene].dimensions}
            ],
            np.int32,
        )

    def _keyword_features(
        self, view: View, asked: Asked, terms: Terms, recalled: Recalled, evidence: Evidence
    ) -> Features:
        hits = self._dimension_hits(view, asked, evidence)
        return keyword_features(view, terms, recalled, evidence, hits, self._excluded(view, asked, evidence))

    def _dimension_hits(self, view: View, asked: Asked, evidence: Evidence) -> DimensionHits:
        words = set(asked.tokens)
        named = {name for name, ways in view.dimension_words.items() if any(way <= words for way in ways)}
        said = f" {' '.join(asked.tokens)} "
        for name, (chinese, other) in view.dimension_values.items():
            if any(value in asked.text for value in chinese) or any(f" {value} " in said for value in other):
                named.add(name)
        own = [frozenset(view.index.cards[scene].dimensions) for scene in evidence.scenes]
        return DimensionHits(*_agreement(own, named), *_agreement(own, grouped_by(asked.text, view.group_names)))

    def _excluded(self, view: View, asked: Asked, evidence: Evidence) -> Floats:
        vocabulary = view.corpus.vocabulary
        excluded = [vocabulary[token] for token in asked.excluded if token in vocabulary]
        if not excluded:
            return np.zeros(len(evidence.scenes), np.float32)
        about = view.corpus.about_tokens.take(evidence.scenes)
        hit = np.isin(about.items, excluded).astype(np.float32)
        return about.highest(hit)

    def _candidates(
        self, visible: frozenset[str], asked: Asked, seen: Passed, decision: Decision
    ) -> tuple[Candidate, ...]:
        named = seen.features.names
        places = decision.order[:_ANSWERS]
        scenes = seen.evidence.scenes[list(places)]
        # Whether or not a field helped to tell the scenes apart, that the query names it is worth saying.
        view = self.fields_view(visible)
        terms = terms_of(view, asked)
        evidence = evidence_of(view, terms, scenes[:_EXPLAINED])
        return tuple(
            Candidate(
                ref=view.index.cards[scenes[rank]].ref,
                confidence=round(decision.confidences[rank], 4),
                why=reasons_for(view, evidence, terms, rank) if rank < _EXPLAINED else (),
                scores=dict(zip(named, (round(float(value), 4) for value in seen.features.values[place]), strict=True)),
            )
            for rank, place in enumerate(places)
        )


def _agreement(own: Sequence[frozenset[str]], wanted: Collection[str]) -> tuple[Floats, Floats]:
    """(s,) the share of the wanted that each has, and of its own that are not wanted; 0 where nothing is."""
    if not wanted:
        return np.zeros(len(own), np.float32), np.zeros(len(own), np.float32)
    return (
        np.array([len(each.intersection(wanted)) / len(wanted) for each in own], np.float32),
        np.array([len(each.difference(wanted)) / max(len(each), 1) for each in own], np.float32),
    )


def strange(view: View, asked: Asked, terms: Terms, evidence: Evidence) -> bool:
    """Whether the query asks for nothing that a candidate is called, though some visible scene shares its language."""
    shares_language = ("zh" if has_han(asked.text) else "en") not in view.unwritten[1]
    return shares_language and is_strange(terms, evidence)


def _conforms(it: HybridResolver) -> Resolver:
    return it
