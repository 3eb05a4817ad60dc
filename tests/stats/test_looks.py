"""Multipliers of several looks against the known ones, exact integrals and simulated walks."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

from promptlift.stats.intervals import look_multiplier, look_multipliers


def test_the_listed_multipliers():
    assert look_multipliers(1) == pytest.approx([1.645], abs=5e-4)
    assert look_multipliers(6) == pytest.approx([2.239, 2.200, 2.165, 2.137, 2.115, 2.097], abs=6e-4)
    assert len(look_multipliers(16)) == 16
    assert look_multipliers(16)[0] == pytest.approx(2.569, abs=5e-4)
    assert look_multipliers(16)[-1] == pytest.approx(2.200, abs=5e-4)
    assert [round(c, 2) for c in look_multipliers(3)] == [2.00, 1.99, 1.98]


@pytest.mark.parametrize("level", [0.5, 0.8, 0.9, 0.95, 0.99])
def test_one_look_is_the_normal_quantile(level):
    assert look_multipliers(1, level=level)[0] == pytest.approx(norm.ppf(0.5 + level / 2), abs=1e-12)


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


@pytest.mark.parametrize(("look", "looks"), [(0, 3), (4, 3), (1, 0)])
def test_a_look_that_was_not_planned_is_refused(look, looks):
    with pytest.raises(ValueError, match="look"):
        look_multiplier(look, looks)


def test_a_level_outside_0_to_1_is_refused():
    with pytest.raises(ValueError, match="level"):
        look_multipliers(3, level=90)
    with pytest.raises(ValueError, match="max_looks"):
        look_multipliers(0)
