"""Learns scene_kb/learned/weights.json from development data, and prints what it is worth on databases left out.

    python -m scripts.learn.learn --bench FOLDER [--write]

FOLDER holds the English development sets: spider, spider_syn, bird, spider_route, bird_route. Needs scipy.
Every printed figure is cross-validated: folds are cut along databases, and a database of several sets lies in one fold.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scene_kb.decide import STRANGE, standing
from scene_kb.embedders.base import open_embedder
from scene_kb.exchange import Question
from scene_kb.fieldsigns import DENSE_SIGNS, KEYWORD_SIGNS
from scene_kb.learned.weights import VERSION, learned_weights
from scene_kb.measures import auroc, coverage, ece, reliability
from scene_kb.rerank import DENSE_FEATURES, KEYWORD_FEATURES, Features
from scene_kb.resolver import HybridResolver
from scene_kb.shipped import SHIPPED, folder_of
from scripts.learn.databases import digest_of
from scripts.learn.fit import as_mapping, fit_order, fit_probability, lists_of
from scripts.learn.samples import (
    FieldSample,
    Pass,
    RoutingSample,
    World,
    catalog_worlds,
    field_samples,
    golden_world,
    resolver_of,
    routing_samples,
    small_worlds,
    strange_world,
    worlds,
)

ROOT = Path(__file__).parents[2]
FOLDS = 5
FOLDS_FILE = ROOT / "scripts" / "learn" / "folds.json"
CATALOGS = {"ads": 0, "flights": 1, "stores": 2, "support": 3, "parcels": 4}
"""The curated catalogs and their folds: what a catalog is worth is told by weights that have seen none of it."""
LEARNING_CATALOGS = ROOT / "scripts" / "learn" / "data" / "curated"
"""Those that are not shipped. Of them the golden questions are learned from too."""
CURATED = 0.5
"""How much a curated catalog counts beside a set of as many questions."""
SMALL_DRAWS = 60
ORDER_PENALTY = 2e-3
FIELD_PENALTY = 1e-3
PROBABILITY_PENALTY = 1e-3

BY_HAND = {
    # No development question excludes anything, and none names legal values of a curated field.
    "excluded": -6.0,
    "value": 2.0,
}
FIELDS_BY_HAND = {"value": 2.0, "shown": 0.7}
PRECISION_OF_MATCHED = 0.95
PRECISION_OF_NO_MATCH = 0.85
"""Lower than of `matched`: who is told no_match may ask again, and nothing wrong was shown."""
GATE_COST = 0.002
"""Recall@1 that may be lost, over all questions, by not embedding those that keywords decide."""


LEAST_GATE = 0.94
"""Below it the two passes' probabilities, mixed, part right from wrong worse than the full pass's alone: at .90 the
coverage at 95 % precision falls from .70 to .65 on BIRD and from .40 to .21 on its route part; at .94 nowhere.
"""


@dataclass(frozen=True)
class Kind:
    """One of the two passes."""

    name: str
    features: tuple[str, ...]
    of: Callable[[RoutingSample], Pass | None]


KEYWORD = Kind("keyword", KEYWORD_FEATURES, lambda sample: sample.keyword)
FULL = Kind("full", KEYWORD_FEATURES + DENSE_FEATURES, lambda sample: sample.full)


KINDS = (KEYWORD, FULL)


@dataclass(frozen=True)
class Outcome:
    """A question after ranking by weights that have not seen its database."""

    sample: RoutingSample
    place: int
    """of the right scene, 0 is first; 999 where it is no candidate"""
    signs: Mapping[str, float]

    @property
    def right(self) -> bool:
        return self.place == 0


def fold_of(database: str) -> int:
    if database in CATALOGS:
        return CATALOGS[database]
    return int(sha256(database.encode()).hexdigest(), 16) % FOLDS


def balance(names: Sequence[str]) -> NDArray[np.float64]:
    """A set of four times the questions counts twice as much; a curated catalog counts CURATED of that."""
    counts = Counter(names)
    return np.array([counts[name] ** -0.5 * (CURATED if name.partition(":")[0] in CATALOGS else 1.0) for name in names])


def learn_order(kind: Kind, samples: Sequence[RoutingSample]) -> Mapping[str, float]:
    told = [(it, sample) for sample in samples if (it := kind.of(sample)) is not None and it.right >= 0]
    learned = [at for at, name in enumerate(kind.features) if name not in BY_HAND]
    wanted = [np.eye(len(it.values))[it.right] for it, _ in told]
    lists = lists_of([it.values[:, learned] for it, _ in told], wanted, balance([sample.world for _, sample in told]))
    weights = fit_order(lists, penalty=ORDER_PENALTY)
    return {**as_mapping([kind.features[at] for at in learned], weights), **BY_HAND}


def outcome(kind: Kind, sample: RoutingSample, order: Mapping[str, float]) -> Outcome | None:
    it = kind.of(sample)
    if it is None:
        return None
    features = Features(kind.features, it.values)
    scores = features.weighed(order)
    stand = standing(features, scores, words=sample.words, scenes=sample.scenes, best_cosine=it.best_cosine)
    place = stand.order.index(it.right) if it.right >= 0 else 999
    return Outcome(sample, place, stand.signs)


def outcomes(kind: Kind, orders: Sequence[Mapping[str, float]], asked: Sequence[RoutingSample]) -> list[Outcome]:
    """Each question ranked by the weights learned without its fold."""
    found = (outcome(kind, sample, orders[fold_of(sample.database)]) for sample in asked)
    return [it for it in found if it is not None]


def learn_probability(seen: Sequence[Outcome], true: Callable[[Outcome], bool]) -> tuple[Mapping[str, float], float]:
    names = tuple(seen[0].signs)
    signs = np.array([[it.signs[name] for name in names] for it in seen])
    weights, bias = fit_probability(
        signs, np.array([true(it) for it in seen]), balance([it.sample.world for it in seen]),
        penalty=PROBABILITY_PENALTY,
    )  # fmt: skip
    return as_mapping(names, weights), round(bias, 4)


def probabilities(seen: Sequence[Outcome], model: tuple[Mapping[str, float], float]) -> NDArray[np.float64]:
    weights, bias = model
    sums = np.array([bias + sum(weight * it.signs[name] for name, weight in weights.items()) for it in seen])
    likely = 1 / (1 + np.exp(-np.clip(sums, -30, 30)))
    strange = np.array([it.sample.strange for it in seen])
    capped: NDArray[np.float64] = np.where(strange, np.minimum(likely, STRANGE), likely)
    return capped


def cross_validated(seen: Sequence[Outcome], true: Callable[[Outcome], bool]) -> NDArray[np.float64]:
    folds = np.array([fold_of(it.sample.database) for it in seen])
    likely = np.zeros(len(seen))
    for fold in range(FOLDS):
        model = learn_probability([it for it, at in zip(seen, folds, strict=True) if at != fold], true)
        inside = np.flatnonzero(folds == fold)
        likely[inside] = probabilities([seen[int(at)] for at in inside], model)
    return likely


def learn_fields(samples: Sequence[FieldSample], *, dense: bool) -> Mapping[str, float]:
    names = KEYWORD_SIGNS + (DENSE_SIGNS if dense else ())
    learned = [at for at, name in enumerate(names) if name not in FIELDS_BY_HAND]
    values = [(sample.full if dense else sample.keyword)[:, learned] for sample in samples]
    wanted = [np.isin(sample.names, tuple(sample.question.fields)).astype(float) for sample in samples]
    weights = fit_order(lists_of(values, wanted, balance([it.world for it in samples])), penalty=FIELD_PENALTY)
    return {**as_mapping([names[at] for at in learned], weights), **FIELDS_BY_HAND}


def field_table(samples: Sequence[FieldSample], *, dense: bool) -> Mapping[str, tuple[float, ...]]:
    """By world: recall@8, @12, @15, strict@15, precision@8."""
    models = [
        learn_fields([it for it in samples if fold_of(it.database) != fold], dense=dense) for fold in range(FOLDS)
    ]
    names = KEYWORD_SIGNS + (DENSE_SIGNS if dense else ())
    rows: dict[str, list[tuple[float, ...]]] = {}
    for sample in samples:
        model = models[fold_of(sample.database)]
        scores = (sample.full if dense else sample.keyword) @ np.array([model.get(name, 0.0) for name in names])
        order = np.argsort(-scores, kind="stable")
        right = np.isin(sample.names, tuple(sample.question.fields))[order]
        need = len(sample.question.fields)
        recalls = [right[:k].sum() / need for k in (8, 12, 15)]
        rows.setdefault(sample.world, []).append((*recalls, float(right[:15].sum() == need), right[:8].sum() / 8))
    return {world: tuple(np.mean(found, axis=0).round(3).tolist()) for world, found in rows.items()}


def threshold(likely: NDArray[np.float64], right: NDArray[np.bool_], precision: float) -> float:
    """The lowest probability from which on at least `precision` of the answers are right."""
    order = np.argsort(-likely, kind="stable")
    reached = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    good = np.flatnonzero(reached >= precision)
    return round(float(likely[order][good[-1]]), 3) if len(good) else 0.99


def say(*words: object) -> None:
    print(*words, flush=True)  # noqa: T201  # a script's output


def routing_report(kind: Kind, whole: Sequence[Outcome], parted: Sequence[Outcome]) -> None:
    likely = cross_validated(parted, lambda it: it.right)
    for world in dict.fromkeys(it.sample.world for it in whole):
        places = np.array([it.place for it in whole if it.sample.world == world])
        mine = np.array([it.sample.world == world for it in parted])
        row = [f"{kind.name:8} {world:13} n={len(places):5} R@1 {np.mean(places == 0):.3f}"]
        row.append(f"R@5 {np.mean(places < 5):.3f} MRR {np.mean(1 / (places + 1)):.3f}")
        if mine.any():
            own = likely[mine]
            right = np.array([it.right for it in parted])[mine]
            answerable = np.array([it.sample.answerable for it in parted])[mine]
            row.append(f"AUROC {auroc(own, answerable):.3f} cov@P95 {coverage(own, right, answerable):.3f}")
            row.append(f"ECE {ece(reliability(own, right)):.3f}")
        say(" ".join(row))


@dataclass(frozen=True)
class Data:
    """`whole`: every question with all scenes there, for the order. `judged`: with scenes left out, small parts of
    knowledge bases, and questions from elsewhere, for the probabilities.
    """

    whole: list[RoutingSample]
    judged: list[RoutingSample]
    fields: list[FieldSample]
    databases: dict[str, int]


def collect(bench: Path | None, cache: Path, embedder_setting: str) -> Data:
    embedder = open_embedder(embedder_setting)
    data = Data([], [], [], {})
    strangers: list[Question] = []

    def add(world: World, resolver: HybridResolver) -> None:
        data.whole.extend(routing_samples(world, resolver))
        data.fields.extend(field_samples(world, resolver))
        databases = {digest_of(card): fold_of(world.catalog or card.ref.casefold()) for card in world.cards}
        data.databases.update(databases)
        say(f"{world.name}: {len(world.cards)} scenes, {len(world.questions)} questions")

    for world in worlds(bench, ROOT / "scripts" / "learn" / "data"):
        resolver = resolver_of(world, embedder, cache, learned_weights())
        add(world, resolver)
        if world.withheld:
            data.judged.extend(routing_samples(world, resolver, without=world.withheld))
        for part in small_worlds(world, (), SMALL_DRAWS, seed=len(strangers)):
            data.judged.extend(routing_samples(part, resolver))
        strangers += world.questions
    golden = {name: golden_world(LEARNING_CATALOGS / name) for name in CATALOGS if name not in SHIPPED}
    strangers += [question for world in golden.values() for question in world.questions if question.scene is None]
    for name in CATALOGS:
        folder = folder_of(name) if name in SHIPPED else LEARNING_CATALOGS / name
        told = [golden[name]] if name in golden else []
        for number, world in enumerate((*told, *catalog_worlds(folder))):
            resolver = resolver_of(world, embedder, cache, learned_weights())
            add(world, resolver)
            for part in (world, strange_world(world, strangers, number), *small_worlds(world, strangers, 12, number)):
                data.judged.extend(routing_samples(part, resolver))
    return data


def learn_from(data: Data) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The weights to ship, and for each fold the weights learned without it."""
    whole, fields = data.whole, data.fields
    orders: dict[str, list[Mapping[str, float]]] = {}
    seen: dict[str, list[Outcome]] = {}
    for kind in KINDS:
        orders[kind.name] = [learn_order(kind, _outside(whole, fold)) for fold in range(FOLDS)]
        found, seen[kind.name] = (outcomes(kind, orders[kind.name], samples) for samples in (whole, data.judged))
        routing_report(kind, found, seen[kind.name])
    for dense in (False, True):
        for name, row in field_table(fields, dense=dense).items():
            say(f"fields {'full' if dense else 'keyword':8} {name:13} R@8 R@12 R@15 strict@15 P@8 {row}")
    thresholds = _thresholds(seen)
    provenance = {
        "script": "scripts/learn/learn.py",
        "data": "development parts of Spider, Spider-Syn and BIRD (CC BY-SA 4.0), scripts/learn/data, and the"
        " example questions (not the golden ones) of scene_kb/catalogs",
        "questions": dict(Counter(sample.world for sample in whole)),
        "byHand": {"ranking": BY_HAND, "fields": FIELDS_BY_HAND},
    }

    def document(fold: int | None) -> dict[str, Any]:
        stages = {}
        for kind in KINDS:
            order = learn_order(kind, whole) if fold is None else orders[kind.name][fold]
            told = [it for it in seen[kind.name] if fold is None or fold_of(it.sample.database) != fold]
            stages[kind.name] = {"ranking": {"weights": order, "bias": 0.0}}
            for name, true in (("right", _is_right), ("answerable", _is_answerable)):
                weights, bias = learn_probability(told, true)
                stages[kind.name][name] = {"weights": weights, "bias": bias}
        mine = [it for it in fields if fold is None or fold_of(it.database) != fold]
        models = {name: learn_fields(mine, dense=dense) for name, dense in (("keyword", False), ("full", True))}
        return {
            "version": VERSION,
            "provenance": provenance,
            **stages,
            "fields": {name: {"weights": weights, "bias": 0.0} for name, weights in models.items()},
            "thresholds": thresholds,
        }

    return document(None), [document(fold) for fold in range(FOLDS)]


