"""A knowledge base of many scenes: how long it takes to build and to change, what it holds in memory, how fast it is,
and what the indexes of larger ones find of what looking through everything finds.

Scenes are made by a seeded generator over made-up tables: what is measured is size, not ranking.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from scene_kb.asked import read
from scene_kb.embedders.base import Embedder, Side, open_embedder
from scene_kb.index import open_index
from scene_kb.keyword import keyword_scores
from scene_kb.models import FieldCard, SceneCard
from scene_kb.nearest import chunk_scores
from scene_kb.resolver import HybridResolver
from scene_kb.terms import terms_of
from scene_kb.view import Floats

_THINGS = """
    order invoice parcel shipment refund ticket session campaign lead contract payment claim visit
    booking course exam patient ward shift machine sensor meter tank batch recipe store shelf supplier
    warehouse route driver vehicle flight gate hotel room guest player match team season song album
    stream channel video article comment review survey coupon
""".split()  # noqa: SIM905  # a list of one word a line hides what is missing
_PARTS = """
    gross net planned actual late early first last daily weekly monthly average peak open closed damaged
    returned approved rejected manual automatic mobile online offline domestic foreign internal external
    regional central
""".split()  # noqa: SIM905  # a list of one word a line hides what is missing
_MEASURES = """
    amount count rate share price cost margin duration delay distance weight volume score rank balance
    budget quota discount tax fee load yield speed age depth height width level index ratio gap
