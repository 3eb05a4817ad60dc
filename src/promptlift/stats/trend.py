"""Change over time: whether a daily rate is rising or falling, and whether it jumped on some day."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.stats.multiplicity import holm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

DAYS_NEEDED: Final = 14
CONVERSATIONS_NEEDED: Final = 100
# Fewest days on each side of a jump, and shuffled histories.
_SIDE_DAYS: Final = 3
_SHUFFLES: Final = 1999
_ALPHA: Final = 0.05


@dataclass(frozen=True, slots=True)
class TrendTest:
    """Test of a linear trend of a daily completion rate.

    Attributes
    ----------
    points_per_day, points_low, points_high
        Slope in percentage points per day and its 95% interval; ``None`` without spread in days or outcomes.
    p
        Two-sided p-value; 1 if nothing can be tested.
    p_holm
        The same adjusted over several prompts by `adjust_trends`, otherwise equal to ``p``.
    overdispersion
        How much more the days vary than by chance; above 1, the standard error grows with its root.
    n_days, n
        Days with conversations, and conversations.
    enough
        At least 14 days and 100 conversations.
    """

    points_per_day: float | None
    points_low: float | None
    points_high: float | None
    p: float
    p_holm: float
    overdispersion: float
    n_days: int
    n: int
    enough: bool

    @property
    def is_trend(self) -> bool:
        """Whether this may be called a trend: enough data and ``p_holm`` below 0.05."""
        return self.enough and self.p_holm < _ALPHA


def trend_test(completed: ArrayLike, n: ArrayLike) -> TrendTest:
    """Test whether a daily rate rises or falls, by Cochran and Armitage's test corrected for overdispersion.

    It is the score test of the slope in a binomial regression on the day, so it needs no iteration and is
    defined even if all early days fail and all late ones succeed. The slope is the weighted least-squares
    one. The residual variation of days around the line, divided by its degrees of freedom, multiplies the
    variance if it is above 1.

    Parameters
    ----------
    completed, n
        Completed and all judged conversations of each day. Days without conversations are left out, and keep
        their place.

    Raises
    ------
    ValueError
        If the lengths differ, or a count is negative or above its n.

    References
    ----------
    P. Armitage (1955), Tests for linear trends in proportions and frequencies. Biometrics 11, 375-386.
    """
    x, trials, days = _daily(completed, n)
    total = float(trials.sum())
    n_days = len(trials)
    enough = n_days >= DAYS_NEEDED and total >= CONVERSATIONS_NEEDED
    nothing = TrendTest(None, None, None, 1.0, 1.0, 1.0, n_days, int(total), enough)
    if n_days < 3:
        return nothing
    rate = float(x.sum()) / total
    variance = rate * (1.0 - rate)
    from_mean = days - float(trials @ days) / total
    spread = float(trials @ from_mean**2)
    if variance == 0.0 or spread == 0.0:
        return nothing
    slope = float(from_mean @ (x - trials * rate)) / spread
    of_trend = slope**2 * spread / variance
    of_all = float(((x - trials * rate) ** 2 / trials).sum()) / variance
    overdispersion = max((of_all - of_trend) / (n_days - 2), 0.0)
    se = math.sqrt(variance / spread * max(overdispersion, 1.0))
    p = math.erfc(abs(slope) / se / math.sqrt(2.0))
    half = 1.959963984540054 * se
    return TrendTest(
        100.0 * slope,
        100.0 * (slope - half),
        100.0 * (slope + half),
        p,
        p,
        overdispersion,
        n_days,
        int(total),
        enough,
    )


def adjust_trends(tests: Sequence[TrendTest]) -> list[TrendTest]:
    """Adjust the tests of several prompts by Holm's method, so that many prompts do not cause false trends.

    Only tests with enough data take part: the others are not trends in any case.
    """
    taking_part = [at for at, test in enumerate(tests) if test.enough]
    adjusted = list(tests)
    for at, p in zip(taking_part, holm([tests[at].p for at in taking_part]), strict=True):
        adjusted[at] = replace(tests[at], p_holm=float(p))
    return adjusted


@dataclass(frozen=True, slots=True)
class ChangePoint:
    """The day on which a rate most likely jumped.

    Attributes
    ----------
    at
        Index of the first day after the jump in the given arrays.
    p
        Share of shuffled histories with a jump at least as large. It accounts for the search over days.
    statistic
        Binomial likelihood ratio, ``2 log``.
    before_rate, after_rate
        Fractions.
    before_n, after_n
        Conversations.
    """

    at: int
    p: float
    statistic: float
    before_rate: float
    after_rate: float
    before_n: int
    after_n: int


def change_point(completed: ArrayLike, n: ArrayLike) -> ChangePoint | None:
    """Find the day on which a daily rate most likely jumped, with a p-value.

    Binomial likelihood-ratio scan over all days with at least three days with conversations on each
    side. The p-value shuffles conversations over the days: an unadjusted chi² of the best day would be a
    false alarm in a third of histories without any change.

    Parameters
    ----------
    completed, n
        Completed and all judged conversations of each day.

    Returns
    -------
    ChangePoint or None
        ``None`` if there are too few days, or all conversations ended the same.

    Raises
    ------
    ValueError
        If the lengths differ, or a count is negative or above its n.
    """
    x, trials, positions = _daily(completed, n)
    total = int(x.sum())
    if len(trials) < 2 * _SIDE_DAYS or total in {0, int(trials.sum())}:
        return None
    splits = slice(_SIDE_DAYS - 1, len(trials) - _SIDE_DAYS)
    before_n = np.cumsum(trials)[splits]
    scan = _ratios(np.cumsum(x)[splits], before_n, total, float(trials.sum()))
    best = int(np.argmax(scan))
    shuffled = np.random.default_rng(0).multivariate_hypergeometric(
        trials.astype(np.int64), total, size=_SHUFFLES, method="marginals"
    )
    found = _ratios(
        np.cumsum(shuffled, axis=1, dtype=np.float64)[:, splits], before_n, total, float(trials.sum())
    ).max(axis=1)
    reached = int((found >= scan[best] - 1e-9).sum())
    last = best + _SIDE_DAYS - 1
    first_n = float(before_n[best])
    first = float(x[: last + 1].sum())
    rest_n = float(trials.sum()) - first_n
    return ChangePoint(
        at=int(positions[last + 1]),
        p=(1 + reached) / (1 + _SHUFFLES),
        statistic=float(scan[best]),
        before_rate=first / first_n,
        after_rate=(total - first) / rest_n,
        before_n=int(first_n),
        after_n=int(rest_n),
    )


def _daily(
    completed: ArrayLike, n: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.intp]]:
    """Count by day, and number the days with conversations."""
    x, trials = np.asarray(completed, np.float64).ravel(), np.asarray(n, np.float64).ravel()
    if len(x) != len(trials):
        raise ValueError("completed and n must have the same length.")
    if np.any(x < 0) or np.any(x > trials):
        raise ValueError("completed must lie between 0 and n.")
    there = np.flatnonzero(trials > 0)
    return x[there], trials[there], there


def _ratios(
    before: NDArray[np.float64], before_n: NDArray[np.float64], total: float, total_n: float
) -> NDArray[np.float64]:
    """Compute for each split twice the log likelihood ratio of two rates against one."""
    from scipy.special import xlogy  # noqa: PLC0415  (rates never need it)

    def fit(x: NDArray[np.float64], n: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(xlogy(x, x / n) + xlogy(n - x, (n - x) / n), np.float64)

    one_rate = fit(np.array(total), np.array(total_n))
    return np.asarray(2.0 * (fit(before, before_n) + fit(total - before, total_n - before_n) - one_rate))
