"""Two groups that somebody brings along, against SciPy and statsmodels, and on real runs with known truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, norm
from statsmodels.stats.proportion import test_proportions_2indep as score_test_of_statsmodels

from promptlift.stats import compare_paired, compare_unpaired
from promptlift.stats.differences import score_interval, score_test_p


def tables(n, largest, seed=1):
    """Random 2 x 2 tables of all sizes, with none and all among them: successes and size of both groups."""
    rng = np.random.default_rng(seed)
    n1, n0 = np.exp(rng.uniform(0.0, np.log(largest + 1), (2, n))).astype(int)
    x1, x0 = (
        np.where(rng.random(n) < 0.2, rng.choice([0, 1], n) * size, rng.integers(0, size + 1))
        for size in (n1, n0)
    )
    return x1, n1, x0, n0


def test_the_ends_are_where_the_score_test_stops_rejecting():
    """By brute force: the most likely rates that differ by an end, and the score with their variance and skewness."""
    for x1, n1, x0, n0 in zip(*tables(30, 150), strict=True):
        for end, z in zip(score_interval(x1, n1, x0, n0), (1.959964, -1.959964), strict=True):
            if abs(end) == 1.0:
                continue

            def likelihood(p, end=end, counts=(x1, n1, x0, n0)):
                x1, n1, x0, n0 = counts
                return -(binom.logpmf(x1, n1, p) + binom.logpmf(x0, n0, p - end))

            bounds = max(0.0, end), min(1.0, 1.0 + end)
            p = minimize_scalar(likelihood, bounds=bounds, method="bounded", options={"xatol": 1e-10}).x
            variance = p * (1 - p) / n1 + (p - end) * (1 - p + end) / n0
            score = (x1 / n1 - x0 / n0 - end) / np.sqrt(variance * (n1 + n0) / (n1 + n0 - 1))
            moment = (
                p * (1 - p) * (1 - 2 * p) / n1**2 - (p - end) * (1 - p + end) * (1 - 2 * (p - end)) / n0**2
            )
            skewness = moment / variance**1.5 * ((n1 + n0 - 1) / (n1 + n0)) ** 1.5
            assert score == pytest.approx(z + skewness * (z**2 - 1) / 6, rel=1e-2)


def test_the_p_is_that_of_the_score_test_of_statsmodels():
    """In groups of one size, which have no skewness at 0. Its score of other differences takes a count for a size."""
    for x1, n1, x0, _ in zip(*tables(200, 400), strict=True):
        x0, n0 = min(x0, n1), n1  # noqa: PLW2901
        if 0 < x1 + x0 < n1 + n0:
            with np.errstate(all="ignore"):
                oracle = score_test_of_statsmodels(x1, n1, x0, n0, method="score", compare="diff").pvalue
            assert score_test_p(x1, n1, x0, n0) == pytest.approx(oracle, abs=1e-12)


def test_a_case_by_hand():
    """24 of 197 against 1 of 1, at 0: pooled 25 of 198, score -2.6306, a sixth of its skewness -0.3694, z -1.8013."""
    assert 2 * norm.sf(1.8013) == pytest.approx(score_test_p(24, 197, 1, 1), abs=1e-5)
    result = compare_unpaired(24, 197, 1, 1)
    assert (result.lift_points_low, result.lift_points_high) == pytest.approx((-91.8, 4.9), abs=0.05)
    assert result.direction == "unclear"


@pytest.mark.parametrize("level", [0.8, 0.95])
@pytest.mark.slow
def test_the_interval_and_the_verdict_never_contradict_each_other(level):
    counts = tables(10_000, 2000)
    low, high = score_interval(*counts, level=level)
    p = np.array([score_test_p(*one) for one in zip(*counts, strict=True)])
    assert np.count_nonzero((p < 1 - level) != ((low > 0) | (high < 0))) == 0
    difference = counts[0] / counts[1] - counts[2] / counts[3]
    assert (low >= -1).all()
    assert (low <= difference + 1e-9).all()
    assert (difference - 1e-9 <= high).all()
    assert (high <= 1).all()


def test_the_direction_is_decided_by_p_and_enough_items():
    assert compare_unpaired(38, 40, 20, 40).direction == "better"
    assert compare_unpaired(20, 40, 38, 40).direction == "worse"
    assert compare_unpaired(21, 40, 20, 40).direction == "unclear"
    assert compare_unpaired(9, 9, 0, 40).direction == "unclear"
    assert compare_unpaired(10, 10, 0, 40).direction == "better"
    assert compare_paired(10, 15, 2, 10).direction == "better"
    assert compare_paired(10, 2, 15, 10).direction == "worse"
    assert compare_paired(10, 5, 3, 10).direction == "unclear"


def test_an_empty_group_decides_nothing():
    result = compare_unpaired(0, 0, 4, 5)
    assert (result.direction, result.p, result.p1, result.lift, result.lift_points) == (
        "unclear",
        1.0,
        None,
        None,
        None,
    )
    assert compare_unpaired(4, 5, 0, 5).lift is None
    assert compare_paired(0, 0, 0, 0).direction == "unclear"


def test_impossible_groups_are_refused():
    with pytest.raises(ValueError, match="between 0 and n"):
        compare_unpaired(6, 5, 1, 5)
    with pytest.raises(ValueError, match="n10"):
        compare_paired(1, -1, 0, 0)
    with pytest.raises(ValueError, match="level"):
        compare_paired(1, 1, 0, 0, level=95)
