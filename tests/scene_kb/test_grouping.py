"""What a query wants its rows apart by."""

import pytest

from scene_kb.grouping import grouped_by

NAMES = {
    "channel": ("渠道", "channel"),
    "project": ("项目", "project"),
    "region": ("地区", "省份", "region"),
    "device": ("设备", "device"),
    "product": ("product", "product line"),
}


@pytest.mark.parametrize(
    ("query", "groups"),
    [
        ("上周各渠道各项目的ROI", "channel project"),
        ("按渠道和项目看激活成本", "channel project"),
        ("每个渠道下各项目的花费", "channel project"),
        ("分地区、设备的点击率", "region device"),
        ("各項目在不同渠道的表现", "channel project"),
        ("哪些省份花得最多", "region"),
        ("spend by channel and project", "channel project"),
        ("cost per region", "region"),
        ("which channels lost money in each region", "channel region"),
        ("ctr across the devices", "device"),
        ("profit by product line", "product"),
        ("渠道A的花费", ""),
        ("channel A spend", ""),
        ("部分数据", ""),
        ("regional spend by channels_old", ""),
        ("", ""),
    ],
)
def test_groups_are_what_a_mark_stands_before(query: str, groups: str) -> None:
    assert grouped_by(query, NAMES) == frozenset(groups.split())


def test_nothing_is_grouped_by_where_nothing_has_a_name() -> None:
    assert grouped_by("by channel", {}) == frozenset()
    assert grouped_by("by channel", {"channel": ("", " ")}) == frozenset()
