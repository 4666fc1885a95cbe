"""Generated policies, principals and queries, in the wire's own words: plain data that engine and oracle both read."""

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from scripts.gate.table import CITIES, CODES, FIELDS, FIRST_DAY, REGIONS, ROWS

Policies = dict[str, Any]
NAMES = tuple(field["name"] for field in FIELDS)
MEASURES = (
    "row_count",
    "amount",
    "units",
    "cities",
    "price",
    "city:count",
    "email:countDistinct",
    "units:max",
    "code:min",
)
GROUPS = ("region", "city", "code", "email", "open", "id")

_MASKS: dict[str, tuple[Any, ...]] = {
    "region": ("hash", "partial", "null"),
    "city": ("hash", "partial", "null", {"kind": "partial", "keep": 2}),
    "code": ("hash", "partial", "null", {"kind": "bucket", "width": 10}, {"kind": "bucket", "width": 4}),
    "email": ("hash", "partial", "null"),
    "open": ("null",),
    "id": ("hash",),
    "amount": ("null", {"kind": "bucket", "width": 20}),
    "units": ("null", {"kind": "bucket", "width": 5}),
    "cities": ("null",),
}


@dataclass(frozen=True)
class Caller:
    name: str
    roles: tuple[str, ...]
    attributes: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class Query:
    fields: tuple[str, ...]
    filters: dict[str, Any]
    group_by: tuple[str, ...] | None
    order_by: tuple[str, ...]
    limit: int | None


def policies(chance: random.Random) -> Policies:
    roles: dict[str, Any] = {}
    for at in range(chance.randint(1, 3)):
        role: dict[str, Any] = {}
        if roles and chance.random() < 0.4:
            role["inherits"] = [chance.choice(list(roles))]
        if chance.random() < 0.95:
            inherited = [name for parent in role.get("inherits", ()) for name in _masked(roles[parent])]
            role["datasets"] = {chance.choice(("sales", "sales", "*")): _rule(chance, inherited)}
        if chance.random() < 0.12:
            role["caps"] = {"days": chance.choice((3, 7, 30))}
        roles[f"r{at}"] = role
    return {"roles": roles}


def _masked(role: dict[str, Any]) -> list[str]:
    return [name for rule in role.get("datasets", {}).values() for name in rule["fields"]["mask"]]


def _rule(chance: random.Random, inherited: list[str]) -> dict[str, Any]:
    """`inherited`: fields that are masked by what the role inherits, most of which it masks again."""
    allow = ["*"] if chance.random() < 0.65 else chance.sample([*NAMES, "c*", "*i*", "day"], chance.randint(1, 7))
    # Some fields more often than others, so that roles which meet mask the same one.
    masked = {name for name in inherited if chance.random() < 0.7}
    masked |= {chance.choice(("email", "code", *_MASKS)) for _ in range(chance.choice((0, 0, 1, 1, 2, 3)))}
    mask = {name: chance.choice(_MASKS[name]) for name in sorted(masked)}
    fields = {"allow": allow, "deny": chance.sample(NAMES, chance.choice((0, 0, 0, 1, 2))), "mask": mask}
    return {"fields": fields, "rows": [_row_rule(chance) for _ in range(chance.choice((0, 0, 1, 1, 2)))]}


def _row_rule(chance: random.Random) -> dict[str, str]:
    day = (FIRST_DAY + timedelta(days=chance.randrange(20))).isoformat()
    rule = chance.choice(
        (
            "region in principal.regions",
            f"region in ({', '.join(repr(it) for it in chance.sample(REGIONS, 2))})",
            f"region = '{chance.choice(REGIONS)}'",
            "code in principal.codes",
            f"code in ({', '.join(map(str, chance.sample(CODES, 3)))})",
            f"open = {chance.choice(('true', 'false'))}",
            f"day in ('{day}', '2026-11-03', '2026-11-09')",
        )
    )
    return {"rule": rule, "kind": chance.choice(("restriction", "boundary"))}


def caller(chance: random.Random, rules: Policies, name: str) -> Caller:
    roles = chance.sample(list(rules["roles"]), chance.randint(1, min(2, len(rules["roles"]))))
    attributes = {
        "regions": tuple(chance.sample(REGIONS, chance.randint(0, 3))),
        "codes": tuple(chance.sample(("-7", "3", "105", "many"), 2)),
    }
    return Caller(name, tuple(roles), attributes)


def tightened(chance: random.Random, rules: Policies, query: Query) -> Policies:
    """The same policies, but that every role loses a field of the query, or rows."""
    used = [name for name in (*query.fields, *(query.group_by or ()), *query.filters) if name in NAMES]
    extra: dict[str, Any] = {"fields": {}, "rows": [{"rule": f"region = '{chance.choice(REGIONS)}'"}]}
    if used and chance.random() < 0.5:
        extra = {"fields": {"deny": [chance.choice(used)]}}
    base = {name: dict(role) for name, role in rules["roles"].items()}
    for name, role in base.items():
        role["inherits"] = [*role.get("inherits", ()), "tight"]
        base[name] = role
    return {"roles": {**base, "tight": {"datasets": {"sales": extra}}}}


def query(chance: random.Random) -> Query:
    filters = dict(_filter(chance) for _ in range(chance.choice((0, 0, 1, 1, 2))))
    limit = chance.choice((None, None, None, 5))
    if chance.random() < 0.5:
        fields = tuple(chance.sample([name for name in NAMES if name not in ("cities", "price")], chance.randint(1, 4)))
        order = _order(chance, ("amount", "units", *GROUPS))
        return Query(fields, filters, None, order, limit)
    groups = tuple(chance.sample(GROUPS, chance.choice((0, 1, 1, 2))))
    measures = tuple(chance.sample(MEASURES, chance.randint(1, 3)))
    order = _order(chance, (*groups, *measures))
    return Query(measures, filters, groups, order, limit)


def _order(chance: random.Random, names: tuple[str, ...]) -> tuple[str, ...]:
    return (chance.choice(("", "-")) + chance.choice(names),) if chance.random() < 0.4 else ()


def _filter(chance: random.Random) -> tuple[str, Any]:
    name = chance.choice(("day", "day", "region", "city", "code", "email", "open", "id"))
    stored = [row[name] for row in ROWS if row[name] is not None]
    if name == "day":
        first = FIRST_DAY + timedelta(days=chance.randrange(20))
        last = first + timedelta(days=chance.choice((0, 2, 6, 9, 40)))
        return name, {"from": first.isoformat(), "to": last.isoformat()}
    value = chance.choice(stored)
    if name == "region":
        return name, chance.choice((value, [value, "N"], {"ne": value}))
    if name == "open":
        return name, chance.choice((value, {"isNull": True}))
    other = chance.choice(stored)
    if name == "city":
        return name, chance.choice(
            (value, [value, other], {"notIn": [value, chance.choice(CITIES)]}, {"isNull": False})
        )
    if name == "email":
        return name, chance.choice((value, {"contains": "@x"}, {"startsWith": "a"}, {"ne": value}))
    return name, chance.choice((value, [value, other], {"gte": value}, {"lt": value}, {"ne": value}))
