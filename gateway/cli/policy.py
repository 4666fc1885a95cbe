"""`sanbu policy explain` and `sanbu policy test`: who sees what, in words, and whether that is what was meant."""

import dataclasses
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from rich.text import Text

from engine.errors import UnknownDataset
from engine.permissions import authorize, caps_of
from engine.policy import Principal
from engine.query import Grant
from engine.verdicts import Verdict, field_verdicts, rules_by_role
from gateway.cli.catalogs import catalog_folder
from gateway.cli.faults import Failure
from gateway.cli.terminal import counted, err, out, print_json
from gateway.settings import Settings
from scene_kb.catalog import load_catalog
from scene_kb.diagnostics import instead_of
from scene_kb.expectations import FILE, in_words, read_expectations, rows_in_words, scene_verdicts, unmet
from scene_kb.models import Catalog


def run_explain(
    settings: Settings, user: str, api_no: str, *, roles: list[str], attributes: list[str], as_json: bool
) -> None:
    """Prints what somebody sees of a dataset, and which rule of which role says so. Raises Failure."""
    catalog = load_catalog(catalog_folder(settings.catalog))
    if api_no not in catalog.datasets:
        raise Failure(f"there is no dataset '{api_no}'; {instead_of(api_no, catalog.datasets)}")
    for role in roles:
        if role not in catalog.policies.roles:
            raise Failure(f"--role: there is no role '{role}'; {instead_of(role, catalog.policies.roles)}")
    held = tuple(roles) or catalog.policies.local_roles
    who = Principal(id=user, roles=held, attributes=_attributes(attributes))
    facts = _facts(catalog, api_no, who, settings.now or datetime.now(UTC))
    if as_json:
        print_json(facts)
    else:
        for line in _told(facts):
            out.print(Text(line), soft_wrap=True)


def run_test(settings: Settings, *, as_json: bool) -> None:
    """Holds policy_tests.yaml against policies.yaml. Status 1 where anything is otherwise. Raises CatalogFault."""
    folder = catalog_folder(settings.catalog)
    catalog, expectations = load_catalog(folder), read_expectations(folder)
    failures = unmet(catalog, expectations, today=(settings.now or datetime.now(UTC)).date())
    if as_json:
        told = [{"file": it.file, "line": it.line, "message": it.message, "instead": it.fix} for it in failures]
        print_json({"ok": not failures, "expectations": len(expectations), "failures": told})
    else:
        for failure in failures:
            err.print(Text(str(failure)), soft_wrap=True)
        met = "all met" if not failures else f"{len(failures)} unmet"
        out.print(Text(f"{folder / FILE}: {counted(len(expectations), 'expectation')}, {met}"), soft_wrap=True)
    if failures:
        raise SystemExit(1)


def _attributes(given: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    attributes: dict[str, tuple[str, ...]] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise Failure(f"--attribute {text}: write NAME=VALUE")
        attributes[name] = (*attributes.get(name, ()), value)
    return attributes


def _facts(catalog: Catalog, api_no: str, who: Principal, now: datetime) -> dict[str, Any]:
    dataset = catalog.datasets[api_no]
    try:
        grant: Grant | None = authorize(catalog.policies, dataset, who)
    except UnknownDataset:
        grant = None
    fields = field_verdicts(dataset, rules_by_role(catalog.policies, dataset, who))
    scenes = scene_verdicts(catalog, api_no, who, today=now.date())
    return {
        "as": who.id,
        "roles": list(who.roles),
        "attributes": {name: list(values) for name, values in who.attributes.items()},
        "dataset": api_no,
        "access": grant is not None,
        "fields": [_named("name", name, verdict) for name, verdict in fields.items()],
        "rows": _rows(grant) if grant else None,
        "rowsInWords": rows_in_words(grant) if grant else "no row may be read",
        "scenes": [_named("sceneId", name, verdict) for name, verdict in scenes.items()],
        "caps": caps_of(catalog.policies, who).model_dump(by_alias=True),
        "grant": grant.fingerprint if grant else None,
    }


def _named(key: str, name: str, verdict: Verdict) -> dict[str, Any]:
    facts = {part: value for part, value in dataclasses.asdict(verdict).items() if value is not None}
    if verdict.mask is not None:
        facts["mask"] = verdict.mask.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: name, **facts, "inWords": in_words(verdict)}


def _rows(grant: Grant) -> list[list[dict[str, Any]]]:
    """Alternatives, of which one must hold; empty where every row may be read."""
    return [
        [
            {
                "field": it.field,
                "values": list(map(str, it.values)),
                "kind": it.kind,
                "role": it.role,
                "rule": it.written.rule,
            }
            for it in scopes
        ]
        for scopes in grant.rows
    ]


def _told(facts: Mapping[str, Any]) -> list[str]:
    """One line for each reason, with all that it is the reason of."""
    roles = f"as {', '.join(facts['roles'])}" if facts["roles"] else "without a role"
    held = "".join(f", {name} = {' or '.join(values)}" for name, values in facts["attributes"].items())
    fields, scenes = facts["fields"], facts["scenes"]
    seen, found = _seen(fields), _seen(scenes)
    lines = [f"{facts['as']} {roles}{held}"]
    lines.append(
        f"{facts['dataset']}: {seen} of {counted(len(fields), 'field')}"
        if facts["access"]
        else f"{facts['dataset']}: nothing"
    )
    lines += _grouped(fields, "name")
    lines.append(facts["rowsInWords"])
    lines.append(f"scenes: {found} of {len(scenes)}")
    lines += _grouped(scenes, "sceneId")
    lines.append("caps: " + ", ".join(f"{name} {'any' if cap is None else cap}" for name, cap in facts["caps"].items()))
    return lines


def _seen(verdicts: Sequence[Mapping[str, Any]]) -> int:
    return sum(it["sees"] != "hidden" for it in verdicts)


def _grouped(verdicts: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    by_reason: dict[tuple[str, str], list[str]] = {}
    for it in verdicts:
        by_reason.setdefault((it["sees"], it["inWords"]), []).append(it[key])
    order = ("clear", "masked", "hidden")
    ranked = sorted(by_reason.items(), key=lambda pair: order.index(pair[0][0]))
    return [f"  {sees}, {reason}: {', '.join(names)}" for (sees, reason), names in ranked]
