"""Development data as samples: for each question what the ranking sees, with the right scene or fields beside it.

Three kinds of data: the benchmark parts and our hand-written Chinese schemas (scenes described by names alone), and
the example questions of the demonstration catalogs, each asked while it is left out of its own scene's card. Their
golden questions are not among them: they measure.
"""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scene_kb.asked import read
from scene_kb.cards import cards_of
from scene_kb.catalog import load_catalog
from scene_kb.embedders.base import Embedder
from scene_kb.exchange import GOLDEN, Question, labelled, read_questions, read_scenes
from scene_kb.fields import evidence_among, signs_of
from scene_kb.index import open_index
from scene_kb.learned.weights import Weights
from scene_kb.models import SceneCard
from scene_kb.resolver import HybridResolver, strange
from scene_kb.terms import terms_of
from scene_kb.text import has_han

Block = NDArray[np.float32]


@dataclass(frozen=True)
class World:
    """A knowledge base with questions about it."""

    name: str
    cards: tuple[SceneCard, ...]
    questions: tuple[Question, ...]
    withheld: frozenset[str] = frozenset()
    catalog: str | None = None
    """Of a curated catalog: folds are cut along catalogs there, and along scenes elsewhere."""


@dataclass(frozen=True)
class Pass:
    """What one pass saw: the candidates' features, and which of them is right (-1: none of them)."""

    values: Block
    right: int
    best_cosine: float | None


@dataclass(frozen=True)
class RoutingSample:
    world: str
    database: str
    question: Question
    words: int
    scenes: int
    answerable: bool
    strange: bool
    keyword: Pass | None
    full: Pass


@dataclass(frozen=True)
class FieldSample:
    world: str
    database: str
    question: Question
    names: tuple[str, ...]
    keyword: Block
    full: Block


def worlds(bench: Path | None, written: Path) -> Iterator[World]:
    """Knowledge bases whose scenes are described by names alone."""
    for name in ("spider", "spider_syn", "bird", "spider_route", "bird_route"):
        if bench is None:
            break
        scenes = read_scenes(bench / name / "scenes.jsonl")
        yield World(name, scenes.cards, read_questions(bench / name / "questions.jsonl"), scenes.withheld)
    yield from _written_worlds(written, bench)


def _written_worlds(folder: Path, bench: Path | None) -> Iterator[World]:
    cards: list[SceneCard] = []
    questions: list[Question] = []
    withheld: set[str] = set()
    for path in sorted(folder.glob("*.scenes.jsonl")):
        scenes = read_scenes(path)
        cards += scenes.cards
        withheld |= scenes.withheld
        questions += read_questions(path.with_name(path.name.replace("scenes", "questions")))
    chinese = {card.ref for card in cards if any(map(has_han, card.titles))}
    for name, wanted in (("zh", chinese), ("cross", {card.ref for card in cards} - chinese)):
        own = tuple(card for card in cards if card.ref in wanted)
        asked = tuple(question for question in questions if question.scene in wanted)
        # Two dozen English scenes are too few to get lost among: Spider's stand between them.
        others = read_scenes(bench / "spider" / "scenes.jsonl").cards if name == "cross" and bench else ()
        yield World(name, own + others, asked, frozenset(withheld & wanted))


def catalog_worlds(folder: Path) -> Iterator[World]:
    """One world for each position in the scenes' lists of example questions."""
    catalog = load_catalog(folder)
    cards = cards_of(catalog.scenes, catalog)
    for position in range(max(len(card.questions) for card in cards)):
        asked = [card for card in cards if position < len(card.questions)]
        yield World(
            folder.name,
            tuple(replace(card, questions=_without(card.questions, position)) for card in cards),
            tuple(Question(f"{card.ref}#{position}", card.questions[position], card.ref) for card in asked),
            catalog=folder.name,
        )


def golden_world(folder: Path) -> World:
    """A curated catalog as it is, asked its golden questions, those that no scene answers included."""
    catalog = load_catalog(folder)
    cards = cards_of(catalog.scenes, catalog)
    asked = labelled(read_questions(folder / GOLDEN), cards)
    return World(f"{folder.name}:golden", cards, tuple(asked), catalog=folder.name)


