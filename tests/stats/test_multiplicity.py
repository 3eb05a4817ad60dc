"""Holm's adjustment against statsmodels, and ranks by rates with what the data allow of them."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from promptlift.stats.multiplicity import holm, rank_interval, ranks


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_it_is_the_one_of_statsmodels(p_values):
    with patch("gc.collect"):  # statsmodels collects garbage in every call, a third of a second each
        expected = multipletests(p_values, method="holm")[1]
    np.testing.assert_allclose(holm(p_values), expected, atol=1e-12)


def test_nothing_stays_nothing_and_one_stays_itself():
    assert holm([]).tolist() == []
    assert holm([0.03]).tolist() == [0.03]


@pytest.mark.parametrize("bad", [-0.1, 1.1, float("nan")])
def test_what_is_no_p_value_is_refused(bad):
    with pytest.raises(ValueError, match="between 0 and 1"):
        holm([0.5, bad])


def test_equal_rates_have_equal_places():
    assert ranks([9, 5, 5, 1], [10, 10, 10, 10]).tolist() == [1, 2, 2, 4]


def test_the_interval_holds_the_rank_and_shrinks_with_the_data():
    done, n = np.array([90, 85, 50]), np.array([100, 100, 100])
    assert [rank_interval(place, done, n) for place in range(3)] == [(1, 2), (1, 2), (3, 3)]
    assert [rank_interval(place, 20 * done, 20 * n) for place in range(3)] == [(1, 1), (2, 2), (3, 3)]
    assert rank_interval(0, [3], [4]) == (1, 1)
