"""Two groups of one's own data: paired and unpaired comparison of completion rates."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from promptlift.stats.evidence import check_counts
from promptlift.stats.intervals import check_level, wilson
from promptlift.stats.pairs import PairAnalysis, analyse_pairs

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "Direction",
    "PairedComparison",
    "UnpairedComparison",
    "compare_paired",
    "compare_unpaired",
    "newcombe",
    "sign_test_p",
]

Direction = Literal["better", "worse", "unclear"]


@lru_cache(maxsize=4096)
def sign_test_p(wins: int, losses: int, *, alternative: Literal["two-sided", "worse"] = "two-sided") -> float:
    """Compute the exact McNemar p: the binomial test of the discordant pairs against one half.

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


def newcombe(
    x1: ArrayLike, n1: ArrayLike, x0: ArrayLike, n0: ArrayLike, *, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the interval of the difference of two independent rates, ``x1/n1 - x0/n0``, by Newcombe's method.

    Newcombe's method 10 (1998): with ``d`` the difference and ``l, u`` the ends of each Wilson interval, ``d
    - sqrt((p1 - l1)² + (u0 - p0)²)`` to ``d + sqrt((u1 - p1)² + (p0 - l0)²)``.

    Returns
    -------
    low, high
        Fractions, float64 arrays of the broadcast shape. NaN where a group is empty.

    Raises
    ------
    ValueError
        When ``level`` is not between 0 and 1, or a count is negative or above its n.

    References
    ----------
    R. G. Newcombe (1998), Interval estimation for the difference between independent proportions. Statistics
    in Medicine 17, 873-890.
    """
    low1, high1 = wilson(x1, n1, level=level)
    low0, high0 = wilson(x0, n0, level=level)
    with np.errstate(divide="ignore", invalid="ignore"):
        p1 = np.divide(np.asarray(x1, np.float64), np.asarray(n1, np.float64))
        p0 = np.divide(np.asarray(x0, np.float64), np.asarray(n0, np.float64))
    difference = p1 - p0
    return (
        np.asarray(difference - np.hypot(p1 - low1, high0 - p0), np.float64),
        np.asarray(difference + np.hypot(high1 - p1, p0 - low0), np.float64),
    )


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
        ``better`` or ``worse`` when ``p`` is below ``1 - level``, else ``unclear``.
    level
        Of the decision and of the interval in ``analysis``.
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
        Relative change in percent; ``None`` where the control never completed.
    lift_points, lift_points_low, lift_points_high
        Difference in percentage points and Newcombe's interval.
    p
        Fisher's exact two-sided p.
    direction
        ``better`` or ``worse`` when ``p`` is below ``1 - level``, else ``unclear``.
    level
        Of the decision and of the interval.
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
    """Compare two groups on the same items, at one look.

    Parameters
    ----------
    n11, n10, n01, n00
        Items that both, only the variant, only the control, neither completed.
    level
        Of the decision and of the interval.

    Raises
    ------
    ValueError
        When a count is negative or not whole, or ``level`` is not between 0 and 1.
    """
    level = check_level(level)
    analysis = analyse_pairs(n11, n10, n01, n00, level=level)
    p = sign_test_p(analysis.n10, analysis.n01)
    return PairedComparison(analysis, p, _direction(p, analysis.n10 - analysis.n01, level), level)


def compare_unpaired(x1: int, n1: int, x0: int, n0: int, *, level: float = 0.95) -> UnpairedComparison:
    """Compare two independent groups, at one look.

    Parameters
    ----------
    x1, n1
        Completed and all items of the variant.
    x0, n0
        Completed and all items of the control.
    level
        Of the decision and of the interval.

    Raises
    ------
    ValueError
        When a count is negative, not whole or above its n, or ``level`` is not between 0 and 1.
    """
    from scipy.stats import fisher_exact  # noqa: PLC0415  (rates never need it)

    level = check_level(level)
    x1, n1, x0, n0 = check_counts(x1=x1, n1=n1, x0=x0, n0=n0)
    low, high = newcombe(x1, n1, x0, n0, level=level)
    p1, p0 = x1 / n1 if n1 else None, x0 / n0 if n0 else None
    if p1 is None or p0 is None:
        return UnpairedComparison(n1, n0, p1, p0, None, None, None, None, 1.0, "unclear", level)
    p = min(1.0, float(fisher_exact(np.array([[x1, n1 - x1], [x0, n0 - x0]])).pvalue))
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
        direction=_direction(p, p1 - p0, level),
        level=level,
    )


def _direction(p: float, difference: float, level: float) -> Direction:
    if p >= 1.0 - level or difference == 0:
        return "unclear"
    return "better" if difference > 0 else "worse"
