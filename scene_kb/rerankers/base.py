"""Reading the query beside each candidate's text: the protocol, the table of those who do it, and how a setting
chooses one. Optional and slow; the learned ranking stands without it.
"""

from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray


class RerankerUnavailable(Exception):
    """The reranker of this setting cannot be loaded."""

    def __init__(self, setting: str, reason: str, remedy: str) -> None:
        super().__init__(f"reranker '{setting}': {reason}")
        self.setting = setting
        self.reason = reason
        self.remedy = remedy
        """What to install or set, in English."""


class Reranker(Protocol):
    """Deterministic: a text has the same score alone and among others. Safe to call from several threads."""

    @property
    def name(self) -> str: ...

    def scores(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n texts) -> (n,) how well each answers the query; higher is better, on any scale."""
        ...


RERANKERS: Mapping[str, str] = {"cross-encoder": "scene_kb.rerankers.cross_encoder:CrossEncoder"}
"""By the word before the first colon of a setting; each class is made with the whole setting."""


def open_reranker(setting: str) -> Reranker | None:
    """`cross-encoder:MODEL_OR_FOLDER`; empty is none.

    Raises RerankerUnavailable.
    """
    if not setting:
        return None
    made_by = RERANKERS.get(setting.partition(":")[0])
    if made_by is None:
        raise RerankerUnavailable(setting, "there is no such reranker", "write cross-encoder:MODEL_OR_FOLDER")
    return cast(Reranker, resolve_name(made_by)(setting))
