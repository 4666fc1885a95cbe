"""Any model of the sentence-transformers library, by name or folder. Needs torch: the extra sanbu[transformers]."""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scene_kb.embedders.base import Embedder, EmbedderUnavailable, Side, unit_rows


class SentenceTransformers:
    """`sentence-transformers:MODEL_OR_FOLDER`. e5 models are given the prompts they were trained with."""

    def __init__(self, setting: str) -> None:
        self._setting = setting
        self._turn = threading.Lock()
        self._model_name = setting.partition(":")[2] or "intfloat/multilingual-e5-small"
        try:
            from sentence_transformers import SentenceTransformer

            model: Any = SentenceTransformer(self._model_name, device="cpu")
        except ImportError as error:
            raise EmbedderUnavailable(setting, str(error), "pip install 'sanbu[transformers]'") from error
        except (OSError, ValueError) as error:
            raise EmbedderUnavailable(setting, f"no model '{self._model_name}'", "a model's name or folder") from error
        self._model = model
        self._prompts = {"query": "query: ", "document": "passage: "} if "e5" in self._model_name.lower() else {}
        self.dimension = len(model.encode("a text"))

    @property
    def name(self) -> str:
        return f"sentence-transformers/{Path(self._model_name).name}"

    def embed(self, texts: Sequence[str], *, side: Side) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        told = [row for row, text in enumerate(texts) if text.strip()]
        if told:
            prefix = self._prompts.get(side, "")
            with self._turn:
                made = self._model.encode([prefix + texts[row] for row in told], show_progress_bar=False)
            vectors[told] = np.asarray(made, np.float32)
        return unit_rows(vectors)


def _conforms(it: SentenceTransformers) -> Embedder:
    return it
