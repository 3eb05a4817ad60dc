"""Holm's adjustment against statsmodels."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from promptlift.stats.multiplicity import holm


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
