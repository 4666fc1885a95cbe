"""Masks: what is shown instead of a value, what may still be done with it, and that no way leads around it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from engine.errors import InvalidParameter, LimitExceeded, MissingParameter, UnknownDataset
from engine.masks import Mask
from engine.permissions import authorize
from engine.policy import Policies, Principal
from engine.signing import secret_for
from tests.engine import shop
from tests.engine.house import House, open_house

pytestmark = pytest.mark.anyio

HASH, PARTIAL, NULL = Mask(kind="hash"), Mask(kind="partial"), Mask(kind="null")
STEPS_OF_100 = {"kind": "bucket", "width": 100}


def masking(mask: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    fields = {"allow": ["*"], "deny": ["secret"], "mask": mask}
    return {"datasets": {"shop": {"fields": fields, **more}}, "caps": shop.WIDE_PAGES}


def policies(**roles: Mapping[str, Any]) -> Policies:
    return Policies.model_validate({"roles": roles})


def who(*roles: str, **attributes: tuple[str, ...]) -> Principal:
    return Principal(id="p", roles=roles, attributes=attributes)


@pytest.fixture
def shop_as(shop_file: Path) -> Any:
    def opened(*roles: str, **rules: Mapping[str, Any]) -> House:
        return open_house(shop.dataset(shop_file), policies(**rules), principal=who(*(roles or rules)))

    return opened


def masks_of(*roles: str, **rules: Mapping[str, Any]) -> Mapping[str, Mask]:
    return authorize(policies(**rules), shop.dataset(Path("shop.parquet")), who(*roles)).masks


async def column(house: House, name: str) -> list[Any]:
    return [row[0] for row in (await house.ask((name,), order_by=("order", "line"))).page.rows]


def stored(name: str) -> list[Any]:
    return [row[name] for row in sorted(shop.ROWS, key=lambda row: (row["order"], row["line"]))]


# What is shown --------------------------------------------------------------------------------------------------------


async def test_a_hash_tells_equal_from_unequal_and_nothing_else(shop_as: Any) -> None:
    shown = await column(shop_as(r=masking({"end": "hash"})), "end")
    pairs = set(zip(shown, stored("end"), strict=True))
    assert len(pairs) == len(set(stored("end")))
    assert all((mine is None) == (theirs is None) for mine, theirs in pairs)
    assert all(len(mine) == 16 and mine != theirs for mine, theirs in pairs if mine is not None)


async def test_pseudonyms_hang_on_a_secret_that_no_trace_holds(shop_file: Path) -> None:
    """Without one a phone number is found by trying them all."""
    rules = policies(r=masking({"end": "hash"}))
    answers = {}
    for key in ("key-of-one", "key-of-another"):
        house = open_house(shop.dataset(shop_file), rules.keyed(key), principal=who("r"))
        answers[key] = await column(house, "end")
        statement = house.engine.explain(house.request(("end",))).statement
        assert key in statement.parameters.values()
        assert key not in statement.told.values()
        assert key not in repr(house.engine.grant("shop", who("r")))
    assert answers["key-of-one"] != answers["key-of-another"]


def test_the_secret_stays_while_newer_signing_keys_come_in_front() -> None:
    assert secret_for("masks", ["old"]) == secret_for("masks", ["new", "old"]) != secret_for("masks", ["new"])
    assert secret_for("masks", ["old"]) != secret_for("other", ["old"])


async def test_a_partial_shows_the_last_characters_and_never_more_than_half(shop_as: Any) -> None:
    shown = await column(shop_as(r=masking({"note": "partial"})), "note")
    expected = [
        None if text is None else f"***{text[-min(4, len(text) // 2) :] if len(text) > 1 else ''}"
        for text in stored("note")
    ]
    assert shown == expected
    numbers = await column(shop_as(r=masking({"serial": {"kind": "partial", "keep": 3}})), "serial")
    assert {"***615", "***993", "***", None} == set(numbers)


async def test_null_shows_nothing_also_beneath_aggregations(shop_as: Any) -> None:
    house = shop_as(r=masking({"end": None, "cost": "null", "hidden_cost": "null"}))
    assert set(await column(house, "end")) == {None}
    answer = await house.ask(("cost", "end:count", "end:max", "profit"), group_by=())
    assert answer.page.rows == ((None, "0", None, None),)


async def test_buckets_round_down_also_below_zero_and_at_the_edge_of_a_type(shop_as: Any) -> None:
    house = shop_as(r=masking({"right": {"kind": "bucket", "width": 3}, "serial": STEPS_OF_100}))
    assert await column(house, "right") == [value // 3 * 3 for value in stored("right")]
    shown = await column(house, "serial")
    assert shown == [None if value is None else str(value // 100 * 100) for value in stored("serial")]


async def test_a_time_is_cut_to_its_grain(shop_as: Any) -> None:
    house = shop_as(r=masking({"seen_at": {"kind": "bucket", "grain": "month"}}))
    months = [
        None if at is None else at.astimezone(shop.ZONE).date().replace(day=1).isoformat() for at in stored("seen_at")
    ]
    answer = await house.ask(("seen_at",), order_by=("order", "line"))
    assert [row[0] for row in answer.page.rows] == months
    assert answer.columns[0].type == "date"


async def test_aggregates_are_of_masked_values(shop_as: Any) -> None:
    every = {name: STEPS_OF_100 for name in ("units", "units_avg", "units_min", "units_max", "units_median", "lines")}
    answer = await shop_as(r=masking(every)).ask(("units:max", "units_min", "units"), group_by=())
    cut = [value // 100 * 100 for value in stored("units") if value is not None]
    assert answer.page.rows == ((str(max(cut)), str(min(cut)), str(sum(cut))),)


async def test_row_rules_look_at_stored_values_whatever_the_mask(shop_as: Any) -> None:
    rule = {"rule": "\"end\" = 'x'"}
    answer = await shop_as(r=masking({"end": "hash"}, rows=[rule])).ask(("row_count",), group_by=())
    assert answer.page.rows == ((stored("end").count("x"),),)


async def test_rows_come_in_the_order_of_the_masked_key(shop_as: Any) -> None:
    rows = (await shop_as(r=masking({"order": "hash"})).ask(("order", "line"))).page.rows
    assert list(rows) == sorted(rows)
    assert len(set(rows)) == len(shop.ROWS)


async def test_callers_under_other_masks_never_share_a_snapshot(shop_as: Any) -> None:
    """Case 43."""
    house = shop_as("clear", clear=masking({}), masked=masking({"end": "hash"}))
    assert "x" in await column(house, "end")
    assert "x" not in await column(house.as_principal(who("masked")), "end")


# What may be done -----------------------------------------------------------------------------------------------------

QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "filters": {"fields": ("order",), "filters": {"NAME": "x"}},
    "filters.or": {"fields": ("order",), "filters": {"or": [{"NAME": "x"}]}},
    "groupBy": {"fields": ("row_count",), "group_by": ("NAME",)},
    "orderBy": {"fields": ("order",), "order_by": ("-NAME",)},
    "implicit": {"fields": ("NAME", "row_count")},
}


@pytest.mark.parametrize(
    ("mask", "allowed"),
    [
        ("null", set()),
        ("partial", set()),
        ("hash", {"groupBy", "implicit"}),
        ({"kind": "bucket", "width": 2}, {"groupBy", "implicit", "orderBy"}),
    ],
)
async def test_only_what_a_mask_leaves_sound_may_be_asked(shop_as: Any, mask: Any, allowed: set[str]) -> None:
    house = shop_as(r=masking({"年": mask}))
    for use, question in QUESTIONS.items():
        asked = _named(question, "年")
        fields, filters = asked.pop("fields"), asked.pop("filters", None)
        if use in allowed:
            await house.ask(fields, filters, **asked)
            continue
        with pytest.raises(InvalidParameter) as caught:
            await house.ask(fields, filters, **asked)
        assert caught.value.fault == "masked"
        assert "年" not in caught.value.expected


def _named(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return value.replace("NAME", name)
    if isinstance(value, dict):
        return {_named(key, name): _named(item, name) for key, item in value.items()}
    return type(value)(_named(item, name) for item in value) if isinstance(value, tuple | list) else value


async def test_what_is_computed_from_masked_values_is_masked_and_neither_filters_nor_sorts(shop_as: Any) -> None:
    house = shop_as(r=masking({"cost": STEPS_OF_100, "hidden_cost": STEPS_OF_100}))
    answer = await house.ask(("margin",), group_by=())
    assert "masked" in answer.plan.resolved.dataset.flags_of(answer.columns[0].field)
    for asked in ({"filters": {"margin": {"gt": 0}}}, {"order_by": ("margin",)}):
        with pytest.raises(InvalidParameter):
            await house.ask(("margin",), group_by=("group",), **asked)


# Which mask counts ----------------------------------------------------------------------------------------------------


def test_deny_beats_mask_beats_allow() -> None:
    assert masks_of("r", r=masking({"end": "hash", "secret": "hash"})).keys() == {"end"}
    seen = authorize(policies(r=masking({"secret": "hash"})), shop.dataset(Path("x.parquet")), who("r")).fields
    assert "secret" not in seen


def test_a_mask_alone_lets_a_field_be_seen() -> None:
    role = {"datasets": {"shop": {"fields": {"mask": {"end": "hash"}}}}}
    grant = authorize(policies(r=role), shop.dataset(Path("x.parquet")), who("r"))
    assert grant.fields == {"end"}
    assert grant.masks == {"end": HASH}


def test_of_roles_side_by_side_the_one_that_shows_most_counts() -> None:
    rules = {
        "n": masking({"end": "null"}),
        "h": masking({"end": "hash"}),
        "p": masking({"end": "partial"}),
        "c": masking({}),
    }
    for held, widest in ((("n", "h"), HASH), (("h", "n"), HASH), (("h", "p", "n"), PARTIAL), (("p", "c"), None)):
        assert masks_of(*held, **rules).get("end") == widest


def test_a_role_cannot_take_off_what_it_inherits() -> None:
    rules = {"base": masking({"end": "null"}), "child": {**masking({"end": "partial"}), "inherits": ["base"]}}
    assert masks_of("child", **rules)["end"] == NULL
    assert masks_of("child", base=masking({"end": "hash"}), child={"inherits": ["base"], **masking({})})["end"] == HASH


@pytest.mark.parametrize(
    ("field", "mask"),
    [
        ("order", "null"),
        ("line", STEPS_OF_100),
        ("day", {"kind": "bucket", "grain": "month"}),
        ("units", "hash"),
        ("weight", "partial"),
        ("margin", "null"),
        ("note", STEPS_OF_100),
        ("年", {"kind": "bucket", "width": 0.5}),
        ("group", {"kind": "bucket", "grain": "day"}),
    ],
)
def test_a_mask_that_cannot_work_hides_the_field(field: str, mask: Any) -> None:
    """No catalog with one is served; whatever comes this far all the same stays closed."""
    grant = authorize(policies(r=masking({field: mask})), shop.dataset(Path("x.parquet")), who("r"))
    assert field not in grant.fields


def test_a_bucket_needs_one_measure_and_the_others_need_none() -> None:
    for wrong in ({"kind": "bucket"}, {"kind": "bucket", "width": 1, "grain": "day"}, {"kind": "hash", "width": 3}):
        with pytest.raises(ValidationError):
            Mask.model_validate(wrong)


def test_other_masks_are_another_fingerprint() -> None:
    table = shop.dataset(Path("shop.parquet"))
    every: list[Any] = [
        {},
        {"end": "hash"},
        {"end": "partial"},
        {"end": {"kind": "partial", "keep": 2}},
        {"note": "hash"},
    ]
    prints = {authorize(policies(r=masking(mask)), table, who("r")).fingerprint for mask in every}
    assert len(prints) == len(every)


# Days -----------------------------------------------------------------------------------------------------------------


async def test_a_cap_on_days_holds_for_every_query(shop_as: Any) -> None:
    """Also for one that names no date: that is the longest range of all."""
    house = shop_as(r={**masking({}), "caps": {"days": 7}})
    week = {"from": "2026-11-02", "to": "2026-11-08"}
    assert (await house.ask(("row_count",), {"day": week}, group_by=())).page.rows
    for filters, refusal in (
        ({"day": {**week, "to": "2026-11-09"}}, LimitExceeded),
        ({"day": ["2024-01-01", "2026-11-08"]}, LimitExceeded),
        ({"day": {"gte": "2026-11-02"}}, InvalidParameter),
        ({}, MissingParameter),
    ):
        with pytest.raises(refusal):
            await house.ask(("row_count",), filters, group_by=())


async def test_the_age_of_the_data_is_that_of_the_rows_that_may_be_read(shop_as: Any) -> None:
    """The latest day of all rows would tell that hidden ones exist."""
    house = shop_as("all", all=masking({}), r=masking({}, rows=[{"rule": "day = '2024-02-29'"}]))
    for role, as_of in (("all", "2026-11-30"), ("r", "2024-02-29")):
        answer = await house.as_principal(who(role)).ask(("row_count",), group_by=())
        assert str(answer.snapshot.data_as_of) == as_of


def test_who_sees_nothing_but_unworkable_masks_sees_nothing() -> None:
    role = {"datasets": {"shop": {"fields": {"mask": {"day": "null"}}}}}
    with pytest.raises(UnknownDataset):
        authorize(policies(r=role), shop.dataset(Path("x.parquet")), who("r"))
