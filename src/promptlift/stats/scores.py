"""Comparing sentiment and quality of two groups: labels, scores, and whether a winner of task completion harms them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from promptlift.stats.intervals import check_level, mean_interval

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

# Up to this many differences every pattern of signs is tried, so that ties and small samples are exact.
_ENUMERATED: Final = 13
# Random tables of a test.
_TABLES: Final = 9_999


@dataclass(frozen=True, slots=True)
class PairedScoreTest:
    """Scores of the same items in two groups.

    Attributes
    ----------
    p
        Two-sided Wilcoxon signed-rank p-value; 1 if no item differs.
    difference, low, high
        Mean difference, first minus second, and its t interval; ``None`` if unknown.
    rank_direction
        1, -1 or 0: the direction of the signed ranks.
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

    Items without a difference carry no information about its direction and are left out of the ranks, as in
    the exact McNemar test.

    Parameters
    ----------
    first, second
        Scores of the same items in the same order; items with NaN in either are left out.
    level
        Coverage of the interval.

    Raises
    ------
    ValueError
        If the lengths differ, or ``level`` is not between 0 and 1.

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
    """Compute the share of sign patterns whose signed ranks are at least as extreme as the observed ones, two-sided."""
    patterns = (np.arange(2 ** len(ranks))[:, None] >> np.arange(len(ranks))) & 1
    sums = np.abs((2.0 * patterns - 1.0) @ ranks)
    return float((sums >= abs(float(ranks @ signs)) - 1e-9).mean())


@dataclass(frozen=True, slots=True)
class LabelTest:
    """Test whether groups differ in their shares of labels.

    Attributes
    ----------
    p
        1 if there is nothing to compare.
    cramers_v
        Size of the association, 0 to 1; ``None`` if there is nothing to compare.
    method
        ``chi2``, or ``permutation`` (Fisher-Freeman-Halton) if an expected count is below 5.
    n
        Observations.
    """

    p: float
    cramers_v: float | None
    method: Literal["chi2", "permutation"]
    n: int


@dataclass(frozen=True, slots=True)
class ScoreTest:
    """Two groups of scores.

    Attributes
    ----------
    p
        Two-sided Mann-Whitney p-value; 1 if there is nothing to compare.
    cliffs_delta
        Probability that a value of the first group is above one of the second, minus the probability that it
        is below.
    difference, low, high
        Difference of the means, first minus second, and Welch's interval; ``None`` if unknown.
    n1, n0
        Values of the groups.
    """

    p: float
    cliffs_delta: float | None
    difference: float | None
    low: float | None
    high: float | None
    n1: int
    n0: int


def label_test(counts: ArrayLike) -> LabelTest:
    """Test a table of groups (rows) by labels (columns).

    Pearson's chi² with Cramér's V. If an expected count is below 5, the p-value is that of Freeman and
    Halton's extension of Fisher's test, from random tables with the same margins.

    Parameters
    ----------
    counts
        Two-dimensional counts. Empty rows and columns are left out.

    Raises
    ------
    ValueError
        If the table is not two-dimensional, or has a negative count.

    References
    ----------
    G. H. Freeman and J. H. Halton (1951), Note on an exact treatment of contingency, goodness of fit and other
    problems of significance. Biometrika 38, 141-149.
    """
    from scipy.special import chdtrc  # noqa: PLC0415  (rates never need it)

    table = np.asarray(counts, np.float64)
    if table.ndim != 2 or np.any(table < 0):
        raise ValueError("counts must be a table of groups by labels without negative numbers.")
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    n = float(table.sum())
    if min(table.shape) < 2:
        return LabelTest(1.0, None, "chi2", int(n))
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    expected = np.outer(rows, columns) / n
    statistic = float(((table - expected) ** 2 / expected).sum())
    v = math.sqrt(statistic / n / (min(table.shape) - 1))
    if expected.min() >= 5.0:
        freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
        return LabelTest(float(chdtrc(freedom, statistic)), v, "chi2", int(n))
    return LabelTest(_freeman_halton(table, rows, columns), v, "permutation", int(n))


def _freeman_halton(
    table: NDArray[np.float64], rows: NDArray[np.float64], columns: NDArray[np.float64]
) -> float:
    """Estimate the share of random tables with these margins that are no more probable than the observed one."""
    from scipy.special import gammaln  # noqa: PLC0415  (rates never need it)
    from scipy.stats import random_table  # noqa: PLC0415  (the same)

    random = np.random.default_rng(0)
    tables = random_table(rows.astype(int), columns.astype(int)).rvs(size=_TABLES, random_state=random)
    # The probability of a table given its margins is a constant over the product of its factorials.
    seen = float(gammaln(table + 1.0).sum())
    drawn = gammaln(tables + 1.0).sum(axis=(1, 2))
    return (1 + int((drawn >= seen - 1e-7).sum())) / (1 + _TABLES)


