"""The shape of policies.yaml: roles, what each may read of which dataset, and caps. Default deny; deny beats allow.

Holds rules, decides nothing: `permissions.authorize` turns them into a Grant.
"""

from collections.abc import Iterator, Mapping
from secrets import token_hex
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, PrivateAttr, model_validator
from pydantic import Field as Setting

from engine.dataset import Definition, Misfit, refuse
from engine.folding import nearest
from engine.masks import Mask
from engine.rowrules import RowRule, parse_rule

_MASK_KEY_OF_THIS_PROCESS = token_hex(16)


class Principal(BaseModel):
    """Who asks: an id, the roles that identity gave it, and the attributes that row rules look at."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Setting(min_length=1)
    roles: tuple[str, ...] = ()
    attributes: Mapping[str, tuple[str, ...]] = {}


class FieldRule(Definition):
    """Shell patterns over field names. Deny beats mask beats allow."""

    allow: tuple[str, ...] = ()
    mask: Mapping[str, Mask] = Setting({}, description="by pattern, how a field is shown instead of as it is")
    deny: tuple[str, ...] = ()


class RowRuleText(Definition):
    """A row rule as it is written: `channel in principal.channels`, `region = 'north'`.

    A boundary is the caller's world (a tenant) and is stated in an answer's scope; a restriction hides rows that the
    caller could have asked for, so an answer whose filters reach beyond it is incomplete.
    """

    rule: str
    kind: Literal["boundary", "restriction"] = "restriction"

    @model_validator(mode="after")
    def _readable(self) -> Self:
        parse_rule(self.rule)
        return self

    def parsed(self) -> RowRule:
        return parse_rule(self.rule)


class DatasetRule(Definition):
    fields: FieldRule = FieldRule(allow=("*",))
    rows: tuple[RowRuleText, ...] = ()


class SceneRule(Definition):
    """Shell patterns over scene ids, or tag:NAME."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()


class Caps(Definition):
    """Upper bounds: of one answer, and of what one principal may do in a minute and at a time.

    Of several roles the widest counts.
    """

    rows: int = Setting(10_000, ge=1, description="rows that one query may read into its snapshot")
    bytes: int = Setting(16 << 20, ge=1024, description="bytes of one snapshot")
    time_ms: int = Setting(10_000, ge=50, description="milliseconds that one query may take")
    page_rows: int = Setting(500, ge=1, description="rows of one page at most")
    days: int | None = Setting(None, ge=1, description="days that one query's range of dates may have; null: any")
    page_tokens: int = Setting(20_000, ge=200, description="tokens of one page at most")
    calls_per_minute: int | None = Setting(None, ge=1, description="calls of one principal in a minute; null: any")
    bytes_per_minute: int | None = Setting(
        None, ge=1024, description="bytes of rows that one principal may read in a minute; null: any"
    )
    concurrent: int | None = Setting(None, ge=1, description="queries of one principal at a time; null: any")


class RolePolicy(Definition):
    """What a role adds to the roles that it inherits: fields widen, denials and row rules add up.

    Several roles that a principal holds side by side widen each other, but for denials.
    """

    inherits: tuple[str, ...] = ()
    datasets: Mapping[str, DatasetRule] = Setting({}, description="by apiNo; '*' is every dataset")
    scenes: SceneRule = SceneRule()
    caps: Caps | None = None
    says_restricted: bool = Setting(
        False, description="whether callers are told that a policy hides scenes or fields from them"
    )


class Policies(Definition):
    roles: Mapping[str, RolePolicy] = {}
    attributes: tuple[str, ...] | None = Setting(
        None, description="what principals can have; where it is given, row rules may name nothing else"
    )
    local_roles: tuple[str, ...] = Setting((), description="the roles of whoever runs the gateway on this machine")
    _mask_key: str = PrivateAttr(_MASK_KEY_OF_THIS_PROCESS)

    @property
    def mask_key(self) -> str:
        """The secret of pseudonyms; unless one was given, they last as long as this process."""
        return self._mask_key

    def keyed(self, mask_key: str) -> "Policies":
        """The same policies with a secret for pseudonyms, which no file of a catalog holds."""
        keyed = self.model_copy()
        keyed._mask_key = mask_key
        return keyed

    @model_validator(mode="after")
    def _roles_exist(self) -> Self:
        refuse(self, self._misfits())
        return self

    def _misfits(self) -> Iterator[Misfit]:
        known = f"roles are {', '.join(self.roles) or 'none'}"
        for name, role in self.roles.items():
            for at, parent in enumerate(role.inherits):
                place = ("roles", name, "inherits", at)
                if parent not in self.roles:
                    yield place, f"role '{name}' inherits '{parent}', which is no role; {known}"
                elif name in self.lineage(parent):
                    yield place, f"role '{name}' inherits itself; drop this entry"
        for at, name in enumerate(self.local_roles):
            if name not in self.roles:
                yield ("localRoles", at), f"localRoles names '{name}', which is no role; {known}"
        yield from self._unknown_attributes()

    def _unknown_attributes(self) -> Iterator[Misfit]:
        if self.attributes is None:
            return
        for name, role in self.roles.items():
            for api_no, rule in role.datasets.items():
                for at, written in enumerate(rule.rows):
                    attribute = written.parsed().attribute
                    if attribute is not None and attribute not in self.attributes:
                        best = nearest(attribute, {known: () for known in self.attributes})
                        fix = f"did you mean '{best[0]}'?" if best else "declare it there"
                        place = ("roles", name, "datasets", api_no, "rows", at)
                        yield place, f"the row rule looks at '{attribute}', which is none of the attributes; {fix}"

    def lineage(self, role: str) -> tuple[str, ...]:
        """The role and all that it inherits, directly or not, each once. Nothing for a name that is no role."""
        names: dict[str, None] = {}
        waiting = [role]
        while waiting:
            name = waiting.pop(0)
            if name in self.roles and name not in names:
                names[name] = None
                waiting.extend(self.roles[name].inherits)
        return tuple(names)

    def held_by(self, principal: Principal) -> tuple[RolePolicy, ...]:
        """The principal's roles with all that they inherit, each once. Unknown role names grant nothing."""
        names = dict.fromkeys(name for role in principal.roles for name in self.lineage(role))
        return tuple(self.roles[name] for name in names)
