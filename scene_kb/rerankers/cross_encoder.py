"""Any cross-encoder of the sentence-transformers library, by name or folder. Needs torch: sanbu[transformers]."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scene_kb.pretrained import ModelUnavailable, load
from scene_kb.rerankers.base import Reranker, RerankerUnavailable

_DIGITS = 3
"""Of a score: two processors add in different orders, and what they disagree on must not order scenes."""


class CrossEncoder:
    """`cross-encoder:MODEL_OR_FOLDER`. Loads at once: 7 s, mostly torch."""

    def __init__(self, setting: str) -> None:
        model = setting.partition(":")[2]
        try:
            self._model = load("CrossEncoder", model)
        except ModelUnavailable as error:
            raise RerankerUnavailable(setting, error.reason, error.remedy) from error
        made_for = tuple(getattr(self._model.config, "architectures", None) or ())
        # The library turns an embedding model into a cross-encoder by a layer of random numbers, and only logs it.
        if self._model.num_labels != 1 or any(name.endswith("Model") for name in made_for):
            raise RerankerUnavailable(
                setting, f"'{model}' does not score pairs of texts", "write the folder or name of a cross-encoder"
            )
        self.name = f"cross-encoder/{Path(model).name}"
        self._turn = threading.Lock()

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        if not texts:
            return np.zeros(0, np.float32)
        with self._turn:
            # In batches of one: beside a longer text a text is padded, and its score differs in the last digits.
            made = self._model.predict(
                [(query, text) for text in texts], batch_size=1, activation_fn=_as_it_is, show_progress_bar=False
            )
        return np.asarray(made, np.float32).round(_DIGITS)


def _as_it_is(scores: Any) -> Any:
    """Instead of the sigmoid, behind which all good candidates have a score of 1."""
    return scores


def _conforms(it: CrossEncoder) -> Reranker:
    return it
