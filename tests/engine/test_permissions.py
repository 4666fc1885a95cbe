"""Who sees what. Default deny, deny beats allow, row rules beneath everything, hidden and absent are one."""

from collections.abc import Mapping
from dataclasses import fields as parts_of
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from engine.errors import EngineError, InvalidParameter, MissingParameter, UnknownDataset, UnknownField, UnknownValue
from engine.permissions import authorize, caps_of, sees_scene
from engine.policy import Caps, Policies, Principal
from engine.query import Answer, VisibilityRestricted
from tests.engine import shop
from tests.engine.house import House, open_house

pytestmark = pytest.mark.anyio


def policies(**roles: Mapping[str, Any]) -> Policies:
    return Policies.model_validate({"roles": roles})


def on_shop(
    *, allow: tuple[str, ...] = ("*",), deny: tuple[str, ...] = (), rows: tuple[Any, ...] = ()
) -> dict[str, Any]:
    written = [{"rule": rule} if isinstance(rule, str) else rule for rule in rows]
    return {"datasets": {"shop": {"fields": {"allow": allow, "deny": deny}, "rows": written}}}


def who(*roles: str, name: str = "p", **attributes: tuple[str, ...]) -> Principal:
    return Principal(id=name, roles=roles, attributes=attributes)


@pytest.fixture
def shop_as(shop_file: Path) -> Any:
    def opened(rules: Policies, principal: Principal) -> House:
        return open_house(shop.dataset(shop_file), rules, principal=principal)

    return opened


def visible(rules: Policies, principal: Principal) -> frozenset[str]:
    return authorize(rules, shop.dataset(Path("shop.parquet")), principal).fields


# Fields ---------------------------------------------------------------------------------------------------------------


def test_without_a_role_nothing_exists() -> None:
    for principal in (who(), who("unknown")):
        with pytest.raises(UnknownDataset):
            visible(policies(admin=on_shop()), principal)


def test_a_role_without_a_rule_for_the_dataset_reads_nothing_of_it() -> None:
    with pytest.raises(UnknownDataset):
        visible(policies(other={"datasets": {"flights": {}}}), who("other"))


def test_a_rule_that_allows_nothing_is_no_access() -> None:
    with pytest.raises(UnknownDataset):
        visible(policies(none=on_shop(allow=())), who("none"))


def test_only_what_is_allowed_is_visible() -> None:
    assert visible(policies(r=on_shop(allow=("gro*", "units"))), who("r")) == {"group", "units"}


def test_patterns_tell_upper_from_lower_case() -> None:
    assert visible(policies(r=on_shop(allow=("UNITS", "line"))), who("r")) == {"line"}


def test_deny_beats_allow_across_all_roles_that_are_held() -> None:
    rules = policies(wide=on_shop(), narrow=on_shop(allow=(), deny=("secret", "hidden_*")))
    seen = visible(rules, who("wide", "narrow"))
    assert "units" in seen
    assert not {"secret", "hidden_cost", "hidden_margin"} & seen


def test_roles_widen_each_other_and_are_inherited() -> None:
    rules = policies(
        a=on_shop(allow=("line",)), b={**on_shop(allow=("day",)), "inherits": ["a"]}, c={"inherits": ["b"]}
    )
    assert visible(rules, who("c")) == {"line", "day"}


def test_a_denial_is_inherited_too() -> None:
    rules = policies(base=on_shop(allow=("*",), deny=("secret",)), child={**on_shop(), "inherits": ["base"]})
    assert "secret" not in visible(rules, who("child"))


@pytest.mark.parametrize(
    ("denied", "hidden"),
    [
        ("hidden_cost", {"hidden_margin"}),
        ("cost", {"profit", "margin", "margin_points", "filled"}),
        (
            "units",
            {"price", "units_share", "units_share_in_group", "units_relative_day", "price_before", "price_share"},
        ),
        ("group", {"units_share_in_group"}),
        ("day", {f"units_{measure}_{period}" for measure in shop.MEASURES for period in shop.PERIODS}),
    ],
)
def test_what_is_computed_from_a_hidden_field_is_hidden(denied: str, hidden: set[str]) -> None:
    """Also a share within a hidden dimension and a comparison over a hidden time: their errors would name it."""
    assert not hidden & visible(policies(r=on_shop(deny=(denied,))), who("r"))
    assert hidden <= visible(policies(r=on_shop()), who("r"))


