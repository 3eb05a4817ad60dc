"""Cohen's kappa of two raters, with the interval of Fleiss, Cohen and Everitt."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["kappa_interval"]


def kappa_interval(counts: NDArray[np.int64], level: float) -> tuple[float, float, float]:
    """Compute kappa and the ends of its interval; NaN where chance alone would always agree."""
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
