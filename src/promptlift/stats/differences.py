"""Comparing completion rates of two groups: paired, unpaired, and within strata."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from promptlift.stats.evidence import check_counts
from promptlift.stats.intervals import check_level, find_root
from promptlift.stats.pairs import PairAnalysis, analyse_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

Direction = Literal["better", "worse", "unclear"]

# With fewer in a group there are numbers, but no verdict.
FEWEST: Final = 10
# A finite score for tables that are impossible under a difference.
_BEYOND: Final = 1e3


@lru_cache(maxsize=4096)
def sign_test_p(wins: int, losses: int, *, alternative: Literal["two-sided", "worse"] = "two-sided") -> float:
    """Compute the exact McNemar p-value: the binomial test of the discordant pairs against one half.

    Parameters
    ----------
    wins, losses
        Discordant pairs for and against the variant.
    alternative
        ``two-sided``, or ``worse`` for the one-sided test that the variant loses more than it wins.

    Returns
    -------
    float
        1 without discordant pairs.

    References
    ----------
    Q. McNemar (1947), Note on the sampling error of the difference between correlated proportions or
    percentages. Psychometrika 12, 153-157.
    """
    from scipy.special import bdtr  # noqa: PLC0415  (rates never need it)

    wins, losses = check_counts(wins=wins, losses=losses)
    n = wins + losses
    if n == 0:
        return 1.0
    if alternative == "worse":
        return float(bdtr(wins, n, 0.5))
    return min(1.0, 2.0 * float(bdtr(min(wins, losses), n, 0.5)))


def score_interval(
    x1: ArrayLike, n1: ArrayLike, x0: ArrayLike, n0: ArrayLike, *, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the score interval of the difference of two independent rates, ``x1/n1 - x0/n0``.

    It contains the differences that the score test does not reject. Their score is ``s = (x1/n1 - x0/n0 - d)
    / sqrt(V)`` with ``V = N/(N - 1) (p1 (1 - p1)/n1 + p0 (1 - p0)/n0)``, where ``N = n1 + n0`` and ``p1, p0``
    are the most likely rates that differ by ``d`` (Miettinen and Nurminen). It is corrected for its skewness
    ``g`` (Gart and Nam): the ``z`` of ``s = z + g (z² - 1)/6`` is compared with the normal quantile. So the
    interval excludes 0 exactly if `score_test_p` is below ``1 - level``, and both are also accurate for rates
    near 0 or 1 and unequal groups.

    Parameters
    ----------
    x1, n1, x0, n0
        Successes and size of both groups; not necessarily integers, for example effective numbers.
    level
        Coverage.

    Returns
    -------
    low, high
        Fractions, float64 arrays of the broadcast shape. NaN where a group is empty.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1, or a count is negative or above its n.

    References
    ----------
    O. Miettinen and M. Nurminen (1985), Comparative analysis of two rates. Statistics in Medicine 4, 213-226.

    C. P. Farrington and G. Manning (1990), Test statistics and sample size formulae for comparative binomial trials with
    null hypothesis of non-zero risk difference or non-unity relative risk. Statistics in Medicine 9, 1447-1454.

    J. J. Gart and J. Nam (1990), Approximate interval estimation of the difference in binomial parameters: correction for
    skewness and extension to multiple tables. Biometrics 46, 637-643.

    P. J. Laud (2017), Equal-tailed confidence intervals for comparison of rates. Pharmaceutical Statistics 16, 334-348.

    Examples
    --------
    >>> low, high = score_interval(56, 70, 48, 80)
    >>> print(round(float(low), 4), round(float(high), 4))
    0.0534 0.3398
    """
    z = NormalDist().inv_cdf(0.5 + check_level(level) / 2.0)
    ends = np.vectorize(lambda *counts: (_end(counts, z, 1.0), _end(counts, z, -1.0)), otypes=[float, float])
    low, high = ends(x1, n1, x0, n0)
    return low, high


def score_test_p(x1: float, n1: float, x0: float, n0: float) -> float:
    """Compute the two-sided p-value of the score test that two independent rates are equal; see `score_interval`.

    For groups of equal size it is that of the "N - 1" chi² test; otherwise its skewness is corrected.

    Returns
    -------
    float
        1 if a group is empty.

    References
    ----------
    I. Campbell (2007), Chi-squared and Fisher-Irwin tests of two-by-two tables with small sample recommendations.
    Statistics in Medicine 26, 3661-3675.
    """
    return math.erfc(abs(_score((x1, n1, x0, n0), 0.0)) / math.sqrt(2.0)) if n1 and n0 else 1.0


