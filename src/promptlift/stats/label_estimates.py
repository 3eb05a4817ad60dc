"""Estimates from labels and a judge (PPI++), before any refusal, and their uncertainty.

`promptlift.stats.labels` refuses if there are too few labels of an outcome, and explains these results.

A binary judge divides the conversations into two strata: those that it considers completed, and the others.
The corrected rate is the mean of their labels, each stratum weighted by its share of all conversations. Its
interval combines one Jeffreys interval per stratum (MOVER), so it stays accurate if a good judge errs on a
label or two, and is longer on the side on which the truth may be further away.

References
----------
L. D. Brown, T. T. Cai, A. DasGupta (2001), Interval estimation for a binomial proportion. Statistical Science 16, 101-133.

R. G. Newcombe (1998), Interval estimation for the difference between independent proportions. Statistics in Medicine 17,
873-890.

G. Y. Zou, A. Donner (2008), Construction of confidence limits about effect measures. Statistics in Medicine 27, 1693-1702.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from promptlift.stats.labels import LabelledGroup

    Numbers = NDArray[np.float64]

# From this number on the normal distribution is as good as Student's.
_MANY_LABELS: Final = 30
# A value this many standard errors away is as good as impossible.
_FAR: Final = 38.0
# unspecified: misjudged labels, in either direction, that the interval of pairs (and of a numeric judge) adds
# to the drawn ones. With only one or two errors their variance is unreliable, and without errors the interval
# would shrink to a point (Agresti and Coull 1998 on a rate).
_ADDED_ERRORS: Final = 0.5


# The lengths of an interval below and above its estimate, for a quantile of the normal distribution.
Reach = Callable[[float], tuple[float, float]]


class Stratum(NamedTuple):
    """Conversations with the same verdict of the judge.

    Attributes
    ----------
    share
        Their share of all conversations.
    value
        Share of completed ones among their labels.
    n
        Their effective number of labels, smaller if the probabilities differ (Kish).
    """

    share: float
    value: float
    n: float

    @property
    def variance(self) -> float:
        """Variance of ``value``, with one label of each kind added, so that zero errors among few labels do not look perfect."""
        value = (self.value * self.n + 1.0) / (self.n + 2.0)
        return value * (1.0 - value) / (self.n + 2.0)

    def reach(self, z: float) -> tuple[float, float]:
        """Return the distances of the Jeffreys interval's ends below and above ``value``."""
        from scipy.special import betaincinv, ndtr  # noqa: PLC0415  (tables without labels never need it)

        tail = float(ndtr(-z))
        ones, zeros = self.value * self.n + 0.5, (1.0 - self.value) * self.n + 0.5
        low = 0.0 if self.value <= 0.0 else float(betaincinv(ones, zeros, tail))
        # The upper end from the other tail, which is precise for small values.
        high = 1.0 if self.value >= 1.0 else 1.0 - float(betaincinv(zeros, ones, tail))
        return max(self.value - low, 0.0), max(high - self.value, 0.0)


def reach_of_difference(one: Reach, other: Reach) -> Reach:
    """Return the reach of a difference of two independent estimates."""

    def reach(z: float) -> tuple[float, float]:
        (below, above), (other_below, other_above) = one(z), other(z)
        return math.hypot(below, other_above), math.hypot(above, other_below)

    return reach


def strata_of(y: Numbers, f: Numbers, rest: Numbers, weights: Numbers) -> tuple[Stratum, Stratum] | None:
    """Divide labels by the judge's verdicts.

    Parameters
    ----------
    y, f
        Labels, and the judge's verdicts on them.
    rest
        Its verdicts on the others.
    weights
        Of the labels, one over the chance of each.

    Returns
    -------
    pair of Stratum or None
        The stratum judged completed and the other; None if verdicts are not binary, or if either has no
        labels.
    """
    everything = np.concatenate([f, rest])
    called = f == 1.0
    if not called.any() or called.all() or not np.isin(everything, (0.0, 1.0)).all():
        return None
    share = float(everything.mean())
    return _stratum(share, y[called], weights[called]), _stratum(1.0 - share, y[~called], weights[~called])


