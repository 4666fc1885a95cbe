"""Generated queries under generated row rules: the engine's rows are those of a naive evaluator, in the same order."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from engine.policy import Policies, Principal
from engine.query import Answer, Column
from tests.engine import queries, shop
from tests.engine.house import House, open_house
from tests.engine.oracle import Oracle
from tests.profile import GENERATED


def policies_of(rules: Sequence[Sequence[queries.Rule]]) -> tuple[Policies, Principal]:
    """One role for each alternative; the first rule of each is written over the principal's attribute."""
    roles: dict[str, Any] = {"all": {"datasets": {"shop": {}}, "caps": shop.WIDE_PAGES}} if not rules else {}
    attributes: dict[str, tuple[str, ...]] = {}
    for index, scopes in enumerate(rules):
        (name, values), *more = scopes
        attributes[f"a{index}"] = tuple(
            str(value).lower() if value in (True, False) else str(value) for value in values
        )
        written = [f'"{name}" in principal.a{index}']
        written += [f'"{name}" in ({", ".join(map(_literal, values))})' for name, values in more]
        roles[f"r{index}"] = {
            "datasets": {"shop": {"rows": [{"rule": rule} for rule in written]}},
            "caps": shop.WIDE_PAGES,
        }
    policies = Policies.model_validate({"roles": roles})
    return policies, Principal(id="p", roles=tuple(roles), attributes=attributes)


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


@pytest.mark.parametrize(
    ("time_column", "calendar"),
    [
        ("day", {"week_start": "monday"}),
        ("sold_at", {"week_start": "sunday", "fiscal_year": {"start_month": 2, "named_after": "end"}}),
        ("seen_at", {"fiscal_year": {"start_month": 10, "named_after": "start"}}),
    ],
)
def test_every_answer_is_that_of_a_naive_evaluator(
    shop_file: Path, run: Callable[[Awaitable[Any]], Any], time_column: str, calendar: dict[str, Any]
) -> None:
    house = open_house(shop.dataset(shop_file, time_column, **calendar))
    oracle = Oracle(shop.definition(time_column, **calendar), shop.ROWS)

    @GENERATED
    @given(st.data())
    def check(data: st.DataObject) -> None:
        rules = data.draw(queries.row_rules())
        asked = data.draw(queries.queries(time_column=time_column, legal_groups=queries.readable_groups(rules)))
        answer = run(_ask(house, asked, rules))
        note(answer.plan.statement.sql)
        note(str(answer.plan.statement.parameters))
        given_back = [tuple(map(_read, answer.plan.resolved.columns, row)) for row in answer.page.rows]
        expected = oracle.answer(asked, rules)
        assert len(given_back) == len(expected)
        for mine, theirs in zip(given_back, expected, strict=True):
            assert all(map(_same, mine, theirs)), (mine, theirs)

    check()


async def _ask(house: House, asked: queries.Asked, rules: Sequence[Sequence[queries.Rule]]) -> Answer:
    policies, principal = policies_of(rules)
    engine = open_house(house.engine.datasets["shop"], policies).engine
    object.__setattr__(engine, "backends", house.engine.backends)
    group_by = asked.get("group_by")
    return await House(engine, principal).ask(
        tuple(asked["fields"]),
        asked["filters"],
        group_by=None if group_by is None else tuple(group_by),
        order_by=tuple(asked["order_by"]),
        limit=asked["limit"],
        limit_per_group=asked.get("limit_per_group"),
    )


def _read(column: Column, value: Any) -> Any:
    """A wire value as Python has it, by the column's wire type."""
    if value is None:
        return None
    if column.type in ("int64", "uint64"):
        return int(value)
    if column.type.startswith("decimal"):
        return Decimal(value)
    if column.type == "date":
        return date.fromisoformat(value)
    if column.type.startswith("timestamp"):
        return datetime.fromisoformat(value).astimezone(shop.ZONE).replace(tzinfo=None)
    return value


def _same(mine: Any, theirs: Any) -> bool:
    if isinstance(mine, float) and theirs is not None:
        return mine == pytest.approx(float(theirs), rel=1e-11)
    if isinstance(mine, Decimal) and isinstance(theirs, float):
        return mine == pytest.approx(Decimal(theirs), abs=Decimal("0.0001"))
    return bool(mine == theirs)
