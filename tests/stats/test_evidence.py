"""The e-value against exact arithmetic, against its integral, and as a martingale."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import beta

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
    ("n10", "n01", "e", "sure"),
    [(31, 14, 11.474403, 0.919836), (12, 12, 0.626560, 0.385206), (0, 0, 1.0, 0.5)],
)
def test_the_worked_values(n10, n01, e, sure):
    assert mcnemar_e_value(n10, n01) == pytest.approx(e, abs=1e-6)
    assert confidence(n10, n01) == pytest.approx(sure, abs=1e-6)


@pytest.mark.parametrize(
    "pair", [(1, 0), (0, 1), (5, 2), (2, 5), (60, 60), (300, 5), (5, 300), (1500, 0), (0, 1500), (700, 690)]
)
def test_the_logarithm_is_the_one_of_exact_arithmetic(pair):
    assert mcnemar_log_e_value(*pair) == pytest.approx(log_of(exact_e(*pair)), abs=1e-9)


@pytest.mark.parametrize("pair", [(3, 1), (20, 8), (8, 20), (0, 9), (45, 20)])
def test_it_is_the_average_likelihood_ratio_over_a_prior_that_says_better(pair):
    n10, n01 = pair
    prior = beta(8, 8)
    integral, _ = quad(
        lambda p: (2 * p) ** n10 * (2 * (1 - p)) ** n01 * prior.pdf(p) / 0.5, 0.5, 1.0, epsabs=1e-12
    )
    assert mcnemar_e_value(n10, n01) == pytest.approx(integral, rel=1e-8)


@given(counts, counts)
def test_it_is_a_martingale_from_pair_to_pair_for_any_counts(n10, n01):
    win, loss = mcnemar_log_e_value(n10 + 1, n01), mcnemar_log_e_value(n10, n01 + 1)
    now = mcnemar_log_e_value(n10, n01)
    assert float(np.logaddexp(win, loss)) - math.log(2) == pytest.approx(now, abs=1e-7)
    assert loss < now < win


@pytest.mark.parametrize("mode", ["low", "moderate", "high"])
def test_identical_prompts_ever_reach_the_threshold_as_rarely_as_promised(mode):
    # Every path of up to 600 discordant pairs, with a look after each of them.
    threshold = math.log(e_threshold(mode))
    alive, crossed = np.array([1.0]), 0.0
    for discordant in range(1, 601):
        alive = np.append(alive, 0.0) / 2 + np.append(0.0, alive) / 2
        wins = np.arange(discordant + 1.0)
        hit = log_e_values(wins, discordant - wins) >= threshold
        crossed += alive[hit].sum()
        alive[hit] = 0.0
    assert 0 < crossed <= 1 / e_threshold(mode)


@given(st.integers(0, 400), st.integers(0, 400))
def test_many_at_once_are_the_single_ones(n10, n01):
    single = mcnemar_log_e_value(n10, n01)
    many = float(log_e_values(np.array([float(n10)]), np.array([float(n01)]))[0])
    assert many == pytest.approx(single, abs=1e-9)


def test_an_e_value_above_the_largest_float_is_infinite_and_sure():
    assert mcnemar_e_value(10**6, 0) == math.inf
    assert confidence(10**6, 0) == 1.0
    assert math.isfinite(mcnemar_log_e_value(10**6, 0))


@pytest.mark.parametrize("bad", [-1, 1.5, float("nan"), "3", None])
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


def test_an_unknown_mode_or_attempt_is_refused():
    with pytest.raises(ValueError, match="low, moderate or high"):
        e_threshold("certain")
    with pytest.raises(ValueError, match="attempt"):
        e_threshold("low", attempt=0)


def test_the_calibrated_confidence_is_bayes_rule():
    # Even odds give the confidence itself; one in ten: 0.1 * 9 / (0.9 + 0.9) = 0.5.
    assert confidence_calibrated(mcnemar_e_value(31, 14), 0.5) == pytest.approx(confidence(31, 14))
    assert confidence_calibrated(9.0, 0.1) == pytest.approx(0.5)
    assert confidence_calibrated(0.0, 0.3) == 0.0
    assert confidence_calibrated(math.inf, 0.3) == 1.0


@pytest.mark.parametrize(("e", "rate"), [(1, 0), (1, 1), (-1, 0.5), (float("nan"), 0.5)])
def test_a_calibrated_confidence_of_nonsense_is_refused(e, rate):
    with pytest.raises(ValueError, match="must be a number"):
        confidence_calibrated(e, rate)
