"""Ranks by rates, and what the data allow of them."""

from __future__ import annotations

import numpy as np
import pytest

from promptlift.stats.multiplicity import rank_interval, ranks


def test_equal_rates_have_equal_places():
    assert ranks([9, 5, 5, 1], [10, 10, 10, 10]).tolist() == [1, 2, 2, 4]


def test_the_interval_holds_the_rank_and_shrinks_with_the_data():
    done, n = np.array([90, 85, 50]), np.array([100, 100, 100])
    assert [rank_interval(place, done, n) for place in range(3)] == [(1, 2), (1, 2), (3, 3)]
    assert [rank_interval(place, 20 * done, 20 * n) for place in range(3)] == [(1, 1), (2, 2), (3, 3)]
    assert rank_interval(0, [3], [4]) == (1, 1)


@pytest.mark.parametrize("rates", [(0.5, 0.5, 0.5, 0.5, 0.5), (0.8, 0.75, 0.7, 0.5, 0.45), (0.95, 0.9, 0.9)])
def test_the_true_rank_is_within_in_95_of_100(rates):
    """With equal rates every place from the best to the worst of the equals is true."""
    chance = np.random.default_rng(7)
    rates = np.array(rates)
    best = [1 + int(np.sum(rates > one)) for one in rates]
    worst = [int(np.sum(rates >= one)) for one in rates]
    missed = np.zeros(len(rates))
    worlds = 400
    n = np.array([60, 40, 80, 100, 30][: len(rates)])
    for _ in range(worlds):
        done = chance.binomial(n, rates)
        for place in range(len(rates)):
            low, high = rank_interval(place, done, n)
            assert low <= ranks(done, n)[place] <= high
            missed[place] += low > best[place] or high < worst[place]
    # Five of a hundred, and what four hundred worlds may be off.
    assert np.all(missed / worlds <= 0.085)