def _outside(samples: Sequence[RoutingSample], fold: int) -> list[RoutingSample]:
    return [it for it in samples if fold_of(it.database) != fold]


def _is_right(it: Outcome) -> bool:
    return it.right


def _is_answerable(it: Outcome) -> bool:
    return it.sample.answerable


def _thresholds(by_kind: Mapping[str, Sequence[Outcome]]) -> dict[str, float]:
    """What each verdict means, read off cross-validated probabilities."""
    keyword, full = by_kind["keyword"], by_kind["full"]
    likely = cross_validated(full, _is_right)
    right = np.array([it.right for it in full])
    answerable = np.array([it.sample.answerable for it in full])
    matched = threshold(likely, right, PRECISION_OF_MATCHED)
    decisive = threshold(likely, right, 0.98)
    by_words = cross_validated(keyword, _is_right)
    possible = np.maximum(cross_validated(full, _is_answerable), likely)
    no_match = round(1 - threshold(1 - possible, ~answerable, PRECISION_OF_NO_MATCH), 3)
    chosen = likely >= matched
    say(
        f"matched from {matched}: {right[chosen].mean():.3f} right,"
        f" {(chosen & answerable).sum() / answerable.sum():.3f} of the answerable; decisive from {decisive}"
    )
    lost = (possible[answerable] < no_match).mean()
    say(
        f"no_match below {no_match}: {(possible[~answerable] < no_match).mean():.3f} of the unanswerable,"
        f" {lost:.3f} of the answerable"
    )
    gate = _gate(keyword, by_words, full)
    return {"matched": matched, "decisive": max(decisive, matched), "no_match": no_match, "gate": gate}


