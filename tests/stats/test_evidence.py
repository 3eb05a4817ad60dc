"""The e-value against exact arithmetic and worked values, as a martingale, and how rarely it is wrong with a fixed theta."""

from __future__ import annotations

import math
from fractions import Fraction
from math import comb, factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift.stats import analyse_pairs, confidence, mcnemar_e_value
from promptlift.stats.budget import THETAS, Design, futility_bound, theta_of
from promptlift.stats.evidence import (
    CONFIDENCE_THRESHOLDS,
    LIKELIHOOD_RATIO,
    MIXTURE,
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
def test_thresholds_of_confidence_are_odds(mode, e):
    assert e_threshold(mode) == e
    assert e / (1 + e) == pytest.approx(CONFIDENCE_THRESHOLDS[mode])
    with pytest.raises(ValueError, match="low, moderate or high"):
        e_threshold("certain")


def test_the_calibrated_confidence_is_bayes_rule():
    # Even odds give the confidence itself; one in ten: 0.1 * 9 / (0.9 + 0.9) = 0.5.
    assert confidence_calibrated(mcnemar_e_value(31, 14), 0.5) == pytest.approx(confidence(31, 14))
    assert confidence_calibrated(9.0, 0.1) == pytest.approx(0.5)
    assert confidence_calibrated(0.0, 0.3) == 0.0
    assert confidence_calibrated(math.inf, 0.3) == 1.0
    for e, rate in ((1, 0), (1, 1), (-1, 0.5), (math.nan, 0.5)):
        with pytest.raises(ValueError, match="must be a number"):
            confidence_calibrated(e, rate)


EVERY_THETA = [(mode, sure) for mode in THETAS for sure in THETAS[mode]]


@pytest.mark.parametrize(
    ("n10", "n01", "theta", "e", "sure"),
    [
        (31, 14, 0.67, 25.933662, 0.962872),
        (31, 14, 0.62, 16.883502, 0.944083),
        (31, 14, 0.65, 23.100239, 0.958507),
        (12, 12, 0.67, 0.228973, 0.186313),
        (9, 1, 0.67, 9.193632, 0.901900),
        (9, 1, 0.70, 12.396628, 0.925354),
        (0, 0, 0.67, 1.0, 0.5),
        (31, 14, None, 11.474403, 0.919836),
        (12, 12, None, 0.626560, 0.385206),
        (0, 0, None, 1.0, 0.5),
    ],
)
def test_the_worked_values(n10, n01, theta, e, sure):
    assert mcnemar_e_value(n10, n01, theta=theta) == pytest.approx(e, abs=1e-6)
    assert confidence(n10, n01, theta=theta) == pytest.approx(sure, abs=1e-6)
    assert log_e_values(np.array([n10]), np.array([n01]), theta=theta)[0] == pytest.approx(math.log(e))


def test_theta_is_fixed_by_mode_and_confidence_mode():
    assert {mode: [theta_of(mode, sure) for sure in ("low", "moderate", "high")] for mode in THETAS} == {
        "exploratory": [0.62, 0.67, 0.70],
        "validation": [0.61, 0.65, 0.67],
    }
    with pytest.raises(ValueError, match="mode must be"):
        theta_of("quick", "low")
    with pytest.raises(ValueError, match="confidence_mode must be"):
        theta_of("validation", "certain")


@pytest.mark.parametrize("theta", [0.5, 1.0, 0.3, math.nan])
def test_a_theta_that_no_better_variant_has_is_refused(theta):
    with pytest.raises(ValueError, match=r"theta must lie between 0\.5 and 1"):
        mcnemar_e_value(3, 1, theta=theta)


@pytest.mark.parametrize(("mode", "sure"), EVERY_THETA)
def test_identical_prompts_ever_reach_the_threshold_as_rarely_as_promised(mode, sure):
    """Exactly: the chance of every path of 400 fair coins, with a look after each."""
    theta, threshold = theta_of(mode, sure), math.log(e_threshold(sure))
    alive, crossed = np.array([1.0]), 0.0
    for discordant in range(1, 401):
        alive = np.concatenate([alive / 2, [0.0]]) + np.concatenate([[0.0], alive / 2])
        wins = np.arange(discordant + 1.0)
        hit = log_e_values(wins, discordant - wins, theta=theta) >= threshold
        crossed += float(alive[hit].sum())
        alive = np.where(hit, 0.0, alive)
    assert 0 < crossed <= 1 / e_threshold(sure)


@pytest.mark.parametrize(
    ("counts", "pairs_left", "mode", "missing", "bound"),
    [
        ((3, 3, 15), 105, "exploratory", 2.565762, 5.131578),
        ((2, 8, 30), 90, "exploratory", 4.936009, 4.103652),
        ((10, 12, 60), 180, "validation", 3.853681, 6.928567),
    ],
)
def test_curtailment_by_hand(counts, pairs_left, mode, missing, bound):
    n10, n01, _ = counts
    theta = theta_of(mode, "moderate")
    assert math.log(9) - mcnemar_log_e_value(n10, n01, theta=theta) == pytest.approx(missing, abs=1e-6)
    found = futility_bound(*counts, pairs_left=pairs_left, theta=theta, mode=mode)
    assert found == pytest.approx(bound, abs=1e-6)
    pairs = analyse_pairs(0, n10, n01, counts[2] - n10 - n01)
    design = Design.of(3, mode, "moderate", 10)
    gives_up = design.gives_up(pairs, pairs_left=pairs_left, e_needed=9.0)
    assert gives_up is (missing > bound)
    # Where no pair is left, the budget ends the run.
    assert not design.gives_up(pairs, pairs_left=0, e_needed=9.0)


def test_an_analysis_says_what_its_confidence_is_made_of():
    fixed, open_ = analyse_pairs(84, 31, 14, 21, theta=0.67), analyse_pairs(84, 31, 14, 21)
    assert (fixed.confidence_method, fixed.theta) == (LIKELIHOOD_RATIO, 0.67)
    assert (open_.confidence_method, open_.theta) == (MIXTURE, None)
    assert fixed.confidence == pytest.approx(0.962872, abs=1e-6)
    assert open_.confidence == pytest.approx(0.919836, abs=1e-6)
    assert (fixed.lift_low, fixed.lift_expected) == (open_.lift_low, open_.lift_expected)
