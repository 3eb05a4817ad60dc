"""Trends and jumps: against statsmodels, by hand, and how often they are seen where there are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chi2_contingency
from statsmodels.stats.contingency_tables import Table

from promptlift.stats import change_point, trend_test
from promptlift.stats.trend import adjust_trends


def days(seed=1, slope=0.0, count=30, per_day=20, rate=0.7):
    rng = np.random.default_rng(seed)
    n = rng.poisson(per_day, count)
    return rng.binomial(n, np.clip(rate + slope * np.arange(count), 0, 1)), n


def test_without_overdispersion_it_is_the_ordinal_test_of_statsmodels():
    for seed in range(40):
        x, n = days(seed)
        ours = trend_test(x, n)
        if ours.overdispersion <= 1:
            break
    oracle = Table(np.column_stack([x, n - x]), shift_zeros=False).test_ordinal_association(
        row_scores=np.arange(30), col_scores=np.array([1, 0])
    )
    assert ours.overdispersion <= 1
    # statsmodels takes the variance over n - 1, the score test over n.
    z = (oracle.statistic - oracle.null_mean) / oracle.null_sd * np.sqrt(n.sum() / (n.sum() - 1))
    assert ours.p == pytest.approx(chi2.sf(z**2, 1), rel=1e-9)


def test_overdispersion_is_what_the_days_differ_beyond_the_line():
    rng = np.random.default_rng(2)
    n = np.full(30, 40)
    x = rng.binomial(n, rng.beta(7, 3, 30))
    ours = trend_test(x, n)
    whole = chi2_contingency(np.column_stack([x, n - x]), correction=False).statistic
    z = ours.points_per_day / ((ours.points_high - ours.points_low) / 2 / 1.959963984540054)
    assert ours.overdispersion > 2
    assert ours.overdispersion == pytest.approx((whole - z**2 * ours.overdispersion) / 28)


def test_a_trend_needs_fourteen_days_a_hundred_conversations_and_a_small_p():
    x, n = np.linspace(3, 17, 15).astype(int), np.full(15, 20)
    assert trend_test(x, n).is_trend
    assert not trend_test(x[:13], n[:13]).is_trend
    assert trend_test(x[:13], n[:13]).p < 0.05
    assert not trend_test(x // 5, n // 4).enough
    assert not trend_test(np.full(15, 12), n).is_trend


@pytest.mark.parametrize(
    "series",
    [([], []), ([3], [5]), ([3, 4], [5, 5]), ([5] * 20, [5] * 20), ([0] * 20, [5] * 20), ([0] * 9, [0] * 9)],
)
def test_where_nothing_can_be_tested_there_is_no_trend(series):
    ours = trend_test(*series)
    assert (ours.p, ours.is_trend, ours.points_per_day) == (1.0, False, None)


def test_holm_over_prompts_takes_only_those_with_enough_data():
    strong, weak = trend_test(*days(5, slope=0.006)), trend_test([2, 5, 8], [10, 10, 10])
    calm = [trend_test(*days(seed)) for seed in range(10, 14)]
    adjusted = adjust_trends([strong, weak, *calm])
    assert adjusted[0].p_holm == pytest.approx(min(1.0, 5 * strong.p))
    assert adjusted[1] == weak
    assert adjust_trends([]) == []


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=3, max_size=40))
def test_the_interval_encloses_the_slope_and_turning_time_around_mirrors_it(pairs):
    x, n = np.array([min(p) for p in pairs]), np.array([max(p) for p in pairs])
    ours, back = trend_test(x, n), trend_test(x[::-1], n[::-1])
    assert 0 <= ours.p <= 1
    if ours.points_per_day is not None:
        assert ours.points_low <= ours.points_per_day <= ours.points_high
        assert back.points_per_day == pytest.approx(-ours.points_per_day, abs=1e-9)
        assert back.p == pytest.approx(ours.p, abs=1e-9)


def test_a_jump_is_found_on_its_day():
    rng = np.random.default_rng(1)
    n = np.full(30, 40)
    x = rng.binomial(n, np.where(np.arange(30) < 18, 0.8, 0.5))
    jump = change_point(x, n)
    assert jump.at in {17, 18, 19}
    assert jump.p == 1 / 2000
    assert jump.before_rate > jump.after_rate
    assert jump.before_n + jump.after_n == 1200
    assert jump.before_rate == pytest.approx(x[: jump.at].sum() / n[: jump.at].sum())


def test_the_ratio_of_the_jump_is_the_one_of_scipy():
    x, n = np.array([9, 8, 9, 3, 2, 4]), np.full(6, 10)
    jump = change_point(x, n)
    assert jump.at == 3
    oracle = chi2_contingency([[26, 4], [9, 21]], correction=False, lambda_="log-likelihood").statistic
    assert jump.statistic == pytest.approx(oracle)


@pytest.mark.parametrize("series", [([3] * 5, [5] * 5), ([5] * 9, [5] * 9), ([0] * 9, [5] * 9), ([], [])])
def test_where_no_jump_can_be_there_is_none(series):
    assert change_point(*series) is None


@pytest.mark.parametrize("call", [trend_test, change_point])
def test_impossible_days_are_refused(call):
    with pytest.raises(ValueError, match="between 0 and n"):
        call([3, 1, 1], [2, 2, 2])
    with pytest.raises(ValueError, match="same length"):
        call([1, 1], [2, 2, 2])
