"""What a number of pairs can find: the table of the design, the exact sum, every path of a sequential run."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from promptlift.stats import mcnemar_e_value, pairs_needed, smallest_findable_points
from promptlift.stats.planning import power_of_pairs


@pytest.mark.parametrize(
    ("n", "points", "within"),
    [(45, 19, 0.5), (75, 15, 0.5), (150, 10.7, 0.05), (300, 7.6, 0.05), (600, 5.4, 0.05)],
)
def test_the_planning_table(n, points, within):
    assert smallest_findable_points(n) == pytest.approx(points, abs=within)


@pytest.mark.parametrize("theta", [None, 0.67])
def test_power_of_the_e_value_is_the_sum_over_all_outcomes(theta):
    n, points, discordance, threshold = 40, 22.0, 0.4, 9.0
    wins = (discordance + points / 100) / 2 / discordance
    by_hand = sum(
        binom.pmf(d, n, discordance) * binom.pmf(k, d, wins)
        for d in range(n + 1)
        for k in range(d + 1)
        if mcnemar_e_value(k, d - k, theta=theta) >= threshold * (1 - 1e-12)
    )
    found = power_of_pairs(n, points, discordance=discordance, e_threshold=threshold, theta=theta)
    assert found == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize("threshold", [None, 19.0])
@pytest.mark.parametrize("points", [5.0, 30.0])
def test_pairs_needed_is_the_first_number_that_suffices(points, threshold):
    n = pairs_needed(points, e_threshold=threshold)
    assert power_of_pairs(n, points, e_threshold=threshold) >= 0.80
    assert power_of_pairs(n - 1, points, e_threshold=threshold) < 0.80
    assert smallest_findable_points(n, e_threshold=threshold) == pytest.approx(points, rel=0.05)


def test_what_cannot_be_found_is_unknown():
    assert smallest_findable_points(0) is None
    assert smallest_findable_points(3, e_threshold=9.0) is None
    assert pairs_needed(0.0) is None
    assert pairs_needed(-4.0) is None
    assert pairs_needed(0.1, e_threshold=9.0) is None


@pytest.mark.parametrize("bad", [{"points": 101}, {"points": 5, "discordance": 1.2}, {"points": -1}])
def test_impossible_numbers_are_refused(bad):
    with pytest.raises(ValueError, match="must"):
        power_of_pairs(10, **bad)
