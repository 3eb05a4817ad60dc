"""Lift, its interval and what to expect: worked values, hand-worked cases, statsmodels and properties."""

from __future__ import annotations

from itertools import repeat

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS

from promptlift.stats import analyse_pairs, expected_lift, lift_interval
from promptlift.stats.effect import CLUSTER_RATIO, CompletedInCluster, clustered_covariance, lift, lift_points
from promptlift.stats.shrinkage import PRIOR_SD_POINTS, expected_points, prior_sd_from

count = st.integers(0, 400)


def test_the_worked_table_in_full():
    result = analyse_pairs(84, 31, 14, 21)
    assert result.lift == pytest.approx(17.346939, abs=1e-6)
    assert result.lift_points == pytest.approx(11.333333, abs=1e-6)
    assert result.e_value == pytest.approx(11.474403, abs=1e-6)
    assert result.confidence == pytest.approx(0.919836, abs=1e-6)
    assert (result.lift_points_low, result.lift_points_high) == pytest.approx((3.998057, 18.370364), abs=1e-6)
    assert (result.lift_low, result.lift_high) == pytest.approx((5.761871, 30.337395), abs=1e-6)
    assert result.lift_points_expected == pytest.approx(9.516849, abs=1e-6)
    assert result.n == 150
    assert (result.p1, result.p0) == pytest.approx((115 / 150, 98 / 150))
    assert result.lift_expected == pytest.approx(100 * result.lift_points_expected / (100 * result.p0))


def test_an_interval_of_a_ratio_to_almost_nothing_is_not_bounded():
    interval = lift_interval(0, 9, 1, 5)
    assert (interval.low, interval.high) == (None, None)
    assert interval.points_low < interval.points_high


def test_an_interval_ends_at_what_is_possible():
    assert lift_interval(0, 12, 0, 0).points_high == -lift_interval(0, 0, 12, 0).points_low == 100.0
    assert lift_interval(0, 0, 12, 0).low == -100.0


@given(count, count, count, count, st.integers(1, 6))
def test_the_interval_encloses_the_estimate_and_mirrors(n11, n10, n01, n00, look):
    assume(n11 + n10 + n01 + n00 > 0)
    interval = lift_interval(n11, n10, n01, n00, look=look, max_looks=6)
    points = lift_points(n11, n10, n01, n00)
    assert -100.0 <= interval.points_low <= points <= interval.points_high <= 100.0
    mirrored = lift_interval(n11, n01, n10, n00, look=look, max_looks=6)
    assert mirrored.points_low == pytest.approx(-interval.points_high, abs=1e-9)
    assert mirrored.points_high == pytest.approx(-interval.points_low, abs=1e-9)
    if interval.low is not None:
        relative = lift(n11, n10, n01, n00)
        assert relative is not None
        assert -100.0 <= interval.low <= relative + 1e-9
        assert relative <= interval.high + 1e-9


def test_the_prior_of_an_account_is_the_spread_of_its_effects_about_0():
    rng = np.random.default_rng(2)
    for spread in (2.0, 8.0, 20.0):
        found = []
        for _ in range(300):
            errors = rng.uniform(2, 6, 40)
            effects = rng.normal(3, spread, 40) + rng.normal(0, errors)
            found.append(prior_sd_from(list(zip(effects, errors, strict=True))) ** 2)
        assert np.mean(found) == pytest.approx(spread**2 + 3**2, rel=0.05)


def test_the_prior_is_cut_at_nothing_and_waits_for_history():
    alike = [(1.0 + 0.01 * i, 5.0) for i in range(20)]
    assert prior_sd_from(alike) == 0.0
    assert prior_sd_from(alike[:19]) == PRIOR_SD_POINTS == 10.0
    with pytest.raises(ValueError, match="standard_error_points"):
        prior_sd_from([(1.0, 0.0)] * 20)
    with pytest.raises(ValueError, match="prior_sd_points"):
        expected_lift(84, 31, 14, 21, prior_sd_points=-1.0)


