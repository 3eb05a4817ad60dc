"""Whether a gain may be as large as a test can find."""

from __future__ import annotations

import math

import pytest

from promptlift.stats.planning import is_worth_a_test, points_to_gain


def test_the_upper_bound_of_90_percent_decides():
    counts = (5, 20, 60, 80)
    bound = points_to_gain(*counts, level=0.80)[2]
    assert bound == pytest.approx(13.76, abs=0.01)
    assert is_worth_a_test(*counts, findable=bound - 0.001) is True
    assert is_worth_a_test(*counts, findable=bound + 0.001) is False
    # The upper end of the interval of 95 % is larger: what is only just possible is no reason to spend.
    assert points_to_gain(*counts)[2] > 15


def test_what_finds_nothing_is_not_worth_it_and_what_is_not_known_stays_open():
    assert is_worth_a_test(5, 20, 60, 80, findable=None) is False
    assert is_worth_a_test(3, 8, 0, 0, findable=12.0) is None
    assert math.isnan(points_to_gain(3, 8, 0, 0)[0])


def test_few_conversations_without_a_failure_leave_it_open():
    assert is_worth_a_test(0, 0, 5, 5, findable=10.0) is True
    assert is_worth_a_test(0, 0, 150, 150, findable=10.0) is False
