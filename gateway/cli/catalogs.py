"""`sanbu init`, `sanbu kb check` and `sanbu kb build`: a catalog from its first draft to a published index."""

import dataclasses
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
from rich.text import Text

from engine.backends.base import open_backend
from engine.errors import SourceUnavailable
from gateway.app import open_knowledge
from gateway.cli.faults import Failure, in_short
from gateway.cli.terminal import counted, err, index_progress, out, prepared, print_json, table
from gateway.log import configure_logging
from gateway.settings import Settings
from scene_kb import shipped
from scene_kb.catalog import load_catalog
from scene_kb.diagnostics import CatalogFault
from scene_kb.importers.base import Draft, NothingToImport, write_draft
from scene_kb.importers.database import draft

_TAKEN = "give a Parquet, CSV or DuckDB file, or a folder of Parquet files"


def run_init(settings: Settings, source: str, folder: Path) -> None:
    """Drafts a catalog in `folder`, or copies one that comes with the package. Raises Failure."""
    with _writing(folder):
        if folder.exists() and any(folder.iterdir()):
            raise Failure(f"{folder} is not empty; choose another folder with --out")
    if source in shipped.SHIPPED:
        _copy(settings.model_copy(update={"catalog": source}), folder)
    else:
        _draft(source, folder)
    catalog = load_catalog(folder)
    scenes, datasets = counted(len(catalog.scenes), "scene"), counted(len(catalog.datasets), "dataset")
    out.print(Text(f"{folder}: {scenes} over {datasets}"), soft_wrap=True)
    out.print(Text(f"next: sanbu kb check {folder}"), soft_wrap=True)
    out.print(Text(f'then: sanbu ask --catalog {folder} "…"'), soft_wrap=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Failure(f"--out: {folder} cannot be written: {error.strerror or error}; choose another folder") from error


def _copy(settings: Settings, folder: Path) -> None:
    place = prepared(settings)
    with _writing(folder):
        shutil.copytree(place.folder, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
        shutil.copytree(place.data, folder / "data")


def _draft(source: str, folder: Path) -> None:
    path = Path(source).expanduser()
    if not path.exists():
        raise Failure(f"{source} does not exist; {_TAKEN}")
    if path.is_file() and _is_blank(path):
        raise Failure(f"{source} is empty; {_TAKEN}")

    async def main() -> Draft:
        backend = open_backend(f"duckdb:{path.resolve()}")
        try:
            return await draft(_url(path.resolve(), folder.resolve()), backend, name=path.stem)
        finally:
            await backend.close()

    try:
        made = anyio.run(main)
    except NothingToImport:
        raise Failure(f"{source} holds no table with columns; {_TAKEN}") from None
    except SourceUnavailable as error:
        raise Failure(f"{source} cannot be read: {in_short(error.detail)}; {_TAKEN}") from error
    with _writing(folder):
        write_draft(made, folder)
    for note in made.notes:
        out.print(Text(note), soft_wrap=True)


def _url(source: Path, folder: Path) -> str:
    """How the catalog names the source: from its own folder where both lie side by side, and so move together."""
    return f"duckdb:{{data}}/../../{source.name}" if source.parent == folder.parent else f"duckdb:{source}"


def _is_blank(path: Path) -> bool:
    with path.open("rb") as file:
        return not any(map(bytes.strip, file))


def catalog_folder(name: str) -> Path:
    """Where the catalog's files are: a folder, or one that comes with the package by its name. Makes no data."""
    return shipped.folder_of(name) if name in shipped.SHIPPED else Path(name).expanduser()


def run_check(name: str, *, as_json: bool) -> None:
    """Prints every fault with file, line and fix. Status 1 where there is one."""
    folder = catalog_folder(name)
    try:
        catalog = load_catalog(folder)
    except CatalogFault as fault:
        if as_json:
            print_json({"ok": False, "diagnostics": [dataclasses.asdict(it) for it in fault.diagnostics]})
        else:
            for diagnostic in fault.diagnostics:
                err.print(Text(str(diagnostic)), soft_wrap=True)
        raise SystemExit(1) from None
    scenes, datasets = counted(len(catalog.scenes), "scene"), counted(len(catalog.datasets), "dataset")
    fields = sum(len(dataset.fields) for dataset in catalog.datasets.values())
    facts = {
        "ok": True,
        "scenes": len(catalog.scenes),
        "datasets": len(catalog.datasets),
        "fields": fields,
        "diagnostics": [],
    }
    if as_json:
        print_json(facts)
    else:
        out.print(
            Text(f"{folder}: {scenes}, {datasets}, {counted(fields, 'field')}, no faults"),
            soft_wrap=True,
        )


def run_build(settings: Settings, *, as_json: bool) -> None:
    """Builds and publishes the index; nothing is embedded that an earlier build already has."""
    configure_logging("ERROR")
    place = prepared(settings)
    with index_progress() as progress:
        index, embedder = open_knowledge(load_catalog(place.folder), place.folder, settings, progress=progress)
    facts = {"scenes": len(index.cards), "texts": len(index.rows), "embedder": embedder.name, "version": index.version}
    if as_json:
        print_json(facts)
    else:
        out.print(table(None, tuple(facts), [tuple(facts.values())]))
