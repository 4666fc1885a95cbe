"""Which source serves a query: fixed rules, and the reason for the trace alone."""

from pathlib import Path
from typing import Any

import pytest

from tests.engine import shop
from tests.engine.house import House, open_house

ROWS = {"name": "copy", "url": "duckdb:rows.parquet", "kind": "rows"}
OLAP = {"name": "lake", "url": "duckdb:lake.parquet"}
KEY = {"order": "9007199254740993", "line": 0}


def routed(*sources: dict[str, str], filters: dict[str, Any], **asked: Any) -> tuple[str, str]:
    house: House = open_house(shop.dataset(Path("x.parquet"), sources=sources))
    plan = house.engine.explain(house.request(asked.pop("fields", ("order",)), filters, **asked))
    return plan.source.name, plan.route_reason


@pytest.mark.parametrize(
    ("filters", "asked", "source"),
    [
        (KEY, {}, "copy"),
        ({**KEY, "年": 2026}, {}, "copy"),
        ({"order": ["1", "2"], "line": [0, 1]}, {}, "copy"),
        ({"order": "1"}, {}, "lake"),
        ({"order": "1", "line": {"gte": 0}}, {}, "lake"),
        ({"or": [KEY]}, {}, "lake"),
        (KEY, {"fields": ("units",), "group_by": ("group",)}, "lake"),
        ({}, {}, "lake"),
    ],
    ids=str,
)
@pytest.mark.parametrize("sources", [(ROWS, OLAP), (OLAP, ROWS)], ids=["rows first", "olap first"])
def test_a_look_up_by_the_whole_key_goes_to_the_row_store_and_all_else_to_the_analytical_one(
    sources: tuple[dict[str, str], ...], filters: dict[str, Any], asked: dict[str, Any], source: str
) -> None:
    assert routed(*sources, filters=filters, **asked)[0] == source


def test_a_single_source_serves_everything() -> None:
    assert routed(OLAP, filters=KEY) == ("lake", "only source")


def test_without_a_source_of_the_wanted_kind_the_first_serves() -> None:
    assert routed(ROWS, {**ROWS, "name": "second"}, filters={}) == ("copy", "no olap source; first in order")
