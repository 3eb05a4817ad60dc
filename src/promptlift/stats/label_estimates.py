"""Estimates of a rate, and of a difference within pairs, from labels and a judge: PPI++, before any refusal.

`promptlift.stats.labels` refuses where there are too few labels of an outcome, and puts what is found here into words.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from promptlift.stats.label_intervals import (
    Difference,
    Reach,
    quantile_of,
    reach_of,
    strata_of,
    symmetric_reach,
    whole,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptlift.stats.labels import LabelledGroup

    Numbers = NDArray[np.float64]

__all__ = ["Estimate", "estimate_of_difference", "estimate_of_group", "estimate_of_pairs"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A corrected mean.

    Attributes
    ----------
    value
        The mean.
    variance
        By the formula of PPI++.
    tuning
        How much of the judge is used (lambda); NaN of two groups, each of which has its own.
    spread
        Variance of one label, of both groups together.
    reach
        How far its interval reaches.
    """

    value: float
    variance: float
    tuning: float
    spread: float
    reach: Reach

    @property
    def n_effective(self) -> float:
        """Labels that would say as much without the judge."""
        return self.spread / self.variance if self.variance > 0.0 else math.inf

    def interval(self, level: float) -> tuple[float, float]:
        """Return the ends of the interval, which may lie outside the range of a rate or of a difference."""
        below, above = self.reach(quantile_of(math.inf, level))
        return self.value - below, self.value + above


def estimate_of_group(group: LabelledGroup) -> Estimate:
    """Estimate the rate of a group of at least two labels."""
    weights = None if _alike(group.chances) else group.weights
    y, f, rest = group.labels, group.judged, group.unlabelled
    value, variance, tuning = _estimate(y, f, rest, weights)
    each = np.ones(len(y)) if weights is None else weights
    strata = strata_of(y, f, rest, each)
    reach: Reach
    if tuning == 0.0:
        reach = reach_of((whole(y, each),), len(y))
    elif strata is None:
        reach = symmetric_reach(y - tuning * f, each, variance, errors=(1.0, -tuning))
    else:
        # Of equal chances this is the same value.
        value = sum(one.share * one.value for one in strata)
        reach = reach_of(strata, len(y) + len(rest))
    return Estimate(value, variance, tuning, _spread(y, each), reach)


def estimate_of_difference(variant: LabelledGroup, control: LabelledGroup) -> Estimate:
    """Estimate the difference of the rates of two independent groups, each corrected by its own labels."""
    one, other = estimate_of_group(variant), estimate_of_group(control)
    return Estimate(
        one.value - other.value,
        one.variance + other.variance,
        math.nan,
        one.spread + other.spread,
        Difference(one.reach, other.reach),
    )


def estimate_of_pairs(variant: LabelledGroup, control: LabelledGroup) -> Estimate:
    """Estimate the mean difference within pairs, at least two of which are labelled."""
    weights = None if _alike(variant.chances) else variant.weights
    y, f, rest = (
        getattr(variant, name) - getattr(control, name) for name in ("labels", "judged", "unlabelled")
    )
    value, variance, tuning = _estimate(y, f, rest, weights)
    each = np.ones(len(y)) if weights is None else weights
    reach = symmetric_reach(y - tuning * f, each, variance, errors=(1.0, -1.0))
    return Estimate(value, variance, tuning, _spread(y, each), reach)


def _spread(y: Numbers, weights: Numbers) -> float:
    mean = float(np.average(y, weights=weights))
    return float(np.average((y - mean) ** 2, weights=weights)) * len(y) / (len(y) - 1)


def _estimate(y: Numbers, f: Numbers, rest: Numbers, weights: Numbers | None) -> tuple[float, float, float]:
    """Compute value, variance and lambda."""
    if weights is None:
        return _equal_chances(y, f, rest)
    return _unequal_chances(y, f, rest, weights)


def _equal_chances(y: Numbers, f: Numbers, rest: Numbers) -> tuple[float, float, float]:
    """Compute the three where all had the same chance.

    Covariance and variance are of the same conversations, the labelled ones: with the variance of all, lambda and the mean
    errors go together, and the rate is up to 1.5 points off from 30 to 50 labels.
    """
    n, rest_n = len(y), len(rest)
    spread = float(f.var(ddof=1))
    if rest_n < 2 or spread == 0.0:
        return float(y.mean()), float(y.var(ddof=1)) / n, 0.0
    tuning = _cut(float(np.cov(y, f)[0, 1]) / ((1.0 + n / rest_n) * spread))
    residual = y - tuning * f
    variance = float(residual.var(ddof=1)) / n + tuning**2 * float(rest.var(ddof=1)) / rest_n
    return tuning * float(rest.mean()) + float(residual.mean()), variance, tuning


def _unequal_chances(y: Numbers, f: Numbers, rest: Numbers, weights: Numbers) -> tuple[float, float, float]:
    """Compute the same with weights: the estimator's influence of each conversation, squared and summed.

    Lambda is the value that makes this variance smallest; of equal weights it gives the same rate as `_equal_chances`.
    """
    n, total = len(y), len(y) + len(rest)
    everything = float(np.concatenate([f, rest]).mean())
    own = weights * (y - np.average(y, weights=weights)) / n
    of_judge = (f - everything) / total - weights * (f - np.average(f, weights=weights)) / n
    of_rest = (rest - everything) / total
    squares = float((of_judge**2).sum() + (of_rest**2).sum())
    tuning = _cut(-float((own * of_judge).sum()) / squares) if squares > 0.0 else 0.0
    small = n / (n - 1)
    variance = small * float(((own + tuning * of_judge) ** 2).sum()) + tuning**2 * float((of_rest**2).sum())
    value = tuning * everything + float(np.average(y - tuning * f, weights=weights))
    return value, variance, tuning


def _cut(tuning: float) -> float:
    return min(max(tuning, 0.0), 1.0)


def _alike(chances: Numbers | None) -> bool:
    return chances is None or bool(np.ptp(chances) <= 1e-12)
