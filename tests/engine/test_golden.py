"""Queries and the SQL that they become, side by side in golden/*.yaml, for a person to review.

SANBU_WRITE_GOLDEN=1 writes the files anew.
"""

import os
from pathlib import Path
from typing import Any

import pytest
import sqlglot
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from engine.policy import Policies, Principal
from tests.engine import shop
from tests.engine.house import open_house

GOLDEN = Path(__file__).parent / "golden"
NAMES = {"groupBy": "group_by", "orderBy": "order_by", "limit": "limit", "limitPerGroup": "limit_per_group"}


CASES = [
    pytest.param(file, at, case, id=f"{file.stem}: {case['name']}")
    for file in sorted(GOLDEN.glob("*.yaml"))
    for at, case in enumerate(YAML(typ="safe").load(file))
]


@pytest.mark.parametrize(("file", "at", "case"), CASES)
def test_a_query_becomes_the_sql_beside_it(file: Path, at: int, case: dict[str, Any]) -> None:
    sql, parameters = _compiled(case)
    if os.environ.get("SANBU_WRITE_GOLDEN"):
        _write(file, at, sql, parameters)
    else:
        assert case["sql"] == sql
        assert case["parameters"] == parameters


def test_there_are_enough_to_show_every_layer() -> None:
    assert len(CASES) >= 20


def _compiled(case: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """(the statement as a person reads it, its parameters as text)."""
    roles = {f"role{at}": {"datasets": {"shop": {"rows": list(map(_rule, rules))}}} for at, rules in _roles(case)}
    principal = Principal(id="p", roles=tuple(roles) or ("admin",), attributes=case.get("principal", {}))
    policies = Policies.model_validate({"roles": roles}) if roles else shop.POLICIES
    house = open_house(shop.dataset(Path("shop.parquet"), **case.get("dataset", {})), policies, principal=principal)
    asked = {NAMES[key]: _frozen(value) for key, value in case["query"].items() if key in NAMES}
    request = house.request(tuple(case["query"]["fields"]), case["query"].get("filters"), **asked)
    statement = house.engine.explain(request).statement
    pretty = sqlglot.parse_one(statement.sql, dialect="duckdb").sql(dialect="duckdb", pretty=True)
    return pretty, {name: f"{type(value).__name__} {value}" for name, value in statement.parameters.items()}


def _roles(case: dict[str, Any]) -> list[tuple[int, list[str]]]:
    return list(enumerate(case.get("rows", ())))


def _rule(text: str) -> dict[str, str]:
    return {"rule": text}


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _write(file: Path, at: int, sql: str, parameters: dict[str, str]) -> None:
    yaml = YAML()
    yaml.width = 120
    every = yaml.load(file)
    every[at]["sql"] = LiteralScalarString(sql)
    every[at]["parameters"] = parameters
    yaml.dump(every, file)
