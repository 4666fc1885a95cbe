"""Which databases the weights were learned from, so that nobody is shown a figure on what was learned by heart."""

import json
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from scene_kb.exchange import Question
from scene_kb.learned.weights import Weights, learned_weights, weights_from
from scene_kb.models import SceneCard

_FILE = Path(__file__).with_name("folds.json")


def digest_of(card: SceneCard) -> str:
    """Tells a database by its name: the sets describe the same one in slightly different fields."""
    return _digest(card.ref)


def fold_of_database(ref: str) -> int | None:
    """The fold that the database lies in; None where nothing was learned from it."""
    return _folds()[0].get(_digest(ref))


def _digest(ref: str) -> str:
    return sha256(ref.casefold().encode()).hexdigest()[:16]


def weights_without(cards: tuple[SceneCard, ...]) -> Callable[[Question], Weights]:
    """For a question about a development database the weights learned without its fold, for any other the shipped."""
    databases, folds = _folds()
    fold_of = {card.ref: databases[digest_of(card)] for card in cards if digest_of(card) in databases}

    def weights(question: Question) -> Weights:
        fold = fold_of.get(question.scene or "")
        return learned_weights() if fold is None else folds[fold]

    return weights


@lru_cache(maxsize=1)
def _folds() -> tuple[dict[str, int], tuple[Weights, ...]]:
    facts = json.loads(_FILE.read_text(encoding="utf-8"))
    return facts["databases"], tuple(weights_from(each) for each in facts["weights"])