def whole(y: Numbers, weights: Numbers) -> Stratum:
    """Return all labels as one stratum, ignoring the judge."""
    return _stratum(1.0, y, weights)


def reach_of(strata: tuple[Stratum, ...], n: int) -> Reach:
    """Return the reach of a mean over one or two strata of ``n`` judged conversations, including that of their shares."""
    variance = 0.0
    if len(strata) > 1:
        called, others = strata
        variance = (called.value - others.value) ** 2 * called.share * others.share / n

    def reach(z: float) -> tuple[float, float]:
        of_judge = z * math.sqrt(variance)
        below, above = zip(*([one.share * end for end in one.reach(z)] for one in strata), strict=True)
        return math.hypot(of_judge, *below), math.hypot(of_judge, *above)

    return reach


def symmetric_reach(
    residual: Numbers, weights: Numbers, variance: float, *, errors: tuple[float, float]
) -> Reach:
    """Return the reach of a mean with a variance: from Student's t below 30 labels, otherwise from the normal distribution.

    Parameters
    ----------
    residual
        Labels minus the used part of the verdicts.
    weights
        Weights of the labels.
    variance
        Variance of the mean.
    errors
        The residuals of a misjudged label, in either direction.
    """
    n = len(residual)
    centre = float(np.average(residual, weights=weights))
    added = _ADDED_ERRORS * sum((one - centre) ** 2 for one in errors) * float((weights**2).mean())
    error = math.sqrt(variance + added / (n * (n - 1)))

    def reach(z: float) -> tuple[float, float]:
        from scipy.special import ndtr, stdtrit  # noqa: PLC0415  (tables without labels never need it)

        quantile = -float(stdtrit(n - 1.0, float(ndtr(-z)))) if n < _MANY_LABELS else z
        return quantile * error, quantile * error

    return reach


def _stratum(share: float, y: Numbers, weights: Numbers) -> Stratum:
    # Kish's effective number: unequal weights are less informative than equal ones.
    kish = float(weights.sum() ** 2 / (weights**2).sum())
    return Stratum(share, float(np.average(y, weights=weights)), kish)


def p_of_zero(value: float, reach: Reach) -> float:
    """Return the two-sided p-value of no difference: one minus the largest level at which the interval excludes 0."""
    from scipy.special import ndtr  # noqa: PLC0415  (tables without labels never need it)

    side = 0 if value > 0.0 else 1
    low, high = 0.0, _FAR
    for _ in range(45):
        middle = (low + high) / 2.0
        low, high = (middle, high) if reach(middle)[side] < abs(value) else (low, middle)
    return min(1.0, 2.0 * float(ndtr(-low)))


