"""What a number of pairs, of conversations or a gain can find: the table of the design, exact sums, simulation, enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom, norm

from promptlift.stats import mcnemar_e_value, pairs_needed, smallest_findable_points
from promptlift.stats.differences import score_test_p, sign_test_p
from promptlift.stats.planning import (
    findable_mean,
    findable_points_paired,
    findable_points_unpaired,
    is_worth_a_test,
    points_to_gain,
    power_of_pairs,
)


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


@pytest.mark.parametrize(("n", "alpha"), [(40, 0.05), (150, 0.05), (150, 0.01), (400, 0.05 / 7)])
def test_pairs_find_the_difference_in_four_of_five_runs(n, alpha):
    points = findable_points_paired(n, discordance=0.3, e_threshold=9.0, alpha=alpha)
    share = max(0.3, points / 100)
    rng = np.random.default_rng(n)
    discordant = rng.binomial(n, share, 20_000)
    wins = rng.binomial(discordant, (share + points / 100) / (2 * share))
    tables, counts = np.unique(np.column_stack([wins, discordant - wins]), axis=0, return_counts=True)
    found = [
        mcnemar_e_value(n10, n01) >= 9.0 and sign_test_p(n10, n01) < alpha and n10 > n01
        for n10, n01 in tables.tolist()
    ]
    assert counts[found].sum() / 20_000 == pytest.approx(0.80, abs=0.012)


@pytest.mark.parametrize(("n1", "n0", "rate"), [(50, 50, 0.46), (40, 80, 0.6), (100, 100, 0.3)])
def test_independent_groups_find_it_with_the_score_test(n1, n0, rate):
    points = findable_points_unpaired(n1, n0, rate_control=rate, alpha=0.05)
    power = 0.0
    weights1 = binom.pmf(np.arange(n1 + 1), n1, rate + points / 100)
    weights0 = binom.pmf(np.arange(n0 + 1), n0, rate)
    for x1 in range(n1 + 1):
        for x0 in range(n0 + 1):
            weight = weights1[x1] * weights0[x0]
            if weight > 1e-6 and score_test_p(x1, n1, x0, n0) < 0.05:
                power += weight
    assert 0.74 < power < 0.86


def test_too_few_find_nothing():
    assert findable_points_paired(3, discordance=0.3, e_threshold=9.0, alpha=0.05) is None
    assert findable_points_paired(0, discordance=0.3, e_threshold=9.0, alpha=0.05) is None
    assert findable_points_unpaired(10, 10, rate_control=0.9, alpha=0.05) is None
    assert findable_points_unpaired(9, 400, rate_control=0.5, alpha=0.05) is None
    assert findable_mean(0.0, alpha=0.05) is None


def test_a_mean_is_found_by_the_normal_formula():
    assert findable_mean(2.0, alpha=0.05) == pytest.approx(2.0 * (norm.ppf(0.975) + norm.ppf(0.8)))


def test_the_upper_bound_of_90_percent_decides():
    counts = (5, 20, 60, 80)
    bound = points_to_gain(*counts, level=0.80)[2]
    assert bound == pytest.approx(13.76, abs=0.01)
    assert is_worth_a_test(*counts, findable=bound - 0.001) is True
    assert is_worth_a_test(*counts, findable=bound + 0.001) is False
    # The upper end of the interval of 95% is larger: what is only just possible is no reason to spend.
    assert points_to_gain(*counts)[2] > 15


def test_what_finds_nothing_is_not_worth_it_and_what_is_not_known_stays_open():
    assert is_worth_a_test(5, 20, 60, 80, findable=None) is False
    assert is_worth_a_test(3, 8, 0, 0, findable=12.0) is None
    assert math.isnan(points_to_gain(3, 8, 0, 0)[0])


def test_few_conversations_without_a_failure_leave_it_open():
    assert is_worth_a_test(0, 0, 5, 5, findable=10.0) is True
    assert is_worth_a_test(0, 0, 150, 150, findable=10.0) is False
