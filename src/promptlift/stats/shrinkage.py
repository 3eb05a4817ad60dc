"""The lift to expect in production: the measured one, shrunk toward no change, and that of fresh pairs where there are any."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from promptlift.stats.effect import lift_interval, lift_points
from promptlift.stats.evidence import check_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

PRIOR_SD_POINTS: Final = 10.0
HISTORY_NEEDED: Final = 20
# Weight of the fresh pairs, which decided nothing, beside the shrunken lift of those that did.
VERIFIED_WEIGHT: Final = 0.7


class ExpectedLift(NamedTuple):
    """Lift to expect in production, in percentage points and in percent; ``None`` where it is unknown."""

    points: float | None
    percent: float | None


def expected_lift(
    n11: int,
    n10: int,
    n01: int,
    n00: int,
    *,
    prior_sd_points: float = PRIOR_SD_POINTS,
    standard_error_points: float | None = None,
    verified_points: float | None = None,
) -> ExpectedLift:
    """Estimate the lift to expect in production.

    The measured lift of a winner is too high, because it was picked for being high. Shrinking it towards 0 by its
    uncertainty, ``points × prior² / (prior² + se²)``, makes it right on average over many optimizations, but not at each
    size of effect. With ``verified_points`` it is right at each: ``0.7 verified + 0.3 shrunk``.

    Parameters
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, neither completed the task.
    prior_sd_points
        Standard deviation of true effects in percentage points; see `prior_sd_from`.
    standard_error_points
        Standard error of the difference where a better one is known; by default that of `lift_interval`.
    verified_points
        The same difference from pairs that were measured after the decision, where there are any.

    Raises
    ------
    ValueError
        When a count is negative or not whole, or the prior's deviation is negative.

    Examples
    --------
    >>> round(expected_lift(84, 31, 14, 21).points, 6)
    9.516849
    >>> round(expected_lift(84, 31, 14, 21, verified_points=8.0).points, 6)
    8.455055
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
        points, standard_error_points, prior_sd_points=prior_sd_points, verified_points=verified_points
    )
    original = n11 + n01
    n = original + n10 + n00
    return ExpectedLift(expected, 100.0 * expected / (100.0 * original / n) if original else None)


def expected_points(
    points: float, standard_error_points: float, *, prior_sd_points: float, verified_points: float | None
) -> float:
    """Return the points to expect, from a difference with its standard error; see `expected_lift`."""
    expected = points * prior_sd_points**2 / (prior_sd_points**2 + standard_error_points**2)
    if verified_points is None:
        return expected
    return VERIFIED_WEIGHT * verified_points + (1.0 - VERIFIED_WEIGHT) * expected


def prior_sd_from(history: Sequence[tuple[float, float]], *, about: float | None = None) -> float:
    """Estimate the standard deviation of an account's true effects from its own confirmed optimizations.

    DerSimonian and Laird's estimate of the variance between optimizations, cut at 0.

    Parameters
    ----------
    history
        ``(lift_points, standard_error_points)`` of every confirmed optimization, those without a winner
        included: leaving them out would make the account look better than it is.
    about
        Measure the spread about this value, in points, and not about the account's mean. `expected_lift` draws
        towards 0, so what it needs is the spread about 0: about the mean of an account whose variants tend to be
        better it would draw too much.

    Returns
    -------
    float
        In percentage points. 10 while there are fewer than 20 optimizations.

    Raises
    ------
    ValueError
        When a standard error is not above 0.

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
    total = float(weights.sum())
    if about is not None:
        # The same moments with a known mean: none is estimated, so all terms are free.
        excess = float(weights @ (effects - about) ** 2) - len(effects)
        return math.sqrt(max(excess / total, 0.0))
    mean = float(weights @ effects) / total
    q = float(weights @ (effects - mean) ** 2)
    between = (q - (len(effects) - 1)) / (total - float((weights**2).sum()) / total)
    return math.sqrt(max(between, 0.0))