def quantile_of(n: float, level: float) -> float:
    """Return the quantile of an interval from ``n`` labels: Student's below 30, otherwise of the normal distribution."""
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415  (tables without labels never need it)

    upper = 0.5 + level / 2.0
    return float(stdtrit(n - 1.0, upper) if n < _MANY_LABELS else ndtri(upper))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A corrected mean.

    Attributes
    ----------
    value
        The mean.
    variance
        Variance by the formula of PPI++.
    tuning
        How much of the judge is used (lambda); NaN for two groups, each of which has its own.
    spread
        Variance of one label, of both groups together.
    n
        Number of labels; of two groups the smaller one.
    reach
        Reach of its interval.
    """

    value: float
    variance: float
    tuning: float
    spread: float
    n: int
    reach: Reach

    @property
    def n_effective(self) -> float:
        """Number of labels that would be as informative without the judge."""
        return self.spread / self.variance if self.variance > 0.0 else float(self.n)

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
        # The residuals of a misjudged label, for verdicts no and yes: for numeric verdicts, scaled by their
        # certainty.
        no, yes = (
            float(f[side].mean()) if side.any() else end for side, end in ((f < 0.5, 0.0), (f >= 0.5, 1.0))
        )
        reach = symmetric_reach(y - tuning * f, each, variance, errors=(1.0 - tuning * no, -tuning * yes))
    else:
        # With equal probabilities this is the same value.
        value = sum(one.share * one.value for one in strata)
        reach = reach_of(strata, len(y) + len(rest))
    return Estimate(value, variance, tuning, _spread(y, each), len(y), reach)


def estimate_of_difference(variant: LabelledGroup, control: LabelledGroup) -> Estimate:
    """Estimate the difference of the rates of two independent groups, each corrected by its own labels."""
    one, other = estimate_of_group(variant), estimate_of_group(control)
    return Estimate(
        one.value - other.value,
        one.variance + other.variance,
        math.nan,
        one.spread + other.spread,
        min(one.n, other.n),
        reach_of_difference(one.reach, other.reach),
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
    return Estimate(value, variance, tuning, _spread(y, each), len(y), reach)


def _spread(y: Numbers, weights: Numbers) -> float:
    mean = float(np.average(y, weights=weights))
    return float(np.average((y - mean) ** 2, weights=weights)) * len(y) / (len(y) - 1)


def _estimate(y: Numbers, f: Numbers, rest: Numbers, weights: Numbers | None) -> tuple[float, float, float]:
    """Compute value, variance and lambda."""
    if weights is None:
        return _equal_chances(y, f, rest)
    return _unequal_chances(y, f, rest, weights)


def _equal_chances(y: Numbers, f: Numbers, rest: Numbers) -> tuple[float, float, float]:
    """Compute the three for equal probabilities.

    Covariance and variance are from the same conversations, the labelled ones: with the variance of all,
    lambda would correlate with the mean errors, and the rate would be up to 1.5 points off with 30 to 50
    labels.
    """
    n, rest_n = len(y), len(rest)
    spread = float(f.var(ddof=1))
    if rest_n < 2 or spread == 0.0:
        return float(y.mean()), float(y.var(ddof=1)) / n, 0.0
    tuning = cut(float(np.cov(y, f)[0, 1]) / ((1.0 + n / rest_n) * spread))
    residual = y - tuning * f
    variance = float(residual.var(ddof=1)) / n + tuning**2 * float(rest.var(ddof=1)) / rest_n
    return tuning * float(rest.mean()) + float(residual.mean()), variance, tuning


def _unequal_chances(y: Numbers, f: Numbers, rest: Numbers, weights: Numbers) -> tuple[float, float, float]:
    """Compute the same with weights, summing the squared influence of each conversation on the estimator.

    Lambda is the value that minimizes this variance; with equal weights it gives the same rate as
    `_equal_chances`.
    """
    n, total = len(y), len(y) + len(rest)
    everything = float(np.concatenate([f, rest]).mean())
    own = weights * (y - np.average(y, weights=weights)) / n
    of_judge = (f - everything) / total - weights * (f - np.average(f, weights=weights)) / n
    of_rest = (rest - everything) / total
    squares = float((of_judge**2).sum() + (of_rest**2).sum())
    tuning = cut(-float((own * of_judge).sum()) / squares) if squares > 0.0 else 0.0
    small = n / (n - 1)
    variance = small * float(((own + tuning * of_judge) ** 2).sum()) + tuning**2 * float((of_rest**2).sum())
    value = tuning * everything + float(np.average(y - tuning * f, weights=weights))
    return value, variance, tuning


def cut(value: float) -> float:
    """Return a fraction, clipped to [0, 1]."""
    return min(max(value, 0.0), 1.0)


def _alike(chances: Numbers | None) -> bool:
    return chances is None or bool(np.ptp(chances) <= 1e-12)
