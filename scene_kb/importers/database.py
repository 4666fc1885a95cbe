"""A draft catalog from the tables that a backend holds: types, roles, keys, listed values and first scenes.

Asks the backend to inspect, to profile and to count. Reads no row, and no value of a column that is named like
personal data.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from engine.backends.base import Backend, ColumnInfo, ColumnProfile, TableInfo
from engine.dataset import Dataset, Field, Place, Source, Words, language_of
from scene_kb.importers.base import Draft, NothingToImport
from scene_kb.importers.guesses import Guess, guess, legal_values, time_column
from scene_kb.importers.ids import Ids, field_names
from scene_kb.importers.names import is_personal, kind_of, spoken, unit_of
from scene_kb.importers.scenes import DimensionNames, scenes_of
from scene_kb.models import Scene, Synonyms

_FILE = "data"  # what a backend calls the rows of a single file, which have no name of their own
_NO_FIELD = {"binary": "bytes", "interval": "lengths of time"}  # types of columns that are left out
_PAIRED = 6  # dimensions that are tried in pairs for a key, those with most values first
_REDUCED = 24  # up to so many dimensions a key is reduced one by one; each step counts over the table

_CHECK_KEY = "These identify a row. Pages are cut in their order, so they must be unique."
_CHECK_ZONE = "The zone in which the times were written."
_CHECK_FIELDS = "Dimensions filter and group, metrics are put together. Check roles, aggregations and what fields mean."
_CHECK_PURPOSE = "Say it in the words of those who ask, and add questions: three to five examples of theirs."


@dataclass(frozen=True)
class _Column:
    info: ColumnInfo
    profile: ColumnProfile | None
    field: str
    """The field's name."""
    guess: Guess


@dataclass(frozen=True)
class _Table:
    name: str
    title: str
    rows: int
    columns: tuple[_Column, ...]
    key: tuple[str, ...] = ()
    """Field names."""
    left_out: tuple[str, ...] = ()
    """Columns that no field can be made of, each with what it holds."""

    def dimensions(self) -> list[_Column]:
        return [column for column in self.columns if column.guess.role == "dimension"]


async def draft(url: str, backend: Backend, *, name: str) -> Draft:
    """A catalog over everything at `url`, which `backend` has opened. `name` stands for a file's own.

    Raises NothingToImport, or SourceUnavailable.
    """
    found = await backend.inspect()
    ids, scene_ids, dimensions, notes = Ids(), Ids(), DimensionNames(), list[str]()
    datasets: list[Dataset] = []
    scenes: list[Scene] = []
    comments: dict[str, dict[Place, str]] = {}
    for info in found:
        title = name if len(found) == 1 and info.name == _FILE else info.name
        table = await _looked_at(info, backend, notes, title=title)
        if table is None:
            continue
        dataset = _dataset(table, url, api_no=ids.make(title, otherwise="table"))
        distinct = {it.field: it.profile.distinct for it in table.columns if it.profile}
        drafted = scenes_of(dataset, distinct, rows=table.rows, dimensions=dimensions, ids=scene_ids)
        datasets.append(dataset)
        scenes += drafted
        comments[dataset.api_no] = _comments(table, dataset)
        comments |= {scene.scene_id: {("purpose",): _CHECK_PURPOSE} for scene in drafted}
    if not datasets:
        raise NothingToImport(url)
    return Draft(
        datasets=tuple(datasets),
        scenes=tuple(scenes),
        synonyms=Synonyms(dimensions=dimensions.named),
        comments=comments,
        notes=tuple(notes),
        origin=name,
    )


async def _looked_at(info: TableInfo, backend: Backend, notes: list[str], *, title: str) -> _Table | None:
    """The table with a guess for each column and its key; None where nothing in it can be shown."""
    shown = [column for column in info.columns if column.type not in _NO_FIELD]
    left_out = tuple(f"{it.name} ({_NO_FIELD[it.type]})" for it in info.columns if it.type in _NO_FIELD)
    if left_out:
        notes.append(f"table '{title}': left out {', '.join(left_out)}")
    if not shown:
        return None
    if not info.row_count:
        notes.append(f"table '{title}' has no rows: what its columns are was guessed from their names alone")
    profiled = [column.name for column in shown if column.type != "json" and not is_personal(column.name)]
    profiles = {profile.name: profile for profile in await backend.profile(info.name, profiled)}
    names = field_names(tuple(column.name for column in shown))
    columns = tuple(
        _Column(column, profiles.get(column.name), name, guess(column, profiles.get(column.name), rows=info.row_count))
        for column, name in zip(shown, names, strict=True)
    )
    table = _with_a_dimension(_Table(info.name, title, info.row_count, columns, left_out=left_out), notes)
    return replace(table, key=await _key(table, backend, notes))


