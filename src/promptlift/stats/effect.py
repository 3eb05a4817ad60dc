"""Lift of a variant over the original from their pair table, with an interval that stays valid at every look."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from promptlift.stats.evidence import check_counts
from promptlift.stats.intervals import look_multiplier

if TYPE_CHECKING:
    from collections.abc import Iterable

# A clustered standard error this many times the plain one is considered more than chance: see STATISTICS,
# section 4.
CLUSTER_RATIO: Final = 1.3


class Covariance(NamedTuple):
    """Covariance of the two completion rates: variant, both, original."""

    v11: float
    v10: float
    v00: float

    @property
    def difference_se(self) -> float:
        """Standard error of the difference of the two rates, a fraction."""
        return math.sqrt(max(self.v11 - 2.0 * self.v10 + self.v00, 0.0))


class CompletedInCluster(NamedTuple):
    """Pairs of one persona, or the sum of their weights: all, and those completed by the variant and the original."""

    n: float
    variant: float
    original: float


def lift(n11: int, n10: int, n01: int, n00: int) -> float | None:
    """Compute the relative change of task completion in percent, ``100 (p1 / p0 - 1)``.

    Parameters
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, or neither completed the task.

    Returns
    -------
    float or None
        ``None`` if the original never completed, or there are no pairs.

    Raises
    ------
    ValueError
        If a count is negative or not whole.

    Examples
    --------
    >>> round(lift(84, 31, 14, 21), 6)
    17.346939
    """
    n11, n10, n01, n00 = check_counts(n11=n11, n10=n10, n01=n01, n00=n00)
    return 100.0 * (n10 - n01) / (n11 + n01) if n11 + n01 else None


def lift_points(n11: int, n10: int, n01: int, n00: int) -> float | None:
    """Compute the absolute change of task completion in percentage points, ``100 (p1 - p0)``; ``None`` without pairs.

    Parameters
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, or neither completed the task.

    Raises
    ------
    ValueError
        If a count is negative or not whole.
    """
    n11, n10, n01, n00 = check_counts(n11=n11, n10=n10, n01=n01, n00=n00)
    n = n11 + n10 + n01 + n00
    return 100.0 * (n10 - n01) / n if n else None


@dataclass(frozen=True, slots=True)
class LiftInterval:
    """Interval of the lift on both scales.

    Attributes
    ----------
    points_low, points_high
        Ends in percentage points; ``None`` without pairs.
    low, high
        Ends in percent of the original's rate (Fieller); ``None`` if unbounded.
    level, look, max_looks
        Parameters of the interval.
    standard_error_points
        Standard error of the difference in points.
    clustered
        Whether the standard error is the larger one, clustered by persona.
    """

    points_low: float | None
    points_high: float | None
    low: float | None
    high: float | None
    level: float
    look: int
    max_looks: int
    standard_error_points: float | None
    clustered: bool = False


def clustered_covariance(clusters: Iterable[CompletedInCluster]) -> Covariance | None:
    """Compute the covariance of the two rates with the pairs of one persona as a cluster.

    Sums of residuals by persona, times ``G / (G - 1)`` for ``G`` personas.

    Parameters
    ----------
    clusters
        One entry per persona: pairs, completed by the variant, completed by the original.

    Returns
    -------
    Covariance or None
        ``None`` for fewer than two personas with pairs.
    """
    rows = np.array([row for row in clusters if row[0]], np.float64).reshape(-1, 3)
    personas = len(rows)
    if personas < 2:
        return None
    n, variant, original = rows.sum(axis=0)
    of_variant = rows[:, 1] - rows[:, 0] * (variant / n)
    of_original = rows[:, 2] - rows[:, 0] * (original / n)
    factor = personas / (personas - 1) / float(n) ** 2
    return Covariance(
        factor * float(of_variant @ of_variant),
        factor * float(of_variant @ of_original),
        factor * float(of_original @ of_original),
    )


def lift_interval(
    n11: int,
    n10: int,
    n01: int,
    n00: int,
    *,
    level: float = 0.90,
    look: int = 1,
    max_looks: int = 1,
    clusters: Iterable[CompletedInCluster] | None = None,
) -> LiftInterval:
    """Compute the interval of the lift in points and in percent.

    0.5 is added to each count. Points: difference of the rates ∓ ``c`` standard errors, with ``c`` of
    `look_multipliers`. Percent: Fieller's interval, all ``r`` with ``|m1 - (1 + r) m0| <= c se``. Neither
    goes beyond what is possible: no difference exceeds 100 points, and no lift is below -100%.

    Parameters
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, or neither completed the task.
    level
        Coverage over all looks together.
    look, max_looks
        The number of this look, and the planned number of looks.
    clusters
        Pairs by persona. If the standard error by persona is more than 1.3 times the plain one, it is used,
        and ``clustered`` is set.

    Raises
    ------
    ValueError
        If a count is negative or not whole, or ``level`` or ``look`` is out of range.

    References
    ----------
    E. C. Fieller (1954), Some problems in interval estimation. Journal of the Royal Statistical Society B 16,
    175-185.

    Examples
    --------
    >>> interval = lift_interval(84, 31, 14, 21)
    >>> [round(end, 3) for end in (interval.low, interval.high)]
    [5.762, 30.337]
    """
    counts = check_counts(n11=n11, n10=n10, n01=n01, n00=n00)
    return interval_of(*counts, level=level, look=look, max_looks=max_looks, clusters=clusters)


def interval_of(
    n11: float,
    n10: float,
    n01: float,
    n00: float,
    *,
    level: float = 0.90,
    look: int = 1,
    max_looks: int = 1,
    clusters: Iterable[CompletedInCluster] | None = None,
) -> LiftInterval:
    """Compute the interval of a pair table with possibly fractional counts, as of weighted pairs; see `lift_interval`."""
    c = look_multiplier(look, max_looks, level=level)
    if n11 + n10 + n01 + n00 == 0:
        return LiftInterval(None, None, None, None, level, look, max_looks, None)
    m1, m0, covariance = _moments(n11, n10, n01, n00)
    by_persona = clustered_covariance(clusters) if clusters is not None else None
    clustered = by_persona is not None and by_persona.difference_se > CLUSTER_RATIO * covariance.difference_se
    if by_persona is not None and clustered:
        covariance = by_persona
    half = c * covariance.difference_se
    low, high = _fieller(m1, m0, covariance, c)
    return LiftInterval(
        points_low=max(-100.0, 100.0 * (m1 - m0 - half)),
        points_high=min(100.0, 100.0 * (m1 - m0 + half)),
        low=low,
        high=high,
        level=level,
        look=look,
        max_looks=max_looks,
        standard_error_points=100.0 * covariance.difference_se,
        clustered=clustered,
    )


def _moments(n11: float, n10: float, n01: float, n00: float) -> tuple[float, float, Covariance]:
    """Compute both rates with 0.5 added to each count, and the covariance of these means."""
    total = n11 + n10 + n01 + n00 + 2.0
    m1 = (n11 + n10 + 1.0) / total
    m0 = (n11 + n01 + 1.0) / total
    covariance = Covariance(
        m1 * (1.0 - m1) / total,
        ((n11 + 0.5) / total - m1 * m0) / total,
        m0 * (1.0 - m0) / total,
    )
    return m1, m0, covariance


def _fieller(m1: float, m0: float, covariance: Covariance, c: float) -> tuple[float | None, float | None]:
    """Compute the ends of the relative change in percent; both ``None`` if unbounded."""
    a = m0**2 - c**2 * covariance.v00
    if a <= 0.0:
        return None, None
    b = m1 * m0 - c**2 * covariance.v10
    root = math.sqrt(max(b**2 - a * (m1**2 - c**2 * covariance.v11), 0.0))
    return max(-100.0, 100.0 * ((b - root) / a - 1.0)), 100.0 * ((b + root) / a - 1.0)
