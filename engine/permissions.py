"""`authorize` turns policies, a dataset and a principal into a Grant. It is the only maker of Grants.

Default deny; a field that any held role denies is denied; roles that are held side by side widen each other otherwise,
and a role that inherits another narrows its rows and its masks.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import date
from typing import get_args

from engine.dataset import Dataset, Field
from engine.errors import UnknownDataset
from engine.masks import Mask, Use
from engine.policy import Caps, Policies, Principal, RowRuleText
from engine.query import Grant, RowScope
from engine.verdicts import RoleRules, Verdict, field_verdicts, rules_by_role, scene_verdict

_USES: tuple[Use, ...] = get_args(Use)


def authorize(policies: Policies, dataset: Dataset, principal: Principal) -> Grant:
    """What `principal` may read of `dataset`.

    Raises UnknownDataset where it is nothing at all: hidden and absent are one error.
    """
    held = rules_by_role(policies, dataset, principal)
    seen = {name: it for name, it in field_verdicts(dataset, held).items() if it.sees != "hidden"}
    if not seen:
        raise UnknownDataset(dataset.api_no)
    masks = {name: verdict.mask for name, verdict in seen.items() if verdict.mask is not None}
    rows = _row_scopes(dataset, principal, held)
    caps = caps_of(policies, principal)
    return Grant(
        principal_id=principal.id,
        roles=principal.roles,
        api_no=dataset.api_no,
        fields=frozenset(seen),
        masks=masks,
        unusable=_unusable(seen),
        rows=rows,
        caps=caps,
        fingerprint=_fingerprint(dataset.api_no, frozenset(seen), masks, rows, caps),
        mask_key=policies.mask_key,
    )


def caps_of(policies: Policies, principal: Principal) -> Caps:
    """The widest that any held role allows; the defaults where none says anything."""
    return _widest(role.caps for role in policies.held_by(principal) if role.caps is not None)


def sees_scene(policies: Policies, principal: Principal, *, scene_id: str, tags: Iterable[str]) -> bool:
    """Whether some held role allows the scene and none denies it. The dataset has its own say."""
    return scene_verdict(policies, principal, scene_id=scene_id, tags=tags).sees == "clear"


def _unusable(seen: Mapping[str, Verdict]) -> Mapping[Use, frozenset[str]]:
    """What is computed from masked values has no more of an order than the least of them."""

    def useless(verdict: Verdict, use: Use) -> bool:
        return verdict.sees == "masked" and (verdict.mask is None or use not in verdict.mask.uses)

    return {use: frozenset(name for name, it in seen.items() if useless(it, use)) for use in _USES}


def _row_scopes(dataset: Dataset, principal: Principal, held: Iterable[RoleRules]) -> tuple[tuple[RowScope, ...], ...]:
    """One alternative per role that the principal holds and that opens any field, with all its row rules: its own and
    the inherited ones, those for this dataset and those for every.

    A role without row rules reads every row, whatever the others say.
    """
    scopes = [
        tuple(_scope(text, whose, dataset, principal) for whose, rule in role.rules for text in rule.rows)
        for role in held
        if role.opens
    ]
    return tuple(scopes) if all(scopes) else ()


def _scope(text: RowRuleText, role: str, dataset: Dataset, principal: Principal) -> RowScope:
    rule, field = text.parsed(), dataset.by_name[text.parsed().field]
    written: Iterable[str | int | bool] = rule.values
    if rule.attribute is not None:
        written = principal.attributes.get(rule.attribute, ())
    held = (_in_type(value, field) if isinstance(value, str) else value for value in written)
    return RowScope(rule.field, tuple(it for it in held if it is not None), text.kind, role, text)


def _in_type(written: str, field: Field) -> str | int | bool | date | None:
    """A text as the field stores its value; None, which no row has, where the field cannot hold it."""
    if field.type == "boolean":
        return {"true": True, "false": False}.get(written.lower())
    if field.type.startswith(("int", "uint")):
        return int(written) if re.fullmatch(r"[+-]?\d{1,20}", written, re.ASCII) else None
    if field.type == "date":
        with suppress(ValueError):
            return date.fromisoformat(written)
        return None
    return written


def _widest(caps: Iterable[Caps]) -> Caps:
    held = list(caps)
    if not held:
        return Caps()
    by_name = {name: [getattr(cap, name) for cap in held] for name in Caps.model_fields}
    return Caps(**{name: None if None in values else max(values) for name, values in by_name.items()})


def _fingerprint(
    api_no: str,
    fields: frozenset[str],
    masks: Mapping[str, Mask],
    rows: tuple[tuple[RowScope, ...], ...],
    caps: Caps,
) -> str:
    facts = [
        api_no,
        sorted(fields),
        sorted((name, mask.model_dump(mode="json")) for name, mask in masks.items()),
        [[(s.field, s.values, s.kind) for s in scopes] for scopes in rows],
        caps.model_dump(),
    ]
    return hashlib.sha256(json.dumps(facts, ensure_ascii=False, default=str).encode()).hexdigest()[:24]
