"""The gate against an oracle that shares no code with it; `scripts/check-gate` does the same at length."""

from pathlib import Path

import pytest

from scripts.gate.differential import compare, opened
from scripts.gate.mutations import MUTATIONS, ROOT, mutated

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("seed", [11, 12])
async def test_what_generated_policies_let_through_is_what_an_oracle_finds_in_the_raw_rows(
    tmp_path: Path, seed: int
) -> None:
    """Case 43: rows, order, counts, ages and refusals of two callers, before and after their policies are tighter."""
    counts = await compare(opened(tmp_path), seed=seed, pairs=100)
    assert counts["with rows"] > 20
    assert counts["tightened: with rows"] > 5
    assert counts["older cursors refused"] > 5


def test_the_lines_that_the_long_check_takes_out_still_stand_in_the_sources() -> None:
    for mutation in MUTATIONS:
        source = (ROOT / mutation.file).read_text()
        assert mutated(source, mutation) != source
