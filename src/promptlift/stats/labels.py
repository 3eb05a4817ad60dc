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
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from promptlift.stats.intervals import check_level
from promptlift.stats.label_estimates import (
    Estimate,
    cut,
    estimate_of_difference,
    estimate_of_group,
    estimate_of_pairs,
    p_of_zero,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    Numbers = NDArray[np.float64]

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
