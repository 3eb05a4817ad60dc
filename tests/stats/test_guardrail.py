"""Guardrails against statsmodels' clustered t interval and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.regression.linear_model import OLS

from promptlift.stats.scores import guardrail


def clusters_of(personas, differences):
    return [
        (int((personas == g).sum()), float(differences[personas == g].sum())) for g in np.unique(personas)
    ]


def test_the_interval_is_the_clustered_one_of_statsmodels():
    rng = np.random.default_rng(3)
    personas = np.repeat(np.arange(9), rng.integers(1, 6, 9))
    differences = rng.normal(0.05, 0.3, len(personas)) + rng.normal(0, 0.2, 9)[personas]
    ours = guardrail("sentiment", clusters_of(personas, differences), margin=-0.1)
    oracle = OLS(differences, np.ones(len(differences))).fit(
        cov_type="cluster", cov_kwds={"groups": personas}, use_t=True
    )
    low, high = oracle.conf_int(alpha=0.025)[0]
    assert (ours.low, ours.high) == pytest.approx((low, high), abs=1e-10)
    assert ours.difference == pytest.approx(differences.mean())
    assert (ours.n, ours.personas, ours.level) == (len(personas), 9, 0.975)


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([-5.0, -6.0, -5.5, -4.5, -5.2], "harmed"),
        ([0.1, -0.2, 0.3, 0.0, -0.1], "ok"),
        ([-9.0, 8.0, -7.0, 9.0, -1.0], "unknown"),
        ([-1.0, -1.1, -0.9, -1.0, -1.05], "harmed"),
    ],
)
def test_the_verdict(differences, verdict):
    assert guardrail("quality", [(1, d) for d in differences], margin=-3.0).verdict == verdict


@pytest.mark.parametrize("clusters", [[], [(0, 0.0)], [(5, 1.0)], [(5, 1.0), (0, 0.0)]])
def test_fewer_than_two_personas_are_unknown(clusters):
    ours = guardrail("quality", clusters, margin=-3.0)
    assert ours.verdict == "unknown"
    assert (ours.low, ours.high) == (None, None)


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(-50, 50)), min_size=2, max_size=30))
def test_the_interval_encloses_the_difference_and_mirrors(clusters):
    ours = guardrail("quality", clusters, margin=-3.0)
    assert ours.low <= ours.difference <= ours.high
    mirrored = guardrail("quality", [(n, -d) for n, d in clusters], margin=-3.0)
    assert mirrored.low == pytest.approx(-ours.high, abs=1e-9)
    assert math.isfinite(ours.high)
