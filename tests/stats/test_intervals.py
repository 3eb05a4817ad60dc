"""Intervals against scipy and statsmodels, and the multipliers of several looks against exact integrals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from promptlift.stats import wilson
from promptlift.stats.intervals import look_multipliers, mean_interval


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


@pytest.mark.parametrize("n", [23, 1_001])
def test_mean_interval_is_the_one_of_statsmodels(n):
    level = 0.8
    values = np.random.default_rng(1).normal(0.1, 0.4, n)
    low, high = mean_interval(values.mean(), values.std(ddof=1), n, level=level)
    expected = DescrStatsW(values).tconfint_mean(alpha=1 - level)
    assert (float(low), float(high)) == pytest.approx(expected, abs=1e-12)


def test_the_listed_multipliers():
    assert look_multipliers(1) == pytest.approx([1.645], abs=5e-4)
    assert look_multipliers(6) == pytest.approx([2.239, 2.200, 2.165, 2.137, 2.115, 2.097], abs=6e-4)
    assert len(look_multipliers(16)) == 16
    assert look_multipliers(16)[0] == pytest.approx(2.569, abs=5e-4)
    assert look_multipliers(16)[-1] == pytest.approx(2.200, abs=5e-4)
    assert [round(c, 2) for c in look_multipliers(3)] == [2.00, 1.99, 1.98]


@pytest.mark.parametrize("looks", [2, 3, 4])
def test_each_look_spends_what_it_may(looks):
    """The probability to stay inside at all looks, by scipy's multivariate normal."""
    multipliers = look_multipliers(looks)
    times = np.arange(1, looks + 1)
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    inside = multivariate_normal(np.zeros(looks), correlation).cdf(
        np.array(multipliers), lower_limit=-np.array(multipliers)
    )
    assert 1 - inside == pytest.approx(0.10, abs=2e-4)


def test_a_level_or_number_of_looks_out_of_range_is_refused():
    with pytest.raises(ValueError, match="level"):
        look_multipliers(3, level=90)
    with pytest.raises(ValueError, match="max_looks"):
        look_multipliers(0)