def small_worlds(world: World, strangers: Sequence[Question], draws: int, seed: int) -> Iterator[World]:
    """Parts of a world of 3 to 10 scenes, as a beginner's catalog or a narrow role has them, with some questions that
    they answer and some that they do not: about scenes left out or, in a curated catalog, where a twin of the scene
    that was left out may well answer, `strangers` from elsewhere.
    """
    chance = random.Random(seed)
    of_scene: dict[str, list[Question]] = {}
    for question in world.questions:
        if question.scene:
            of_scene.setdefault(question.scene, []).append(question)
    told = sorted(of_scene)
    for _ in range(draws):
        kept = chance.sample(told, min(chance.randint(3, 10), len(told) - 1))
        asked = [question for scene in kept for question in _some(chance, of_scene[scene], 2)]
        others = strangers or [question for scene in told if scene not in kept for question in of_scene[scene]]
        asked += _some(chance, others, len(asked))
        cards = tuple(card for card in world.cards if card.ref in kept)
        yield replace(world, name=f"{world.name}:small", cards=cards, questions=tuple(asked), withheld=frozenset())


def strange_world(world: World, strangers: Sequence[Question], seed: int) -> World:
    """A curated catalog asked what other people ask elsewhere, a third as often as its own questions."""
    asked = _some(random.Random(seed), strangers, len(world.questions) // 3)
    return replace(world, name=f"{world.name}:strange", questions=tuple(asked))


def _some(chance: random.Random, questions: Iterable[Question], most: int) -> list[Question]:
    every = list(questions)
    return chance.sample(every, min(most, len(every)))


def _without(questions: tuple[str, ...], position: int) -> tuple[str, ...]:
    return questions[:position] + questions[position + 1 :]


def resolver_of(world: World, embedder: Embedder, cache: Path, weights: Weights) -> HybridResolver:
    index = open_index(world.cards, cache / world.name, embedder)
    return HybridResolver(index, embedder, weights=weights)


def routing_samples(
    world: World, resolver: HybridResolver, *, without: frozenset[str] = frozenset()
) -> Iterator[RoutingSample]:
    view = resolver.view(frozenset(card.ref for card in world.cards) - without)
    refs = [view.corpus.cards[scene].ref for scene in view.scenes]
    everywhere = np.arange(len(refs), dtype=np.int32)
    for question in world.questions:
        asked = read(question.query)
        if not asked.tokens:
            continue
        terms = terms_of(view, asked)
        keyword = resolver.keyword_pass(view, asked, terms, everywhere)
        full = resolver.full_pass(view, asked, terms, everywhere, resolver.vector(view, asked))

        def right(places: NDArray[np.int32], gold: str | None = question.scene) -> int:
            return next((at for at, place in enumerate(places) if refs[place] == gold), -1)

        assert full.recalled.dense is not None
        yield RoutingSample(
            world.name,
            world.catalog or (question.scene or "").casefold(),
            question,
            len(asked.tokens),
            len(refs),
            question.scene in refs,
            strange(view, asked, terms, full.evidence),
            Pass(keyword[0].features.values, right(keyword[0].recalled.places), None) if keyword else None,
            Pass(full.features.values, right(full.recalled.places), full.best_cosine),
        )


def field_samples(world: World, resolver: HybridResolver) -> Iterator[FieldSample]:
    view = resolver.fields_view(frozenset(card.ref for card in world.cards))
    numbers = {card.ref: number for number, card in enumerate(view.corpus.cards)}
    for question in world.questions:
        asked = read(question.query)
        if not question.fields or question.scene not in numbers or not asked.tokens:
            continue
        number = numbers[question.scene]
        terms, evidence = evidence_among(view, terms_of(view, asked), number, view.corpus.fields[number])
        names = tuple(field.name for field in view.corpus.cards[number].fields)
        if not question.fields & set(names):
            continue
        yield FieldSample(
            world.name,
            world.catalog or question.scene.casefold(),
            question,
            names,
            signs_of(view, asked, terms, evidence, None),
            signs_of(view, asked, terms, evidence, resolver.vector(view, asked)),
        )
