"""The house keeps its rooms apart: who may import whom, who makes a Grant, where drivers live, what lies at the top."""

import ast
import subprocess
from collections.abc import Iterator
from pathlib import Path

import importlinter.cli
import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("engine", "scene_kb", "sessions", "gateway")

TOP_LEVEL = {
    *(".ci", ".gitignore", "CHANGELOG.md", "LICENSE", "README.md", "pyproject.toml", "requirements.lock"),
    *(*PACKAGES, "docs", "scripts", "tests"),
}

DRIVERS = {
    "duckdb": ("engine/backends/", "scene_kb/catalogs/"),  # the demonstration's data is made with it
    "psycopg": ("engine/backends/",),
    "pymysql": ("engine/backends/",),
    "pyspark": ("engine/backends/",),
    "redis": ("sessions/stores/redis.py", "engine/snapshots/redis.py", "gateway/limits.py"),
    "sqlite3": ("sessions/stores/", "engine/snapshots/"),
}
"""Where each may be imported."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    """(path from the top, its tree) of every module of the product."""
    for package in PACKAGES:
        for file in sorted((ROOT / package).rglob("*.py")):
            yield file.relative_to(ROOT).as_posix(), ast.parse(file.read_text(encoding="utf-8"))


def imported(tree: ast.Module) -> Iterator[str]:
    """The first part of every imported module's name, wherever in the module it stands."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_packages_import_only_what_lies_below_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contracts of pyproject.toml."""
    monkeypatch.chdir(ROOT)
    assert importlinter.cli.lint_imports(no_cache=True, no_logo=True) == importlinter.cli.EXIT_STATUS_SUCCESS


def test_drivers_are_imported_only_where_stores_are_opened() -> None:
    strays = [
        (path, name)
        for path, tree in modules()
        for name in imported(tree)
        if name in DRIVERS and not path.startswith(DRIVERS[name])
    ]
    assert strays == []


def test_only_authorize_makes_a_grant() -> None:
    makers = {
        path
        for path, tree in modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and "Grant" in (getattr(node.func, "id", ""), getattr(node.func, "attr", ""))
    }
    assert makers == {"engine/permissions.py"}


def test_a_packages_init_is_one_docstring() -> None:
    for path, tree in modules():
        if path.endswith("__init__.py"):
            assert len(tree.body) == 1, path
            assert ast.get_docstring(tree), path


def test_every_module_opens_with_what_it_is_for() -> None:
    assert [path for path, tree in modules() if not ast.get_docstring(tree)] == []


def test_the_top_level_holds_what_the_design_names_and_nothing_else() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert {line.partition("/")[0] for line in listed.splitlines()} == TOP_LEVEL
