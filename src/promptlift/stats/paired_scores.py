"""Scores of the same items in two groups: by the order of their differences, and by the mean of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.stats.intervals import check_level, mean_interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["PairedScoreTest", "paired_score_test"]

# Up to this many differences every pattern of signs is tried, so that ties and small samples are exact.
_ENUMERATED: Final = 13


@dataclass(frozen=True, slots=True)
class PairedScoreTest:
    """Scores of the same items in two groups.

    Attributes
    ----------
    p
        Two-sided Wilcoxon signed-rank p; 1 where no item differs.
    difference, low, high
        Mean difference, first less second, and its t interval; ``None`` where unknown.
    rank_direction
        1, -1 or 0: where the signed ranks point.
    n, n_better, n_worse
        Items, and items with a higher and a lower score in the first group.
    """

    p: float
    difference: float | None
    low: float | None
    high: float | None
    rank_direction: int
    n: int
    n_better: int
    n_worse: int


def paired_score_test(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> PairedScoreTest:
    """Compare two scores of each item by Wilcoxon's signed ranks, with the t interval of the mean difference.

    Items without a difference say nothing about its direction and are left out of the ranks, as the exact
    McNemar test leaves them out.

    Parameters
    ----------
    first, second
        Scores of the same items in the same order; items with NaN in either are left out.
    level
        Coverage of the interval.

    Raises
    ------
    ValueError
        When the lengths differ, or ``level`` is not between 0 and 1.

    References
    ----------
    F. Wilcoxon (1945), Individual comparisons by ranking methods. Biometrics Bulletin 1, 80-83.

    Examples
    --------
    >>> paired_score_test([4, 4, 3, 4, 5, 4], [3, 3, 2, 3, 3, 2]).p
    0.03125
    """
    from scipy.stats import rankdata, wilcoxon  # noqa: PLC0415  (rates never need it)

    level = check_level(level)
    a, b = np.asarray(first, np.float64).ravel(), np.asarray(second, np.float64).ravel()
    if a.shape != b.shape:
        raise ValueError(f"both groups must have a score for every item, not {len(a)} and {len(b)} scores.")
    differences = a - b
    differences = differences[~np.isnan(differences)]
    n = len(differences)
    if n == 0:
        return PairedScoreTest(1.0, None, None, None, 0, 0, 0, 0)
    # Differences of equal decimal fractions are equal: 0.3 - 0.1 and 0.4 - 0.2 must tie.
    moved = np.round(differences[~np.isclose(differences, 0.0, atol=1e-12)], 10)
    p = 1.0
    direction = 0
    if len(moved):
        if len(moved) <= _ENUMERATED:
            p = _every_pattern(rankdata(np.abs(moved)), np.sign(moved))
        else:
            p = min(1.0, float(wilcoxon(moved, method="approx").pvalue))
        direction = int(np.sign(rankdata(np.abs(moved)) @ np.sign(moved)))
    mean = float(differences.mean())
    low = high = None
    if n > 1 and np.ptp(differences) > 0.0:
        ends = mean_interval(mean, differences.std(ddof=1), n, level=level)
        low, high = float(ends[0]), float(ends[1])
    better, worse = int((moved > 0).sum()), int((moved < 0).sum())
    return PairedScoreTest(p, mean, low, high, direction, n, better, worse)


def _every_pattern(ranks: NDArray[np.float64], signs: NDArray[np.float64]) -> float:
    """Compute the share of sign patterns whose signed ranks are at least as extreme as those seen, either way."""
    patterns = (np.arange(2 ** len(ranks))[:, None] >> np.arange(len(ranks))) & 1
    sums = np.abs((2.0 * patterns - 1.0) @ ranks)
    return float((sums >= abs(float(ranks @ signs)) - 1e-9).mean())
