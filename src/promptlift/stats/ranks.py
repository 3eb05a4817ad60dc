"""Places in a ranking by rates, with what the data allow of each place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from promptlift.stats.holm import holm
from promptlift.stats.intervals import check_level, rate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["rank_interval", "ranks"]


def ranks(successes: ArrayLike, n: ArrayLike) -> NDArray[np.int64]:
    """Return the place of each rate, 1 for the highest; equal rates have equal places."""
    rates = rate(successes, n)
    return np.asarray([1 + np.sum(rates > one) for one in rates], np.int64)


def rank_interval(place: int, successes: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[int, int]:
    """Compute the confidence interval of one group's rank among several, by its rate.

    The group is compared with each of the others by Agresti and Caffo's test of two rates; with Holm's adjustment over
    the others, the best possible rank is one more than the groups that are significantly better, and the worst is the
    number of groups less those that are significantly worse. The true rank is within in at least ``level``.

    Parameters
    ----------
    place
        Which of the groups.
    successes, n
        Counts of every group, ``n`` above 0.
    level
        Coverage.

    References
    ----------
    M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm (2024), Inference for Ranks with Applications to Mobility across
    Neighbourhoods and Academic Achievement across Countries. Review of Economic Studies 91, 476-518.
    A. Agresti, B. Caffo (2000), Simple and Effective Confidence Intervals for Proportions and Differences of
    Proportions. The American Statistician 54, 280-288.

    Examples
    --------
    >>> rank_interval(0, [90, 50, 10], [100, 100, 100])
    (1, 1)
    >>> rank_interval(0, [9, 8, 1], [10, 10, 10])
    (1, 2)
    """
    level = check_level(level)
    x, total = np.asarray(successes, np.float64) + 1.0, np.asarray(n, np.float64) + 2.0
    rates = x / total
    variances = rates * (1.0 - rates) / total
    others = np.arange(len(rates)) != place
    z = (rates[others] - rates[place]) / np.sqrt(variances[others] + variances[place])
    differs = holm([math.erfc(abs(one) / math.sqrt(2.0)) for one in z]) < 1.0 - level
    better, worse = int(np.sum(differs & (z > 0.0))), int(np.sum(differs & (z < 0.0)))
    return 1 + better, len(rates) - worse
