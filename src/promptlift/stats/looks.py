"""Multipliers that keep an interval honest when it is looked at several times."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from promptlift.stats.intervals import check_level

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["look_multiplier", "look_multipliers"]


def look_multiplier(look: int, max_looks: int, *, level: float = 0.90) -> float:
    """Return the standard errors on each side at one of several planned looks; see `look_multipliers`.

    Raises
    ------
    ValueError
        When ``look`` is not between 1 and ``max_looks``.
    """
    if not 1 <= look <= max_looks:
        raise ValueError(f"look must lie between 1 and max_looks ({max_looks}), not {look!r}.")
    return look_multipliers(max_looks, level=level)[look - 1]


@lru_cache(maxsize=256)
def look_multipliers(max_looks: int, *, level: float = 0.90) -> tuple[float, ...]:
    """Compute the standard errors on each side for each of ``max_looks`` equally spaced looks.

    Lan-DeMets boundaries with the Pocock-type spending function ``a ln(1 + (e - 1) t)`` and ``a = (1 -
    level) / 2`` on each side. The interval of the truth is left at some look with probability at most
    ``1 - level``. The joint density of the sums is carried from look to look by Gauss-Legendre integration.

    Parameters
    ----------
    max_looks
        Number of planned looks, at least 1.
    level
        Coverage over all looks together.

    Returns
    -------
    tuple of float
        One multiplier a look. One look: the normal quantile (1.645 at 0.90).

    References
    ----------
    K. K. G. Lan and D. L. DeMets (1983), Discrete sequential boundaries for clinical trials. Biometrika 70,
    659-663. P. Armitage, C. K. McPherson and B. C. Rowe (1969), Repeated significance tests on accumulating
    data. Journal of the Royal Statistical Society A 132, 235-244.

    Examples
    --------
    >>> [round(c, 3) for c in look_multipliers(6)]
    [2.239, 2.2, 2.165, 2.137, 2.115, 2.097]
    """
    from scipy.optimize import brentq  # noqa: PLC0415  (rates never need it)
    from scipy.special import ndtr, ndtri  # noqa: PLC0415  (the same)

    side = (1.0 - check_level(level)) / 2.0
    if max_looks < 1:
        raise ValueError(f"max_looks must be at least 1, not {max_looks!r}.")
    spent = [side * math.log1p((math.e - 1.0) * look / max_looks) for look in range(max_looks + 1)]
    multipliers = [-float(ndtri(spent[1]))]
    # nodes: where the sum of unit-variance steps may be; mass: the probability around each node that no
    # look so far has left the interval.
    nodes, weights = _rule(multipliers[0])
    mass = weights * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    for look in range(2, max_looks + 1):
        allowed, root = spent[look] - spent[look - 1], math.sqrt(look)

        multipliers.append(
            float(
                brentq(
                    lambda c, root, nodes, mass, allowed: float(mass @ ndtr(nodes - c * root)) - allowed,
                    0.0,
                    12.0,
                    args=(root, nodes, mass, allowed),
                    xtol=1e-12,
                )
            )
        )
        if look < max_looks:
            end = multipliers[-1] * root
            following, weights = _rule(end)
            density = np.exp(-((following[:, None] - nodes[None, :]) ** 2) / 2) / math.sqrt(2 * math.pi)
            nodes, mass = following, weights * (density @ mass)
    return tuple(multipliers)


def _rule(end: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Gauss-Legendre nodes and weights on ``[-end, end]``, dense enough for a kernel of width 1."""
    nodes, weights = _unit_rule(64 + 64 * (math.ceil(end) // 12))
    return end * nodes, end * weights


@lru_cache(maxsize=64)
def _unit_rule(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights
