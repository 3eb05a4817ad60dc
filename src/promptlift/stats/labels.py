"""Rates of a judge, corrected by people's labels on a random part: prediction-powered inference (PPI++).

An erring judge reports wrong rates, and wrong differences if it errs differently on the two groups. Labels on
a random part show by how much; the judge's verdicts on the rest make the corrected rate more precise than
labels alone.

References
----------
A. N. Angelopoulos, J. C. Duchi, T. Zrnic (2023), PPI++: Efficient prediction-powered inference. arXiv 2311.01453.

J. Hájek (1971), comment on a paper by D. Basu, in: Foundations of statistical inference, 236 (unequal chances).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]
    from numpy.typing import NDArray

# unspecified: the minimum number of labels for a corrected number. It must not depend on what they say: draws of
# 30 labels of which ten are of either outcome are a selection, of which the interval covers as little as .38
# (rate .8); of all draws of 20 labels or more it covers .90 to 1.00 at rates of .5 to .95.
FEWEST_LABELS: Final = 20


class LabelledGroup:
    """Conversations judged by a judge, some of which people have labelled.

    Parameters
    ----------
    labels
        A person's label of each labelled conversation: true and false, or 1 and 0.
    judged
        The judge's verdicts on the same conversations, in the same order: true and false, or a number from 0
        to 1.
    unlabelled
        The judge's verdicts on all other conversations of the group, without the labelled ones.
    chances
        The probability with which each labelled conversation was drawn, above 0 and at most 1. Only their
        ratios matter, so a part of a draw, labelled in random order, is also a draw. None if all are equal.

    Raises
    ------
    ValueError
        If lengths differ, or a value is invalid.
    """

    __slots__ = ("chances", "judged", "labels", "unlabelled")

    def __init__(
        self, labels: ArrayLike, judged: ArrayLike, unlabelled: ArrayLike, *, chances: ArrayLike | None = None
    ) -> None:
        self.labels, self.judged = _numbers(labels, "labels"), _numbers(judged, "judged")
        self.unlabelled = _numbers(unlabelled, "unlabelled")
        self.chances = None if chances is None else _numbers(chances, "chances")
        if not np.isin(self.labels, (0.0, 1.0)).all():
            raise ValueError("labels must be true and false, or 1 and 0.")
        if len(self.judged) != len(self.labels):
            raise ValueError(
                f"There are {len(self.labels):,} labels and {len(self.judged):,} verdicts on them: pass one verdict each."
            )
        if self.chances is not None and (
            len(self.chances) != len(self.labels) or (self.chances <= 0.0).any()
        ):
            raise ValueError("chances must be above 0 and at most 1, one for each label.")

    @property
    def judged_rate(self) -> float | None:
        """The judge's rate over all conversations; None without any."""
        everything = np.concatenate([self.judged, self.unlabelled])
        return float(everything.mean()) if len(everything) else None

    @property
    def weights(self) -> Numbers:
        """Inverse probability of each label, scaled to a mean of 1."""
        if self.chances is None:
            return np.ones(len(self.labels))
        weights = 1.0 / self.chances
        return np.asarray(weights / weights.mean(), np.float64)


@dataclass(frozen=True, slots=True)
class CorrectedRate:
    """A judge's rate, corrected by labels.

    Attributes
    ----------
    rate, low, high
        Corrected rate and the ends of its interval, fractions; None if refused. The ends are clipped to [0,
        1].
    se
        Standard error by the formula of PPI++; 0 if all labels agree, unlike the interval.
    judged_rate
        The judge's own value, uncorrected.
    tuning
        How much of the judge is used (lambda): 0 is labels alone, 1 uses its verdicts in full.
    n_labels, n_unlabelled
        Labelled conversations, and judged ones without a label.
    n_effective
        Number of randomly drawn labels that would be as informative without the judge: at most the number of
        conversations.
    refusal
        Why there is no corrected rate, and what to do, if so.
    level
        Coverage of the interval.
    """

    rate: float | None
    low: float | None
    high: float | None
    se: float | None
    judged_rate: float | None
    tuning: float | None
    n_labels: int
    n_unlabelled: int
    n_effective: float | None
    refusal: str
    level: float

    @property
    def worth(self) -> str:
        """The joint worth of labels and judge, in words; empty if the rate is refused."""
        if self.n_effective is None:
            return ""
        return (
            f"{self.n_labels:,} labels and {self.n_unlabelled:,} judged conversations are as good as "
            f"{round(self.n_effective):,} labels."
        )


@dataclass(frozen=True, slots=True)
class CorrectedDifference:
    """The difference of two rates of a judge, variant minus control, corrected by labels.

    Attributes
    ----------
    difference, low, high
        Corrected difference and its interval, fractions; None if refused.
    se
        Standard error.
    p
        Two-sided p-value of no difference, consistent with the interval.
    judged_difference
        The judge's own value, uncorrected.
    n_effective
        Number of labels (of each arm, or pairs) that would be as informative without the judge.
    refusal
        Why there is no corrected difference, if so.
    level
        Coverage of the interval.
    """

    difference: float | None
    low: float | None
    high: float | None
    se: float | None
    p: float | None
    judged_difference: float | None
    n_effective: float | None
    refusal: str
    level: float


