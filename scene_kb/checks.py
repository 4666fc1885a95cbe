"""Whether the parts of a catalog fit each other: every name points to something that exists, every rule can match.

Says nothing about parts that were already found faulty by themselves.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date

from engine.dataset import Dataset, Field, Place
from engine.folding import fold
from engine.masks import unworkable
from engine.patterns import idle, matches
from engine.policy import DatasetRule, Policies, SceneRule
from scene_kb.definitions import Defined
from scene_kb.diagnostics import Diagnostic, instead_of
from scene_kb.models import Parameter, Scene, Synonyms

_SUMMED = ("sum", "avg", "median")
_RULED = ("string", "int", "uint", "boolean", "date")
"""What a row rule compares exactly, on every store."""


@dataclass(frozen=True)
class Parts:
    """What was read from a catalog's folder."""

    datasets: tuple[Defined[Dataset], ...]
    scenes: tuple[Defined[Scene], ...]
    policies: Defined[Policies] | None
    synonyms: Synonyms
    whole: bool
    """Every file could be read. Otherwise a name that points to nothing may well be defined in a faulty file."""


def misfits(parts: Parts) -> Iterator[Diagnostic]:
    datasets = {dataset.it.api_no: dataset.it for dataset in parts.datasets}
    yield from _repeated_datasets(parts.datasets)
    yield from _repeated_scenes(parts.scenes)
    for dataset in parts.datasets:
        yield from _dataset_misfits(dataset)
    for scene in parts.scenes:
        yield from _dimension_misfits(scene, parts.synonyms)
        if scene.it.api_no in datasets:
            yield from _scene_misfits(scene, datasets[scene.it.api_no])
        elif parts.whole:
            yield scene.fault(("apiNo",), f"there is no api '{scene.it.api_no}'", instead_of(scene.it.api_no, datasets))
    if parts.whole:
        yield from _successor_misfits(parts.scenes)
    if parts.policies is not None:
        yield from _policy_misfits(parts.policies, datasets, parts)


def _repeated_datasets(datasets: Iterable[Defined[Dataset]]) -> Iterator[Diagnostic]:
    first: dict[str, str] = {}
    for dataset in datasets:
        name = dataset.it.api_no
        if name in first:
            yield dataset.fault(("apiNo",), f"apiNo '{name}' is also defined in {first[name]}", "rename or delete one")
        first.setdefault(name, dataset.document.file)


def _repeated_scenes(scenes: Iterable[Defined[Scene]]) -> Iterator[Diagnostic]:
    first: dict[str, str] = {}
    for scene in scenes:
        ref = scene.it.ref
        if ref in first:
            yield scene.fault(("sceneId",), f"{ref} is also defined in {first[ref]}", "give one another version")
        first.setdefault(ref, scene.document.file)


def _dataset_misfits(dataset: Defined[Dataset]) -> Iterator[Diagnostic]:
    time = dataset.it.by_name[dataset.it.time_column] if dataset.it.time_column else None
    if time is not None and not time.temporal:
        message = f"timeColumn '{time.name}' is of type {time.type}"
        yield dataset.fault(("timeColumn",), message, "name a field of type date, timestamp or timestamptz")
    for at, field in enumerate(dataset.it.fields):
        if field.aggregation in _SUMMED and not field.numeric:
            message = f"metric '{field.name}' is the {field.aggregation} of a {field.type}"
            yield dataset.fault(("fields", at), message, "correct its type, or count it")


def _dimension_misfits(scene: Defined[Scene], synonyms: Synonyms) -> Iterator[Diagnostic]:
    """The catalog's dimensions are those that synonyms.yaml names; where it names none, every word is one."""
    named: list[tuple[Place, str]] = [(("dimensions", at), name) for at, name in enumerate(scene.it.dimensions)]
    for of, combination in enumerate(scene.it.combinations):
        named += [(("combinations", of, "dimensions", at), name) for at, name in enumerate(combination.dimensions)]
    for place, name in named:
        if synonyms.dimensions and name not in synonyms.dimensions:
            message = f"synonyms.yaml knows no dimension '{name}'"
            yield scene.fault(place, message, instead_of(name, synonyms.dimensions))


