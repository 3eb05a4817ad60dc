"""What a comparison with one look can find: the smallest true difference found with 80 % probability."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.stats.differences import FEWEST
from promptlift.stats.evidence import log_e_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = [
    "chance_to_decide",
    "discordant_counts",
    "fewest_wins",
    "findable_mean",
    "findable_points_paired",
    "findable_points_unpaired",
    "smallest",
]

_POWER: Final = 0.80


def findable_points_paired(n: int, *, discordance: float, e_threshold: float, alpha: float) -> float | None:
    """Compute the smallest difference that ``n`` pairs find when the e-value and the exact McNemar p must both decide.

    Exact: summed over the number of discordant pairs, then over who won them.

    Parameters
    ----------
    n
        Number of pairs.
    discordance
        Share of pairs in which exactly one completes; raised to the difference where it is smaller.
    e_threshold, alpha
        The e-value must reach the first, the two-sided p must be below the second.

    Returns
    -------
    float or None
        Percentage points; ``None`` when not even 100 points would be found.
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
    """Compute the smallest rise above the control's rate that two independent groups find by the score test.

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
        Percentage points; ``None`` when not even a rate of 100 % would be found, or a group is too small for a verdict.

    References
    ----------
    C. P. Farrington and G. Manning (1990), Test statistics and sample size formulae for comparative binomial trials with
    null hypothesis of non-zero risk difference or non-unity relative risk. Statistics in Medicine 9, 1447-1454.
    """
    from scipy.special import ndtr, ndtri  # noqa: PLC0415  (rates never need it)

    if min(n1, n0) < FEWEST:
        return None
    n = n1 + n0
    z = -float(ndtri(alpha / 2.0))

    def found(points: float) -> float:
        difference = points / 100.0
        p1, p0 = min(rate_control + difference, 1.0), rate_control
        mean = (n1 * p1 + n0 * p0) / n
        under_null = math.sqrt(mean * (1.0 - mean) * (1.0 / n1 + 1.0 / n0) * n / (n - 1.0))
        spread = math.sqrt(p1 * (1.0 - p1) / n1 + p0 * (1.0 - p0) / n0)
        distance = difference - z * under_null
        return float(ndtr(distance / spread)) if spread else float(distance > 0.0)

    return smallest(found, 100.0 * (1.0 - rate_control), _POWER)


def findable_mean(standard_error: float, *, alpha: float) -> float | None:
    """Compute the smallest difference of means that is found, ``(z_alpha + z_power) se``, by the normal approximation.

    Parameters
    ----------
    standard_error
        Of the difference of the means.
    alpha
        The two-sided p must be below it.

    Returns
    -------
    float or None
        In the unit of the standard error; ``None`` when that is not above 0.
    """
    from scipy.special import ndtri  # noqa: PLC0415  (rates never need it)

    if not standard_error > 0.0:
        return None
    return float(ndtri(_POWER) - ndtri(alpha / 2.0)) * standard_error


def discordant_counts(n: int, share: float) -> tuple[int, int]:
    """Return the least and the most discordant pairs of ``n`` that carry weight: nine standard deviations around."""
    margin = 9.0 * math.sqrt(n * share * (1.0 - share)) + 9.0
    return max(math.floor(n * share - margin), 0), min(math.ceil(n * share + margin), n)


def chance_to_decide(
    n: int, difference: float, share: float, discordant: NDArray[np.float64], needed: NDArray[np.float64]
) -> float:
    """Compute the probability that ``n`` pairs decide for the variant: over the discordant pairs, then who won them.

    Parameters
    ----------
    n
        Number of pairs.
    difference, share
        True difference, and share of discordant pairs, fractions.
    discordant, needed
        Numbers of discordant pairs, and the fewest wins among each of them that decide.
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
    """Return for each number of discordant pairs the fewest wins that decide; one more than it where none do."""
    low, high = np.full(len(discordant), -1.0), discordant + 1.0
    while np.any(still := high - low > 1.0):
        middle = np.floor((low + high) / 2.0)
        enough = decides(np.clip(middle, 0.0, discordant), discordant)
        high = np.where(still & enough, middle, high)
        low = np.where(still & ~enough, middle, low)
    return high


def smallest(found: Callable[[float], float], largest: float, power: float) -> float | None:
    """Find by halving the smallest value up to ``largest`` that is found with the power, to 0.01."""
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