""".split()  # noqa: SIM905  # a list of one word a line hides what is missing
_ASKED = 200

Q = TypeVar("Q")


class Counting:
    """An embedder that counts the texts that it is given."""

    def __init__(self, inner: Embedder) -> None:
        self._inner, self.texts = inner, 0
        self.name, self.dimension = inner.name, inner.dimension

    def embed(self, texts: Sequence[str], *, side: Side) -> NDArray[np.float32]:
        self.texts += len(texts)
        return self._inner.embed(texts, side=side)


def scenes(count: int, *, fields: int, seed: int) -> Iterator[SceneCard]:
    """A hundred scenes over each table, as curators cut a wide table into the questions that people ask."""
    chance = random.Random(seed)
    made: tuple[FieldCard, ...] = ()
    for number in range(count):
        if number % 100 == 0:
            thing = _THINGS[number // 100 % len(_THINGS)]
            made = tuple(dict.fromkeys(_field(chance, thing) for _ in range(4 * fields)))[:fields]
        shown = chance.sample(made, 6)
        by = chance.choice(_THINGS)
        title = f"{shown[0].titles[0]} by {by} {chance.choice(_PARTS)}"
        yield SceneCard(
            ref=f"SCENE_{number:05}@1",
            titles=(title,),
            purposes=(f"{', '.join(field.titles[0] for field in shown)} by {by}",),
            fields=made,
            dimensions=(by,),
            dimension_names=((by,),),
            metrics=tuple(field.name for field in shown[:2]),
            default_fields=tuple(field.name for field in shown),
            grain=(made[0].name,),
        )


def _field(chance: random.Random, thing: str) -> FieldCard:
    words = (thing, chance.choice(_PARTS), chance.choice(_PARTS), chance.choice(_MEASURES))
    return FieldCard("_".join(words), (" ".join(words),), (), role="metric", type="float64")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", type=int, default=10_000)
    parser.add_argument("--fields", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    cards = tuple(scenes(given.scenes, fields=given.fields, seed=given.seed))
    asked = tuple(questions(cards, count=min(_ASKED, len(cards)), seed=given.seed))
    embedder = Counting(open_embedder("auto"))
    with tempfile.TemporaryDirectory() as folder:
        resolver = _build(cards, Path(folder), embedder)
        _answer(resolver, cards, asked)
        _say("peak memory", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")
        _search(resolver, cards, asked)


def _build(cards: Sequence[SceneCard], folder: Path, embedder: Counting) -> HybridResolver:
    began = time.perf_counter()
    index = open_index(cards, folder, embedder, progress=_shown)
    _say("build", f"{time.perf_counter() - began:.1f} s, {embedder.texts} texts embedded, {len(index.rows)} distinct")
    _say("vectors", f"{index.vectors.nbytes / 1e6:.0f} MB in memory, {index.vectors.dtype}")
    embedder.texts = 0
    began = time.perf_counter()
    changed = replace(cards[0], purposes=("What the night shift wrote down by hand",))
    open_index((changed, *cards[1:]), folder, embedder)
    _say("one scene changed", f"{time.perf_counter() - began:.2f} s, {embedder.texts} texts embedded")
    began = time.perf_counter()
    index = open_index(cards, folder, embedder, searched_from=0)
    _say("the same, with both indexes", f"{time.perf_counter() - began:.2f} s")
    return HybridResolver(index, embedder)


def _answer(resolver: HybridResolver, cards: Sequence[SceneCard], asked: Sequence[str]) -> None:
    visible = frozenset(card.ref for card in cards)
    began = time.perf_counter()
    resolver.match("warm", visible=visible)
    _say("first question", f"{time.perf_counter() - began:.2f} s")
    took = []
    for query in asked:
        began = time.perf_counter()
        resolver.match(query, visible=visible)
        took.append((time.perf_counter() - began) * 1000)
    _say("question", f"p50 {np.percentile(took, 50):.1f} ms, p95 {np.percentile(took, 95):.1f} ms over {len(took)}")


def _search(resolver: HybridResolver, cards: Sequence[SceneCard], asked: Sequence[str]) -> None:
    """What the indexes find, and in which time, beside looking through everything."""
    view = resolver.view(frozenset(card.ref for card in cards))
    ones = np.ones(len(view.scenes), np.float32)
    terms = [terms_of(view, read(query)) for query in asked]
    vectors = [resolver.vector(view, read(query)) for query in asked]
    _say("full text", _beside(terms, lambda it, most: keyword_scores(view, it, ones, in_memory=most)))
    _say("vector index", _beside(vectors, lambda it, most: chunk_scores(view, it, in_memory=most).max(axis=0)))


def _beside(asked: Sequence[Q], scores: Callable[[Q, int], Floats]) -> str:
    """`scores`: a query's, of which so many scenes or chunks may be looked through in memory."""
    found, index_ms = _timed(lambda it: scores(it, 0), asked)
    every, all_ms = _timed(lambda it: scores(it, sys.maxsize), asked)
    share = share_found(list(zip(found, every, strict=True)))
    return f"finds {share:.3f} of the ten best; {index_ms:.1f} ms beside {all_ms:.1f} in memory"


def share_found(both: Sequence[tuple[Floats, Floats]]) -> float:
    """Of the ten best scenes by looking through everything, the share that an index found. Pairs of (found, every)."""
    best = [np.argsort(-every, kind="stable")[:10] for _, every in both]
    return float(np.mean([np.mean(found[top] == every[top]) for (found, every), top in zip(both, best, strict=True)]))


def _timed(scores: Callable[[Q], Floats], asked: Sequence[Q]) -> tuple[list[Floats], float]:
    """What each call gave, and the milliseconds of one in the median."""
    given, took = [], []
    for query in asked:
        began = time.perf_counter()
        given.append(scores(query))
        took.append((time.perf_counter() - began) * 1000)
    return given, float(np.median(took))


def questions(cards: Sequence[SceneCard], *, count: int, seed: int) -> Iterator[str]:
    """Each about two fields and the dimension of some scene."""
    chance = random.Random(seed)
    for card in chance.sample(cards, count):
        fields = chance.sample(card.default_fields, 2)
        yield f"which {card.dimensions[0]} had the highest {' and '.join(name.replace('_', ' ') for name in fields)}"


def _shown(done: int, total: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{done} of {total} texts")


def _say(what: str, figures: str) -> None:
    sys.stdout.write(f"{what}: {figures}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
