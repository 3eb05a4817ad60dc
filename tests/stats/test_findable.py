"""What a comparison can find, against simulation and enumeration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, norm

from promptlift.stats import mcnemar_e_value
from promptlift.stats.differences import score_test_p, sign_test_p
from promptlift.stats.planning import findable_mean, findable_points_paired, findable_points_unpaired


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