def _gate(keyword: Sequence[Outcome], likely: NDArray[np.float64], full: Sequence[Outcome]) -> float:
    """The lowest confidence of the keyword pass from which on skipping the vector costs no more than GATE_COST of all
    questions, and of no set more than twice that or two questions: an average must not hide that one catalog pays.
    """
    by_vector = {id(it.sample): it.right for it in full}
    lost = np.array([by_vector[id(it.sample)] - int(it.right) for it in keyword])
    worlds_ = np.array([it.sample.world for it in keyword])
    gate = max(LEAST_GATE, _cheapest(likely, lost, GATE_COST))
    for world in np.unique(worlds_):
        own = worlds_ == world
        gate = max(gate, _cheapest(likely[own], lost[own], max(2 * GATE_COST, 2 / own.sum())))
    say(f"gate from {gate}: {(likely >= gate).sum() / len(full):.3f} of the questions need no vector")
    return gate


def _cheapest(likely: NDArray[np.float64], lost: NDArray[np.int64], most: float) -> float:
    order = np.argsort(-likely, kind="stable")
    cost = np.cumsum(lost[order]) / len(lost)
    dear = np.flatnonzero(cost > most)
    if not len(dear):
        return 0.0
    return round(float(likely[order][dear[0]]) + 0.001, 3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, help="the folder of the English development sets")
    parser.add_argument("--cache", type=Path, default=Path(".learn"), help="where indexes are kept between runs")
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--write", action="store_true", help="replace scene_kb/learned/weights.json")
    given = parser.parse_args()
    data = collect(given.bench, given.cache, given.embedder)
    shipped, folds = learn_from(data)
    if given.write:
        for place, facts in (
            (ROOT / "scene_kb" / "learned" / "weights.json", shipped),
            (FOLDS_FILE, {"databases": data.databases, "weights": folds}),
        ):
            place.write_text(json.dumps(facts, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
