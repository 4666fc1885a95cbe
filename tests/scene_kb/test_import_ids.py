"""Ids are ASCII, told apart, and readable whatever language a file speaks."""

import pytest

from scene_kb.importers.ids import Ids


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("orders 2024", "orders_2024"), ("Café-Umsätze", "Cafe_Umsatze"), ("订单", "order"), ("下单日期", "order_date"),
        ("用户ID", "user_ID"), ("商品名称", "commodity_name"), ("客户 region", "client_region"), ("日", "sun"),
        ("2024年门店", "table_2024_store"), ("销售额(元)", "turnover"), ("𠮷𠮷", "table_1"), ("!?", "table_1"),
    ],
)  # fmt: skip
def test_an_id_says_what_the_text_says(text: str, made: str) -> None:
    assert Ids().make(text, otherwise="table") == made


def test_no_id_is_given_twice_whatever_its_case() -> None:
    ids = Ids()
    assert [ids.make(text, otherwise="table") for text in ("订单", "Order", "order", "𠮷")] == [
        "order", "Order_2", "order_3", "table_1",
    ]  # fmt: skip
