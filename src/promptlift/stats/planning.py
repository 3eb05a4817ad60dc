"""What a number of pairs can find: smallest lift, pairs needed, and the power behind both."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.stats.evidence import log_e_values

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["USUAL_DISCORDANCE", "pairs_needed", "power_of_pairs", "smallest_findable_points"]

# Share of pairs in which exactly one arm completes, where personas and scenarios differ as they usually do.
USUAL_DISCORDANCE: Final = 0.28
_PAIRS_MAX: Final = 8 * 2**14


def power_of_pairs(
    n: int, points: float, *, discordance: float = USUAL_DISCORDANCE, e_threshold: float | None = None
) -> float:
    """Compute the probability that ``n`` pairs find a true difference, at one look.

    Without ``e_threshold``: a one-sided test of the discordant pairs at 5 %, by the normal approximation of
    Connor (1987). With it: the probability that the e-value reaches the threshold at the last pair, exactly,
    summed over all numbers of discordant pairs. Looks before the last one find a little more, stopping early
    when it is hopeless finds a little less.

    Parameters
    ----------
    n
        Number of pairs.
    points
        True difference in percentage points, above 0.
    discordance
        Share of pairs in which exactly one arm completes. Raised to the difference where it is smaller,
        because a difference needs discordant pairs.
    e_threshold
        E-value that has to be reached.

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
    return _power_of_e(n, difference, discordance, e_threshold)


def smallest_findable_points(
    n: int, *, discordance: float = USUAL_DISCORDANCE, power: float = 0.80, e_threshold: float | None = None
) -> float | None:
    """Compute the smallest true difference in percentage points that ``n`` pairs find with the given power.

    See `power_of_pairs` for what "find" means. This is an aid for planning and for saying why no winner was
    found; it says nothing about a result.

    Returns
    -------
    float or None
        ``None`` when not even a difference of 100 points would be found.

    Examples
    --------
    >>> [round(smallest_findable_points(n), 1) for n in (45, 75, 150, 300, 600)]
    [19.2, 15.0, 10.7, 7.6, 5.4]
    """
    low, high = 0.0, 100.0
    if power_of_pairs(n, high, discordance=discordance, e_threshold=e_threshold) < power:
        return None
    while high - low > 0.01:
        middle = (low + high) / 2.0
        if power_of_pairs(n, middle, discordance=discordance, e_threshold=e_threshold) >= power:
            high = middle
        else:
            low = middle
    return high


def pairs_needed(
    points: float,
    *,
    discordance: float = USUAL_DISCORDANCE,
    power: float = 0.80,
    e_threshold: float | None = None,
) -> int | None:
    """Compute how many pairs find a true difference of ``points`` percentage points with the given power.

    Returns
    -------
    int or None
        ``None`` when the difference is not above 0, or needs more than 131,072 pairs.
    """
    _check(points=max(points, 0.0), discordance=discordance)
    if points <= 0.0:
        return None

    def enough(n: int) -> bool:
        return power_of_pairs(n, points, discordance=discordance, e_threshold=e_threshold) >= power

    high = 8
    while not enough(high):
        high *= 2
        if high > _PAIRS_MAX:
            return None
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        if enough(middle):
            high = middle
        else:
            low = middle
    return high


def _check(*, points: float, discordance: float) -> None:
    if not 0.0 <= points <= 100.0:
        raise ValueError(f"points must lie between 0 and 100, not {points!r}.")
    if not 0.0 <= discordance <= 1.0:
        raise ValueError(f"discordance must be a fraction between 0 and 1, not {discordance!r}.")


def _power_of_z(n: int, difference: float, discordance: float) -> float:
    """Compute the power of the one-sided 5 % test whose standard error under the null is ``sqrt(discordance / n)``."""
    from scipy.special import ndtr, ndtri  # noqa: PLC0415  (rates never need it)

    distance = difference * math.sqrt(n) - float(ndtri(0.95)) * math.sqrt(discordance)
    spread = math.sqrt(max(discordance - difference**2, 0.0))
    if spread == 0.0:
        return float(distance >= 0.0)
    return float(ndtr(distance / spread))


def _power_of_e(n: int, difference: float, discordance: float, e_threshold: float) -> float:
    """Compute the exact power at the last pair: over the number of discordant pairs, then over who won them."""
    from scipy.special import betainc, gammaln, xlog1py, xlogy  # noqa: PLC0415  (rates never need it)

    if discordance == 0.0:
        return 0.0
    # Numbers of discordant pairs further out than nine standard deviations carry no weight.
    margin = 9.0 * math.sqrt(n * discordance * (1.0 - discordance)) + 9.0
    first = max(math.floor(n * discordance - margin), 0)
    last = min(math.ceil(n * discordance + margin), n)
    discordant = np.arange(first, last + 1, dtype=np.float64)
    ways = gammaln(n + 1.0) - gammaln(discordant + 1.0) - gammaln(n - discordant + 1.0)
    weights = np.exp(ways + xlogy(discordant, discordance) + xlog1py(n - discordant, -discordance))
    needed = _wins_needed(first, last, e_threshold)
    wins = (discordance + difference) / (2.0 * discordance)
    # P(at least m wins of d) is the incomplete beta function at (m, d - m + 1).
    possible = (needed >= 1) & (needed <= discordant)
    at_least = np.where(possible, needed, 1.0)
    rest = np.where(possible, discordant - needed, 0.0) + 1.0
    found = np.where(possible, betainc(at_least, rest, wins), 0.0)
    return float(weights @ np.where(needed < 1, 1.0, found))


@lru_cache(maxsize=64)
def _wins_needed(first: int, last: int, e_threshold: float) -> NDArray[np.float64]:
    """Return for ``first`` to ``last`` discordant pairs the fewest wins whose e-value reaches the threshold.

    One more than the number of discordant pairs where all of them are not enough.
    """
    discordant = np.arange(first, last + 1, dtype=np.float64)
    low, high = np.full(len(discordant), -1.0), discordant + 1.0
    for _ in range(last.bit_length() + 1):
        middle = np.floor((low + high) / 2.0)
        open_ones = high - low > 1.0
        tried = np.clip(middle, 0.0, discordant)
        reached = log_e_values(tried, discordant - tried) >= math.log(e_threshold) - 1e-12
        high = np.where(open_ones & reached, middle, high)
        low = np.where(open_ones & ~reached, middle, low)
    return high
