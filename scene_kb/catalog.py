"""A folder of YAML to a checked Catalog: apis/*.yaml, scenes/*.yaml, policies.yaml, synonyms.yaml.

Every fault in the folder is told at once, with file, line and remedy. No other file is read.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from engine.dataset import Dataset, Definition, Place
from engine.policy import Policies
from scene_kb.checks import Parts, misfits
from scene_kb.definitions import Defined, define
from scene_kb.diagnostics import CatalogFault, Diagnostic
from scene_kb.documents import Document, read_document
from scene_kb.models import Catalog, Scene, Synonyms

MINIMAL_POLICIES = '{roles: {admin: {datasets: {"*": {}}, scenes: {allow: ["*"]}}}, localRoles: [admin]}'
"""Everything for whoever runs the gateway on this machine, nothing for anybody else."""

_PATTERNS: Mapping[type[Definition], str] = {
    Dataset: "apis/*.yaml",
    Scene: "scenes/*.yaml",
    Policies: "policies.yaml",
    Synonyms: "synonyms.yaml",
}

D = TypeVar("D", bound=Definition)


def load_catalog(folder: Path) -> Catalog:
    """The catalog in `folder`, called like the folder. Raises CatalogFault with every fault found."""
    _require_catalog(folder)
    faults: list[Diagnostic] = []
    files = {pattern: _contents(folder, pattern, faults) for pattern in _PATTERNS.values()}
    datasets = _definitions(Dataset, files, faults)
    scenes = _definitions(Scene, files, faults)
    policies = next(iter(_definitions(Policies, files, faults)), None)
    synonyms = next((it.it for it in _definitions(Synonyms, files, faults)), Synonyms())
    parts = Parts(datasets, scenes, policies, synonyms, whole=not faults)
    faults += [*_unread(folder), *_absent(files), *misfits(parts)]
    if faults or policies is None:
        raise CatalogFault(faults)
    return Catalog(
        name=folder.resolve().name,
        datasets={dataset.it.api_no: dataset.it for dataset in datasets},
        scenes=tuple(scene.it for scene in scenes),
        policies=policies.it,
        synonyms=synonyms,
    )


def _require_catalog(folder: Path) -> None:
    fix = "make a catalog from your data with `sanbu init FILE --out FOLDER`"
    if not folder.is_dir():
        raise CatalogFault([Diagnostic(str(folder), 0, "there is no such folder", fix)])
    if not any(any(folder.glob(pattern)) for pattern in _PATTERNS.values()):
        raise CatalogFault([Diagnostic(str(folder), 0, "the folder holds no catalog", fix)])


def _contents(folder: Path, pattern: str, faults: list[Diagnostic]) -> dict[str, bytes]:
    """The files' bytes by their names relative to the folder, in the order of their names."""
    contents: dict[str, bytes] = {}
    for path in sorted(folder.glob(pattern)):
        file = path.relative_to(folder).as_posix()
        try:
            contents[file] = path.read_bytes()
        except OSError as error:
            faults.append(Diagnostic(file, 0, f"cannot be read: {error.strerror}", "make it a readable file"))
    return contents


def _definitions(
    shape: type[D], files: Mapping[str, Mapping[str, bytes]], faults: list[Diagnostic]
) -> tuple[Defined[D], ...]:
    """All that are sound; what is wrong with the others is added to `faults`."""
    found: list[Defined[D]] = []
    for document in _documents(files[_PATTERNS[shape]], faults):
        for place in _places(shape, document):
            try:
                found.append(define(shape, document, place))
            except CatalogFault as fault:
                faults += fault.diagnostics
    return tuple(found)


def _documents(contents: Mapping[str, bytes], faults: list[Diagnostic]) -> Iterator[Document]:
    for file, content in contents.items():
        try:
            yield read_document(file, content)
        except CatalogFault as fault:
            faults += fault.diagnostics


def _places(shape: type[Definition], document: Document) -> Sequence[Place]:
    """A file of scenes may hold a list of them."""
    if shape is Scene and isinstance(document.value, list):
        return [(at,) for at in range(len(document.value))]
    return [()]


def _unread(folder: Path) -> Iterator[Diagnostic]:
    """Files that would be silently left out for the way in which their names end."""
    for pattern in _PATTERNS.values():
        for path in sorted(folder.glob(pattern.replace(".yaml", ".yml"))):
            file = path.relative_to(folder).as_posix()
            yield Diagnostic(file, 0, "is not read, since its name ends in .yml", "let its name end in .yaml")


def _absent(files: Mapping[str, Mapping[str, bytes]]) -> Iterator[Diagnostic]:
    if not files[_PATTERNS[Dataset]]:
        yield Diagnostic("apis", 0, "there is no dataset", "write one to apis/NAME.yaml, or run `sanbu init`")
    if not files[_PATTERNS[Scene]]:
        yield Diagnostic("scenes", 0, "there is no scene", "write one to scenes/NAME.yaml, or run `sanbu init`")
    if not files[_PATTERNS[Policies]]:
        message = "the file is missing, and without roles nobody may read anything"
        yield Diagnostic("policies.yaml", 0, message, f"write for a start: {MINIMAL_POLICIES}")
