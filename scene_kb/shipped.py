"""The catalogs that come with the package, and their data, which is made on first use and kept."""

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import cast

SHIPPED: Mapping[str, str] = {
    "ads": "scene_kb.catalogs.ads.data:build",
    "flights": "scene_kb.catalogs.flights.data:build",
}
"""Name to the builder of its data: (folder) -> the file made."""


class DataUnavailable(Exception):
    """Demonstration data cannot be made; the text says what to install."""


_DONE = ".complete"


def folder_of(name: str) -> Path:
    """The catalog's YAML files."""
    return Path(__file__).parent / "catalogs" / name


def ensure_data(name: str, folder: Path, *, starting: Callable[[], None] = lambda: None) -> None:
    """The catalog's data in `folder`, whole or not at all: made beside it and moved there in one step.

    `starting` is called only where there is something to make. Raises what the builder raises.
    """
    if (folder / _DONE).exists():
        return
    starting()
    folder.parent.mkdir(parents=True, exist_ok=True)
    build = cast(Callable[[Path], Path], resolve_name(SHIPPED[name]))
    with tempfile.TemporaryDirectory(dir=folder.parent) as beside:
        made = Path(beside) / name
        made.mkdir()
        build(made)
        (made / _DONE).touch()
        shutil.rmtree(folder, ignore_errors=True)
        made.rename(folder)
