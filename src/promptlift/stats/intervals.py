"""Confidence intervals for one rate and one mean, and the multipliers for looking at an interval several times."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

# From so many degrees of freedom on, three terms of a series are exact to 1e-11.
_MANY: Final = 1_000


def check_level(level: float) -> float:
    """Return ``level`` as a float, refusing invalid values.

    Raises
    ------
    ValueError
        If ``level`` is not a number strictly between 0 and 1.
    """
    try:
        value = float(level)
    except (TypeError, ValueError):
        value = float("nan")
    if not 0.0 < value < 1.0:
        raise ValueError(f"level must be a number between 0 and 1, such as 0.95, not {level!r}.")
    return value


def rate(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    """Divide counts: fractions, NaN if ``whole`` is 0 or unknown."""
    part, whole = np.asarray(part, np.float64), np.asarray(whole, np.float64)
    quotient: NDArray[np.float64] = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient


def rate_and_interval(
    successes: ArrayLike, n: ArrayLike, *, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Compute `rate` and the ends of its `wilson` interval, NaN if ``n`` is 0."""
    return rate(successes, n), *wilson(successes, n, level=level)


def wilson(
    successes: ArrayLike, n: ArrayLike, *, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the confidence interval of a rate by Wilson's score method, without continuity correction.

    With ``p = successes / n`` and ``z`` the normal quantile of ``(1 + level) / 2``, the ends are::

        (p + z²/2n ∓ z sqrt(p (1 - p) / n + z²/4n²)) / (1 + z²/n)

    They bound the rates that a score test at ``1 - level`` does not reject, stay inside [0, 1], and keep a
    sensible width when nothing or everything succeeded.

    Parameters
    ----------
    successes
        Number of successes, 0 to ``n``. Scalar or array.
    n
        Number of trials. Scalar or array; broadcast against ``successes``.
    level
        Coverage of the interval.

    Returns
    -------
    low, high
        Ends of the interval as fractions, float64 arrays of the broadcast shape (0-d for scalars). NaN where
        ``n`` is 0.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1, or a count is negative or above ``n``.

    References
    ----------
    E. B. Wilson (1927), Probable inference, the law of succession, and statistical inference. Journal of the
    American Statistical Association 22, 209-212.

    Examples
    --------
    >>> low, high = wilson(15, 20)
    >>> print(round(float(low), 4), round(float(high), 4))
    0.5313 0.8881
    """
    level = check_level(level)
    x, trials = np.broadcast_arrays(np.asarray(successes, np.float64), np.asarray(n, np.float64))
    if np.any(x < 0) or np.any(x > trials):
        raise ValueError("successes must lie between 0 and n.")
    z2 = NormalDist().inv_cdf(0.5 + level / 2) ** 2
    known = np.where(trials > 0, trials, np.nan)
    # The same formula times n: no p, so that the ends are exact at 0 and n.
    centre = x + z2 / 2
    half = np.sqrt(z2 * (x * (known - x) / known + z2 / 4))
    total = known + z2
    low = np.where(x == 0, np.where(trials > 0, 0.0, np.nan), (centre - half) / total)
    high = np.where(x == trials, np.where(trials > 0, 1.0, np.nan), (centre + half) / total)
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def mean_interval(
    mean: ArrayLike, sd: ArrayLike, n: ArrayLike, *, level: float = 0.95
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the confidence interval of a mean by Student's t: ``mean ∓ t sd / sqrt(n)``, n - 1 degrees of freedom.

    Parameters
    ----------
    mean, sd, n
        Mean, standard deviation (with n - 1 in the denominator) and number of values. Scalars or arrays.
    level
        Coverage of the interval.

    Returns
    -------
    low, high
        Ends of the interval in the unit of ``mean``, float64 arrays. NaN where ``n`` is below 2.

    Raises
    ------
    ValueError
        If ``level`` is not between 0 and 1.

    References
    ----------
    Student (1908), The probable error of a mean. Biometrika 6, 1-25.

    Examples
    --------
    >>> low, high = mean_interval(0.2, 0.5, 25)
    >>> print(round(float(low), 4), round(float(high), 4))
    -0.0064 0.4064
    """
    level = check_level(level)
    centre, spread, count = np.broadcast_arrays(
        np.asarray(mean, np.float64), np.asarray(sd, np.float64), np.asarray(n, np.float64)
    )
    known = np.where(count >= 2, count, np.nan)
    half = _student(known - 1, 0.5 + level / 2) * spread / np.sqrt(known)
    return centre - half, centre + half


def _student(freedom: NDArray[np.float64], share: float) -> NDArray[np.float64]:
    """Return quantiles of Student's t, for many degrees of freedom by their series: scipy takes 80 ms to load."""
    if not np.any(freedom < _MANY):
        z = NormalDist().inv_cdf(share)
        first, second = (z**3 + z) / 4, (5 * z**5 + 16 * z**3 + 3 * z) / 96
        third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
        return np.asarray(z + (first + (second + third / freedom) / freedom) / freedom)
    from scipy.special import stdtrit  # noqa: PLC0415

    return np.asarray(stdtrit(freedom, share))


def find_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Find where a function changes its sign between two points, to within 2e-12.

    Steps by inverse quadratic interpolation where that is sure to converge, otherwise halves. It takes as many steps as
    scipy.optimize, which takes longer to load than most analyses to run.

    References
    ----------
    T. R. Chandrupatla (1997), A new hybrid quadratic/bisection algorithm for finding the zero of a nonlinear function
    without using derivatives. Advances in Engineering Software 28, 145-149.
    """
    # The root is between a, the newest point, and b; c is the point before.
    a, b = low, high
    at_a, at_b = function(a), function(b)
    step = 0.5
    while True:
        new = a + step * (b - a)
        at_new = function(new)
        if (at_new > 0.0) == (at_a > 0.0):
            c, at_c = a, at_a
        else:
            c, at_c, b, at_b = b, at_b, a, at_a
        a, at_a = new, at_new
        best, at_best = (a, at_a) if abs(at_a) < abs(at_b) else (b, at_b)
        least = (2e-12 + 4e-16 * abs(best)) / abs(b - a)
        if at_best == 0.0 or least > 0.5:
            return best
        place, share = (a - b) / (c - b), (at_a - at_b) / (at_c - at_b)
        step = 0.5
        if share**2 < place and (1.0 - share) ** 2 < 1.0 - place:
            step = at_a / (at_b - at_a) * at_c / (at_b - at_c)
            step += (c - a) / (b - a) * at_a / (at_c - at_a) * at_b / (at_c - at_b)
        step = min(max(step, least), 1.0 - least)


def look_multiplier(look: int, max_looks: int, *, level: float = 0.90) -> float:
    """Return the number of standard errors on each side at one of several planned looks; see `look_multipliers`.

    Raises
    ------
    ValueError
        If ``look`` is not between 1 and ``max_looks``.
    """
    if not 1 <= look <= max_looks:
        raise ValueError(f"look must lie between 1 and max_looks ({max_looks}), not {look!r}.")
    return look_multipliers(max_looks, level=level)[look - 1]


@lru_cache(maxsize=256)
def look_multipliers(max_looks: int, *, level: float = 0.90) -> tuple[float, ...]:
    """Compute the number of standard errors on each side for each of ``max_looks`` equally spaced looks.

    Lan-DeMets boundaries with the Pocock-type spending function ``a ln(1 + (e - 1) t)`` and ``a = (1 - level)
    / 2`` on each side. The probability that the interval misses the truth at any look is at most ``1 -
    level``. The joint density of the sums is carried from look to look by Gauss-Legendre integration.

    Parameters
    ----------
    max_looks
        Number of planned looks, at least 1.
    level
        Coverage over all looks together.

    Returns
    -------
    tuple of float
        One multiplier per look. For one look: the normal quantile (1.645 at 0.90).

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
    from scipy.special import ndtr, ndtri  # noqa: PLC0415  (rates never need it)

    side = (1.0 - check_level(level)) / 2.0
    if max_looks < 1:
        raise ValueError(f"max_looks must be at least 1, not {max_looks!r}.")
    spent = [side * math.log1p((math.e - 1.0) * look / max_looks) for look in range(max_looks + 1)]
    multipliers = [-float(ndtri(spent[1]))]
    # nodes: possible sums of unit-variance steps; mass: the probability around each node of staying inside
    # the interval so far.
    nodes, weights = _rule(multipliers[0])
    mass = weights * np.exp(-(nodes**2) / 2) / math.sqrt(2 * math.pi)
    for look in range(2, max_looks + 1):
        allowed, root = spent[look] - spent[look - 1], math.sqrt(look)
        multipliers.append(
            find_root(
                lambda c, root=root, nodes=nodes, mass=mass, allowed=allowed: (  # type: ignore[misc]
                    float(mass @ ndtr(nodes - c * root)) - allowed
                ),
                0.0,
                12.0,
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
