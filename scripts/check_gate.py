"""Checks the gate: generated policies against an oracle, enforcing lines taken out, hostile texts in every argument."""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import anyio

from scripts.gate.differential import DIFFERS, Difference, compare, opened

PARTS = ("pairs", "mutations", "hostile")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/check-gate", description=__doc__)
    parser.add_argument("--seed", type=int, default=1, help="of everything that is generated")
    parser.add_argument("--examples", type=int, default=1200, help="pairs of policies and query (default 1200)")
    parser.add_argument("--hostile", type=int, default=20_000, help="hostile inputs (default 20000)")
    parser.add_argument("--only", choices=PARTS, help="one of the parts")
    given = parser.parse_args()
    parts: Mapping[str, Callable[[], bool]] = {
        "pairs": lambda: _pairs(given.seed, given.examples),
        "mutations": lambda: _mutations(given.seed),
        "hostile": lambda: _hostile(given.seed, given.hostile),
    }
    sound = [run() for name, run in parts.items() if given.only in (None, name)]
    sys.exit(0 if all(sound) else 1)


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _pairs(seed: int, examples: int) -> bool:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            counts = anyio.run(lambda: compare(opened(Path(folder)), seed=seed, pairs=examples))
        except Difference as difference:
            _say(f"{DIFFERS}: {difference}")
            return False
    for what, number in sorted(counts.items(), key=lambda it: (it[0] != "pairs", it[0])):
        _say(f"{what}: {number}")
    _say(f"seconds for the pairs: {time.monotonic() - started:.0f}")
    return True


def _mutations(seed: int) -> bool:
    from scripts.gate.mutations import survivors

    noticed, missed = 0, 0
    for mutation, survived in survivors(seed=seed):
        _say(f"taken out, {'NOT NOTICED' if survived else 'noticed'}: {mutation.what}")
        noticed, missed = noticed + (not survived), missed + survived
    _say(f"mutations noticed: {noticed}")
    _say(f"mutations not noticed: {missed}")
    return missed == 0


def _hostile(seed: int, inputs: int) -> bool:
    from scripts.gate.hostile import Leak, attack

    try:
        counts = anyio.run(lambda: attack(seed=seed, inputs=inputs))
    except Leak as leak:
        _say(f"a hostile input got through: {leak}")
        return False
    for what, number in counts.items():
        _say(f"{what}: {number}")
    return True


if __name__ == "__main__":
    main()
