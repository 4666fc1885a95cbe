"""Questions to scenes, over a small bilingual knowledge base."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from scene_kb.index import Index
from scene_kb.models import Match
from scene_kb.resolver import HybridResolver
from tests.scene_kb.conftest import CARDS, EVERY


def _first(match: Match) -> str:
    return match.candidates[0].ref


@pytest.mark.parametrize(
    ("query", "ref"),
    [
        ("昨天哪些广告消耗突然涨了", "QUERY_AD_ANOMALY@1"),
        ("退款金额", "QUERY_REFUND@1"),
        ("average departure delay when visibility is bad", "QUERY_FLIGHT_DELAY@1"),
        ("能見度低的航線延誤", "QUERY_FLIGHT_DELAY@1"),
        ("ａｄ ｂｕｄｇｅｔ", "QUERY_AD_ANOMALY@1"),
        ("refund 原因 by channel", "QUERY_REFUND@1"),
        ("departure dealy by route", "QUERY_FLIGHT_DELAY@1"),
    ],
)
def test_a_question_finds_its_scene_in_either_language(resolver: HybridResolver, query: str, ref: str) -> None:
    assert _first(resolver.match(query, visible=EVERY)) == ref


@pytest.mark.parametrize(("field", "ref"), [("cost_dod", "QUERY_AD_ANOMALY@1"), ("refund_reason", "QUERY_REFUND@1")])
def test_a_bare_field_name_finds_a_scene_that_has_it(resolver: HybridResolver, field: str, ref: str) -> None:
    match = resolver.match(field, visible=EVERY)
    assert _first(match) == ref
    assert match.verdict != "no_match"


@pytest.mark.parametrize("query", ["消耗", "cost", "spend", "日期", "refund amount", "渠道 消耗", "昨天的消耗"])
def test_names_in_full_are_never_no_match(resolver: HybridResolver, query: str) -> None:
    assert resolver.match(query, visible=EVERY).verdict != "no_match"


def test_a_bare_metric_finds_scenes_that_have_it(resolver: HybridResolver) -> None:
    first = _first(resolver.match("消耗", visible=EVERY))
    assert "cost" in next(card for card in CARDS if card.ref == first).metrics


@pytest.mark.parametrize(
    "query", ["帮我写一首诗", "9f8a7c6b5d4e3f2a", "😀😀😀", "今天天气怎么样", "book a hotel in Paris", "。", ""]
)
def test_what_no_scene_answers_is_no_match(resolver: HybridResolver, query: str) -> None:
    assert resolver.match(query, visible=EVERY).verdict == "no_match"


@pytest.mark.parametrize("query", ["明天上海会下雨吗", "帮我订一张去上海的机票", "cheap hotels in Lisbon"])
def test_a_legal_value_among_unknown_words_is_no_match(resolver: HybridResolver, query: str) -> None:
    assert resolver.match(query, visible=EVERY).verdict == "no_match"


@pytest.mark.parametrize("query", ["上海的起飞延误", "Lisbon", "departure delay in Lisbon on umbrella days"])
def test_a_legal_value_beside_a_name_is_not_strange(resolver: HybridResolver, query: str) -> None:
    match = resolver.match(query, visible=EVERY)
    assert (_first(match), match.verdict != "no_match") == ("QUERY_FLIGHT_DELAY@1", True)


@pytest.mark.parametrize("query", ["按渠道和广告看花费", "spend by channel and ad"])
def test_a_scene_across_dimensions_wins_where_the_query_names_several(resolver: HybridResolver, query: str) -> None:
    assert _first(resolver.match(query, visible=EVERY)) == "QUERY_CHANNEL_AD@1"


@pytest.mark.parametrize("query", ["渠道数据，别看退款", "channel data, not refunds"])
def test_what_the_query_excludes_is_not_chosen(resolver: HybridResolver, query: str) -> None:
    assert _first(resolver.match(query, visible=EVERY)) != "QUERY_REFUND@1"


def test_a_dimension_filter_keeps_scenes_that_have_any_of_them(resolver: HybridResolver) -> None:
    match = resolver.match("花费", visible=EVERY, dimensions=frozenset({"ad"}))
    assert {candidate.ref for candidate in match.candidates} == {"QUERY_AD_ANOMALY@1", "QUERY_CHANNEL_AD@1"}


def test_a_filter_that_leaves_nothing_is_no_match(resolver: HybridResolver) -> None:
    assert resolver.match("花费", visible=EVERY, dimensions=frozenset({"weather"})).verdict == "no_match"
    assert resolver.match("花费", visible=frozenset()).verdict == "no_match"


def test_a_legal_value_of_a_grain_names_the_dimension(resolver: HybridResolver) -> None:
    assert resolver.view(EVERY).dimension_values["channel"] == (frozenset({"渠道a", "渠道b"}), frozenset())


def test_reasons_are_words_of_the_query_that_stand_in_the_scene(resolver: HybridResolver) -> None:
    reasons = resolver.match("渠道退款原因", visible=EVERY).candidates[0].why
    assert {(reason.kind, reason.text) for reason in reasons} >= {("field", "refund_reason"), ("dimension", "渠道")}


def test_a_hidden_scene_changes_nothing(resolver: HybridResolver, index: Index) -> None:
    visible = EVERY - {"QUERY_REFUND@1"}
    alone = tuple(card for card in CARDS if card.ref in visible)
    small = Index(alone, index.rows, index.vectors, index.embedder, index.version)
    without = HybridResolver(small, resolver.embedder)
    for query in ("渠道退款", "渠道消耗", "refund reason", "ads by channel", "帮我写一首诗"):
        assert resolver.match(query, visible=visible) == without.match(query, visible=visible)


def test_the_same_question_gets_the_same_answer_from_many_threads(index: Index, resolver: HybridResolver) -> None:
    queries = ["渠道消耗", "广告预算", "flight delays", "refund reason by channel"] * 8
    alone = [resolver.match(query, visible=EVERY) for query in queries]
    fresh = HybridResolver(index, resolver.embedder)
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda query: fresh.match(query, visible=EVERY), queries))
    assert together == alone


def test_a_very_long_query_is_answered(resolver: HybridResolver) -> None:
    assert resolver.match("渠道消耗 " * 2500, visible=EVERY).candidates


def test_one_character_is_answered(resolver: HybridResolver) -> None:
    assert resolver.match("钱", visible=EVERY).verdict in ("no_match", "ambiguous")
