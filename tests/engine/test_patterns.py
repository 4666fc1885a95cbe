"""Shell patterns over field and scene names."""

import pytest

from engine.patterns import idle, kept, matches

NAMES = ("cost", "cost_dod", "Cost", "销售额(元)", "a[1]", "a:b")


@pytest.mark.parametrize(
    ("include", "exclude", "left"),
    [
        (("*",), (), NAMES),
        (("cost*",), (), ("cost", "cost_dod")),
        (("a[[]1]", "销售额*"), (), ("销售额(元)", "a[1]")),
        (("*",), ("cost_*", "a*"), ("cost", "Cost", "销售额(元)")),
        (("?ost",), (), ("cost", "Cost")),
        ((), (), ()),
    ],
)
def test_names_are_kept_in_order_where_included_and_not_excluded(
    include: tuple[str, ...], exclude: tuple[str, ...], left: tuple[str, ...]
) -> None:
    assert kept(NAMES, include, exclude) == left


def test_a_pattern_covers_the_whole_name_and_no_pattern_covers_none() -> None:
    assert matches("cost", ("co*",))
    assert not matches("my cost", ("cost",))
    assert not matches("cost", ())


def test_idle_patterns_are_told_by_their_positions() -> None:
    assert idle(("cost", "tax*", "a:?", "b*"), NAMES) == (1, 3)
