"""The difference of two rates, adjusted for other differences between the groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["StratifiedDifference", "stratified_difference"]


@dataclass(frozen=True, slots=True)
class StratifiedDifference:
    """A difference of two rates within strata.

    Attributes
    ----------
    difference, low, high
        Fractions; NaN if no stratum has both groups.
    n
        Items in strata with both groups: only these are informative.
    """

    difference: float
    low: float
    high: float
    n: int


def stratified_difference(
    x1: ArrayLike, n1: ArrayLike, x0: ArrayLike, n0: ArrayLike, *, level: float = 0.95
) -> StratifiedDifference:
    """Compute the Mantel-Haenszel difference of two rates: that within strata, averaged with weights ``n1 n0 / (n1 + n0)``.

    Sato's variance is valid with few large strata and with many small ones. If it is 0, because both rates
    are 0 or 1 everywhere, it is replaced by that of the rates with one success and one failure added; it is
    never less than that of two groups of these sizes that all completed.

    Parameters
    ----------
    x1, n1, x0, n0
        Successes and size of both groups in each stratum.
    level
        Coverage.

    Returns
    -------
    StratifiedDifference
        First group minus second.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.

    References
    ----------
    N. Mantel, W. Haenszel (1959), Statistical aspects of the analysis of data from retrospective studies of disease. Journal of the
    National Cancer Institute 22, 719-748.

    S. Greenland, J. M. Robins (1985), Estimation of a common effect parameter from sparse follow-up data. Biometrics 41, 55-68.

    T. Sato (1989), On the variance estimator for the Mantel-Haenszel risk difference. Biometrics 45, 1323-1324.

    Examples
    --------
    >>> found = stratified_difference([9, 1], [10, 10], [40, 4], [50, 40])
    >>> print(round(found.difference, 4), round(found.low, 4), round(found.high, 4))
    0.051 -0.1091 0.2112
    """
    z = NormalDist().inv_cdf(0.5 + check_level(level) / 2.0)
    counts = np.array([np.asarray(one, np.float64) for one in (x1, n1, x0, n0)])
    a, n, c, m = counts[:, (counts[1] > 0) & (counts[3] > 0)]
    size = n + m
    weight = float((n * m / size).sum())
    if not weight:
        return StratifiedDifference(math.nan, math.nan, math.nan, 0)
    difference = float(((a * m - c * n) / size).sum()) / weight
    p = (n**2 * c - m**2 * a + n * m * (m - n) / 2.0) / size**2
    q = (a * (m - c) + c * (n - a)) / (2.0 * size)
    variance = max(float(difference * p.sum() + q.sum()) / weight**2, 0.0)
    # Zero variance: use at least that of both rates with one success and one failure added.
    least = sum(
        (x.sum() + 1.0) * (k.sum() - x.sum() + 1.0) / (k.sum() + 2.0) ** 3 for x, k in ((a, n), (c, m))
    )
    # Few conversations that all completed, or all failed, have hardly any variance, but are still not very
    # informative.
    floor = sum((k.sum() + 1.0) / (k.sum() + 2.0) ** 3 for k in (n, m))
    reach = z * math.sqrt(max(variance or float(least), float(floor)))
    return StratifiedDifference(
        difference, max(difference - reach, -1.0), min(difference + reach, 1.0), int(size.sum())
    )
