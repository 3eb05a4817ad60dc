"""What a number of pairs can find: smallest lift, pairs needed, and the power behind both."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.stats.evidence import log_e_values
from promptlift.stats.findable import chance_to_decide, discordant_counts, fewest_wins, smallest

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["USUAL_DISCORDANCE", "pairs_needed", "power_of_pairs", "smallest_findable_points"]

# Share of pairs in which exactly one arm completes, where personas and scenarios differ as they usually do.
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
    """Compute the probability that ``n`` pairs find a true difference, at one look.

    Without ``e_threshold``: a one-sided test of the discordant pairs at 5 %, by the normal approximation of
    Connor (1987). With it: the probability that the e-value reaches the threshold at the last pair, exactly,
    summed over all numbers of discordant pairs. Looks before the last one find a little more, stopping early
    when it can no longer win finds a little less.

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
    theta
        Of the e-value; see `mcnemar_e_value`.

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
        found = power_of_pairs(n, points, discordance=discordance, e_threshold=e_threshold, theta=theta)
        return found >= power

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


def _power_of_e(
    n: int, difference: float, discordance: float, e_threshold: float, theta: float | None
) -> float:
    """Compute the exact power at the last pair: over the number of discordant pairs, then over who won them."""
    if discordance == 0.0:
        return 0.0
    first, last = discordant_counts(n, discordance)
    discordant = np.arange(first, last + 1, dtype=np.float64)
    needed = _wins_needed(first, last, e_threshold, theta)
    return chance_to_decide(n, difference, discordance, discordant, needed)


@lru_cache(maxsize=64)
def _wins_needed(first: int, last: int, e_threshold: float, theta: float | None) -> NDArray[np.float64]:
    """Return for ``first`` to ``last`` discordant pairs the fewest wins whose e-value reaches the threshold.

    One more than the number of discordant pairs where all of them are not enough.
    """
    log_threshold = math.log(e_threshold) - 1e-12
    return fewest_wins(
        np.arange(first, last + 1, dtype=np.float64),
        lambda wins, discordant: log_e_values(wins, discordant - wins, theta=theta) >= log_threshold,
    )
