"""A curator's own expectations of policies.yaml: policy_tests.yaml, a list of who sees what, held against the Grants.

Runs nothing and reads no data. A verdict in words is here, too, since a failed expectation says what decided instead.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from functools import partial
from pathlib import Path
from typing import Literal, Self

from pydantic import Field as Setting
from pydantic import model_validator

from engine.dataset import Dataset, Definition, Place
from engine.errors import UnknownDataset
from engine.masks import MaskKind
from engine.patterns import idle, kept
from engine.permissions import authorize
from engine.policy import Principal
from engine.query import Grant
from engine.rowrules import parse_rule
from engine.verdicts import Verdict, field_verdicts, rules_by_role, scene_verdict
from scene_kb.definitions import Defined, define
from scene_kb.diagnostics import CatalogFault, Diagnostic, instead_of
from scene_kb.documents import read_document
from scene_kb.models import Catalog
from scene_kb.visibility import visible_scenes

FILE = "policy_tests.yaml"


class Who(Definition):
    """The roles of somebody, and what row rules look at."""

    roles: tuple[str, ...] = Setting(min_length=1)
    attributes: Mapping[str, tuple[str, ...]] = {}


class Expectation(Definition):
    """What somebody sees of one dataset. Fields and scenes are named by shell patterns, each of all that it covers."""

    who: Who
    dataset: str = Setting(description="its apiNo")
    sees: tuple[str, ...] = Setting((), description="fields as they are")
    masks: Mapping[str, MaskKind] = Setting({}, description="by field, the kind of its mask")
    hides: tuple[str, ...] = Setting((), description="fields that do not exist for them")
    sees_scenes: tuple[str, ...] = ()
    hides_scenes: tuple[str, ...] = ()
    rows: Literal["every", "none"] | tuple[str | tuple[str, ...], ...] | None = Setting(
        None, description="every, none, or the rules of which one must hold; rules in a list of their own hold together"
    )

    @model_validator(mode="after")
    def _readable(self) -> Self:
        for rule in (rule for rules in self.alternatives() for rule in rules):
            if parse_rule(rule).attribute is not None:
                raise ValueError(f"'{rule}' names no values; write FIELD in ('a', 'b')")
        return self

    def alternatives(self) -> tuple[tuple[str, ...], ...]:
        """The rules as they are written, by alternative; none where rows are not said by rules."""
        if self.rows is None or isinstance(self.rows, str):
            return ()
        return tuple((rules,) if isinstance(rules, str) else rules for rules in self.rows)


def read_expectations(folder: Path) -> tuple[Defined[Expectation], ...]:
    """What stands in the folder's policy_tests.yaml. Raises CatalogFault, also where there is none."""
    path = folder / FILE
    if not path.is_file():
        fix = "write a list of {who: {roles: [ROLE]}, dataset: API, sees: [FIELD]}"
        raise CatalogFault([Diagnostic(FILE, 0, "there is no such file", fix)])
    document = read_document(FILE, path.read_bytes())
    if not isinstance(document.value, list):
        raise CatalogFault([document.fault((), "the file is no list", "begin each expectation with -")])
    found: list[Defined[Expectation]] = []
    faults: list[Diagnostic] = []
    for at in range(len(document.value)):
        try:
            found.append(define(Expectation, document, (at,)))
        except CatalogFault as fault:
            faults += fault.diagnostics
    if faults:
        raise CatalogFault(faults)
    return tuple(found)


def unmet(catalog: Catalog, expectations: Iterable[Defined[Expectation]], *, today: date) -> tuple[Diagnostic, ...]:
    """Everything that is otherwise than expected, in the order of the file."""
    return tuple(
        sorted(
            {it for expectation in expectations for it in _unmet(catalog, expectation, today)}, key=lambda it: it.line
        )
    )


def _unmet(catalog: Catalog, expected: Defined[Expectation], today: date) -> Iterator[Diagnostic]:
    dataset = catalog.datasets.get(expected.it.dataset)
    if dataset is None:
        fix = instead_of(expected.it.dataset, catalog.datasets)
        yield expected.fault(("dataset",), f"there is no api '{expected.it.dataset}'", fix)
        return
    for at, role in enumerate(expected.it.who.roles):
        if role not in catalog.policies.roles:
            fix = instead_of(role, catalog.policies.roles)
            yield expected.fault(("who", "roles", at), f"there is no role '{role}'", fix)
    who = Principal(id="expected", roles=expected.it.who.roles, attributes=expected.it.who.attributes)
    yield from _unmet_fields(catalog, expected, dataset, who)
    yield from _unmet_scenes(catalog, expected, who, today)
    yield from _unmet_rows(catalog, expected, dataset, who)


def _unmet_fields(
    catalog: Catalog, expected: Defined[Expectation], dataset: Dataset, who: Principal
) -> Iterator[Diagnostic]:
    verdicts = field_verdicts(dataset, rules_by_role(catalog.policies, dataset, who))
    for key, sees, patterns in (("sees", "clear", expected.it.sees), ("hides", "hidden", expected.it.hides)):
        for at, name, verdict in _covered(patterns, verdicts):
            if name is None or verdict is None:
                yield _covers_nothing(expected, (key, at), patterns[at], verdicts)
            elif verdict.sees != sees:
                yield expected.fault((key, at), f"'{name}' is expected to be {sees}", in_words(verdict))
    for pattern, kind in expected.it.masks.items():
        for _, name, verdict in _covered((pattern,), verdicts):
            if name is None or verdict is None:
                yield _covers_nothing(expected, ("masks", pattern), pattern, verdicts)
            elif verdict.mask is None or verdict.mask.kind != kind:
                yield expected.fault(("masks", pattern), f"'{name}' is expected under {kind}", in_words(verdict))


