"""Several tests at once: Holm's adjustment, and confidence intervals of ranks."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from promptlift.stats.intervals import rate

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values by Holm's method, which bounds the probability of any false alarm among them.

    The smallest is multiplied by their number, the next by one less, and so on; none falls below the previous
    one. Valid for any dependence between the tests.

    Parameters
    ----------
    p_values
        One-dimensional.

    Returns
    -------
    ndarray
        Adjusted p-values in the same order, at most 1.

    Raises
    ------
    ValueError
        If a value is not between 0 and 1.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6, 65-70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64).ravel()
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("every p-value must lie between 0 and 1.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted


def ranks(successes: ArrayLike, n: ArrayLike) -> NDArray[np.int64]:
    """Return the rank of each rate, 1 for the highest; equal rates have equal ranks."""
    rates = rate(successes, n)
    return np.asarray([1 + np.sum(rates > one) for one in rates], np.int64)


def rank_interval(place: int, successes: ArrayLike, n: ArrayLike) -> tuple[int, int]:
    """Compute the 95% confidence interval of one group's rank among several, by its rate.

    The group is compared with each of the others by Agresti and Caffo's test of two rates; with Holm's
    adjustment over the others, the best possible rank is one more than the number of significantly better
    groups, and the worst is the number of groups minus the significantly worse ones. The interval covers the
    true rank with at least this probability.

    Parameters
    ----------
    place
        Index of the group.
    successes, n
        Counts of every group, ``n`` above 0.

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
    x, total = np.asarray(successes, np.float64) + 1.0, np.asarray(n, np.float64) + 2.0
    rates = x / total
    variances = rates * (1.0 - rates) / total
    others = np.arange(len(rates)) != place
    z = (rates[others] - rates[place]) / np.sqrt(variances[others] + variances[place])
    differs = holm([math.erfc(abs(one) / math.sqrt(2.0)) for one in z]) < 0.05
    better, worse = int(np.sum(differs & (z > 0.0))), int(np.sum(differs & (z < 0.0)))
    return 1 + better, len(rates) - worse
