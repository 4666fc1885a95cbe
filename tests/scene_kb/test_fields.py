"""Which fields a task gets."""

import pytest

from scene_kb.fields import select_fields
from scene_kb.models import RankedField, SceneCard
from scene_kb.resolver import HybridResolver
from tests.scene_kb.conftest import CARDS, EVERY

ANOMALY = next(card for card in CARDS if card.ref == "QUERY_AD_ANOMALY@1")
CROSSED = next(card for card in CARDS if card.ref == "QUERY_CHANNEL_AD@1")


def _ranked(resolver: HybridResolver, task: str, card: SceneCard, *hidden: str) -> tuple[RankedField, ...]:
    permitted = [field.name for field in card.fields if field.name not in hidden]
    return resolver.rank_fields(task, card.ref, visible=EVERY, permitted=permitted)


@pytest.mark.parametrize(
    ("task", "field"),
    [("看预算", "budget"), ("day over day change", "cost_dod"), ("花费", "cost"), ("渠道A", "channel")],
)
def test_the_field_that_the_task_names_comes_first(resolver: HybridResolver, task: str, field: str) -> None:
    assert _ranked(resolver, task, ANOMALY)[0].name == field


def test_a_field_that_is_not_permitted_is_absent_and_changes_nothing(resolver: HybridResolver) -> None:
    without = _ranked(resolver, "预算和消耗", ANOMALY, "budget")
    assert "budget" not in {field.name for field in without}


def test_a_task_without_a_word_still_ranks_every_field(resolver: HybridResolver) -> None:
    assert len(_ranked(resolver, "``", ANOMALY)) == len(ANOMALY.fields)


def test_an_excluded_field_comes_last(resolver: HybridResolver) -> None:
    assert _ranked(resolver, "广告消耗，别看预算", ANOMALY)[-1].name == "budget"


def test_the_grain_is_always_selected(resolver: HybridResolver) -> None:
    selected = select_fields(ANOMALY, _ranked(resolver, "预算", ANOMALY), limit=1)
    assert selected.names == ("ad_id", "ad_name")


def test_include_and_exclude_are_honoured(resolver: HybridResolver) -> None:
    ranked = _ranked(resolver, "消耗", ANOMALY)
    selected = select_fields(ANOMALY, ranked, include=("budget",), exclude=("cost_dod",), limit=4)
    assert "budget" in selected.names
    assert "cost_dod" not in selected.names
    assert len(selected.names) == 4


def test_what_is_included_and_not_permitted_is_missing(resolver: HybridResolver) -> None:
    ranked = _ranked(resolver, "消耗", ANOMALY, "budget")
    assert select_fields(ANOMALY, ranked, include=("budget", "nowhere")).missing == ("budget", "nowhere")


def test_a_ready_combination_comes_whole(resolver: HybridResolver) -> None:
    ranked = _ranked(resolver, "按渠道和广告看消耗", CROSSED)
    assert set(select_fields(CROSSED, ranked).names) >= {"channel", "ad_name", "cost", "clicks"}


def test_metrics_and_defaults_fill_what_the_task_leaves_open(resolver: HybridResolver) -> None:
    names = select_fields(ANOMALY, _ranked(resolver, "看看情况", ANOMALY)).names
    assert set(names) >= {"ad_id", "ad_name", "cost", "cost_dod"}
    assert len(names) <= 12
