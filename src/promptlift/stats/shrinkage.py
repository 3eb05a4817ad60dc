"""The lift to expect in production: the measured one, shrunk toward no change, combined with that of fresh pairs if any."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from promptlift.stats.effect import lift_interval, lift_points
from promptlift.stats.evidence import check_counts
from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence

PRIOR_SD_POINTS: Final = 10.0
HISTORY_NEEDED: Final = 20
# Weight of the fresh pairs, which took no part in the decision, relative to the shrunken lift of those that
# did.
VERIFIED_WEIGHT: Final = 0.7
# Variants whose change in production is known, before they tell what expectations are worth.
PAIRS_NEEDED: Final = 5


class ExpectedPoints(NamedTuple):
    """Percentage points to expect in production, with their interval; ``None`` if unknown."""

    points: float
    low: float | None
    high: float | None


class ExpectedLift(NamedTuple):
    """Lift to expect in production, in percentage points and in percent, with intervals; ``None`` if unknown."""

    points: float | None
    percent: float | None
    points_low: float | None = None
    points_high: float | None = None
    low: float | None = None
    high: float | None = None


def expected_lift(
    n11: int,
    n10: int,
    n01: int,
    n00: int,
    *,
    prior_sd_points: float = PRIOR_SD_POINTS,
    standard_error_points: float | None = None,
    verified_points: float | None = None,
    verified_error_points: float | None = None,
    level: float = 0.90,
) -> ExpectedLift:
    """Estimate the lift to expect in production.

    The measured lift of a winner is too high, because it was picked for being high. Shrinking it towards 0 by
    its uncertainty, ``points × prior² / (prior² + se²)``, makes it correct on average over many
    optimizations, but not for each size of effect. With ``verified_points`` it is correct for each: ``0.7
    verified + 0.3 shrunk``, where ``prior`` is at least ``verified`` less its standard error: large effects are not shrunk
    as if effects were small.

    Parameters
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, or neither completed the task.
    prior_sd_points
        Standard deviation of true effects in percentage points; see `prior_sd_from`.
    standard_error_points
        Standard error of the difference if a better one is known; by default that of `lift_interval`.
    verified_points
        The same difference from pairs measured after the decision, if any.
    verified_error_points
        Its standard error; without it the interval is unknown if there are such pairs.
    level
        Coverage of the interval, on average over effects distributed like the prior. In percent it uses the
        original's measured rate.

    Raises
    ------
    ValueError
        If a count is negative or not whole, or the prior's deviation is negative.

    Examples
    --------
    >>> round(expected_lift(84, 31, 14, 21).points, 6)
    9.516849
    >>> round(expected_lift(84, 31, 14, 21, verified_points=8.0).points, 6)
    8.455055
    >>> [round(end, 3) for end in expected_lift(84, 31, 14, 21)[2:4]]
    [2.877, 16.156]
    """
    n11, n10, n01, n00 = check_counts(n11=n11, n10=n10, n01=n01, n00=n00)
    if not prior_sd_points >= 0.0:
        raise ValueError(f"prior_sd_points must be a number of at least 0, not {prior_sd_points!r}.")
    points = lift_points(n11, n10, n01, n00)
    if standard_error_points is None:
        standard_error_points = lift_interval(n11, n10, n01, n00).standard_error_points
    if points is None or standard_error_points is None:
        return ExpectedLift(None, None)
    expected = expected_points(
        points,
        standard_error_points,
        prior_sd_points=prior_sd_points,
        verified_points=verified_points,
        verified_error_points=verified_error_points,
        level=level,
    )
    original = (n11 + n01) / (n11 + n10 + n01 + n00)
    percent, low, high = (None if value is None or not original else value / original for value in expected)
    return ExpectedLift(expected.points, percent, expected.low, expected.high, low, high)


def expected_points(
    points: float,
    standard_error_points: float,
    *,
    prior_sd_points: float,
    verified_points: float | None,
    verified_error_points: float | None,
    level: float = 0.90,
) -> ExpectedPoints:
    """Return the points to expect, from a difference with its standard error; see `expected_lift`.

    The shrunken difference has the variance of the posterior of a normal effect, ``prior² se² / (prior² +
    se²)``, regardless of the selection (A. Gelman and others, 2013, Bayesian Data Analysis, section 2.5).
    That of the pairs after the decision is independent of it, so the variances add up by the squares of the
    weights.
    """
    found = 0.0 if verified_points is None else abs(verified_points) - (verified_error_points or 0.0)
    spread = max(prior_sd_points, found)
    kept = spread**2 / (spread**2 + standard_error_points**2) if spread else 0.0
    expected, variance = kept * points, kept * standard_error_points**2
    if verified_points is not None:
        rest = 1.0 - VERIFIED_WEIGHT
        expected = VERIFIED_WEIGHT * verified_points + rest * expected
        if verified_error_points is None:
            return ExpectedPoints(expected, None, None)
        variance = VERIFIED_WEIGHT**2 * verified_error_points**2 + rest**2 * variance
    half = NormalDist().inv_cdf(0.5 + level / 2.0) * math.sqrt(variance)
    return ExpectedPoints(expected, expected - half, expected + half)


def prior_sd_from(history: Sequence[tuple[float, float]]) -> float:
    """Estimate the spread of an account's true effects about 0 from its own confirmed optimizations.

    DerSimonian and Laird's moment estimate of the variance between optimizations, truncated at 0, with 0 in the place of
    their mean: `expected_lift` shrinks toward 0, and by the spread about the mean of an account whose variants tend to be
    better it would shrink too much.

    Parameters
    ----------
    history
        ``(lift_points, standard_error_points)`` of every confirmed optimization, including those without a
        winner: leaving them out would make the account look better than it is.

    Returns
    -------
    float
        In percentage points. 10 while there are fewer than 20 optimizations.

    Raises
    ------
    ValueError
        If a standard error is not above 0.

    References
    ----------
    R. DerSimonian and N. Laird (1986), Meta-analysis in clinical trials. Controlled Clinical Trials 7,
    177-188.
    """
    if len(history) < HISTORY_NEEDED:
        return PRIOR_SD_POINTS
    effects, errors = np.array(history, np.float64).T
    if not np.all(errors > 0):
        raise ValueError("every standard_error_points in history must be above 0.")
    weights = 1.0 / errors**2
    # The mean is not estimated, so no degree of freedom is lost.
    return math.sqrt(max((float(weights @ effects**2) - len(effects)) / float(weights.sum()), 0.0))


class KeptShare(NamedTuple):
    """The share of expected changes that was found in production, 1 if simulations promised neither too much nor too little.

    Attributes
    ----------
    share, low, high
        The slope of the found changes over the expected ones, and its interval.
    n
        Number of pairs.
    """

    share: float
    low: float
    high: float
    n: int


def kept_share(pairs: Sequence[tuple[float, float, float]], *, level: float = 0.95) -> KeptShare | None:
    """Estimate how much of what simulations let expect production shows.

    The line through the origin ``found = share * expected``, by a random-effects meta-regression: weights ``1 / (error² +
    tau²)`` with DerSimonian and Laird's ``tau²`` between variants, and Knapp and Hartung's interval by the t distribution, never
    narrower than by the errors alone.

    Parameters
    ----------
    pairs
        ``(expected, found, error)`` of every variant in percentage points; ``error`` is the standard error of ``found``.
    level
        Coverage of the interval.

    Returns
    -------
    KeptShare or None
        ``None`` for fewer than five pairs, or if nothing was expected of any.

    Raises
    ------
    ValueError
        If an error is not above 0.

    References
    ----------
    G. Knapp and J. Hartung (2003), Improved tests for a random effects meta-regression with a single covariate. Statistics
    in Medicine 22, 2693-2710.

    Examples
    --------
    >>> found = kept_share([(10, 5, 3), (8, 5, 3), (12, 7, 4), (5, 2, 3), (9, 4, 3)])
    >>> print(round(found.share, 2), round(found.low, 2), round(found.high, 2), found.n)
    0.52 0.13 0.9 5
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (rates never need it)

    x, y, errors = np.array(pairs, np.float64).reshape(-1, 3).T
    if not np.all(errors > 0):
        raise ValueError("every error must be above 0.")
    if len(x) < PAIRS_NEEDED or not x.any():
        return None
    free = len(x) - 1
    fixed = 1.0 / errors**2
    slope = float(fixed @ (x * y) / (fixed @ x**2))
    excess = float(fixed @ (y - slope * x) ** 2) - free
    between = max(0.0, excess / float(fixed.sum() - (fixed**2 @ x**2) / (fixed @ x**2)))
    weights = 1.0 / (errors**2 + between)
    slope = float(weights @ (x * y) / (weights @ x**2))
    scale = max(1.0, float(weights @ (y - slope * x) ** 2) / free)
    half = float(stdtrit(free, 0.5 + check_level(level) / 2.0)) * math.sqrt(scale / float(weights @ x**2))
    return KeptShare(slope, slope - half, slope + half, len(x))
