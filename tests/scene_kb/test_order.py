"""How many rows a task wants, and which end first."""

import pytest

from scene_kb.order import AskedOrder, asked_order


@pytest.mark.parametrize(
    ("query", "limit"),
    [
        ("看一下昨天渠道A广告消耗异常的TOP10", 10),
        ("消耗前五的广告", 5),
        ("前20名", 20),
        ("最高的5个渠道", 5),
        ("ＴＯＰ１０", 10),
        ("消耗最高的广告", None),
        ("昨天消耗最少的三个广告", 3),
        ("排名前20的项目", 20),
        ("花得最多的一百个素材", 100),
        ("哪3个渠道花得最多", 3),
        ("Which 5 routes had the longest arrival delays in July?", 5),
        ("top three carriers by delay", 3),
        ("bottom 3 ads by spend", 3),
        ("the 10 most delayed flights", 10),
        ("the 3 worst routes", 3),
        ("前7天的消耗", None),
        ("前三个月的消耗", None),
        ("top spend in the first 3 months", None),
        ("which 3 days had rain", None),
        ("最近30天的消耗", None),
        ("flights of 2013", None),
        ("spend of campaign 12", None),
    ],
)
def test_a_number_beside_a_rank_is_a_limit_unless_it_counts_time(query: str, limit: int | None) -> None:
    assert asked_order(query).limit == limit


@pytest.mark.parametrize(
    ("query", "descending"),
    [
        ("消耗最高的广告", True),
        ("longest delays", True),
        ("消耗最少的广告", False),
        ("倒数5名", False),
        ("fewest cancellations", False),
        ("top 5 routes by average arrival delay", True),
        ("按点击率排名的广告", True),
        ("表现最差的广告", None),
        ("best carriers", None),
        ("highest and lowest fares", None),
        ("各渠道的消耗", None),
    ],
)
def test_a_superlative_says_which_end_comes_first(query: str, descending: bool | None) -> None:
    assert asked_order(query).descending is descending


def test_nothing_is_asked_where_nothing_is_said() -> None:
    assert asked_order("") == AskedOrder(None, None)