def _scene_misfits(scene: Defined[Scene], dataset: Dataset) -> Iterator[Diagnostic]:
    kept = set(scene.it.field_names(dataset))
    for place, written in scene.it.named_fields():
        name = _without_suffix(written, dataset) if place[0] == "suggested" else written
        if name not in dataset.by_name:
            yield scene.fault(place, f"api '{dataset.api_no}' has no field '{name}'", instead_of(name, dataset.by_name))
        elif name not in kept:
            yield scene.fault(place, f"the scene's own include and exclude remove '{name}'", "name another, or keep it")
        elif place[0] == "metrics" and dataset.by_name[name].role != "metric":
            metrics = [field.name for field in dataset.fields if field.role == "metric"]
            yield scene.fault(place, f"'{name}' is a dimension and no metric", instead_of(name, metrics))
        elif place[0] == "grain" and dataset.by_name[name].role != "dimension":
            yield scene.fault(place, f"'{name}' is a metric, and rows are grouped by dimensions", "move it to metrics")
    yield from _grain_misfits(scene, dataset)
    for key, patterns in (("include", scene.it.fields.include), ("exclude", scene.it.fields.exclude)):
        yield from _idle_patterns(scene, ("fields", key), patterns, dataset.by_name, "field")
    for at, parameter in enumerate(scene.it.parameters):
        if parameter.name in dataset.by_name:
            for place, message, fix in _parameter_misfits(parameter, dataset.by_name[parameter.name]):
                yield scene.fault(("parameters", at, *place), message, fix)


def _grain_misfits(scene: Defined[Scene], dataset: Dataset) -> Iterator[Diagnostic]:
    for at, (written, name) in enumerate(zip(scene.it.grain, scene.it.grain_fields, strict=True)):
        field, unit = dataset.by_name.get(name), written.removeprefix(f"{name}:")
        if field is None or written == name:
            continue
        if not field.temporal or (unit == "hour" and field.type == "date"):
            yield scene.fault(("grain", at), f"'{name}' is of type {field.type} and has no {unit}", f"write {name}")


def _without_suffix(name: str, dataset: Dataset) -> str:
    """An order may name `date:week` or `cost:avg`; a field's own name may hold a colon too."""
    return name if name in dataset.by_name else (name.rpartition(":")[0] or name)


def _parameter_misfits(parameter: Parameter, field: Field) -> Iterator[tuple[Place, str, str]]:
    if parameter.max_days is not None and not field.temporal:
        yield ("maxDays",), f"'{parameter.name}' is of type {field.type} and has no days", "delete maxDays"
    stored = [value.value for value in field.values]
    for at, value in enumerate(parameter.values):
        if stored and value.value not in stored:
            message = f"'{value.value}' is no legal value of field '{field.name}'"
            yield ("values", at), message, instead_of(str(value.value), map(str, stored))
    legal = parameter.values or field.values
    names = {fold(name) for value in legal for name in value.names()}
    if legal and parameter.default is not None and fold(str(parameter.default)) not in names:
        message = f"the default '{parameter.default}' is no legal value of '{parameter.name}'"
        yield ("default",), message, instead_of(str(parameter.default), [str(value.value) for value in legal])


def _successor_misfits(scenes: Sequence[Defined[Scene]]) -> Iterator[Diagnostic]:
    known = dict.fromkeys(name for scene in scenes for name in (scene.it.scene_id, scene.it.ref))
    for scene in scenes:
        successor = scene.it.successor
        if successor in (scene.it.scene_id, scene.it.ref):
            yield scene.fault(("successor",), "the scene is its own successor", "name another, or delete the line")
        elif successor is not None and successor not in known:
            yield scene.fault(("successor",), f"there is no scene '{successor}'", instead_of(successor, known))


def _policy_misfits(policies: Defined[Policies], datasets: Mapping[str, Dataset], parts: Parts) -> Iterator[Diagnostic]:
    for name, role in policies.it.roles.items():
        for api_no, rule in role.datasets.items():
            place: Place = ("roles", name, "datasets", api_no)
            ruled = list(datasets.values()) if api_no == "*" else [datasets[api_no]] if api_no in datasets else []
            if not ruled and parts.whole:
                yield policies.fault(place, f"there is no api '{api_no}'", instead_of(api_no, [*datasets, "*"]))
            if ruled and (parts.whole or api_no != "*"):
                yield from _field_rule_misfits(policies, place, rule, ruled)
            for dataset in ruled:
                yield from _row_rule_misfits(policies, place, rule, dataset)
                yield from _mask_misfits(policies, place, rule, dataset)
                yield from _day_cap_misfits(policies, name, rule, dataset)
        if parts.whole:
            yield from _scene_rule_misfits(policies, ("roles", name, "scenes"), role.scenes, parts.scenes)


def _field_rule_misfits(
    policies: Defined[Policies], place: Place, rule: DatasetRule, ruled: Sequence[Dataset]
) -> Iterator[Diagnostic]:
    names = list(dict.fromkeys(name for dataset in ruled for name in dataset.by_name))
    for key, patterns in (("allow", rule.fields.allow), ("deny", rule.fields.deny)):
        yield from _idle_patterns(policies, (*place, "fields", key), patterns, names, "field")
    masked = tuple(rule.fields.mask)
    for at in idle(masked, tuple(names)):
        message = f"the pattern '{masked[at]}' matches no field"
        yield policies.fault((*place, "fields", "mask", masked[at]), message, instead_of(masked[at], names))


