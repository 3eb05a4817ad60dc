"""The e-value against exact arithmetic, against its integral, and as a martingale."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift.stats import confidence, mcnemar_e_value
from promptlift.stats.evidence import (
    CONFIDENCE_THRESHOLDS,
    confidence_calibrated,
    e_threshold,
    log_e_values,
    mcnemar_log_e_value,
)

counts = st.integers(0, 10**6)


def exact_e(n10: int, n01: int) -> Fraction:
    """The formula in whole numbers: the cut beta prior is a binomial tail."""
    a, b = n01 + 8, n10 + 8
    trials = a + b - 1
    tail = Fraction(sum(comb(trials, k) for k in range(a, trials + 1)), 2**trials)
    ratio = Fraction(factorial(a - 1) * factorial(b - 1), factorial(trials)) / Fraction(
        factorial(7) ** 2, factorial(15)
    )
    return 2 ** (n10 + n01 + 1) * ratio * tail


def log_of(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)


@pytest.mark.parametrize(
    "pair", [(1, 0), (0, 1), (5, 2), (2, 5), (60, 60), (300, 5), (5, 300), (1500, 0), (0, 1500), (700, 690)]
)
def test_the_logarithm_is_the_one_of_exact_arithmetic(pair):
    assert mcnemar_log_e_value(*pair) == pytest.approx(log_of(exact_e(*pair)), abs=1e-9)
    if pair[1] < 1_000:  # of so many losses, the E of arrays is 0
        many = log_e_values(*(np.array([float(n)]) for n in pair))
        assert many == pytest.approx([mcnemar_log_e_value(*pair)])


@given(counts, counts)
def test_it_is_a_martingale_from_pair_to_pair_for_any_counts(n10, n01):
    win, loss = mcnemar_log_e_value(n10 + 1, n01), mcnemar_log_e_value(n10, n01 + 1)
    now = mcnemar_log_e_value(n10, n01)
    assert float(np.logaddexp(win, loss)) - math.log(2) == pytest.approx(now, abs=1e-7)
    assert loss < now < win


def test_an_e_value_above_the_largest_float_is_infinite_and_sure():
    assert mcnemar_e_value(10**6, 0) == math.inf
    assert confidence(10**6, 0) == 1.0
    assert math.isfinite(mcnemar_log_e_value(10**6, 0))


@pytest.mark.parametrize("bad", [-1, 1.5, "3"])
def test_what_is_no_count_is_refused_by_name(bad):
    with pytest.raises(ValueError, match="n10 must be a whole number of at least 0"):
        confidence(bad, 0)
    with pytest.raises(ValueError, match="n01 must be a whole number of at least 0"):
        mcnemar_e_value(0, bad)


@pytest.mark.parametrize(("mode", "e"), [("low", 4), ("moderate", 9), ("high", 19)])
def test_thresholds_of_confidence_are_odds_and_double_for_every_further_finalist(mode, e):
    assert e_threshold(mode) == e
    assert e / (1 + e) == pytest.approx(CONFIDENCE_THRESHOLDS[mode])
    assert [e_threshold(mode, attempt=attempt) for attempt in (2, 3)] == [2 * e, 4 * e]
    with pytest.raises(ValueError, match="low, moderate or high"):
        e_threshold("certain")
    with pytest.raises(ValueError, match="attempt"):
        e_threshold(mode, attempt=0)


def test_the_calibrated_confidence_is_bayes_rule():
    # Even odds give the confidence itself; one in ten: 0.1 * 9 / (0.9 + 0.9) = 0.5.
    assert confidence_calibrated(mcnemar_e_value(31, 14), 0.5) == pytest.approx(confidence(31, 14))
    assert confidence_calibrated(9.0, 0.1) == pytest.approx(0.5)
    assert confidence_calibrated(0.0, 0.3) == 0.0
    assert confidence_calibrated(math.inf, 0.3) == 1.0
    for e, rate in ((1, 0), (1, 1), (-1, 0.5), (math.nan, 0.5)):
        with pytest.raises(ValueError, match="must be a number"):
            confidence_calibrated(e, rate)
