"""A knowledge base of many scenes: how long it takes to build and to change, what it holds in memory, how fast it is.

Scenes are made by a seeded generator over made-up tables: what is measured is size, not ranking.
"""

import argparse
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scene_kb.embedders.base import Embedder, Side, open_embedder
from scene_kb.index import open_index
from scene_kb.models import FieldCard, SceneCard
from scene_kb.resolver import HybridResolver

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
    embedder = Counting(open_embedder("auto"))
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        index = open_index(cards, Path(folder), embedder, progress=_shown)
        _say(
            "build", f"{time.perf_counter() - began:.1f} s, {embedder.texts} texts embedded, {len(index.rows)} distinct"
        )
        _say("vectors", f"{index.vectors.nbytes / 1e6:.0f} MB in memory, {index.vectors.dtype}")
        embedder.texts = 0
        began = time.perf_counter()
        changed = replace(cards[0], purposes=("What the night shift wrote down by hand",))
        index = open_index((changed, *cards[1:]), Path(folder), embedder)
        _say("one scene changed", f"{time.perf_counter() - began:.2f} s, {embedder.texts} texts embedded")
    resolver = HybridResolver(index, embedder)
    visible = frozenset(index.by_ref)
    began = time.perf_counter()
    resolver.match("warm", visible=visible)
    _say("first question", f"{time.perf_counter() - began:.2f} s")
    took = []
    for query in questions(cards, count=_ASKED, seed=given.seed):
        began = time.perf_counter()
        resolver.match(query, visible=visible)
        took.append((time.perf_counter() - began) * 1000)
    _say("question", f"p50 {np.percentile(took, 50):.1f} ms, p95 {np.percentile(took, 95):.1f} ms over {len(took)}")
    _say("peak memory", f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


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
