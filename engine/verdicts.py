"""Which fields and scenes somebody sees, and which rule of which role says so. Deny beats mask beats allow.

A denial of any held role counts. Otherwise the role that shows most counts among those that are held side by side; what
a role inherits, it cannot take off again: of its masks and the inherited ones the narrowest counts.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from engine.dataset import Dataset, Field
from engine.masks import Mask, unworkable
from engine.patterns import kept
from engine.policy import DatasetRule, Policies, Principal

Because = Literal["allowed", "mask", "maskBeneath", "denied", "notAllowed", "hiddenBeneath", "unworkableMask"]


@dataclass(frozen=True)
class Verdict:
    """What somebody gets of a field. `role` and `pattern` are the rule that decided, where one did."""

    sees: Literal["clear", "masked", "hidden"]
    because: Because
    role: str | None = None
    pattern: str | None = None
    mask: Mask | None = None
    operand: str | None = None
    """The masked or hidden field that this one is computed from."""


@dataclass(frozen=True)
class RoleRules:
    """The rules on one dataset that a held role brings: its own and the inherited ones, each with whose it is."""

    role: str
    rules: tuple[tuple[str, DatasetRule], ...]

    @property
    def opens(self) -> bool:
        """Whether any field is seen by these rules at all."""
        return any(rule.fields.allow or rule.fields.mask for _, rule in self.rules)


def rules_by_role(policies: Policies, dataset: Dataset, principal: Principal) -> tuple[RoleRules, ...]:
    return tuple(
        RoleRules(
            role,
            tuple(
                (whose, rule)
                for whose in policies.lineage(role)
                for api_no, rule in policies.roles[whose].datasets.items()
                if api_no in ("*", dataset.api_no)
            ),
        )
        for role in dict.fromkeys(principal.roles)
    )


def field_verdicts(dataset: Dataset, held: Iterable[RoleRules]) -> Mapping[str, Verdict]:
    """Every field's verdict, in the dataset's order."""
    names = tuple(field.name for field in dataset.fields)
    denied: dict[str, Verdict] = {}
    seen: dict[str, Verdict] = {}
    for role in held:
        for whose, rule in role.rules:
            for pattern in rule.fields.deny:
                for name in kept(names, (pattern,), ()):
                    denied.setdefault(name, Verdict("hidden", "denied", whose, pattern))
        for name, verdict in _seen_by(role, names).items():
            seen[name] = _wider(seen.get(name), verdict)
    direct = {name: denied.get(name) or seen.get(name) or Verdict("hidden", "notAllowed") for name in names}
    settled: dict[str, Verdict] = {}
    for field in dataset.fields:
        _settle(field, dataset, direct, settled)
    return {name: settled[name] for name in names}


def scene_verdict(policies: Policies, principal: Principal, *, scene_id: str, tags: Iterable[str]) -> Verdict:
    """Of a scene by its id and tags; the dataset has its own say."""
    names = (scene_id, *(f"tag:{tag}" for tag in tags))
    held = [(whose, policies.roles[whose].scenes) for role in principal.roles for whose in policies.lineage(role)]
    for whose, rule in held:
        for pattern in rule.deny:
            if kept(names, (pattern,), ()):
                return Verdict("hidden", "denied", whose, pattern)
    for whose, rule in held:
        for pattern in rule.allow:
            if kept(names, (pattern,), ()):
                return Verdict("clear", "allowed", whose, pattern)
    return Verdict("hidden", "notAllowed")


def _seen_by(role: RoleRules, names: tuple[str, ...]) -> dict[str, Verdict]:
    """What one held role shows, whatever is denied."""
    allowed: dict[str, Verdict] = {}
    masked: dict[str, Verdict] = {}
    for whose, rule in role.rules:
        for pattern in rule.fields.allow:
            for name in kept(names, (pattern,), ()):
                allowed.setdefault(name, Verdict("clear", "allowed", whose, pattern))
        for pattern, mask in rule.fields.mask.items():
            for name in kept(names, (pattern,), ()):
                before = masked.get(name)
                if before is None or before.mask is None or mask.openness < before.mask.openness:
                    masked[name] = Verdict("masked", "mask", whose, pattern, mask)
    return {**allowed, **masked}


def _wider(before: Verdict | None, other: Verdict) -> Verdict:
    if before is None or before.mask is None or other.mask is None:
        return other if before is None or (before.mask is not None and other.mask is None) else before
    return other if other.mask.openness > before.mask.openness else before


def _settle(field: Field, dataset: Dataset, direct: Mapping[str, Verdict], settled: dict[str, Verdict]) -> Verdict:
    """With what the field is computed from: a ratio gives a hidden part away, and is no better than a masked one."""
    if field.name in settled:
        return settled[field.name]
    verdict = direct[field.name]
    if verdict.mask is not None and unworkable(verdict.mask, field, dataset):
        verdict = Verdict("hidden", "unworkableMask", verdict.role, verdict.pattern)
    if verdict.sees != "hidden":
        beneath = {
            name: _settle(dataset.by_name[name], dataset, direct, settled) for name in _needed_for(field, dataset)
        }
        for name, part in beneath.items():
            if part.sees == "hidden":
                verdict = Verdict("hidden", "hiddenBeneath", operand=name)
                break
            if part.sees == "masked" and name in field.operand_names():
                verdict = Verdict("masked", "maskBeneath", operand=name)
    settled[field.name] = verdict
    return verdict


def _needed_for(field: Field, dataset: Dataset) -> Iterable[str]:
    """The fields without which a computed metric cannot be asked for: an error would name them."""
    yield from field.operand_names()
    if field.share is not None:
        yield from field.share.within
    if field.comparison is not None and dataset.time_column is not None:
        yield dataset.time_column
