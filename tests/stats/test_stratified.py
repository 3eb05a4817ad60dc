"""The adjusted difference: against a case worked by hand, and how often its interval holds the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from promptlift.stats.differences import stratified_difference


def test_it_is_the_weighted_mean_of_the_differences_within_strata():
    found = stratified_difference([8, 3, 5], [10, 30, 5], [20, 8, 0], [40, 40, 0])
    weights = np.array([10 * 40 / 50, 30 * 40 / 70])
    differences = np.array([8 / 10 - 20 / 40, 3 / 30 - 8 / 40])
    assert found.difference == pytest.approx((weights * differences).sum() / weights.sum())
    # The third stratum has only one of the groups.
    assert found.n == 120
    assert found.low < found.difference < found.high
    one = stratified_difference([8], [10], [20], [40])
    assert one.difference == pytest.approx(0.3)


def test_without_a_common_stratum_nothing_is_known():
    found = stratified_difference([8, 0], [10, 0], [0, 8], [0, 10])
    assert math.isnan(found.difference)
    assert found.n == 0


def test_three_that_all_completed_do_not_differ_from_nine_in_ten():
    """The variance of the three is estimated as 0; the interval that came of it left out 0."""
    found = stratified_difference([3], [3], [630], [700])
    assert found.low < 0.0 < found.difference
