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


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        ("昨天渠道消耗TOP10", {"昨天", "top", "10"}),
        ("average life expectancy in 2007", {"averag", "2007"}),
        ("2月30日的消耗", {"2", "30"}),
    ],
)
def test_times_numbers_and_ranks_choose_rows(query: str, rows: set[str]) -> None:
    assert read(query).row_words == rows


def test_a_time_joins_no_pair_of_characters_with_its_neighbour() -> None:
    assert ":天渠" not in read("昨天渠道消耗").tokens


def test_a_way_of_looking_is_kept_as_a_word() -> None:
    asked = read("渠道消耗趋势")
    assert "趋势" in asked.tokens
    assert asked.view_words == {"趋势"}
