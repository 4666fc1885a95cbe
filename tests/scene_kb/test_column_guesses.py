"""What a column is taken for, by its name and by its values."""

from datetime import datetime
from typing import Any

import pytest

from engine.backends.base import ColumnInfo, ColumnProfile
from scene_kb.importers.guesses import guess
from scene_kb.importers.names import is_personal, kind_of, spoken, unit_of


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("amount", "sum"), ("order_count", "sum"), ("num_orders", "sum"), ("totalPrice", "sum"), ("销售额(元)", "sum"),
        ("订单数", "sum"), ("unit_price", "avg"), ("avg_amount", "avg"), ("dep_delay", "avg"), ("转化率", "avg"),
        ("指数", "avg"), ("sepal length (cm)", "avg"), ("user_id", "code"), ("userId", "code"), ("用户ID", "code"),
        ("year", "code"), ("lat", "code"), ("price_level", "code"), ("是否会员", "code"), ("订单号", "code"),
        ("max_temp", "max"), ("最低值", "min"), ("min", None), ("foo", None), ("___", None),
    ],
)  # fmt: skip
def test_the_last_known_word_of_a_name_decides(name: str, kind: str | None) -> None:
    assert kind_of(name) == kind


@pytest.mark.parametrize(
    ("declared", "values", "distinct", "role", "aggregation"),
    [
        ("int64", (1, 2, 3), 3, "dimension", None),
        ("int64", tuple(range(50)), 1000, "dimension", None),
        ("int32", tuple(range(50)), 60, "metric", "sum"),
        ("int32", tuple(range(100, 150)), 60, "metric", "avg"),
        ("float64", (0.1, 0.52), 500, "metric", "avg"),
        ("float64", (1.0, 2.0), 2, "dimension", None),
        ("boolean", (True, False), 2, "dimension", None),
        ("timestamp", (datetime(2026, 1, 1),), 1, "dimension", None),
    ],
)
def test_where_the_name_says_nothing_the_values_do(
    declared: str, values: tuple[Any, ...], distinct: int, role: str, aggregation: str | None
) -> None:
    profile = ColumnProfile("x", distinct, 0, min(values), max(values), values)
    found = guess(ColumnInfo("x", declared, True, ""), profile, rows=1000)
    assert (found.role, found.aggregation) == (role, aggregation)


@pytest.mark.parametrize(
    ("declared", "name", "wide"),
    [
        ("int32", "amount", "int64"), ("int32", "price", "float64"), ("uint64", "amount", "decimal(38,0)"),
        ("decimal(10,2)", "amount", "decimal(18,2)"), ("decimal(10,2)", "price", "decimal(18,4)"),
        ("float32", "amount", "float64"), ("int16", "max_temp", "int16"), ("uint64", "id", "uint64"),
    ],
)  # fmt: skip
def test_a_metric_has_the_type_that_its_aggregation_needs(declared: str, name: str, wide: str) -> None:
    assert guess(ColumnInfo(name, declared, True, ""), None, rows=10).type == wide


@pytest.mark.parametrize(
    ("name", "text", "unit"),
    [("depDelay", "dep delay", None), ("sepal length (cm)", "sepal length (cm)", "cm"), ("价（元）", "价（元）", "元"),
     ("discount_pct", "discount pct", "%"), ("price_usd", "price usd", "USD"), ("___", "___", None)],
)  # fmt: skip
def test_a_name_tells_its_words_and_its_unit(name: str, text: str, unit: str | None) -> None:
    assert (spoken(name), unit_of(name)) == (text, unit)


@pytest.mark.parametrize(
    "name",
    ["name", "first_name", "customerName", "phone_no", "user_email", "home_address", "address_line_2", "id_card", "dob",
     "birth_date", "credit_card_no", "客户姓名", "手机号2", "联系电话", "身份证号", "收货地址"],
)  # fmt: skip
def test_names_of_personal_data_are_known(name: str) -> None:
    assert is_personal(name)


@pytest.mark.parametrize(
    "name", ["product_name", "channel", "email_status", "phone_type", "card_type", "手机型号", "名称"]
)
def test_other_names_are_not_taken_for_personal_data(name: str) -> None:
    assert not is_personal(name)
