"""Ranks by rates, and what the data allow of them."""

from __future__ import annotations

import numpy as np

from promptlift.stats.multiplicity import rank_interval, ranks


def test_equal_rates_have_equal_places():
    assert ranks([9, 5, 5, 1], [10, 10, 10, 10]).tolist() == [1, 2, 2, 4]


def test_the_interval_holds_the_rank_and_shrinks_with_the_data():
    done, n = np.array([90, 85, 50]), np.array([100, 100, 100])
    assert [rank_interval(place, done, n) for place in range(3)] == [(1, 2), (1, 2), (3, 3)]
    assert [rank_interval(place, 20 * done, 20 * n) for place in range(3)] == [(1, 1), (2, 2), (3, 3)]
    assert rank_interval(0, [3], [4]) == (1, 1)
