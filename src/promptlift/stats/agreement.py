"""Agreement beyond chance of people who answer the same questions."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

_DRAWS: Final = 2_000


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha.

    Attributes
    ----------
    alpha, low, high
        The coefficient and its interval: 1 is full agreement, 0 is chance. NaN if everybody always gave the
        same answer, or nothing was answered twice.
    n_units
        Items answered by at least two people.
    n_values
        Answers to these.
    """

    alpha: float
    low: float
    high: float
    n_units: int
    n_values: int


def krippendorff_alpha(answers: ArrayLike, *, level: float = 0.95) -> Alpha:
    """Compute Krippendorff's alpha for nominal answers by any number of people, with gaps.

    With ``n_uc`` people giving item ``u`` the answer ``c``, ``m_u`` people answering it, and ``n`` answers in
    all::

        alpha = 1 - D_o / D_e
        D_o   = sum_u (m_u^2 - sum_c n_uc^2) / (m_u - 1) / n
        D_e   = (n^2 - sum_c n_c^2) / (n (n - 1))

    over the items answered by at least two people.

    Parameters
    ----------
    answers
        ``n_uc``: one row per item, one column per answer.
    level
        Coverage of the interval, from percentiles over 2,000 bootstrap draws of the items.

    Raises
    ------
    ValueError
        If a count is negative, or ``level`` is not between 0 and 1.

    References
    ----------
    K. Krippendorff (2011), Computing Krippendorff's alpha-reliability. University of Pennsylvania, Annenberg School for
    Communication.

    A. Zapf, S. Castell, L. Morawietz, A. Karch (2016), Measuring inter-rater reliability for nominal data: which coefficients
    and confidence intervals are appropriate? BMC Medical Research Methodology 16, 93 (the bootstrap).

    Examples
    --------
    Two people and ten items, from Krippendorff (2011), A:

    >>> one, other = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    >>> counts = [[2 - a - b, a + b] for a, b in zip(one, other)]
    >>> print(round(krippendorff_alpha(counts).alpha, 3))
    0.095
    """
    level = check_level(level)
    counts = np.asarray(answers, np.float64)
    if counts.ndim != 2 or (counts < 0).any():
        raise ValueError("answers must be a table of counts: one row per item, one column per answer.")
    counts = counts[counts.sum(axis=1) >= 2]
    units, values = len(counts), int(counts.sum())
    if not units:
        return Alpha(np.nan, np.nan, np.nan, 0, 0)
    # Items with equal answers are interchangeable, so the draw is of the number of each kind.
    kinds, times = np.unique(counts, axis=0, return_counts=True)
    alpha = float(_alphas(kinds, times[None, :])[0])
    if np.isnan(alpha):
        return Alpha(np.nan, np.nan, np.nan, units, values)
    rng = np.random.default_rng(0)
    drawn = _alphas(kinds, rng.multinomial(units, times / units, _DRAWS))
    # If a draw has only one answer, all agreed on it.
    drawn = np.where(np.isnan(drawn), 1.0, drawn)
    tail = (1.0 - level) / 2.0
    low, high = np.quantile(drawn, [tail, 1.0 - tail])
    return Alpha(alpha, min(float(low), alpha), max(float(high), alpha), units, values)


def _alphas(counts: NDArray[np.float64], times: NDArray[np.number]) -> NDArray[np.float64]:
    """Return alpha for each row of item frequencies."""
    per_item = counts.sum(axis=1)
    disagreed = (per_item**2 - (counts**2).sum(axis=1)) / (per_item - 1.0)
    n = times @ per_item
    by_answer = times @ counts
    expected = (n**2 - (by_answer**2).sum(axis=1)) / (n - 1.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(expected > 0.0, 1.0 - (times @ disagreed) / expected, np.nan))


def kappa_interval(counts: NDArray[np.int64], level: float) -> tuple[float, float, float]:
    """Compute Cohen's kappa of two raters and the ends of its interval; NaN if chance alone would always agree.

    One half is added to every count for the interval, which is widened to include the estimate.

    Parameters
    ----------
    counts
        Answers of one rater (rows) and of the other (columns).
    level
        Coverage of the interval.

    References
    ----------
    J. L. Fleiss, J. Cohen, B. S. Everitt (1969), Large sample standard errors of kappa and weighted kappa. Psychological
    Bulletin 72, 323-327.

    Examples
    --------
    >>> import numpy as np
    >>> print(round(kappa_interval(np.array([[20, 5], [10, 15]]), 0.95)[0], 4))
    0.4
    """
    kappa, _ = _kappa(counts.astype(np.float64))
    if np.isnan(kappa):
        return kappa, np.nan, np.nan
    centre, error = _kappa(counts + 0.5)
    half = NormalDist().inv_cdf(0.5 + level / 2) * error
    return kappa, max(-1.0, min(centre - half, kappa)), min(1.0, max(centre + half, kappa))


def _kappa(counts: NDArray[np.floating]) -> tuple[float, float]:
    """Compute Cohen's kappa and its standard error: equations 2 and 13 of Fleiss, Cohen and Everitt (1969)."""
    n = counts.sum()
    if n == 0:
        return np.nan, np.nan
    p = counts / n
    rows, columns, same = p.sum(axis=1), p.sum(axis=0), np.diag(p)
    observed, chance = same.sum(), float(rows @ columns)
    if chance >= 1:
        return np.nan, np.nan
    kappa = (observed - chance) / (1 - chance)
    rest = 1 - kappa
    diagonal = (same * (1 - (rows + columns) * rest) ** 2).sum()
    margins = (columns[:, None] + rows[None, :]) ** 2 * p
    other = rest**2 * (margins.sum() - np.trace(margins))
    variance = (diagonal + other - (kappa - chance * rest) ** 2) / ((1 - chance) ** 2 * n)
    return float(kappa), float(np.sqrt(max(variance, 0.0)))