def design_effect(inside: ArrayLike, outside: ArrayLike) -> float:
    """Compute by what factor clustering inflates the variance of a difference of two rates.

    Counts divided by it may be compared as if their items were independent (Rao and Scott). It is the
    variance of the difference over clusters, from the residuals of one common rate, divided by that of
    independent items. Items of a cluster on the same side make it larger than 1; those on both sides, which
    are pairs, make it smaller.

    Parameters
    ----------
    inside, outside
        Failures and successes of both groups: one row per cluster, and a last one for the items without a
        cluster.

    Returns
    -------
    float
        1 if no cluster has two items, or there is only one outcome.

    References
    ----------
    J. N. K. Rao, A. J. Scott (1992), A simple method for the analysis of clustered binary data. Biometrics 48, 577-585.

    D. D. Boos (1992), On generalized score tests. The American Statistician 46, 327-333.

    Examples
    --------
    >>> design_effect([[1, 0], [0, 1], [0, 0]], [[1, 0], [0, 1], [0, 0]]), design_effect([[2, 2]], [[2, 2]])
    (0.0, 1.0)
    """
    one, other = np.asarray(inside, np.float64), np.asarray(outside, np.float64)
    sizes = one[:-1].sum(axis=1) + other[:-1].sum(axis=1)
    n1, n0 = one.sum(), other.sum()
    rate = (one[:, 1].sum() + other[:, 1].sum()) / (n1 + n0) if n1 and n0 else 0.0
    if not sizes.size or sizes.max() < 2.0 or not 0.0 < rate < 1.0:
        return 1.0
    residual = [side[:, 1] * (1.0 - rate) - side[:, 0] * rate for side in (one, other)]
    squares = float(((residual[0][:-1] / n1 - residual[1][:-1] / n0) ** 2).sum())
    for side, n in ((one[-1], n1), (other[-1], n0)):
        squares += float(side[1] * (1.0 - rate) ** 2 + side[0] * rate**2) / n**2
    clusters = float((sizes > 0.0).sum() + one[-1].sum() + other[-1].sum())
    independent = rate * (1.0 - rate) * (1.0 / n1 + 1.0 / n0)
    return float(squares * clusters / (clusters - 1.0) / independent) if clusters > 1.0 else 1.0


def _end(counts: tuple[float, ...], z: float, side: float) -> float:
    """Return the lower (``side`` 1) or upper (-1) end: the point at which the score, which decreases with the difference, reaches ``z``."""
    x1, n1, x0, n0 = counts
    if not (0 <= x1 <= n1 and 0 <= x0 <= n0):
        raise ValueError(f"successes must lie between 0 and n, not {x1:g} of {n1:g} and {x0:g} of {n0:g}.")
    if not n1 or not n0:
        return math.nan

    def beyond(difference: float) -> float:
        return min(side * _score(counts, difference), _BEYOND) - z

    measured = x1 / n1 - x0 / n0
    outer, inner = -side, measured
    if side * measured > 0.0:
        # The end is on the side of 0 given by the test of 0, despite rounding of the root.
        outer, inner = (0.0, measured) if beyond(0.0) > 0.0 else (outer, 0.0)
    return find_root(beyond, outer, inner) if beyond(outer) > 0.0 else outer


