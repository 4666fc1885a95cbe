"""What every importer makes, a draft of a catalog, and how it becomes a folder. Importers read; only this writes."""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.dataset import Dataset, Place
from engine.policy import DatasetRule, Policies, RolePolicy, SceneRule
from scene_kb.models import Scene, Synonyms
from scene_kb.writing import yaml_of

EVERYTHING_FOR_ADMIN = Policies(
    roles={"admin": RolePolicy(datasets={"*": DatasetRule()}, scenes=SceneRule(allow=("*",)))}, local_roles=("admin",)
)

_ON_POLICIES = """Who may read what. Whoever runs the gateway on this machine has the localRoles.
Add roles before others connect: for each, fields and rows can be allowed and denied."""
_ON_SYNONYMS = """What people call the dimensions, and groups of words with one meaning, such as [revenue, turnover]."""


@dataclass(frozen=True)
class Draft:
    """A catalog to be read through by a curator, sound as it is."""

    datasets: tuple[Dataset, ...]
    scenes: tuple[Scene, ...]
    synonyms: Synonyms
    policies: Policies = EVERYTHING_FOR_ADMIN
    comments: Mapping[str, Mapping[Place, str]] = field(default_factory=dict)
    """By apiNo or sceneId: what a curator should check, at its place in the definition."""
    notes: tuple[str, ...] = ()
    """What could not be taken over, or was decided for want of anything better, one sentence each."""
    origin: str = ""
    """Where it was drafted from, as said in the files."""

    def files(self) -> dict[str, str]:
        """The catalog's files by their names relative to its folder."""
        head = f"A draft from {self.origin}. Read it through: what needs an eye is marked with #."
        files = {
            f"apis/{it.api_no.lower()}.yaml": yaml_of(it, comments=self.comments.get(it.api_no), head=head)
            for it in self.datasets
        }
        files |= {
            f"scenes/{it.scene_id.lower()}.yaml": yaml_of(it, comments=self.comments.get(it.scene_id), head=head)
            for it in self.scenes
        }
        files["policies.yaml"] = yaml_of(self.policies, head=_ON_POLICIES)
        files["synonyms.yaml"] = yaml_of(self.synonyms, head=_ON_SYNONYMS)
        return files


class NothingToImport(Exception):
    """The source holds no table with columns."""


@dataclass
class FilesExist(Exception):
    """The folder already holds some of the draft's files; nothing was written."""

    folder: Path
    files: tuple[str, ...]


def write_draft(draft: Draft, folder: Path) -> tuple[Path, ...]:
    """The files written. All or none: they are made beside the folder first and then moved.

    Raises FilesExist, or OSError where the folder cannot be written.
    """
    files = draft.files()
    existing = tuple(name for name in files if (folder / name).exists())
    if existing:
        raise FilesExist(folder, existing)
    folder.parent.mkdir(parents=True, exist_ok=True)
    staged = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, text in files.items():
            (staged / name).parent.mkdir(parents=True, exist_ok=True)
            (staged / name).write_text(text, encoding="utf-8", newline="\n")
        return _moved(staged, folder, tuple(files))
    finally:
        shutil.rmtree(staged, ignore_errors=True)


def _moved(staged: Path, folder: Path, names: tuple[str, ...]) -> tuple[Path, ...]:
    """Every file from `staged` into `folder`; on failure none stays there."""
    moved: list[Path] = []
    try:
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            moved.append((staged / name).rename(folder / name))
    except OSError:
        for path in moved:
            path.unlink()
        raise
    return tuple(moved)
