"""What a query asks for, and what it excludes."""

import pytest

from scene_kb.asked import LONGEST, read


@pytest.mark.parametrize(
    ("query", "kept", "excluded"),
    [
        ("看渠道消耗，别看退款", "渠道", "退款"),
        ("看渠道消耗，別看退款", "渠道", "退款"),
        ("不包括赠款的消耗", "消耗", "赠款"),
        ("不是渠道而是素材的消耗", "素材", "渠道"),
        ("campaign spend, not refunds", "spend", "refund"),
        ("Not refunds but spend", "spend", "refund"),
        ("channel cost excluding coupons", "cost", "coupon"),
    ],
)
def test_excluded_words_are_told_apart(query: str, kept: str, excluded: str) -> None:
    asked = read(query)
    assert kept in asked.tokens
    assert excluded in asked.excluded
    assert excluded not in asked.tokens


@pytest.mark.parametrize(
    ("query", "word"),
    [("哪些球员没有进球", "进球"), ("Which players have not scored?", "score"), ("没有宠物的学生", "宠物")],
)
def test_a_condition_on_rows_is_no_exclusion(query: str, word: str) -> None:
    assert word in read(query).tokens


@pytest.mark.parametrize("query", ["", " ", "😀😀", "。。。"])
def test_a_wordless_query_has_no_tokens(query: str) -> None:
    assert read(query).tokens == ()


def test_only_the_beginning_of_a_very_long_query_is_read() -> None:
    assert len(read("渠道消耗 " * 5000).text) <= LONGEST