def corrected_rate(group: LabelledGroup, *, level: float = 0.95) -> CorrectedRate:
    """Correct a judge's rate by labels on a random part: PPI++ for one rate.

    With ``y`` the labels, ``f`` the judge, ``n`` labelled and ``N`` unlabelled conversations::

        rate     = lambda mean_N(f) + mean_n(y - lambda f)
        lambda   = cov_n(y, f) / ((1 + n/N) var_n(f)), cut to [0, 1]
        variance = var_n(y - lambda f) / n + lambda² var_N(f) / N

    It is valid for any judge, as long as the labelled ones were drawn at random. With unequal ``chances`` the
    means over the labelled ones are weighted by the inverse probability, and mean and variance of ``f`` are
    over all conversations: the unlabelled ones alone are then not a random part of them.

    Parameters
    ----------
    group
        Labels and verdicts.
    level
        Coverage of the interval, see `promptlift.stats.label_estimates`.

    Returns
    -------
    CorrectedRate
        With an explanation instead of a number if there are fewer than 20 labels.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.

    Examples
    --------
    >>> group = LabelledGroup([1] * 30 + [0] * 20, [1] * 27 + [0] * 3 + [1] * 6 + [0] * 14, [1] * 700 + [0] * 300)
    >>> found = corrected_rate(group)
    >>> print(round(found.rate, 4), round(found.low, 4), round(found.high, 4), round(found.tuning, 4))
    0.6244 0.5085 0.7243 0.6112
    >>> found.worth
    '50 labels and 1,000 judged conversations are as good as 79 labels.'
    """
    level = check_level(level)
    judged, n, unlabelled = group.judged_rate, len(group.labels), len(group.unlabelled)
    refusal = too_few_labels(group)
    if refusal:
        return CorrectedRate(None, None, None, None, judged, None, n, unlabelled, None, refusal, level)
    mean = estimate_of_group(group)
    low, high = mean.interval(level)
    return CorrectedRate(
        rate=cut(mean.value),
        low=max(low, 0.0),
        high=min(high, 1.0),
        se=math.sqrt(mean.variance),
        judged_rate=judged,
        tuning=mean.tuning,
        n_labels=n,
        n_unlabelled=unlabelled,
        n_effective=min(mean.n_effective, float(n + unlabelled)),
        refusal="",
        level=level,
    )


def corrected_difference(
    variant: LabelledGroup, control: LabelledGroup, *, level: float = 0.95
) -> CorrectedDifference:
    """Correct the difference between two independent groups, each by its own labels.

    Each group has its own rectifier, because errors that differ between arms are the dangerous ones; the
    variances are added. See `promptlift.stats.judge_errors.pooled_difference` for pooled labels if the judge
    errs equally.

    Parameters
    ----------
    variant, control
        Labels and verdicts of each.
    level
        Coverage of the interval, which combines those of the two groups.

    Returns
    -------
    CorrectedDifference
        With an explanation instead of a number if either has too few labels.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.
    """
    return _corrected(estimate_of_difference, variant, control, level)


def corrected_paired_difference(
    variant: LabelledGroup, control: LabelledGroup, *, level: float = 0.95
) -> CorrectedDifference:
    """Correct the difference of two arms on the same items, using pairs in which both are labelled.

    Parameters
    ----------
    variant, control
        Labels and verdicts of each, in the order of the items: the labelled pairs first, then the unlabelled
        ones. Probabilities are those of the pair.
    level
        Coverage of the interval.

    Returns
    -------
    CorrectedDifference
        PPI++ on the differences within pairs; with an explanation instead of a number if an arm has too few
        labels.

    Raises
    ------
    ValueError
        If the two have different numbers of pairs, or ``level`` is not between 0 and 1.
    """
    if len(variant.labels) != len(control.labels) or len(variant.unlabelled) != len(control.unlabelled):
        raise ValueError(
            "Pairs need as many labels, and as many unlabelled verdicts, for the variant as for the control."
        )
    return _corrected(estimate_of_pairs, variant, control, level)


def too_few_labels(group: LabelledGroup, name: str = "") -> str:
    """Describe how many more labels a group needs; empty if it has enough.

    Parameters
    ----------
    group
        Labels and verdicts.
    name
        Name of the group, for the message.
    """
    of = f" of {name}" if name else ""
    n = len(group.labels)
    if not n:
        return f"No labels{of}: at least {FEWEST_LABELS} are needed."
    if n >= FEWEST_LABELS:
        return ""
    verb = "is" if FEWEST_LABELS - n == 1 else "are"
    return f"Too few labels{of} ({n}): {FEWEST_LABELS - n} more {verb} needed. Draw at random; do not look for them."


def _corrected(
    estimate: Callable[[LabelledGroup, LabelledGroup], Estimate],
    variant: LabelledGroup,
    control: LabelledGroup,
    level: float,
) -> CorrectedDifference:
    level = check_level(level)
    judged = judged_difference(variant, control)
    said = (too_few_labels(variant, "the variant"), too_few_labels(control, "the control"))
    refusal = " ".join(filter(None, said))
    if refusal:
        return CorrectedDifference(None, None, None, None, None, judged, None, refusal, level)
    most = min(len(one.labels) + len(one.unlabelled) for one in (variant, control))
    found = estimate(variant, control)
    low, high = found.interval(level)
    return CorrectedDifference(
        difference=found.value,
        low=max(low, -1.0),
        high=min(high, 1.0),
        se=math.sqrt(found.variance),
        p=p_of_zero(found.value, found.reach),
        judged_difference=judged,
        n_effective=min(found.n_effective, float(most)),
        refusal="",
        level=level,
    )


def judged_difference(variant: LabelledGroup, control: LabelledGroup) -> float | None:
    """Return the judge's difference of the two rates; None if either group is empty."""
    one, other = variant.judged_rate, control.judged_rate
    return None if one is None or other is None else one - other


def _numbers(values: Any, name: str) -> Numbers:
    numbers = np.asarray(values, np.float64).ravel()
    if len(numbers) and not ((numbers >= 0.0) & (numbers <= 1.0)).all():
        raise ValueError(f"{name} must be true and false, or numbers from 0 to 1, without missing ones.")
    return numbers


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
