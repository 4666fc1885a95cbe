"""Any model of the sentence-transformers library, by name or folder. Needs torch: the extra sanbu[transformers]."""

import threading
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scene_kb.embedders.base import Embedder, EmbedderUnavailable, Side, unit_rows
from scene_kb.pretrained import ModelUnavailable, load


class SentenceTransformers:
    """`sentence-transformers:MODEL_OR_FOLDER`. e5 models are given the prompts they were trained with."""

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._turn = threading.Lock()
        self._model_name = setting.partition(":")[2] or "intfloat/multilingual-e5-small"
        try:
            self._model = load("SentenceTransformer", self._model_name)
        except ModelUnavailable as error:
            raise EmbedderUnavailable(setting, error.reason, error.remedy) from error
        self._prompts = {"query": "query: ", "document": "passage: "} if "e5" in self._model_name.lower() else {}
        self.dimension = len(self._model.encode("a text", show_progress_bar=False))

    @property
    def name(self) -> str:
        return f"sentence-transformers/{Path(self._model_name).name}"

    def embed(self, texts: Sequence[str], *, side: Side) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        told = [row for row, text in enumerate(texts) if text.strip()]
        if told:
            prefix = self._prompts.get(side, "")
            with self._turn:
                # In batches of one, at several times the time: beside a longer text a text is padded, and its vector
                # differs in the last digits.
                made = self._model.encode([prefix + texts[row] for row in told], batch_size=1, show_progress_bar=False)
            vectors[told] = np.asarray(made, np.float32)
        return unit_rows(vectors)


def _conforms(it: SentenceTransformers) -> Embedder:
    return it