def test_caps_are_the_widest_that_any_role_gives() -> None:
    caps = [{"rows": 10, "timeMs": 900}, {"rows": 20, "timeMs": 100}]
    rules = policies(a={**on_shop(), "caps": caps[0]}, b={**on_shop(), "caps": caps[1]})
    granted = authorize(rules, shop.dataset(Path("x.parquet")), who("a", "b")).caps
    assert (granted.rows, granted.time_ms, granted.bytes) == (20, 900, Caps().bytes)


def test_a_role_without_a_quota_frees_whoever_holds_it() -> None:
    caps: list[dict[str, int]] = [{"callsPerMinute": 10, "concurrent": 2}, {"callsPerMinute": 30}]
    rules = policies(a={**on_shop(), "caps": caps[0]}, b={**on_shop(), "caps": caps[1]}, c=on_shop())
    both, neither = caps_of(rules, who("a", "b")), caps_of(rules, who("c"))
    assert (both.calls_per_minute, both.bytes_per_minute, both.concurrent) == (30, None, None)
    assert (neither.calls_per_minute, neither.concurrent) == (None, None)
    assert caps_of(rules, who("a", "c")).concurrent == 2  # a role that says nothing of caps widens none


def test_a_scene_is_seen_by_id_or_tag_and_denial_wins() -> None:
    rules = policies(
        ops={"scenes": {"allow": ["QUERY_*", "tag:ads"], "deny": ["tag:secret"]}}, none={"scenes": {"allow": []}}
    )

    def sees(role: str, scene: str, *tags: str) -> bool:
        return sees_scene(rules, who(role), scene_id=scene, tags=tags)

    assert sees("ops", "QUERY_AD")
    assert sees("ops", "OTHER", "ads")
    assert not sees("ops", "OTHER")
    assert not sees("ops", "QUERY_AD", "secret")
    assert not sees("none", "QUERY_AD")
    assert not sees("unknown", "QUERY_AD")


# Hidden is absent -----------------------------------------------------------------------------------------------------

QUESTIONS: tuple[dict[str, Any], ...] = (
    {"fields": ("NAME",)},
    {"fields": ("NAME:min",)},
    {"fields": ("units",), "group_by": ("NAME",)},
    {"fields": ("units",), "group_by": ("group",), "order_by": ("-NAME",)},
    {"fields": ("order",), "order_by": ("NAME",)},
    {"fields": ("order",), "filters": {"NAME": "x"}},
    {"fields": ("order",), "filters": {"or": [{"NAME": {"contains": "x"}}]}},
    {"fields": ("order",), "filters": {"NAME": {"isNull": True}}},
    {"fields": ("units",), "group_by": (), "filters": {"NAME:countDistinct": {"gt": 0}}},
)


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
@pytest.mark.parametrize("hidden", ["secret", "hidden_cost", "hidden_margin"])
async def test_a_hidden_field_and_an_absent_one_are_the_same_error(
    shop_as: Any, question: dict[str, Any], hidden: str
) -> None:
    denying = shop_as(policies(r=on_shop(deny=("secret", "hidden_cost"))), who("r"))
    without = shop.dataset(Path(denying.engine.datasets["shop"].sources[0].url.partition(":")[2]))
    gone = ("secret", "hidden_cost", "hidden_margin")
    stripped = without.model_copy(update={"fields": tuple(f for f in without.fields if f.name not in gone)})
    unknowing = open_house(stripped, policies(r=on_shop()), principal=who("r"))
    assert await fault_of(denying, question, hidden) == await fault_of(unknowing, question, hidden)