def test_the_covariance_by_persona_is_the_one_of_statsmodels():
    rng = np.random.default_rng(8)
    personas = np.repeat(np.arange(12), rng.integers(1, 7, 12))
    leaning = rng.normal(0, 1, 12)[personas]
    variant = rng.random(len(personas)) < 1 / (1 + np.exp(-leaning))
    original = rng.random(len(personas)) < 1 / (1 + np.exp(0.5 - leaning))
    ours = clustered_covariance(
        CompletedInCluster(
            int((personas == g).sum()), int(variant[personas == g].sum()), int(original[personas == g].sum())
        )
        for g in range(12)
    )

    def oracle(values):
        model = OLS(values.astype(float), np.ones(len(values)))
        return float(model.fit(cov_type="cluster", cov_kwds={"groups": personas}).bse[0]) ** 2

    assert ours.v11 == pytest.approx(oracle(variant), rel=1e-9)
    assert ours.v00 == pytest.approx(oracle(original), rel=1e-9)
    assert ours.difference_se**2 == pytest.approx(oracle(variant.astype(float) - original), rel=1e-9)


def test_pairs_that_go_together_by_persona_widen_the_interval_and_say_so():
    together = [CompletedInCluster(10, 10, 0), CompletedInCluster(10, 0, 8), CompletedInCluster(10, 10, 2)]
    plain = lift_interval(8, 12, 2, 8)
    wide = lift_interval(8, 12, 2, 8, clusters=together)
    assert wide.clustered
    assert not plain.clustered
    assert wide.standard_error_points > CLUSTER_RATIO * plain.standard_error_points
    assert wide.points_low < plain.points_low
    # The larger error also draws the expected lift closer to nothing.
    assert (
        analyse_pairs(8, 12, 2, 8, clusters=together).lift_points_expected
        < analyse_pairs(8, 12, 2, 8).lift_points_expected
    )


def test_personas_that_differ_by_chance_change_nothing():
    apart = (
        [CompletedInCluster(1, 1, 0)] * 12
        + [CompletedInCluster(1, 0, 1)] * 2
        + [CompletedInCluster(1, 1, 1)] * 16
    )
    assert lift_interval(16, 12, 2, 0, clusters=apart) == lift_interval(16, 12, 2, 0)
    assert lift_interval(16, 12, 2, 0, clusters=apart[:1]) == lift_interval(16, 12, 2, 0)


@pytest.mark.parametrize("verified_error", [None, 8.0])
def test_the_interval_of_the_expected_lift_covers_also_what_was_picked_for_being_high(verified_error):
    """90% over effects that are spread like the prior: of all, and of those whose measurement won."""
    rng = np.random.default_rng(4)
    true = rng.normal(0.0, 10.0, 100_000)
    measured = rng.normal(true, 6.0)
    verified = None if verified_error is None else rng.normal(true, verified_error)
    expected = [
        expected_points(
            one, 6.0, prior_sd_points=10.0, verified_points=later, verified_error_points=verified_error
        )
        for one, later in zip(measured, repeat(None) if verified is None else verified, strict=False)
    ]
    _, low, high = np.array(expected).T
    covered = (low <= true) & (true <= high)
    for some in (covered, covered[measured > 8.0]):
        assert some.mean() == pytest.approx(0.90, abs=0.01)


@pytest.mark.parametrize("true", [10.0, 20.0, 30.0, 40.0])
def test_with_later_pairs_large_lifts_are_expected_in_full(true):
    rng = np.random.default_rng(4)
    expected = [
        expected_points(
            rng.normal(true, 8.0),
            8.0,
            prior_sd_points=10.0,
            verified_points=rng.normal(true, 8.0),
            verified_error_points=8.0,
        ).points
        for _ in range(4_000)
    ]
    assert np.mean(expected) == pytest.approx(true, abs=2.0)


def test_without_the_error_of_the_later_pairs_the_interval_is_not_known():
    expected = expected_lift(84, 31, 14, 21, verified_points=8.0)
    assert expected.points == pytest.approx(8.455055, abs=1e-6)
    assert (expected.points_low, expected.high) == (None, None)
    known = expected_lift(84, 31, 14, 21, verified_points=8.0, verified_error_points=5.0)
    assert known.points == expected.points
    assert known.points_low < known.points < known.points_high
    assert known.low / known.points_low == pytest.approx(known.percent / known.points)
