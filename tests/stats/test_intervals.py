"""Intervals against statsmodels, against a case worked by hand, and their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from promptlift.stats import wilson
from promptlift.stats.intervals import mean_interval


@pytest.mark.parametrize("level", [0.8, 0.999])
def test_wilson_is_the_one_of_statsmodels(level):
    n = np.repeat(np.arange(1, 120), 120)
    x = np.tile(np.arange(120), 119)
    n, x = n[x <= n], x[x <= n]
    low, high = wilson(x, n, level=level)
    expected_low, expected_high = proportion_confint(x, n, alpha=1 - level, method="wilson")
    np.testing.assert_allclose(low, expected_low, atol=1e-12)
    np.testing.assert_allclose(high, expected_high, atol=1e-12)


def test_wilson_of_nothing_is_unknown_and_not_a_warning():
    low, high = wilson([0, 3], [0, 4])
    assert np.isnan([low[0], high[0]]).all()
    assert not np.isnan([low[1], high[1]]).any()
    assert low.dtype == high.dtype == np.float64


@pytest.mark.parametrize("level", [0, 95, float("nan"), "high"])
def test_a_level_outside_0_to_1_is_refused(level):
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        wilson(1, 2, level=level)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        mean_interval(0, 1, 5, level=level)


@pytest.mark.parametrize(("x", "n"), [(3, 2), (-1, 2), ([1, 5], [2, 4])])
def test_impossible_counts_are_refused(x, n):
    with pytest.raises(ValueError, match="between 0 and n"):
        wilson(x, n)


@given(
    st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), st.floats(0.01, 0.999)
)
def test_wilson_encloses_the_estimate_and_mirrors(counts, level):
    x, n = counts
    low, high = wilson(x, n, level=level)
    assert 0 <= low <= x / n + 1e-12
    assert x / n - 1e-12 <= high <= 1
    mirrored_low, mirrored_high = wilson(n - x, n, level=level)
    assert float(low) == pytest.approx(1 - float(mirrored_high), abs=1e-9)
    assert float(high) == pytest.approx(1 - float(mirrored_low), abs=1e-9)


def test_mean_interval_is_the_one_of_statsmodels():
    level = 0.8
    values = np.random.default_rng(1).normal(0.1, 0.4, 23)
    low, high = mean_interval(values.mean(), values.std(ddof=1), 23, level=level)
    expected = DescrStatsW(values).tconfint_mean(alpha=1 - level)
    assert (float(low), float(high)) == pytest.approx(expected, abs=1e-12)


def test_mean_interval_of_fewer_than_two_values_is_unknown():
    low, high = mean_interval([0.1, 0.1, 0.1], [np.nan, np.nan, 0.2], [0, 1, 2])
    assert np.isnan(low[:2]).all()
    assert np.isnan(high[:2]).all()
    assert low[2] < 0.1 < high[2]