def _unmet_scenes(
    catalog: Catalog, expected: Defined[Expectation], who: Principal, today: date
) -> Iterator[Diagnostic]:
    verdicts = scene_verdicts(catalog, expected.it.dataset, who, today=today)
    for key, sees, patterns in (
        ("seesScenes", "clear", expected.it.sees_scenes),
        ("hidesScenes", "hidden", expected.it.hides_scenes),
    ):
        for at, name, verdict in _covered(patterns, verdicts):
            if name is None or verdict is None:
                yield _covers_nothing(expected, (key, at), patterns[at], verdicts)
            elif verdict.sees != sees:
                yield expected.fault((key, at), f"'{name}' is expected to be {sees}", in_words(verdict))


def _covered(
    patterns: tuple[str, ...], verdicts: Mapping[str, Verdict]
) -> Iterator[tuple[int, str | None, Verdict | None]]:
    """(position, name, verdict) of each name that a pattern covers; (position, None, None) where it covers none."""
    names = tuple(verdicts)
    for at in idle(patterns, names):
        yield at, None, None
    for at, pattern in enumerate(patterns):
        for name in kept(names, (pattern,), ()):
            yield at, name, verdicts[name]


def _covers_nothing(expected: Defined[Expectation], place: Place, pattern: str, names: Iterable[str]) -> Diagnostic:
    return expected.fault(place, f"'{pattern}' is nothing of api '{expected.it.dataset}'", instead_of(pattern, names))


def _unmet_rows(
    catalog: Catalog, expected: Defined[Expectation], dataset: Dataset, who: Principal
) -> Iterator[Diagnostic]:
    if expected.it.rows is None:
        return
    fault = partial(expected.fault, ("rows",))
    try:
        grant = authorize(catalog.policies, dataset, who)
    except UnknownDataset:
        if expected.it.rows != "none":
            yield fault("rows are expected", "nothing of the dataset is allowed")
        return
    said = rows_in_words(grant)
    match expected.it.rows:
        case "every":
            if grant.rows:
                yield fault("every row is expected", said)
        case "none":
            if not grant.rows or any(all(scope.values for scope in scopes) for scopes in grant.rows):
                yield fault("no row is expected", said)
        case _:
            wanted = {frozenset(map(_plain, rules)) for rules in expected.it.alternatives()}
            held = {frozenset((it.field, frozenset(map(str, it.values))) for it in scopes) for scopes in grant.rows}
            if wanted != held:
                yield fault("other rows are expected", said)


def _plain(rule: str) -> tuple[str, frozenset[str]]:
    parsed = parse_rule(rule)
    return parsed.field, frozenset(map(str, parsed.values))


def scene_verdicts(catalog: Catalog, api_no: str, who: Principal, *, today: date) -> Mapping[str, Verdict]:
    """By id: every scene of the dataset that answers today to anybody who may see it."""
    seen = visible_scenes(
        catalog, who, today=today, granting=lambda api, it: authorize(catalog.policies, catalog.datasets[api], it)
    )
    seen_ids = {scene.scene_id for scene in seen.values()}
    verdicts: dict[str, Verdict] = {}
    for scene in catalog.scenes:
        if scene.api_no == api_no:
            verdict = scene_verdict(catalog.policies, who, scene_id=scene.scene_id, tags=scene.tags)
            if verdict.sees == "clear" and scene.scene_id not in seen_ids:
                verdict = Verdict("hidden", "hiddenBeneath")
            verdicts[scene.scene_id] = verdict
    return verdicts


def in_words(verdict: Verdict) -> str:
    """Why something is seen or not, for a curator."""
    rule = f"role {verdict.role} ({verdict.pattern})"
    match verdict.because:
        case "allowed":
            return f"allowed by {rule}"
        case "mask":
            return f"masked by {rule}, shown {verdict.mask.said() if verdict.mask else ''}"
        case "maskBeneath":
            return f"computed from '{verdict.operand}', which is masked"
        case "denied":
            return f"denied by {rule}"
        case "notAllowed":
            return "allowed by no role"
        case "hiddenBeneath":
            return (
                f"needs '{verdict.operand}', which is hidden"
                if verdict.operand
                else "its grain or a required filter is hidden"
            )
        case "unworkableMask":
            return f"masked by {rule} in a way that cannot work, and so hidden"


def rows_in_words(grant: Grant) -> str:
    """Which rows may be read, and by whose rules."""
    if not grant.rows:
        return "every row may be read"
    return "rows may be read where " + ", or where ".join(
        " and ".join(
            f"{it.field} is {' or '.join(map(str, it.values)) if it.values else 'nothing that there is'}"
            f" (role {it.role}: {it.written.rule})"
            for it in scopes
        )
        for scopes in grant.rows
    )