def _mask_misfits(
    policies: Defined[Policies], place: Place, rule: DatasetRule, dataset: Dataset
) -> Iterator[Diagnostic]:
    """Masks that cannot work on a field, and those that another field of the same stored column undoes."""
    denied = {name for name in dataset.by_name if matches(name, rule.fields.deny)}
    masked = {name for name in dataset.by_name if matches(name, tuple(rule.fields.mask))}
    clear = {
        field.source_column: field.name
        for field in dataset.fields
        if field.stored and field.name not in masked | denied and matches(field.name, rule.fields.allow)
    }
    for pattern, mask in rule.fields.mask.items():
        here = (*place, "fields", "mask", pattern)
        for field in dataset.fields:
            if field.name in denied or not matches(field.name, (pattern,)):
                continue
            if wrong := unworkable(mask, field, dataset):
                yield policies.fault(here, f"the mask cannot work: {wrong[0]}", wrong[1])
            elif other := clear.get(field.source_column):
                message = f"the mask hides nothing: '{other}' shows the column of '{field.name}' as it is"
                yield policies.fault(here, message, f"mask or deny '{other}' too")


def _day_cap_misfits(
    policies: Defined[Policies], role: str, rule: DatasetRule, dataset: Dataset
) -> Iterator[Diagnostic]:
    caps, time = policies.it.roles[role].caps, dataset.time_column
    if caps is not None and caps.days is not None and time is not None and matches(time, rule.fields.deny):
        message = f"the cap counts days by '{time}', which this role is denied"
        yield policies.fault(("roles", role, "caps", "days"), message, f"let the role see '{time}', or delete the cap")


def _scene_rule_misfits(
    policies: Defined[Policies], place: Place, rule: SceneRule, scenes: Sequence[Defined[Scene]]
) -> Iterator[Diagnostic]:
    tags = [f"tag:{tag}" for scene in scenes for tag in scene.it.tags]
    names = list(dict.fromkeys([*(scene.it.scene_id for scene in scenes), *tags]))
    for key, patterns in (("allow", rule.allow), ("deny", rule.deny)):
        yield from _idle_patterns(policies, (*place, key), patterns, names, "scene or tag")


def _idle_patterns(
    part: Defined[Scene] | Defined[Policies], place: Place, patterns: Sequence[str], names: Iterable[str], noun: str
) -> Iterator[Diagnostic]:
    known = tuple(names)
    for at in idle(patterns, known):
        message = f"the pattern '{patterns[at]}' matches no {noun}"
        yield part.fault((*place, at), message, instead_of(patterns[at], known))


def _row_rule_misfits(
    policies: Defined[Policies], place: Place, rule: DatasetRule, dataset: Dataset
) -> Iterator[Diagnostic]:
    dimensions = [field.name for field in dataset.fields if field.role == "dimension"]
    for at, written in enumerate(rule.rows):
        parsed, here = written.parsed(), (*place, "rows", at)
        if parsed.field not in dimensions:
            message = f"the row rule looks at '{parsed.field}', which is no dimension of api '{dataset.api_no}'"
            yield policies.fault(here, message, instead_of(parsed.field, dimensions))
            continue
        if not dataset.by_name[parsed.field].type.startswith(_RULED):
            message = f"the row rule looks at '{parsed.field}', which is {dataset.by_name[parsed.field].type}"
            yield policies.fault(here, message, "rules are over texts, whole numbers, booleans and dates; name another")
            continue
        for value in parsed.values:
            if fix := _never_matches(value, dataset.by_name[parsed.field]):
                yield policies.fault(here, f"the row rule can never match: '{parsed.field}' is never '{value}'", fix)


def _never_matches(value: str | int | bool, field: Field) -> str | None:
    """What to write instead of a value that the field cannot have; None where it can."""
    stored = [legal.value for legal in field.values]
    if stored and value not in stored:
        called = [legal.value for legal in field.values if fold(str(value)) in map(fold, legal.names())]
        return f"write the stored value '{called[0]}'" if called else instead_of(str(value), map(str, stored))
    if field.type == "date":
        with suppress(ValueError):
            date.fromisoformat(str(value))
            return None
        return "write a day such as '2026-11-30'"
    kind = bool if field.type == "boolean" else int if field.type.startswith(("int", "uint")) else None
    if kind is not None and type(value) is not kind:
        return f"write a value of type {field.type}, without quotes"
    if field.type == "string" and not isinstance(value, str):
        return "put the value in quotes"
    return None
