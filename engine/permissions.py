"""`authorize` turns policies, a dataset and a principal into a Grant. It is the only maker of Grants.

Default deny; a field that any held role denies is denied; roles that are held side by side widen each other otherwise,
and a role that inherits another narrows its rows.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from fnmatch import fnmatchcase

from engine.dataset import Dataset, Field
from engine.errors import UnknownDataset
from engine.policy import Caps, DatasetRule, Policies, Principal, RolePolicy, RowRuleText
from engine.query import Grant, RowScope


def authorize(policies: Policies, dataset: Dataset, principal: Principal) -> Grant:
    """What `principal` may read of `dataset`.

    Raises UnknownDataset where it is nothing at all: hidden and absent are one error.
    """
    held = policies.held_by(principal)
    rules = [rule for role in held for rule in _rules_for(role, dataset.api_no)]
    fields = _computable(dataset, _allowed_fields(dataset, rules))
    if not fields:
        raise UnknownDataset(dataset.api_no)
    rows = _row_scopes(policies, dataset, principal)
    caps = caps_of(policies, principal)
    return Grant(
        principal_id=principal.id,
        roles=principal.roles,
        api_no=dataset.api_no,
        fields=fields,
        rows=rows,
        caps=caps,
        fingerprint=_fingerprint(dataset.api_no, fields, rows, caps),
    )


def caps_of(policies: Policies, principal: Principal) -> Caps:
    """The widest that any held role allows; the defaults where none says anything."""
    return _widest(role.caps for role in policies.held_by(principal) if role.caps is not None)


def sees_scene(policies: Policies, principal: Principal, *, scene_id: str, tags: Iterable[str]) -> bool:
    """Whether some held role allows the scene and none denies it. The dataset has its own say."""
    names = (scene_id, *(f"tag:{tag}" for tag in tags))

    def hit(patterns: tuple[str, ...]) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in patterns for name in names)

    held = policies.held_by(principal)
    return any(hit(role.scenes.allow) for role in held) and not any(hit(role.scenes.deny) for role in held)


def _rules_for(role: RolePolicy, api_no: str) -> tuple[DatasetRule, ...]:
    return tuple(rule for name, rule in role.datasets.items() if name in ("*", api_no))


def _allowed_fields(dataset: Dataset, rules: list[DatasetRule]) -> frozenset[str]:
    def hit(name: str, patterns: Iterable[str]) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in patterns)

    allow = [pattern for rule in rules for pattern in rule.fields.allow]
    deny = [pattern for rule in rules for pattern in rule.fields.deny]
    return frozenset(field.name for field in dataset.fields if hit(field.name, allow) and not hit(field.name, deny))


def _computable(dataset: Dataset, allowed: frozenset[str]) -> frozenset[str]:
    """Without the metrics that are computed from a field the caller may not see: a ratio would give it away."""

    def open_to_the_leaves(name: str) -> bool:
        return name in allowed and all(map(open_to_the_leaves, _needed_for(dataset.by_name[name], dataset)))

    return frozenset(filter(open_to_the_leaves, allowed))


def _needed_for(field: Field, dataset: Dataset) -> Iterable[str]:
    """The fields without which a computed metric cannot be asked for."""
    yield from field.operand_names()
    if field.share is not None:
        yield from field.share.within
    if field.comparison is not None and dataset.time_column is not None:
        yield dataset.time_column


def _row_scopes(policies: Policies, dataset: Dataset, principal: Principal) -> tuple[tuple[RowScope, ...], ...]:
    """One alternative per role that the principal holds and that opens any field, with all its row rules: its own and
    the inherited ones, those for this dataset and those for every.

    A role without row rules reads every row, whatever the others say.
    """
    by_role = [
        [rule for name in policies.lineage(role) for rule in _rules_for(policies.roles[name], dataset.api_no)]
        for role in principal.roles
    ]
    opening = [rules for rules in by_role if any(rule.fields.allow for rule in rules)]
    scopes = [tuple(_scope(text, dataset, principal) for rule in rules for text in rule.rows) for rules in opening]
    return tuple(scopes) if all(scopes) else ()


def _scope(text: RowRuleText, dataset: Dataset, principal: Principal) -> RowScope:
    rule = text.parsed()
    values = rule.values
    if rule.attribute is not None:
        held = (_in_type(value, dataset.by_name[rule.field]) for value in principal.attributes.get(rule.attribute, ()))
        values = tuple(value for value in held if value is not None)
    return RowScope(field=rule.field, values=values, kind=text.kind, written=text)


def _in_type(attribute: str, field: Field) -> str | int | bool | None:
    """An attribute's value as the field stores it; None, which no row has, where the field cannot hold it."""
    if field.type == "boolean":
        return {"true": True, "false": False}.get(attribute.lower())
    if field.type.startswith(("int", "uint")):
        return int(attribute) if re.fullmatch(r"[+-]?\d{1,20}", attribute, re.ASCII) else None
    return attribute


def _widest(caps: Iterable[Caps]) -> Caps:
    held = list(caps)
    if not held:
        return Caps()
    by_name = {name: [getattr(cap, name) for cap in held] for name in Caps.model_fields}
    return Caps(**{name: None if None in values else max(values) for name, values in by_name.items()})


def _fingerprint(api_no: str, fields: frozenset[str], rows: tuple[tuple[RowScope, ...], ...], caps: Caps) -> str:
    facts = [
        api_no,
        sorted(fields),
        [[(s.field, s.values, s.kind) for s in scopes] for scopes in rows],
        caps.model_dump(),
    ]
    return hashlib.sha256(json.dumps(facts, ensure_ascii=False).encode()).hexdigest()[:24]