def score_test(first: ArrayLike, second: ArrayLike, *, level: float = 0.95) -> ScoreTest:
    """Compare two groups of scores by Mann-Whitney with Cliff's delta, and Welch's interval of the means.

    Parameters
    ----------
    first, second
        Scores; NaN is left out.
    level
        Coverage of the interval.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (rates never need it)
    from scipy.stats import mannwhitneyu  # noqa: PLC0415  (the same)

    level = check_level(level)
    a, b = _known(first), _known(second)
    n1, n0 = len(a), len(b)
    if not n1 or not n0:
        return ScoreTest(1.0, None, None, None, None, n1, n0)
    difference = float(a.mean() - b.mean())
    if np.ptp(np.concatenate([a, b])) == 0.0:
        return ScoreTest(1.0, 0.0, 0.0, None, None, n1, n0)
    ranked = mannwhitneyu(a, b, alternative="two-sided")
    delta = 2.0 * float(ranked.statistic) / (n1 * n0) - 1.0
    low = high = None
    if n1 > 1 and n0 > 1:
        v1, v0 = float(a.var(ddof=1)) / n1, float(b.var(ddof=1)) / n0
        if v1 + v0 > 0.0:
            # From the share of each group: squares of tiny variances would underflow.
            share = v1 / (v1 + v0)
            freedom = 1.0 / (share**2 / (n1 - 1) + (1.0 - share) ** 2 / (n0 - 1))
            half = float(stdtrit(freedom, 0.5 + level / 2.0)) * math.sqrt(v1 + v0)
            low, high = difference - half, difference + half
    return ScoreTest(float(ranked.pvalue), delta, difference, low, high, n1, n0)


def _known(values: ArrayLike) -> NDArray[np.float64]:
    array = np.asarray(values, np.float64).ravel()
    return array[~np.isnan(array)]


GuardrailVerdict = Literal["harmed", "ok", "unknown"]

# Sentiment is -1 to 1, quality 0 to 100. A lower end above the margin means negligible harm.
GUARDRAIL_MARGINS: Final = {"sentiment": -0.1, "quality": -3.0}
# 95% for both guardrails together.
_LEVEL: Final = 0.975


@dataclass(frozen=True, slots=True)
class Guardrail:
    """Difference of a second metric, variant minus original, over pairs.

    Attributes
    ----------
    name
        ``sentiment`` or ``quality``.
    verdict
        ``harmed``: the whole interval is below 0, the winner is withheld. ``ok``: the lower end is above the
        margin. ``unknown``: shown, not blocking.
    difference, low, high
        Mean difference and the ends of its interval; ``None`` where unknown.
    level
        Coverage of the interval.
    n, personas
        Pairs in which both arms have the metric, and the number of personas among them.
    """

    name: str
    verdict: GuardrailVerdict
    difference: float | None
    low: float | None
    high: float | None
    level: float
    n: int
    personas: int


def guardrail(name: str, clusters: Iterable[tuple[int, float]], *, margin: float) -> Guardrail:
    """Judge paired differences by a t interval clustered by persona.

    Parameters
    ----------
    name
        Name of the metric.
    clusters
        One entry per persona: number of pairs, sum of their differences (variant minus original).
    margin
        Lower end above which the metric counts as unharmed, negative.
    """
    from scipy.special import stdtrit  # noqa: PLC0415  (rates never need it)

    rows = np.array([row for row in clusters if row[0]], np.float64).reshape(-1, 2)
    personas = len(rows)
    if personas == 0:
        return Guardrail(name, "unknown", None, None, None, _LEVEL, 0, 0)
    n = float(rows[:, 0].sum())
    mean = float(rows[:, 1].sum()) / n
    if personas == 1:
        return Guardrail(name, "unknown", mean, None, None, _LEVEL, int(n), 1)
    residuals = rows[:, 1] - rows[:, 0] * mean
    se = math.sqrt(personas / (personas - 1) * float(residuals @ residuals)) / n
    half = float(stdtrit(personas - 1, 0.5 + _LEVEL / 2.0)) * se
    verdict: GuardrailVerdict = "harmed" if mean + half < 0.0 else "ok" if mean - half > margin else "unknown"
    return Guardrail(name, verdict, mean, mean - half, mean + half, _LEVEL, int(n), personas)
