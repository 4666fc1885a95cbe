"""Loading models of the sentence-transformers library, for embedders and rerankers alike. Needs torch: the extra
sanbu[transformers].
"""

from collections.abc import Callable
from typing import Any

_INSTALL = "pip install 'sanbu[transformers]'"
_NAME = "write the folder of a model, or a model's name where it can be downloaded"


class ModelUnavailable(Exception):
    """A model cannot be loaded."""

    def __init__(self, reason: str, remedy: str) -> None:
        super().__init__(f"{reason}; {remedy}")
        self.reason = reason
        self.remedy = remedy


def load(kind: str, model: str, **arguments: object) -> Any:
    """`kind`: a class of sentence_transformers, made with the model's folder or name, on the processor.

    Raises ModelUnavailable.
    """
    if not model:
        raise ModelUnavailable("the setting names no model", _NAME)
    try:
        import sentence_transformers
    except (ImportError, OSError) as error:  # OSError: a library that torch links to is missing
        raise ModelUnavailable(f"sentence-transformers cannot be imported: {error}", _INSTALL) from error
    make: Callable[..., Any] = getattr(sentence_transformers, kind)
    try:
        return make(model, device="cpu", **arguments)
    except (OSError, ValueError, RuntimeError) as error:  # not there, not a model, or weights of another shape
        raise ModelUnavailable(f"no model can be loaded from '{model}'", _NAME) from error
