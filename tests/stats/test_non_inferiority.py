from __future__ import annotations

import math

import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from promptlift.stats.arms import design_effect, not_worse_p, paired_interval


def score_by_search(b, c, n, delta):
    """Tango's statistic with the most likely table of this difference found by search, not by his formula."""

    def unlikeliness(only_second):
        table = (only_second + delta, only_second, 1.0 - 2.0 * only_second - delta)
        if min(table) <= 0.0:
            return 1e9
        return -sum(count * math.log(p) for count, p in zip((b, c, n - b - c), table, strict=True) if count)

    found = minimize_scalar(
        unlikeliness,
        bounds=(max(0.0, -delta), (1.0 - delta) / 2.0),
        method="bounded",
        options={"xatol": 1e-13},
    ).x
    return (b - c - n * delta) / math.sqrt(n * (2.0 * found + delta - delta * delta))


@pytest.mark.parametrize(("b", "c", "n"), [(12, 2, 50), (3, 9, 80), (1, 4, 30), (5, 5, 40)])
@pytest.mark.parametrize("margin", [5.0, 10.0])
def test_the_p_is_that_of_the_most_likely_table(b, c, n, margin):
    expected = norm.sf(score_by_search(b, c, n, -margin / 100.0))
    assert not_worse_p(b, c, n, margin_points=margin) == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("b", "c", "n"), [(12, 2, 50), (0, 1, 44), (0, 0, 50), (9, 9, 20)])
def test_the_ends_of_the_interval_are_what_the_test_just_rejects(b, c, n):
    low, high = paired_interval(b, c, n, level=0.95)
    assert low < (b - c) / n < high
    assert abs(score_by_search(b, c, n, low)) == pytest.approx(1.959964, abs=1e-3)
    assert abs(score_by_search(b, c, n, high)) == pytest.approx(1.959964, abs=1e-3)


def test_the_ends_stay_in_range_and_the_interval_turns_with_the_arms():
    assert paired_interval(30, 0, 30)[1] == 1.0
    assert paired_interval(0, 30, 30)[0] == -1.0
    low, high = paired_interval(12, 2, 50)
    assert paired_interval(2, 12, 50) == pytest.approx((-high, -low))
    assert paired_interval(0, 0, 0) == (None, None)


def test_the_example_of_tangos_paper():
    """44 pairs, one discordant: -11.8 to 5.9 points (Tango 1998, a comparison of disinfections)."""
    low, high = paired_interval(0, 1, 44)
    assert (round(low, 3), round(high, 3)) == (-0.118, 0.059)


@pytest.mark.parametrize("margin", [-1.0, 100.0, math.nan])
def test_a_margin_out_of_range_is_refused(margin):
    with pytest.raises(ValueError, match="margin"):
        not_worse_p(1, 1, 10, margin_points=margin)


def test_pairs_of_one_cluster_that_move_together_count_less():
    together = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0, -1.0, -1.0, -1.0, 0.0, 0.0, 0.0]
    names = [name for name in "abcd" for _ in range(3)]
    assert design_effect(together, names) > 2.0
    assert design_effect(together, list("abcdefghijkl")) == 1.0
    assert design_effect([0.0] * 12, names) == 1.0
    assert design_effect([], []) == 1.0
