"""Paired completion rates against a margin: Tango's score test and its interval."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from promptlift.stats.effect import CLUSTER_RATIO
from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from collections.abc import Sequence


def paired_interval(
    n10: float, n01: float, n: float, *, level: float = 0.95
) -> tuple[float, float] | tuple[None, None]:
    """Compute the interval of a difference of paired rates by inverting Tango's score test.

    Unlike the interval of the plain standard error it stays accurate if few pairs differ, as is the case for
    texts that are all good.

    Parameters
    ----------
    n10, n01
        Pairs that only the first and only the second completed; not necessarily integers, see
        `design_effect`.
    n
        All pairs.
    level
        Coverage.

    Returns
    -------
    low, high
        Fractions from -1 to 1; ``None`` without pairs.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.

    References
    ----------
    T. Tango (1998), Equivalence test and confidence interval for the difference in proportions for the paired-sample
    design. Statistics in Medicine 17, 891-908.

    Examples
    --------
    >>> low, high = paired_interval(0, 0, 50)
    >>> round(low, 4), round(high, 4)
    (-0.0713, 0.0713)
    """
    from scipy.optimize import brentq  # noqa: PLC0415  (rates never need it)
    from scipy.special import ndtri  # noqa: PLC0415

    level = check_level(level)
    if n <= 0:
        return None, None
    z = float(ndtri(0.5 + level / 2.0))
    difference = (n10 - n01) / n

    def end(sign: float) -> float:
        def beyond(delta: float) -> float:
            return sign * _score(n10, n01, n, delta) - z

        limit = -sign * (1.0 - 1e-12)
        if beyond(limit) <= 0.0:
            return -sign
        return float(brentq(beyond, min(limit, difference), max(limit, difference)))

    return end(1.0), end(-1.0)


def paired_p(n10: float, n01: float, n: float) -> float:
    """Compute the two-sided p-value of no difference: below ``1 - level`` exactly if `paired_interval` excludes 0.

    The score test of Tango (1998), which is McNemar's without continuity correction.

    Returns
    -------
    float
        1 without pairs.
    """
    return math.erfc(abs(_score(n10, n01, n, 0.0)) / math.sqrt(2.0)) if n > 0 else 1.0


def not_worse_p(n10: float, n01: float, n: float, *, margin_points: float) -> float:
    """Compute the p-value of "worse by ``margin_points`` or more": small if the first rate is not that much worse.

    The one-sided score test of Tango (1998), the same that `paired_interval` inverts.

    Parameters
    ----------
    n10, n01
        Pairs that only the first and only the second completed; not necessarily integers.
    n
        All pairs.
    margin_points
        The largest acceptable loss in percentage points; 0 or more and below 100.

    Returns
    -------
    float
        1 without pairs.

    Raises
    ------
    ValueError
        If the margin is out of range.
    """
    from scipy.special import ndtr  # noqa: PLC0415  (rates never need it)

    if not 0.0 <= margin_points < 100.0:
        raise ValueError(f"the margin must be 0 or more and below 100 points, not {margin_points!r}.")
    if n <= 0:
        return 1.0
    return float(ndtr(-_score(n10, n01, n, -margin_points / 100.0)))


def design_effect(differences: Sequence[float], clusters: Sequence[str]) -> float:
    """Return by how much pairs of the same cluster count less than independent ones.

    Parameters
    ----------
    differences
        1, 0 or -1 for every pair.
    clusters
        Name of the cluster of every pair, such as its persona.

    Returns
    -------
    float
        Ratio of the clustered to the plain variance of the mean if clearly above 1, otherwise 1. Divide
        counts by it (Rao and Scott 1992).
    """
    n = len(differences)
    sums: dict[str, list[float]] = {}
    for difference, cluster in zip(differences, clusters, strict=True):
        sums.setdefault(cluster, []).append(difference)
    groups = len(sums)
    if groups < 2 or groups == n:
        return 1.0
    mean = math.fsum(differences) / n
    plain = math.fsum((one - mean) ** 2 for one in differences)
    if plain <= 0.0:
        return 1.0
    clustered = math.fsum((math.fsum(some) - len(some) * mean) ** 2 for some in sums.values())
    ratio = groups / (groups - 1) * clustered / plain
    return ratio if ratio > CLUSTER_RATIO**2 else 1.0


def _score(n10: float, n01: float, n: float, delta: float) -> float:
    """Return the score statistic of a true difference ``delta``; its variance is that of the most likely table."""
    slope = -n10 - n01 + (2.0 * n - n10 + n01) * delta
    constant = -n01 * delta * (1.0 - delta)
    only_second = (math.sqrt(max(0.0, slope * slope - 8.0 * n * constant)) - slope) / (4.0 * n)
    variance = n * (2.0 * only_second + delta * (1.0 - delta))
    distance = n10 - n01 - n * delta
    if variance <= 0.0:
        return math.copysign(math.inf, distance) if distance else 0.0
    return distance / math.sqrt(variance)