async def fault_of(house: House, question: dict[str, Any], name: str) -> tuple[str, dict[str, Any]]:
    """(kind, facts) of the error."""

    def named(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace("NAME", name)
        if isinstance(value, dict):
            return {named(key): named(item) for key, item in value.items()}
        return type(value)(map(named, value)) if isinstance(value, tuple | list) else value

    asked = named(question)
    with pytest.raises(EngineError) as caught:
        await house.ask(asked.pop("fields"), asked.pop("filters", None), **asked)
    error = caught.value
    return type(error).__name__, {part.name: getattr(error, part.name) for part in parts_of(error)}  # type: ignore[arg-type]


async def test_a_hidden_field_is_never_suggested(shop_as: Any) -> None:
    house = shop_as(policies(r=on_shop(deny=("secret",))), who("r"))
    with pytest.raises(UnknownField) as caught:
        await house.ask(("secre",))
    assert "secret" not in caught.value.legal


async def test_a_field_outside_the_scene_does_not_exist_in_it(house: House) -> None:
    with pytest.raises(UnknownField) as caught:
        await house.ask(("line",), within=("order", "units"))
    assert set(caught.value.legal) == {"order", "units"}


async def test_a_value_that_the_row_rules_hide_is_no_legal_value(shop_as: Any) -> None:
    house = shop_as(policies(r=on_shop(rows=("\"group\" in ('A', 'B')",))), who("r"))
    for word in ("C", "South", "南区", "nowhere"):
        with pytest.raises(UnknownValue) as caught:
            await house.ask(("order",), {"group": word})
        assert set(caught.value.legal) == {"A", "B"}


# Rows -----------------------------------------------------------------------------------------------------------------

ONLY_A = policies(r=on_shop(rows=("\"group\" = 'A'",)))


def expected(**values: Any) -> list[Any]:
    return [row for row in shop.ROWS if all(row[name] == value for name, value in values.items())]


async def test_row_rules_stand_beneath_counts_sums_and_distinct_counts(shop_as: Any) -> None:
    answer = await shop_as(ONLY_A, who("r")).ask(("row_count", "group:countDistinct", "line:max"), group_by=())
    assert answer.page.rows == ((len(expected(group="A")), "1", 2),)


async def test_row_rules_stand_beneath_what_an_empty_answer_tells(shop_as: Any) -> None:
    filters = {"note": "nothing is called so", "line": 1}
    answer = await shop_as(ONLY_A, who("r")).ask(("order",), filters)
    found = answer.snapshot.empty
    assert found is not None
    assert found.without == {"note": len(expected(group="A", line=1)), "line": 0}
    days = sorted(row["day"] for row in expected(group="A") if row["day"] is not None)
    assert (found.first, found.last) == (days[0].isoformat(), days[-1].isoformat())


async def test_the_range_of_a_hidden_time_column_is_not_told(shop_as: Any) -> None:
    """Nor where the same empty answer was frozen for somebody who may see it."""
    seeing = shop_as(policies(all=on_shop(), r=on_shop(deny=("day",))), who("all"))
    for house, told in ((seeing, True), (seeing.as_principal(who("r")), False)):
        answer = await house.ask(("order",), {"note": "nothing is called so"})
        assert (answer.snapshot.empty.first is not None) is told
        assert (answer.snapshot.data_as_of is not None) is told
    assert answer.snapshot_hit


async def test_row_rules_stand_beneath_shares_and_earlier_periods(shop_as: Any) -> None:
    house = shop_as(ONLY_A, who("r"))
    shares = await house.ask(("units_share",), group_by=("group",))
    assert shares.page.rows == (("A", 1.0),)
    compared = await house.ask(
        ("units_previous_day",), {"day": {"from": "2026-11-02", "to": "2026-11-30"}}, group_by=()
    )
    earlier = [row["units"] for row in expected(group="A") if "2026-11-01" <= str(row["day"]) <= "2026-11-29"]
    assert compared.page.rows == ((str(sum(filter(None, earlier))),),)


async def test_a_principal_without_the_attribute_reads_no_row(shop_as: Any) -> None:
    house = shop_as(policies(r=on_shop(rows=('"group" in principal.groups',))), who("r"))
    assert (await house.ask(("row_count",), group_by=())).page.rows == ((0,),)
    assert (await house.ask(("order",))).page.rows == ()


async def test_an_attribute_that_the_field_cannot_hold_reads_no_row_and_no_error(shop_as: Any) -> None:
    for rule, held in (("年 in principal.held", ("soon", "2026")), ("open in principal.held", ("perhaps", "true"))):
        house = shop_as(policies(r=on_shop(rows=(rule,))), who("r", held=held))
        readable = expected(年=2026) if rule.startswith("年") else expected(open=True)
        assert (await house.ask(("row_count",), group_by=())).page.rows == ((len(readable),),)


async def test_an_attribute_is_a_value_whatever_it_holds(shop_as: Any) -> None:
    """Case 41."""
    house = shop_as(policies(r=on_shop(rows=('"end" in principal.names',))), who("r", names=("x' OR '1'='1", "x")))
    answer = await house.ask(("row_count",), group_by=())
    assert answer.page.rows == ((len(expected(end="x")),),)


async def test_a_role_without_row_rules_reads_every_row(shop_as: Any) -> None:
    rules = policies(narrow=on_shop(rows=("\"group\" = 'A'",)), wide=on_shop())
    answer = await shop_as(rules, who("narrow", "wide")).ask(("row_count",), group_by=())
    assert answer.page.rows == ((len(shop.ROWS),),)


async def test_a_role_narrows_the_rows_of_what_it_inherits(shop_as: Any) -> None:
    rules = policies(
        clerk=on_shop(),
        channel_a={**on_shop(rows=("\"group\" = 'A'",)), "inherits": ["clerk"]},
        open_a={**on_shop(rows=("open = true",)), "inherits": ["channel_a"]},
    )
    for roles, readable in (
        (("clerk",), shop.ROWS),
        (("channel_a",), expected(group="A")),
        (("open_a",), expected(group="A", open=True)),
        (("open_a", "channel_a"), expected(group="A")),
        (("open_a", "clerk"), shop.ROWS),
    ):
        answer = await shop_as(rules, who(*roles)).ask(("row_count",), group_by=())
        assert answer.page.rows == ((len(readable),),), roles


async def test_rules_of_one_role_for_every_dataset_and_for_this_one_hold_together(shop_as: Any) -> None:
    """A role that may read everything else is not thereby open here."""
    role = on_shop(rows=("\"group\" = 'A'",))
    for every, open_too in (({}, {}), ({"rows": [{"rule": "open = true"}]}, {"open": True})):
        rules = policies(r={"datasets": {"*": every, **role["datasets"]}})
        answer = await shop_as(rules, who("r")).ask(("row_count",), group_by=())
        assert answer.page.rows == ((len(expected(group="A", **open_too)),),)


async def test_a_role_that_only_denies_opens_no_row(shop_as: Any) -> None:
    rules = policies(narrow=on_shop(rows=("\"group\" = 'A'",)), denying=on_shop(allow=(), deny=("secret",)))
    answer = await shop_as(rules, who("narrow", "denying")).ask(("row_count",), group_by=())
    assert answer.page.rows == ((len(expected(group="A")),),)


# What is said ---------------------------------------------------------------------------------------------------------


def restricted(answer: Answer) -> bool:
    return any(isinstance(reason, VisibilityRestricted) for reason in answer.completeness.reasons)


@pytest.mark.parametrize(
    ("filters", "complete"),
    [
        ({}, False),
        ({"group": "A"}, True),
        ({"group": ["A", "B"]}, True),
        ({"group": {"isNull": False}}, False),
        ({"年": 2026}, False),
        ({"or": [{"group": "A"}]}, False),
        ({"group": {"ne": "B"}}, False),
    ],
)
async def test_under_a_restriction_an_answer_is_complete_only_where_its_filters_stay_inside(
    shop_as: Any, filters: dict[str, Any], complete: bool
) -> None:
    house = shop_as(policies(r=on_shop(rows=("\"group\" in ('A', 'B')",))), who("r"))
    answer = await house.ask(("order",), filters)
    assert answer.completeness.complete is complete
    assert restricted(answer) is not complete


@pytest.mark.parametrize(("years", "complete"), [([2026], True), ([2025, 2026], False), ([2024], False)])
async def test_asking_for_more_than_may_be_read_is_incomplete(shop_as: Any, years: list[int], complete: bool) -> None:
    house = shop_as(policies(r=on_shop(rows=("年 in (2025, 2026)", "年 = 2026"))), who("r"))
    assert (await house.ask(("order",), {"年": years})).completeness.complete is complete


async def test_a_boundary_is_the_callers_world_and_restricts_nothing(shop_as: Any) -> None:
    rule = {"rule": "\"group\" in ('A', 'B')", "kind": "boundary"}
    answer = await shop_as(policies(r=on_shop(rows=(rule,))), who("r")).ask(("order",))
    assert answer.completeness.complete


async def test_that_visibility_is_restricted_does_not_tell_whether_hidden_rows_exist(
    shop_as: Any, tmp_path: Path
) -> None:
    """The same reasons over a table in which every row may be read as over one with hidden rows."""
    rules, principal = ONLY_A, who("r")
    all_readable = shop.write(tmp_path / "a.parquet", tuple({**row, "group": "A"} for row in shop.ROWS))
    for filters in ({}, {"年": 2026}, {"group": "A"}):
        over_some = await shop_as(rules, principal).ask(("order",), filters)
        over_all = await open_house(shop.dataset(all_readable), rules, principal=principal).ask(("order",), filters)
        assert restricted(over_some) == restricted(over_all) == (filters != {"group": "A"})


# Sharing --------------------------------------------------------------------------------------------------------------


async def test_the_same_call_of_another_user_never_gets_rows_that_only_the_first_may_see(shop_as: Any) -> None:
    """Case 43: two users, one call, inside the snapshot's life."""
    rules = policies(r=on_shop(rows=('"group" in principal.groups',)))
    ada = shop_as(rules, who("r", name="ada", groups=("A",)))
    bob, eve = (
        ada.as_principal(who("r", name=name, groups=groups)) for name, groups in (("bob", ("B",)), ("eve", ("A",)))
    )
    first, second, third = [await it.ask(("group", "row_count"), group_by=("group",)) for it in (ada, bob, eve)]
    assert first.page.rows == (("A", len(expected(group="A"))),)
    assert second.page.rows == (("B", len(expected(group="B"))),)
    assert not second.snapshot_hit
    assert third.snapshot_hit  # who sees the same shares the same
    assert third.page.rows == first.page.rows


async def test_a_tightened_rule_is_a_miss(shop_as: Any, shop_file: Path) -> None:
    wide = shop_as(policies(r=on_shop()), who("r"))
    await wide.ask(("row_count",), group_by=())
    tight = House(open_house(shop.dataset(shop_file), ONLY_A).engine, who("r"))
    object.__setattr__(tight.engine, "snapshots", wide.engine.snapshots)
    answer = await tight.ask(("row_count",), group_by=(), wall=shop.NOW + timedelta(seconds=1))
    assert not answer.snapshot_hit
    assert answer.page.rows == ((len(expected(group="A")),),)


def test_fingerprints_are_equal_for_those_who_see_the_same_and_for_nobody_else() -> None:
    rules = policies(
        a=on_shop(rows=('"group" in principal.groups',)),
        b=on_shop(rows=('"group" in principal.groups',)),
        c=on_shop(deny=("secret",), rows=('"group" in principal.groups',)),
        d={**on_shop(rows=('"group" in principal.groups',)), "caps": {"rows": 5}},
        e=on_shop(rows=({"rule": '"group" in principal.groups', "kind": "boundary"},)),
    )
    table = shop.dataset(Path("shop.parquet"))

    def fingerprint(*roles: str, groups: tuple[str, ...] = ("A",), name: str = "p") -> str:
        return authorize(rules, table, who(*roles, name=name, groups=groups)).fingerprint

    assert fingerprint("a") == fingerprint("a", name="q") == fingerprint("b")
    others = [fingerprint("a"), fingerprint("a", groups=("B",)), *map(fingerprint, "cde"), fingerprint("a", groups=())]
    assert len(set(others)) == len(others)


# Needed but unseen ----------------------------------------------------------------------------------------------------


async def test_no_error_names_what_is_hidden(shop_as: Any) -> None:
    house = shop_as(policies(r=on_shop(deny=("group", "day", "secret"))), who("r"))
    for asked in ("units_share_in_group", "units_relative_day", "secret"):
        with pytest.raises((UnknownField, InvalidParameter, MissingParameter)) as caught:
            await house.ask((asked,), group_by=("end",))
        facts = str([getattr(caught.value, part.name) for part in parts_of(caught.value) if part.name != "name"])  # type: ignore[arg-type]
        assert not any(f"'{hidden}'" in facts for hidden in ("group", "day", "secret"))
