"""A judge's errors, measured by labels: its true positive and true negative rates, in one group or compared between two."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.stats.differences import score_interval, score_test_p
from promptlift.stats.intervals import check_level
from promptlift.stats.labels import (
    CorrectedDifference,
    LabelledGroup,
    Stratum,
    cut,
    judged_difference,
    quantile_of,
    whole,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Minimum labels of either outcome for the judge's errors.
FEWEST_OF_EITHER: Final = 10
# Placeholder for a rate that too few labels leave unknown.
_NOTHING: Final = Stratum(1.0, 0.5, 1.0)


@dataclass(frozen=True, slots=True)
class RoganGladen:
    """A rate corrected by the judge's accuracy on completed and other conversations.

    Attributes
    ----------
    rate, low, high
        Corrected rate and its interval, fractions clipped to [0, 1]; None if refused.
    tpr, tnr
        Shares of the completed and of the other conversations that the judge gets right.
    refusal
        Why there is no corrected rate, if so.
    """

    rate: float | None
    low: float | None
    high: float | None
    tpr: float | None
    tnr: float | None
    refusal: str


@dataclass(frozen=True, slots=True)
class EqualErrorTest:
    """Whether a judge errs equally on two groups.

    Attributes
    ----------
    tpr_difference, tnr_difference
        Variant minus control, each with ``…_low`` and ``…_high``; None with too few labels.
    p
        The smaller p-value of the two score tests, doubled because there are two.
    refusal
        Why there is no test, if so.
    """

    tpr_difference: float | None
    tpr_low: float | None
    tpr_high: float | None
    tnr_difference: float | None
    tnr_low: float | None
    tnr_high: float | None
    p: float | None
    refusal: str


def rogan_gladen(group: LabelledGroup, *, level: float = 0.95) -> RoganGladen:
    """Correct a judge's rate by its true positive and true negative rate.

    ``rate = (judged rate + TNR - 1) / (TPR + TNR - 1)``, with the interval of Lang and Reiczigel.

    Parameters
    ----------
    group
        Labels and verdicts; verdicts are true or false.
    level
        Coverage of the interval.

    Returns
    -------
    RoganGladen
        With an explanation instead of a rate if there are too few labels, or the judge is hardly better than
        chance.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.

    References
    ----------
    W. J. Rogan, B. Gladen (1978), Estimating prevalence from the results of a screening test. American Journal of
    Epidemiology 107, 71-76.

    Z. Lang, J. Reiczigel (2014), Confidence limits for prevalence of disease adjusted for estimated sensitivity and
    specificity. Preventive Veterinary Medicine 113, 13-22.

    Examples
    --------
    >>> group = LabelledGroup([1] * 30 + [0] * 20, [1] * 27 + [0] * 3 + [1] * 6 + [0] * 14, [1] * 700 + [0] * 300)
    >>> found = rogan_gladen(group)
    >>> print(round(found.tpr, 3), round(found.tnr, 3), round(found.rate, 4))
    0.9 0.7 0.6635
    """
    level = check_level(level)
    refusal = too_few_of_either(group)
    if refusal:
        return RoganGladen(None, None, None, None, None, refusal)
    right, wrong = _tpr(group), _tnr(group)
    refusal = _hardly_better(right, wrong, level)
    judged = group.judged_rate
    if refusal or judged is None:
        return RoganGladen(None, None, None, right.value, wrong.value, refusal)
    z = quantile_of(math.inf, level)
    n = len(group.labels) + len(group.unlabelled)
    rate = (judged + wrong.value - 1.0) / (right.value + wrong.value - 1.0)
    # Lang and Reiczigel, equation 8: counts with a few added, and a shift towards the less certain side.
    apparent, size = (judged * n + z * z / 2.0) / (n + z * z), n + z * z
    tpr, tnr = ((one.value * one.n + 1.0) / (one.n + 2.0) for one in (right, wrong))
    informedness = tpr + tnr - 1.0
    centre = (apparent + tnr - 1.0) / informedness
    shift = 2.0 * z * z * (centre * right.variance - (1.0 - centre) * wrong.variance)
    spread = (
        apparent * (1.0 - apparent) / size + centre**2 * right.variance + (1.0 - centre) ** 2 * wrong.variance
    )
    half = z * math.sqrt(spread) / informedness
    low, high = cut(centre + shift - half), cut(centre + shift + half)
    return RoganGladen(cut(rate), low, high, right.value, wrong.value, "")


def equal_error_test(
    variant: LabelledGroup, control: LabelledGroup, *, level: float = 0.95
) -> EqualErrorTest:
    """Test whether the judge errs equally on two groups.

    Parameters
    ----------
    variant, control
        Labels and verdicts of each.
    level
        Coverage of each interval.

    Returns
    -------
    EqualErrorTest
        Finding no difference does not mean equality: check the width of the intervals.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.
    """
    level = check_level(level)
    said = (too_few_of_either(variant, "the variant"), too_few_of_either(control, "the control"))
    refusal = " ".join(filter(None, said))
    if refusal:
        return EqualErrorTest(None, None, None, None, None, None, None, refusal)
    found: list[tuple[float, float, float]] = []
    p = []
    for share in (_tpr, _tnr):
        one, other = share(variant), share(control)
        counts = one.value * one.n, one.n, other.value * other.n, other.n
        low, high = score_interval(*counts, level=level)
        found.append((one.value - other.value, float(low), float(high)))
        p.append(score_test_p(*counts))
    return EqualErrorTest(*found[0], *found[1], min(1.0, 2.0 * min(p)), "")


def pooled_difference(
    variant: LabelledGroup, control: LabelledGroup, *, level: float = 0.95
) -> tuple[CorrectedDifference, EqualErrorTest]:
    """Correct a difference by the labels of both groups together, and test the assumption behind this.

    The judge's difference is divided by ``TPR + TNR - 1`` of all labels. (A mean error of both groups
    together, which PPI++ would add to each rate, cancels in their difference and corrects nothing.) It is
    more precise than `promptlift.stats.labels.corrected_difference`, but wrong if the judge errs differently
    on the two groups, whatever the number of labels.

    Parameters
    ----------
    variant, control
        Labels and verdicts of each; verdicts are true or false.
    level
        Coverage of the intervals.

    Returns
    -------
    difference, test
        The corrected difference, and the test of equal error.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.
    """
    from scipy.special import ndtr  # noqa: PLC0415  (tables without labels never need it)

    level = check_level(level)
    test = equal_error_test(variant, control, level=level)
    both = _together(variant, control)
    judged = judged_difference(variant, control)
    refusal = too_few_of_either(both, "both together")
    right, wrong = (_tpr(both), _tnr(both)) if not refusal else (_NOTHING, _NOTHING)
    refusal = refusal or _hardly_better(right, wrong, level)
    if refusal or judged is None:
        return CorrectedDifference(None, None, None, None, None, judged, None, refusal, level), test
    informedness = right.value + wrong.value - 1.0
    difference = judged / informedness
    of_judge = sum(
        float(everything.var(ddof=1)) / len(everything) for everything in map(_verdicts, (variant, control))
    )
    error = math.sqrt(of_judge + difference**2 * (right.variance + wrong.variance)) / informedness
    half = quantile_of(math.inf, level) * error
    spread = sum(_spread(group) for group in (variant, control))
    most = float(min(len(_verdicts(variant)), len(_verdicts(control))))
    found = CorrectedDifference(
        difference=difference,
        low=max(difference - half, -1.0),
        high=min(difference + half, 1.0),
        se=error,
        p=min(1.0, 2.0 * float(ndtr(-abs(difference) / error))) if error > 0.0 else 1.0,
        judged_difference=judged,
        n_effective=min(spread / error**2, most) if error > 0.0 else most,
        refusal="",
        level=level,
    )
    return found, test


def too_few_of_either(group: LabelledGroup, name: str = "") -> str:
    """Describe which labels a group lacks before the judge's errors can be counted; empty if it has enough.

    Unlike a corrected rate, TPR and TNR are each counted among the labels of one outcome, so how many there are of
    either selects nothing.

    Parameters
    ----------
    group
        Labels and verdicts.
    name
        Name of the group, for the message.
    """
    completed = int(group.labels.sum())
    others = len(group.labels) - completed
    if min(completed, others) >= FEWEST_OF_EITHER:
        return ""
    of = f" of {name}" if name else ""
    return (
        f"Too few labels{of} to count the judge's errors: {completed} completed and {others} not completed, and "
        f"at least {FEWEST_OF_EITHER} of either are needed."
    )


def _tpr(group: LabelledGroup) -> Stratum:
    completed = group.labels == 1.0
    return whole(group.judged[completed], group.weights[completed])


def _tnr(group: LabelledGroup) -> Stratum:
    others = group.labels == 0.0
    return whole(1.0 - group.judged[others], group.weights[others])


def _hardly_better(right: Stratum, wrong: Stratum, level: float) -> str:
    informedness = right.value + wrong.value - 1.0
    if informedness > quantile_of(math.inf, level) * math.sqrt(right.variance + wrong.variance):
        return ""
    return (
        f"The judge is not clearly better than chance (TPR {right.value:.2f}, TNR {wrong.value:.2f}), so its "
        "rate cannot be corrected by its accuracy. Use the labels alone, or PPI++, which falls back on them."
    )


def _together(variant: LabelledGroup, control: LabelledGroup) -> LabelledGroup:
    """Combine two groups, with each label weighted by its own group's probabilities."""
    chances = None
    if variant.chances is not None or control.chances is not None:
        chances = np.concatenate([_scaled(variant), _scaled(control)])
    return LabelledGroup(
        np.concatenate([variant.labels, control.labels]),
        np.concatenate([variant.judged, control.judged]),
        np.concatenate([variant.unlabelled, control.unlabelled]),
        chances=chances,
    )


def _scaled(group: LabelledGroup) -> NDArray[np.float64]:
    weights = group.weights
    return np.asarray(weights.min() / weights if len(weights) else weights, np.float64)


def _verdicts(group: LabelledGroup) -> NDArray[np.float64]:
    return np.concatenate([group.judged, group.unlabelled])


def _spread(group: LabelledGroup) -> float:
    mean = float(np.average(group.labels, weights=group.weights))
    return mean * (1.0 - mean)
