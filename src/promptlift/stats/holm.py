"""Several tests at once: Holm's adjustment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["holm"]


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Adjust p-values by Holm's method, which bounds the chance of any false alarm among them.

    The smallest is multiplied by their number, the next by one less, and so on; none falls below the one
    before it. Valid whatever the tests have to do with each other.

    Parameters
    ----------
    p_values
        One-dimensional.

    Returns
    -------
    ndarray
        Adjusted p-values in the same order, at most 1.

    Raises
    ------
    ValueError
        When a value is not between 0 and 1.

    References
    ----------
    S. Holm (1979), A simple sequentially rejective multiple test procedure. Scandinavian Journal of
    Statistics 6, 65-70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, np.float64).ravel()
    if not np.all((p >= 0.0) & (p <= 1.0)):
        raise ValueError("every p-value must lie between 0 and 1.")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)), 1.0)
    return adjusted
