"""The figures against values counted by hand."""

import numpy as np
import pytest

from scene_kb.measures import (
    RESAMPLES,
    Ranked,
    auroc,
    bootstrap,
    coverage,
    ece,
    field_figures,
    reliability,
    routing_figures,
    share,
)


def test_routing_counts_the_place_of_the_right_scene() -> None:
    ranked = [
        Ranked(("a", "b", "c", "d"), frozenset({"a"})),
        Ranked(("a", "b", "c", "d"), frozenset({"d"})),
        Ranked(("a", "b"), frozenset({"z"})),
        Ranked((), frozenset({"a"})),
    ]
    found = routing_figures(ranked)
    assert found["recall@1"].value == 0.25
    assert found["recall@3"].value == 0.25
    assert found["recall@5"].value == 0.5
    assert found["mrr"].value == pytest.approx((1 + 1 / 4) / 4)


def test_fields_count_the_share_of_the_right_ones() -> None:
    order = tuple(f"f{number}" for number in range(20))
    found = field_figures([Ranked(order, frozenset({"f0", "f9"})), Ranked(order, frozenset({"f1", "f19"}))])
    assert found["recall@8"].value == 0.5
    assert found["recall@12"].value == 0.75
    assert found["strict@15"].value == 0.5
    assert found["precision@8"].value == 1 / 8


def test_auroc_is_the_chance_of_the_right_order_and_ties_count_half() -> None:
    answerable = np.array([True, True, False, False])
    assert auroc(np.array([0.9, 0.8, 0.2, 0.1]), answerable) == 1
    assert auroc(np.array([0.1, 0.2, 0.8, 0.9]), answerable) == 0
    assert auroc(np.array([0.5, 0.5, 0.5, 0.5]), answerable) == 0.5


def test_coverage_ends_where_precision_falls_for_good() -> None:
    right = np.array([True] * 19 + [False] + [True] * 5)
    confidence = np.linspace(1, 0, 25)
    assert coverage(confidence, right, np.ones(25, bool)) == 1.0
    right[3] = False
    assert coverage(confidence, right, np.ones(25, bool)) == 3 / 25


def test_coverage_cannot_part_answers_of_equal_confidence() -> None:
    right = np.array([True] * 10 + [False] * 10)
    assert coverage(np.full(20, 0.5), right, np.ones(20, bool)) == 0.0


def test_calibrated_answers_have_no_error_and_sure_wrong_ones_have_one() -> None:
    right = np.array([True, False] * 50)
    assert ece(reliability(np.full(100, 0.5), right)) == pytest.approx(0)
    assert ece(reliability(np.ones(100), np.zeros(100, bool))) == pytest.approx(1)


def test_a_share_passes_over_resamples_without_anything_to_share() -> None:
    of = np.array([True] + [False] * 9)
    found = share(np.ones(10, bool), of)
    assert found.of == 1
    assert found.figure is not None
    assert (found.figure.low, found.figure.value, found.figure.high) == (1.0, 1.0, 1.0)
    assert share(of, np.zeros(10, bool)).figure is None


def test_the_interval_holds_the_figure_and_is_the_same_each_time() -> None:
    values = np.random.default_rng(1).random(200)
    first = bootstrap(lambda chosen: float(values[chosen].mean()), 200)
    assert first.low < first.value < first.high
    assert first == bootstrap(lambda chosen: float(values[chosen].mean()), 200)
    assert RESAMPLES >= 1000
