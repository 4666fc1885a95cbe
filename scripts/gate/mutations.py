"""Takes out one enforcing line at a time, in a copy of the sources, and looks whether the comparison notices."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scripts.gate.differential import DIFFERS

ROOT = Path(__file__).parents[2]
_PAIRS = 1200


@dataclass(frozen=True)
class Mutation:
    what: str
    file: str
    line: str
    instead: str


MUTATIONS: tuple[Mutation, ...] = (
    Mutation(
        "row rules, everywhere",
        "engine/sqlconditions.py",
        "for scopes in rules))] if rules else []",
        "for scopes in rules))] if not rules else []",
    ),
    Mutation(
        "row rules beneath rows and groups",
        "engine/compile.py",
        "[*clauses(conditions, self.dataset), *readable(self.shape.rows, self.dataset)]",
        "[*clauses(conditions, self.dataset)]",
    ),
    Mutation(
        "row rules beneath the counts beside an empty answer",
        "engine/compile.py",
        "tree = tree.from_(_table(target)).where(*readable(parameters.row_rules(grant), dataset))",
        "tree = tree.from_(_table(target))",
    ),
    Mutation(
        "row rules beneath the age of the data",
        "engine/compile.py",
        "    tree = tree.where(*readable(parameters.row_rules(grant), dataset))\n",
        "",
    ),
    Mutation("row rules at all", "engine/permissions.py", "return tuple(scopes) if all(scopes) else ()", "return ()"),
    Mutation(
        "row rules look at what is stored",
        "engine/sqlconditions.py",
        "stored = field.beneath if isinstance(field, MaskedField) else field\n        return holds(stored_ref(stored)",
        "stored = field\n        return holds(column_ref(stored, dataset)",
    ),
    Mutation("denials", "engine/verdicts.py", "denied.get(name) or seen.get(name)", "seen.get(name)"),
    Mutation(
        "what is computed from hidden fields is hidden", "engine/verdicts.py", 'if part.sees == "hidden":', "if False:"
    ),
    Mutation("mask beats allow", "engine/verdicts.py", "{**allowed, **masked}", "{**masked, **allowed}"),
    Mutation(
        "a role cannot take off an inherited mask",
        "engine/verdicts.py",
        "mask.openness < before.mask.openness",
        "mask.openness > before.mask.openness",
    ),
    Mutation(
        "masks in the tree",
        "engine/sqlparts.py",
        "if not isinstance(field, MaskedField):\n        return stored_ref(field)",
        "if not isinstance(field, MaskedField) or field.mask.kind == 'null':\n        return stored_ref(field)",
    ),
    Mutation("hidden fields do not exist", "engine/names.py", "if field.name in grant.fields and", "if"),
    Mutation(
        "hidden values do not exist",
        "engine/names.py",
        "if not grant.rows:\n        return",
        "if True:\n        return",
    ),
    Mutation(
        "masked fields do not filter or sort",
        "engine/names.py",
        "if use is not None and self.grant.masks_apart(column, use):",
        'if use == "groupBy" and self.grant.masks_apart(column, use):',
    ),
    Mutation(
        "masked fields do not group",
        "engine/query.py",
        "column.field.name in self.unusable[use]",
        'column.field.name in self.unusable[use] and use != "groupBy"',
    ),
    Mutation(
        "the cap on days",
        "engine/resolve.py",
        "    _check_cap_on_days(filters.span, dataset, grant)\n    return",
        "    return",
    ),
    Mutation(
        "a query without dates under a cap on days",
        "engine/resolve.py",
        "    if span is None:\n        raise MissingParameter((dataset.time_column,))\n",
        "    if span is None:\n        return\n",
    ),
    Mutation(
        "texts of statements are kept by their masks",
        "engine/shape.py",
        "masks=tuple(sorted(grant.masks.items(), key=itemgetter(0)))",
        "masks=()",
    ),
    Mutation(
        "snapshots are kept by the values of row rules",
        "engine/pipeline.py",
        "plan.statement.sql, plan.statement.parameters, caps]",
        "plan.statement.sql, caps]",
    ),
    Mutation(
        "ages are kept by the values of row rules",
        "engine/freeze.py",
        "statement.sql, tuple(statement.parameters.items()))",
        "statement.sql)",
    ),
    Mutation(
        "Grants are made anew under other policies",
        "engine/pipeline.py",
        "if grant is None or policies is not self.policies or of is not dataset:",
        "if grant is None:",
    ),
    Mutation("another's cursor", "engine/cursors.py", "if owner != _digest(binding.owner):", "if owner != owner:"),
    Mutation(
        "a cursor of another permission",
        "engine/cursors.py",
        "if grant != _digest(binding.grant):",
        "if grant != grant:",
    ),
    Mutation(
        "the age of a hidden time column",
        "engine/pipeline.py",
        "if time_column is None or time_column in plan.grant.fields:",
        "if True:",
    ),
    Mutation(
        "that an answer is restricted",
        "engine/completeness.py",
        "if grant.rows and not any(_inside(plan.resolved, scopes) for scopes in grant.rows):",
        "if False:",
    ),
)


def survivors(*, seed: int) -> Iterator[tuple[Mutation, bool]]:
    """Each mutation, and whether the check went on without noticing it. Raises RuntimeError where it cannot run."""
    for mutation in MUTATIONS:
        with tempfile.TemporaryDirectory() as folder:
            _copy(Path(folder), mutation)
            command = [sys.executable, "-m", "scripts.check_gate", "--only", "pairs", "--seed", str(seed)]
            done = subprocess.run(
                [*command, "--examples", str(_PAIRS)],
                cwd=folder,
                env={**os.environ, "PYTHONPATH": folder},
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode != 0 and not done.stdout.startswith(DIFFERS):
            raise RuntimeError(f"{mutation.what}: the mutated engine does not run\n{done.stderr}")
        yield mutation, done.returncode == 0


def _copy(folder: Path, mutation: Mutation) -> None:
    shutil.copytree(ROOT / "engine", folder / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "scripts").mkdir()
    shutil.copytree(
        ROOT / "scripts" / "gate", folder / "scripts" / "gate", ignore=shutil.ignore_patterns("__pycache__")
    )
    shutil.copy(ROOT / "scripts" / "check_gate.py", folder / "scripts")
    file = folder / mutation.file
    file.write_text(mutated(file.read_text(), mutation))


def mutated(source: str, mutation: Mutation) -> str:
    """Raises ValueError where the line does not stand in the source exactly once."""
    if source.count(mutation.line) != 1:
        raise ValueError(f"{mutation.file}: {mutation.what}: the line stands there {source.count(mutation.line)} times")
    return source.replace(mutation.line, mutation.instead)
