"""The full analysis of a pair table, in one result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.stats.effect import lift, lift_interval, lift_points
from promptlift.stats.evidence import (
    LIKELIHOOD_RATIO,
    MIXTURE,
    check_counts,
    confidence_from_log,
    mcnemar_e_value,
    mcnemar_log_e_value,
)
from promptlift.stats.shrinkage import PRIOR_SD_POINTS, expected_lift

if TYPE_CHECKING:
    from collections.abc import Iterable

    from promptlift.stats.effect import CompletedInCluster
    from promptlift.stats.evidence import ConfidenceMethod


@dataclass(frozen=True, slots=True)
class PairAnalysis:
    """A variant against the original on the same cells.

    Attributes
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, or neither completed the task.
    n
        All pairs.
    p1, p0
        Completion rates of variant and original on these pairs, fractions; ``None`` without pairs.
    lift, lift_low, lift_high, lift_expected
        Relative change in percent: measured, ends of the interval, expected. ``None`` if unknown or
        unbounded.
    lift_expected_low, lift_expected_high
        Ends of the interval of the expected lift, at the same level.
    lift_points, lift_points_low, lift_points_high, lift_points_expected
        The same in percentage points.
    interval_level, look, max_looks
        Level of the interval, number of the look, number of looks, and its number of standard errors.
    standard_error_points
        Standard error of ``lift_points``.
    clustered
        Whether the standard error is clustered by persona, whose pairs are correlated.
    e_value, log_e_value, confidence
        Evidence that the variant is better; ``confidence = e_value / (1 + e_value)``.
    theta
        Share of discordant pairs that the e-value expects a better variant to win; ``None`` if it was not
        fixed before the data were seen, so that the e-value is the mixture.
    """

    n11: int
    n10: int
    n01: int
    n00: int
    n: int
    p1: float | None
    p0: float | None
    lift: float | None
    lift_low: float | None
    lift_high: float | None
    lift_expected: float | None
    lift_expected_low: float | None
    lift_expected_high: float | None
    lift_points: float | None
    lift_points_low: float | None
    lift_points_high: float | None
    lift_points_expected: float | None
    interval_level: float
    look: int
    max_looks: int
    standard_error_points: float | None
    clustered: bool
    e_value: float
    log_e_value: float
    confidence: float
    theta: float | None = None

    @property
    def confidence_method(self) -> ConfidenceMethod:
        """The basis of the confidence."""
        return MIXTURE if self.theta is None else LIKELIHOOD_RATIO


def analyse_pairs(
    n11: int,
    n10: int,
    n01: int,
    n00: int,
    *,
    look: int = 1,
    max_looks: int = 1,
    level: float = 0.90,
    prior_sd_points: float = PRIOR_SD_POINTS,
    clusters: Iterable[CompletedInCluster] | None = None,
    theta: float | None = None,
    verified_points: float | None = None,
    verified_error_points: float | None = None,
) -> PairAnalysis:
    """Compute lift, interval, expected lift, e-value and confidence of a pair table.

    Parameters
    ----------
    n11, n10, n01, n00
        Pairs in which both, only the variant, only the original, or neither completed the task.
    look, max_looks
        The number of this look, and the planned number of looks.
    level
        Coverage of the interval over all looks together.
    prior_sd_points
        Standard deviation of true effects in percentage points, for the expected lift.
    clusters
        Pairs by persona; see `lift_interval`.
    theta
        The run's theta, fixed before its first pair, otherwise ``None``; see `mcnemar_e_value`.
    verified_points, verified_error_points
        Difference in points from pairs after the decision and its standard error, for the expected lift; see `expected_lift`.

    Raises
    ------
    ValueError
        If a count is negative or not whole, or ``level``, ``look`` or ``theta`` is out of range.

    Examples
    --------
    >>> result = analyse_pairs(60, 12, 12, 66)
    >>> result.lift, round(result.confidence, 6)
    (0.0, 0.385206)
    """
    counts = n11, n10, n01, n00 = check_counts(n11=n11, n10=n10, n01=n01, n00=n00)
    n = sum(counts)
    interval = lift_interval(*counts, level=level, look=look, max_looks=max_looks, clusters=clusters)
    expected = expected_lift(
        *counts,
        prior_sd_points=prior_sd_points,
        standard_error_points=interval.standard_error_points,
        verified_points=verified_points,
        verified_error_points=verified_error_points,
        level=level,
    )
    log_e = mcnemar_log_e_value(n10, n01, theta=theta)
    relative = lift(*counts)
    return PairAnalysis(
        n11=n11,
        n10=n10,
        n01=n01,
        n00=n00,
        n=n,
        p1=(n11 + n10) / n if n else None,
        p0=(n11 + n01) / n if n else None,
        lift=relative,
        # Without a completed task of the original there is no relative lift, and so no interval.
        lift_low=interval.low if relative is not None else None,
        lift_high=interval.high if relative is not None else None,
        lift_expected=expected.percent,
        lift_expected_low=expected.low,
        lift_expected_high=expected.high,
        lift_points=lift_points(*counts),
        lift_points_low=interval.points_low,
        lift_points_high=interval.points_high,
        lift_points_expected=expected.points,
        interval_level=interval.level,
        look=look,
        max_looks=max_looks,
        standard_error_points=interval.standard_error_points,
        clustered=interval.clustered,
        e_value=mcnemar_e_value(n10, n01, theta=theta),
        log_e_value=log_e,
        confidence=confidence_from_log(log_e),
        theta=theta,
    )
