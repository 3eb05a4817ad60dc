"""The number of labels needed, and the allocation of a draw among strata."""

from __future__ import annotations

import math
from bisect import bisect_left
from typing import TYPE_CHECKING

import numpy as np

from promptlift.stats.intervals import check_level
from promptlift.stats.judge_errors import too_few_of_either
from promptlift.stats.labels import FEWEST_LABELS, LabelledGroup, cut, quantile_of, whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def labels_needed(
    half_width: float,
    *,
    rate: float | None = None,
    tpr: float | None = None,
    tnr: float | None = None,
    pilot: LabelledGroup | None = None,
    judged: int | None = None,
    arms: int = 1,
    level: float = 0.95,
) -> int | None:
    """Compute how many labels a corrected rate needs for an interval of ``± half_width``.

    The variance of PPI++ (`promptlift.stats.labels.corrected_rate`) is solved for the number of labels, using
    a pilot or an assumed judge.

    Parameters
    ----------
    half_width
        Half of the interval's width, a fraction: 0.05 for 5 points on either side.
    rate
        The expected rate; by default one half, the hardest to measure, or that of the pilot.
    tpr, tnr
        Shares of the completed and of the other conversations that the judge is expected to get right.
        Without them and without a pilot the judge is assumed to be useless, so only labels count.
    pilot
        Existing labels and verdicts, at least 10 of either outcome.
    judged
        Number of judged conversations, including those to be labelled; by default more than will ever be
        needed.
    arms
        1 for a rate; 2 for the difference of two equal groups, giving the labels of each.
    level
        Coverage of the interval.

    Returns
    -------
    int or None
        Labels of each group. None if not even labelling every conversation is enough.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    >>> labels_needed(0.05), labels_needed(0.05, rate=0.6, tpr=0.9, tnr=0.85, judged=4000)
    (385, 171)
    """
    level = check_level(level)
    if not 0.0 < half_width < 0.5:
        raise ValueError(
            f"half_width must be a fraction between 0 and 0.5, such as 0.05, not {half_width!r}."
        )
    if arms not in (1, 2):
        raise ValueError(f"arms must be 1 (a rate) or 2 (a difference), not {arms!r}.")
    spread, of_judge, together = _moments(rate, tpr, tnr, pilot)
    most = 10**7 if judged is None else int(judged)

    def wide(n: int) -> bool:
        rest = most - n if judged is not None else math.inf
        tuning = 0.0
        if of_judge > 0.0 and rest > 0:
            tuning = cut(together / ((1.0 + n / rest) * of_judge))
        residual = spread - 2.0 * tuning * together + tuning**2 * of_judge
        variance = residual / n + (tuning**2 * of_judge / rest if tuning else 0.0)
        return quantile_of(n, level) * math.sqrt(arms * max(variance, 0.0)) > half_width

    if most < 2 or wide(most):
        return None
    enough = bisect_left(range(most), True, lo=2, key=lambda n: not wide(n))
    # Fewer than this are refused for any judge.
    return min(max(enough, FEWEST_LABELS), most)


def _moments(
    rate: float | None, tpr: float | None, tnr: float | None, pilot: LabelledGroup | None
) -> tuple[float, float, float]:
    """Return the variance of a label, that of a verdict, and the covariance of both."""
    if pilot is not None:
        if tpr is not None or tnr is not None:
            raise ValueError("Pass either a pilot or tpr and tnr, not both.")
        if refusal := too_few_of_either(pilot, "the pilot"):
            raise ValueError(refusal)
        mean = whole(pilot.labels, pilot.weights).value if rate is None else _fraction(rate, "rate")
        of_completed, of_others = (
            whole(pilot.judged[rows], pilot.weights[rows]).value
            for rows in (pilot.labels == 1.0, pilot.labels == 0.0)
        )
        tpr, tnr = of_completed, 1.0 - of_others
    else:
        if (tpr is None) != (tnr is None):
            raise ValueError("Pass tpr and tnr together: one alone does not say how good a judge is.")
        mean = 0.5 if rate is None else _fraction(rate, "rate")
    if tpr is None or tnr is None:
        return mean * (1.0 - mean), 0.0, 0.0
    tpr, tnr = _fraction(tpr, "tpr"), _fraction(tnr, "tnr")
    judged = mean * tpr + (1.0 - mean) * (1.0 - tnr)
    return mean * (1.0 - mean), judged * (1.0 - judged), mean * tpr - mean * judged


def completed_by_verdict(judged_rate: float, *, tpr: float, tnr: float) -> tuple[float, float]:
    """Compute the truly completed shares of the conversations judged completed and judged not completed.

    Parameters
    ----------
    judged_rate
        Share judged completed.
    tpr, tnr
        Shares of the completed and of the other conversations that it gets right; together above 1.

    Raises
    ------
    ValueError
        If ``tpr`` and ``tnr`` are not fractions or their sum is not above 1.
    """
    tpr, tnr = _fraction(tpr, "tpr"), _fraction(tnr, "tnr")
    if tpr + tnr <= 1.0:
        raise ValueError(
            f"tpr and tnr must sum to more than 1, as for a judge better than chance, not {tpr} and {tnr}."
        )
    # A rate that such a judge could hardly report is treated like one at the edge.
    rate = min(max((judged_rate + tnr - 1.0) / (tpr + tnr - 1.0), 0.05), 0.95)
    called = rate * tpr + (1.0 - rate) * (1.0 - tnr)
    return rate * tpr / called, rate * (1.0 - tpr) / (1.0 - called) if called < 1.0 else 0.0


def neyman_allocation(sizes: ArrayLike, spreads: ArrayLike, *, n: int, least: int = 0) -> NDArray[np.int64]:
    """Allocate a draw among strata to minimize the mean's variance: in proportion to size times spread.

    Parameters
    ----------
    sizes
        Conversations of each stratum.
    spreads
        Standard deviation of the outcome in each, or another weight.
    n
        Conversations to draw; all if there are fewer.
    least
        Minimum per stratum, as far as its size and ``n`` allow.

    Returns
    -------
    array of int
        How many to draw from each stratum: at most its size, in total ``n``.

    Raises
    ------
    ValueError
        If a size or a spread is negative.

    References
    ----------
    J. Neyman (1934), On the two different aspects of the representative method. Journal of the Royal Statistical Society
    97, 558-625.

    Examples
    --------
    >>> neyman_allocation([600, 400], [0.2, 0.4], n=70).tolist()
    [30, 40]
    """
    size = np.asarray(sizes, np.int64)
    share = size * np.asarray(spreads, np.float64)
    if (size < 0).any() or (share < 0).any():
        raise ValueError("sizes and spreads must not be negative.")
    n = min(int(n), int(size.sum()))
    least = min(least, n // max(int((size > 0).sum()), 1))
    drawn = np.minimum(size, least)
    wanted = share / share.sum() * n if share.sum() > 0 else size / max(size.sum(), 1) * n
    # One at a time to the stratum that lacks most of its share, until all are allocated or full.
    while drawn.sum() < n:
        lack = np.where(drawn < size, wanted - drawn, -np.inf)
        drawn[int(lack.argmax())] += 1
    while drawn.sum() > n:
        drawn[int((drawn - wanted).argmax())] -= 1
    return drawn


def _fraction(value: float, name: str) -> float:
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must be a fraction from 0 to 1, not {value!r}.")
    return float(value)
