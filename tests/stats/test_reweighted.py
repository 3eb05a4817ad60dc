"""The lift on the mix of a population from pairs that were drawn with unequal chances."""

from __future__ import annotations

import pytest

from promptlift.stats import analyse_pairs
from promptlift.stats.reweighted import DrawnPair, reweighted_lift


def pairs(stratum, n11, n10, n01, n00):
    """Pairs of one stratum, each of a persona of its own."""
    outcomes = [(True, True)] * n11 + [(True, False)] * n10 + [(False, True)] * n01 + [(False, False)] * n00
    return [DrawnPair(stratum, won, lost, (stratum, at)) for at, (won, lost) in enumerate(outcomes)]


def test_pairs_drawn_evenly_have_the_lift_and_the_interval_of_their_table():
    drawn = [*pairs("failed", 5, 9, 2, 14), *pairs("others", 60, 12, 8, 10)]
    found = reweighted_lift(drawn, {"failed": 30, "others": 90}, look=2, max_looks=6)
    plain = analyse_pairs(65, 21, 10, 24, look=2, max_looks=6)
    assert (found.n, found.n_effective) == (120, pytest.approx(120))
    assert found.lift == pytest.approx(plain.lift)
    ends = (found.lift_points_low, found.lift_points_high, found.lift_low, found.lift_high)
    assert ends == pytest.approx(
        (plain.lift_points_low, plain.lift_points_high, plain.lift_low, plain.lift_high)
    )


def test_a_stratum_that_was_drawn_more_often_counts_less():
    # Failed: +40 points of 20 pairs. Others: 0 of 20. Failed ones are a quarter of all, and half of the pairs.
    drawn = [*pairs("failed", 4, 8, 0, 8), *pairs("others", 14, 2, 2, 2)]
    found = reweighted_lift(drawn, {"failed": 0.25, "others": 0.75})
    assert found.lift_points == pytest.approx(0.25 * 40)
    assert found.p0 == pytest.approx(0.25 * 0.2 + 0.75 * 0.8)
    assert found.lift == pytest.approx(100 * 10 / 65)
    # Weights 0.25/20 and 0.75/20: (sum w)² / sum w² = 1 / (20 (0.0125² + 0.0375²)).
    assert found.n_effective == pytest.approx(1 / (20 * (0.0125**2 + 0.0375**2))) == pytest.approx(32)
    assert found.lift_points_low < 10 < found.lift_points_high


def test_nothing_is_said_where_much_of_the_population_was_not_drawn():
    drawn = pairs("others", 30, 5, 2, 3)
    assert reweighted_lift(drawn, {"failed": 10, "others": 90}) is None
    assert reweighted_lift([], {"failed": 10, "others": 90}) is None
    assert reweighted_lift(drawn, {"strangers": 1}) is None
    # So little of it that it could hardly change the lift.
    found = reweighted_lift(drawn, {"failed": 1, "others": 99})
    assert found.lift_points == pytest.approx(100 * 3 / 40)


def test_an_original_that_completes_nothing_has_no_relative_lift():
    found = reweighted_lift(pairs("others", 0, 4, 0, 11), {"others": 5})
    assert (found.lift, found.lift_low, found.lift_high) == (None, None, None)
    assert found.lift_points == pytest.approx(100 * 4 / 15)


def test_pairs_of_one_persona_that_are_alike_widen_the_interval():
    alike = [DrawnPair("others", at % 4 < 2, at % 4 in (0, 3), at % 4) for at in range(80)]
    apart = [one._replace(cluster=at) for at, one in enumerate(alike)]
    wide, narrow = (reweighted_lift(one, {"others": 1}) for one in (alike, apart))
    assert wide.lift_points == narrow.lift_points
    assert wide.standard_error_points > 1.3 * narrow.standard_error_points