def _score(counts: tuple[float, ...], difference: float) -> float:
    """Return the score of a true difference, from its most likely rates in closed form, corrected for skewness."""
    x1, n1, x0, n0 = counts
    n, r1, r0 = n1 + n0, x1 / n1, x0 / n0
    if difference == 0.0:
        p1 = (x1 + x0) / n
    else:
        ratio = n0 / n1
        third = -(1.0 + ratio + r1 + ratio * r0 + difference * (ratio + 2.0)) / (3.0 * (1.0 + ratio))
        c = (difference * (difference + 2.0 * r1 + ratio + 1.0) + r1 + ratio * r0) / (1.0 + ratio)
        d = -r1 * difference * (1.0 + difference) / (1.0 + ratio)
        v = third**3 - third * c / 2.0 + d / 2.0
        u = math.copysign(math.sqrt(max(third * third - c / 3.0, 0.0)), v)
        angle = math.acos(min(max(v / u**3, -1.0), 1.0)) if u else 0.0
        p1 = 2.0 * u * math.cos((math.pi + angle) / 3.0) - third
        p1 = min(max(p1, difference, 0.0), 1.0, 1.0 + difference)
    p0 = p1 - difference
    variance = (p1 * (1.0 - p1) / n1 + p0 * (1.0 - p0) / n0) * n / (n - 1.0)
    distance = r1 - r0 - difference
    if variance <= 0.0:
        return math.copysign(math.inf, distance) if distance else 0.0
    score = distance / math.sqrt(variance)
    moment = p1 * (1.0 - p1) * (1.0 - 2.0 * p1) / n1**2 - p0 * (1.0 - p0) * (1.0 - 2.0 * p0) / n0**2
    sixth = moment / (6.0 * variance * math.sqrt(variance))
    # The z of sixth (z² - 1) + z = score.
    return 2.0 * (sixth + score) / (1.0 + math.sqrt(max(1.0 + 4.0 * sixth * (sixth + score), 0.0)))


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """Variant against control on the same items.

    Attributes
    ----------
    analysis
        Lift, interval, e-value and confidence; see `analyse_pairs`.
    p
        Exact two-sided McNemar p.
    direction
        ``better`` or ``worse`` if ``p`` is below ``1 - level``, otherwise ``unclear``.
    level
        Level of the decision and of the interval in ``analysis``.
    """

    analysis: PairAnalysis
    p: float
    direction: Direction
    level: float


@dataclass(frozen=True, slots=True)
class UnpairedComparison:
    """Variant against control on different items.

    Attributes
    ----------
    n1, n0, p1, p0
        Size and completion rate of variant and control; rates are fractions, ``None`` for an empty group.
    lift
        Relative change in percent; ``None`` if the control never completed.
    lift_points, lift_points_low, lift_points_high
        Difference in percentage points and its interval, see `score_interval`.
    p
        Two-sided p-value of the score test that the interval inverts.
    direction
        ``better`` or ``worse`` when ``p`` is below ``1 - level``, that is, if the interval excludes 0;
        ``unclear`` otherwise, and if a group has fewer than 10 items.
    level
        Level of the decision and of the interval.
    """

    n1: int
    n0: int
    p1: float | None
    p0: float | None
    lift: float | None
    lift_points: float | None
    lift_points_low: float | None
    lift_points_high: float | None
    p: float
    direction: Direction
    level: float


def compare_paired(n11: int, n10: int, n01: int, n00: int, *, level: float = 0.95) -> PairedComparison:
    """Compare two groups on the same items, in a single look.

    Parameters
    ----------
    n11, n10, n01, n00
        Items that both, only the variant, only the control, or neither completed.
    level
        Level of the decision and of the interval.

    Raises
    ------
    ValueError
        If a count is negative or not whole, or ``level`` is not between 0 and 1.
    """
    level = check_level(level)
    analysis = analyse_pairs(n11, n10, n01, n00, level=level)
    p = sign_test_p(analysis.n10, analysis.n01)
    return PairedComparison(analysis, p, _direction(p, analysis.n10 - analysis.n01, level), level)


def compare_unpaired(x1: int, n1: int, x0: int, n0: int, *, level: float = 0.95) -> UnpairedComparison:
    """Compare two independent groups, in a single look.

    Parameters
    ----------
    x1, n1
        Completed and all items of the variant.
    x0, n0
        Completed and all items of the control.
    level
        Level of the decision and of the interval.

    Raises
    ------
    ValueError
        If a count is negative, not whole or above its n, or ``level`` is not between 0 and 1.
    """
    level = check_level(level)
    x1, n1, x0, n0 = check_counts(x1=x1, n1=n1, x0=x0, n0=n0)
    low, high = score_interval(x1, n1, x0, n0, level=level)
    p1, p0 = x1 / n1 if n1 else None, x0 / n0 if n0 else None
    if p1 is None or p0 is None:
        return UnpairedComparison(n1, n0, p1, p0, None, None, None, None, 1.0, "unclear", level)
    p = score_test_p(x1, n1, x0, n0)
    return UnpairedComparison(
        n1=n1,
        n0=n0,
        p1=p1,
        p0=p0,
        lift=100.0 * (p1 / p0 - 1.0) if p0 else None,
        lift_points=100.0 * (p1 - p0),
        lift_points_low=100.0 * float(low),
        lift_points_high=100.0 * float(high),
        p=p,
        direction=_direction(p, p1 - p0, level) if min(n1, n0) >= FEWEST else "unclear",
        level=level,
    )


def _direction(p: float, difference: float, level: float) -> Direction:
    if p >= 1.0 - level or difference == 0:
        return "unclear"
    return "better" if difference > 0 else "worse"


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
