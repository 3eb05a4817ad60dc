"""Planning a comparison: smallest detectable difference, pairs needed, power, and possible gain."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.stats.differences import FEWEST
from promptlift.stats.evidence import log_e_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

_POWER: Final = 0.80


def findable_points_paired(n: int, *, discordance: float, e_threshold: float, alpha: float) -> float | None:
    """Compute the smallest difference that ``n`` pairs detect if both e-value and exact McNemar p must decide.

    Exact: summed over the number of discordant pairs, then over their winners.

    Parameters
    ----------
    n
        Number of pairs.
    discordance
        Share of pairs in which exactly one completes; raised to the difference if smaller.
    e_threshold, alpha
        The e-value must reach the first, the two-sided p must be below the second.

    Returns
    -------
    float or None
        Percentage points; ``None`` if not even 100 points would be detected.
    """
    from scipy.special import bdtrc  # noqa: PLC0415  (rates never need it)

    if n < 1:
        return None
    log_threshold = math.log(e_threshold) - 1e-12

    def decides(wins: NDArray[np.float64], discordant: NDArray[np.float64]) -> NDArray[np.bool_]:
        p = 2.0 * np.where(wins > 0, bdtrc(wins - 1.0, discordant.astype(int), 0.5), 1.0)
        return (log_e_values(wins, discordant - wins) >= log_threshold) & (p < alpha)

    tables: dict[float, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}

    def wins_needed(share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        if share not in tables:
            first, last = discordant_counts(n, share)
            span = np.arange(first, last + 1, dtype=np.float64)
            tables[share] = span, fewest_wins(span, decides)
        return tables[share]

    def found(points: float) -> float:
        difference = points / 100.0
        share = max(discordance, difference)
        return chance_to_decide(n, difference, share, *wins_needed(share))

    return smallest(found, 100.0, _POWER)


def findable_points_unpaired(n1: int, n0: int, *, rate_control: float, alpha: float) -> float | None:
    """Compute the smallest rise above the control's rate that two independent groups detect by the score test.

    By the normal approximation with the test's own variance (Farrington and Manning 1990).

    Parameters
    ----------
    n1, n0
        Size of variant and control.
    rate_control
        Rate of the control, a fraction.
    alpha
        The two-sided p must be below it.

    Returns
    -------
    float or None
        Percentage points; ``None`` if not even a rate of 100% would be detected, or a group is too small for
        a verdict.

    References
    ----------
    C. P. Farrington and G. Manning (1990), Test statistics and sample size formulae for comparative binomial trials with
    null hypothesis of non-zero risk difference or non-unity relative risk. Statistics in Medicine 9, 1447-1454.
    """
    if min(n1, n0) < FEWEST:
        return None
    n = n1 + n0
    z = -NormalDist().inv_cdf(alpha / 2.0)

    def found(points: float) -> float:
        difference = points / 100.0
        p1, p0 = min(rate_control + difference, 1.0), rate_control
        mean = (n1 * p1 + n0 * p0) / n
        under_null = math.sqrt(mean * (1.0 - mean) * (1.0 / n1 + 1.0 / n0) * n / (n - 1.0))
        spread = math.sqrt(p1 * (1.0 - p1) / n1 + p0 * (1.0 - p0) / n0)
        distance = difference - z * under_null
        return NormalDist().cdf(distance / spread) if spread else float(distance > 0.0)

    return smallest(found, 100.0 * (1.0 - rate_control), _POWER)


def findable_mean(standard_error: float, *, alpha: float) -> float | None:
    """Compute the smallest detectable difference of means, ``(z_alpha + z_power) se``, by the normal approximation.

    Parameters
    ----------
    standard_error
        Standard error of the difference of the means.
    alpha
        The two-sided p must be below it.

    Returns
    -------
    float or None
        In the unit of the standard error; ``None`` if that is not above 0.
    """
    if not standard_error > 0.0:
        return None
    return (NormalDist().inv_cdf(_POWER) - NormalDist().inv_cdf(alpha / 2.0)) * standard_error


def discordant_counts(n: int, share: float) -> tuple[int, int]:
    """Return the range of discordant pairs of ``n`` with non-negligible probability: nine standard deviations around the mean."""
    margin = 9.0 * math.sqrt(n * share * (1.0 - share)) + 9.0
    return max(math.floor(n * share - margin), 0), min(math.ceil(n * share + margin), n)


def chance_to_decide(
    n: int, difference: float, share: float, discordant: NDArray[np.float64], needed: NDArray[np.float64]
) -> float:
    """Compute the probability that ``n`` pairs decide for the variant: over the discordant pairs, then their winners.

    Parameters
    ----------
    n
        Number of pairs.
    difference, share
        True difference, and share of discordant pairs, fractions.
    discordant, needed
        Numbers of discordant pairs, and the fewest deciding wins for each of them.
    """
    from scipy.special import betainc, gammaln, xlog1py, xlogy  # noqa: PLC0415  (rates never need it)

    ways = gammaln(n + 1.0) - gammaln(discordant + 1.0) - gammaln(n - discordant + 1.0)
    weights = np.exp(ways + xlogy(discordant, share) + xlog1py(n - discordant, -share))
    # P(at least m wins of d) is the incomplete beta function at (m, d - m + 1).
    possible = (needed >= 1) & (needed <= discordant)
    at_least = np.where(possible, needed, 1.0)
    rest = np.where(possible, discordant - needed, 0.0) + 1.0
    chance = np.where(possible, betainc(at_least, rest, (share + difference) / (2.0 * share)), 0.0)
    return float(weights @ np.where(needed < 1, 1.0, chance))


def fewest_wins(
    discordant: NDArray[np.float64],
    decides: Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.bool_]],
) -> NDArray[np.float64]:
    """Return for each number of discordant pairs the fewest wins that decide; one more than the number if none do."""
    low, high = np.full(len(discordant), -1.0), discordant + 1.0
    while np.any(still := high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        enough = decides(np.clip(middle, 0.0, discordant), discordant)
        high = np.where(still & enough, middle, high)
        low = np.where(still & ~enough, middle, low)
    return high


def smallest(found: Callable[[float], float], largest: float, power: float) -> float | None:
    """Find by bisection the smallest value up to ``largest`` that is detected with the given power, to 0.01."""
    if found(largest) < power:
        return None
    low, high = 0.0, largest
    while high - low > 0.01:
        middle = (low + high) / 2.0
        if found(middle) >= power:
            high = middle
        else:
            low = middle
    return high


# Share of pairs in which exactly one arm completes, for typical differences of personas and scenarios.
USUAL_DISCORDANCE: Final = 0.28
_PAIRS_MAX: Final = 8 * 2**14


def power_of_pairs(
    n: int,
    points: float,
    *,
    discordance: float = USUAL_DISCORDANCE,
    e_threshold: float | None = None,
    theta: float | None = None,
) -> float:
    """Compute the probability that ``n`` pairs detect a true difference, in a single look.

    Without ``e_threshold``: a one-sided test of the discordant pairs at 5%, by the normal approximation of
    Connor (1987). With it: the probability that the e-value reaches the threshold at the last pair, exactly,
    summed over all numbers of discordant pairs. Looks before the last one detect slightly more, stopping
    early for futility detects slightly less.

    Parameters
    ----------
    n
        Number of pairs.
    points
        True difference in percentage points, above 0.
    discordance
        Share of pairs in which exactly one arm completes. Raised to the difference if smaller, because a
        difference needs discordant pairs.
    e_threshold
        E-value that must be reached.
    theta
        Theta of the e-value; see `mcnemar_e_value`.

    References
    ----------
    R. J. Connor (1987), Sample size for testing differences in proportions for the paired-sample design.
    Biometrics 43, 207-211.
    """
    _check(points=points, discordance=discordance)
    if n < 1:
        return 0.0
    difference = points / 100.0
    discordance = max(discordance, difference)
    if e_threshold is None:
        return _power_of_z(n, difference, discordance)
    return _power_of_e(n, difference, discordance, e_threshold, theta)


def smallest_findable_points(
    n: int,
    *,
    discordance: float = USUAL_DISCORDANCE,
    power: float = 0.80,
    e_threshold: float | None = None,
    theta: float | None = None,
) -> float | None:
    """Compute the smallest true difference in percentage points that ``n`` pairs detect with the given power.

    See `power_of_pairs` for the definition of "detect". This is an aid for planning and for explaining why
    there is no winner; it says nothing about a result.

    Returns
    -------
    float or None
        ``None`` if not even a difference of 100 points would be detected.

    Examples
    --------
    >>> [round(smallest_findable_points(n), 1) for n in (45, 75, 150, 300, 600)]
    [19.2, 15.0, 10.7, 7.6, 5.4]
    """

    def found(points: float) -> float:
        return power_of_pairs(n, points, discordance=discordance, e_threshold=e_threshold, theta=theta)

    return smallest(found, 100.0, power)


def pairs_needed(
    points: float,
    *,
    discordance: float = USUAL_DISCORDANCE,
    power: float = 0.80,
    e_threshold: float | None = None,
    theta: float | None = None,
) -> int | None:
    """Compute how many pairs detect a true difference of ``points`` percentage points with the given power.

    Returns
    -------
    int or None
        ``None`` if the difference is not above 0, or needs more than 131,072 pairs.
    """
    _check(points=max(points, 0.0), discordance=discordance)
    if points <= 0.0:
        return None

    def enough(n: int) -> bool:
        found = power_of_pairs(n, points, discordance=discordance, e_threshold=e_threshold, theta=theta)
        return found >= power

    high = 8
    while not enough(high):
        high *= 2
        if high > _PAIRS_MAX:
            return None
    return bisect_left(range(high), True, lo=high // 2 + 1, key=enough)


def _check(*, points: float, discordance: float) -> None:
    if not 0.0 <= points <= 100.0:
        raise ValueError(f"points must lie between 0 and 100, not {points!r}.")
    if not 0.0 <= discordance <= 1.0:
        raise ValueError(f"discordance must be a fraction between 0 and 1, not {discordance!r}.")


def _power_of_z(n: int, difference: float, discordance: float) -> float:
    """Compute the power of the one-sided 5% test whose standard error under the null is ``sqrt(discordance / n)``."""
    distance = difference * math.sqrt(n) - NormalDist().inv_cdf(0.95) * math.sqrt(discordance)
    spread = math.sqrt(max(discordance - difference**2, 0.0))
    if spread == 0.0:
        return float(distance >= 0.0)
    return NormalDist().cdf(distance / spread)


def _power_of_e(
    n: int, difference: float, discordance: float, e_threshold: float, theta: float | None
) -> float:
    """Compute the exact power at the last pair: over the number of discordant pairs, then over their winners."""
    if discordance == 0.0:
        return 0.0
    first, last = discordant_counts(n, discordance)
    discordant = np.arange(first, last + 1, dtype=np.float64)
    needed = _wins_needed(first, last, e_threshold, theta)
    return chance_to_decide(n, difference, discordance, discordant, needed)


@lru_cache(maxsize=64)
def _wins_needed(first: int, last: int, e_threshold: float, theta: float | None) -> NDArray[np.float64]:
    """Return for ``first`` to ``last`` discordant pairs the fewest wins whose e-value reaches the threshold.

    One more than the number of discordant pairs if all of them are not enough.
    """
    log_threshold = math.log(e_threshold) - 1e-12
    return fewest_wins(
        np.arange(first, last + 1, dtype=np.float64),
        lambda wins, discordant: log_e_values(wins, discordant - wins, theta=theta) >= log_threshold,
    )


# An interval of 80% excludes 10% at each end.
_LEVEL_OF_ENDS: Final = 0.80


def points_to_gain(
    completed: int, n: int, completed_without: int, n_without: int, *, level: float = 0.95
) -> tuple[float, float, float]:
    """Compute the points of completion gained if the conversations of a kind completed like the others.

    This is the completion of the others minus the completion of all. The interval is that of the delta method
    over the four counts, each with a half added as in `lift_interval`.

    Parameters
    ----------
    completed, n
        Conversations of the kind.
    completed_without, n_without
        The others.
    level
        Coverage of the interval.

    Returns
    -------
    tuple
        Points, and the ends of their interval; NaN without others. Without conversations of the kind there
        are 0 points to gain, and the interval shows how many are possible.

    Examples
    --------
    >>> [round(points, 1) for points in points_to_gain(5, 40, 60, 80)]
    [20.8, 13.6, 27.6]
    """
    if not n_without:
        return math.nan, math.nan, math.nan
    points = 100.0 * (completed_without / n_without - (completed + completed_without) / (n + n_without))
    counts = (completed, n - completed, completed_without, n_without - completed_without)
    total = n + n_without + 2.0
    shares = [(count + 0.5) / total for count in counts]
    without = shares[2] + shares[3]
    slopes = (-1.0, 0.0, shares[3] / without**2 - 1.0, -shares[2] / without**2)
    mean = sum(share * slope for share, slope in zip(shares, slopes, strict=True))
    squares = sum(share * slope**2 for share, slope in zip(shares, slopes, strict=True))
    middle = shares[2] / without - shares[0] - shares[2]
    width = NormalDist().inv_cdf((1.0 + level) / 2.0) * math.sqrt((squares - mean**2) / total)
    return points, 100.0 * (middle - width), 100.0 * (middle + width)


def is_worth_a_test(
    completed: int, n: int, completed_without: int, n_without: int, *, findable: float | None
) -> bool | None:
    """Return whether the gain of `points_to_gain` may be as large as a test can detect.

    It may not if its one-sided upper bound of 90% is below.

    Parameters
    ----------
    completed, n, completed_without, n_without
        As in `points_to_gain`.
    findable
        The smallest gain in points that the test detects with 80% probability; ``None`` if it detects none,
        and no gain is enough.

    Returns
    -------
    bool or None
        ``None`` if the gain is unknown.

    Examples
    --------
    >>> is_worth_a_test(5, 40, 60, 80, findable=15.0), is_worth_a_test(5, 40, 60, 80, findable=25.0)
    (True, False)
    """
    _, _, high = points_to_gain(completed, n, completed_without, n_without, level=_LEVEL_OF_ENDS)
    if math.isnan(high):
        return None
    return findable is not None and high >= findable