def _with_a_dimension(table: _Table, notes: list[str]) -> _Table:
    """A table of measurements alone still needs something to tell its rows apart by: the most varied of them."""
    if table.dimensions():
        return table
    most = max(table.columns, key=lambda it: it.profile.distinct if it.profile else 0)
    notes.append(f"table '{table.title}' has numbers only; '{most.info.name}' was made its dimension, to sort rows by")
    code = Guess("dimension", most.info.type, check="made a dimension for want of any other")
    return replace(table, columns=tuple(replace(it, guess=code) if it is most else it for it in table.columns))


async def _key(table: _Table, backend: Backend, notes: list[str]) -> tuple[str, ...]:
    """The dimensions that tell rows apart: one, else two, else all with those taken away that are not needed."""
    dimensions = [it for it in table.dimensions() if it.info.type != "json"] or table.dimensions()
    if not table.rows:
        return _fields(dimensions)
    alone = [it for it in dimensions if it.profile and it.profile.distinct == table.rows]
    if alone:
        return _fields([min(alone, key=_unlike_a_key)])

    async def unique(columns: Sequence[_Column]) -> bool:
        return await backend.count_distinct(table.name, [it.info.name for it in columns]) == table.rows

    varied = sorted((it for it in dimensions if it.profile), key=lambda it: -_distinct(it))[:_PAIRED]
    for pair in combinations(varied, 2):
        if _distinct(pair[0]) * _distinct(pair[1]) >= table.rows and await unique(pair):
            return _fields([it for it in dimensions if it in pair])
    if not await unique(dimensions):
        notes.append(f"table '{table.title}' has no key: some rows are alike in every dimension")
        return _fields(dimensions)
    kept = list(dimensions)
    for it in sorted(dimensions, key=_distinct) if len(dimensions) <= _REDUCED else ():
        fewer = [other for other in kept if other is not it]
        if fewer and await unique(fewer):
            kept = fewer
    return _fields(kept)


def _unlike_a_key(column: _Column) -> tuple[bool, bool, bool]:
    """Smallest for what names things: a harmless code, no measurement."""
    measured = column.info.type.startswith(("float", "time", "date"))
    return bool(column.guess.flags), measured, kind_of(column.info.name) != "code"


def _distinct(column: _Column) -> int:
    """Different values, with null as one more."""
    return column.profile.distinct + (column.profile.nulls > 0) if column.profile else 0


def _fields(columns: Sequence[_Column]) -> tuple[str, ...]:
    return tuple(it.field for it in columns)


def _dataset(table: _Table, url: str, *, api_no: str) -> Dataset:
    profiles = [it.profile for it in table.columns if it.profile]
    time = time_column([it.info for it in table.columns], profiles)
    ordered = sorted(table.columns, key=lambda it: it.guess.role == "metric")  # stable: else as in the table
    given: dict[str, object] = {"api_no": api_no, "title": _words(spoken(table.title)), "key": table.key}
    if time is not None:
        given |= {"time_column": next(it.field for it in table.columns if it.info.name == time), "time_zone": "UTC"}
    given |= {
        "sources": (Source(name="main", url=url, table=table.name),),
        "fields": tuple(_field(it, table.rows) for it in ordered),
    }
    return Dataset.model_validate(given)


def _field(column: _Column, rows: int) -> Field:
    """Only what is known is set, so that only that is written."""
    info, found = column.info, column.guess
    given: dict[str, object] = {"name": column.field, "role": found.role, "type": found.type}
    given["about"] = _words(info.comment or spoken(info.name) or column.field)
    if column.field != info.name:
        given["column"] = info.name
    if found.aggregation is not None:
        given["aggregation"] = found.aggregation
        if unit := unit_of(info.name):
            given["unit"] = unit
    if found.flags:
        given["flags"] = found.flags
    if column.profile and (values := legal_values(info, column.profile, found, rows=rows)):
        given["values"] = values
    return Field.model_validate(given)


def _words(text: str) -> Words:
    return Words(zh=text) if language_of(text) == "zh" else Words(en=text)


def _comments(table: _Table, dataset: Dataset) -> dict[Place, str]:
    checks = {it.field: it.guess.check for it in table.columns if it.guess.check}
    left_out = f" Left out: {', '.join(table.left_out)}." if table.left_out else ""
    comments: dict[Place, str] = {("key",): _CHECK_KEY, ("timeZone",): _CHECK_ZONE}
    comments[("fields",)] = _CHECK_FIELDS + left_out
    comments |= {("fields", at): checks[it.name] for at, it in enumerate(dataset.fields) if it.name in checks}
    return comments
