"""The evidence of a paired comparison: the e-value of its discordant pairs, and the confidence derived from it.

There are two e-values. If ``theta`` was fixed before the run: Wald's likelihood ratio. If not, as for
existing data: a mixture over all win probabilities of a better variant, because a theta chosen after the fact
proves nothing.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

ConfidenceMode = Literal["low", "moderate", "high"]
ConfidenceMethod = Literal["sequential-likelihood-ratio", "sequential-mixture"]

LIKELIHOOD_RATIO: Final[ConfidenceMethod] = "sequential-likelihood-ratio"
MIXTURE: Final[ConfidenceMethod] = "sequential-mixture"

CONFIDENCE_THRESHOLDS: Final[dict[ConfidenceMode, float]] = {"low": 0.80, "moderate": 0.90, "high": 0.95}
_E_THRESHOLDS: Final[dict[ConfidenceMode, float]] = {"low": 4.0, "moderate": 9.0, "high": 19.0}

# The prior of the win probability of a discordant pair is Beta(8, 8), truncated to "the variant is better".
_PRIOR: Final = 8
_LOG_B_PRIOR: Final = 2 * math.lgamma(_PRIOR) - math.lgamma(2 * _PRIOR)
_TAIL_UNDERFLOWS: Final = 1e-250


def check_counts(**counts: int) -> tuple[int, ...]:
    """Return counts as integers, refusing anything else.

    Raises
    ------
    ValueError
        If a value is not an integer of at least 0; the message names it.
    """
    checked = []
    for name, value in counts.items():
        try:
            count = operator.index(value)
        except TypeError:
            # Counts from a float column are accepted if they are integers.
            if not (isinstance(value, float | np.floating) and float(value).is_integer()):
                raise ValueError(f"{name} must be a whole number of at least 0, not {value!r}.") from None
            count = int(value)
        if count < 0:
            raise ValueError(f"{name} must be a whole number of at least 0, not {value!r}.")
        checked.append(count)
    return tuple(checked)


def mcnemar_log_e_value(n10: int, n01: int, *, theta: float | None = None) -> float:
    """Compute the natural logarithm of the e-value; see `mcnemar_e_value`. Finite for any counts."""
    n10, n01 = check_counts(n10=n10, n01=n01)
    return _log_mixture(n10, n01) if theta is None else float(_log_likelihood_ratio(n10, n01, theta))


def _log_likelihood_ratio(n10: ArrayLike, n01: ArrayLike, theta: float) -> NDArray[np.float64]:
    if not 0.5 < theta < 1.0:
        raise ValueError(f"theta must lie between 0.5 and 1, not {theta!r}.")
    wins, losses = np.asarray(n10, np.float64), np.asarray(n01, np.float64)
    return wins * math.log(2.0 * theta) + losses * math.log(2.0 * (1.0 - theta))


def _log_mixture(n10: int, n01: int) -> float:
    from scipy.special import betainc, betaln  # noqa: PLC0415  (80 ms; rates never need it)

    discordant = n10 + n01
    if discordant == 0:
        return 0.0
    a, b = n01 + _PRIOR, n10 + _PRIOR
    tail = float(betainc(a, b, 0.5))
    if tail > _TAIL_UNDERFLOWS:
        return (discordant + 1) * math.log(2) + float(betaln(b, a)) + math.log(tail) - _LOG_B_PRIOR
    # Far on the losing side the tail is below the smallest float. There B(a, b) I(a, b) at one half is
    # 2^-(a+b) / a times a series of positive terms (DLMF 8.17.8), whose ratio stays clearly below 1.
    steps = np.arange(200_000, dtype=np.float64)
    growth = np.cumsum(np.log((a + b + steps) / (a + 1 + steps)) - math.log(2))
    series = 1.0 + float(np.exp(growth).sum())
    return math.log(series) - math.log(a) - (2 * _PRIOR - 1) * math.log(2) - _LOG_B_PRIOR


def mcnemar_e_value(n10: int, n01: int, *, theta: float | None = None) -> float:
    """Compute the e-value of "the variant is better" from the discordant pairs of a paired comparison.

    With ``theta``, Wald's likelihood ratio::

        E = (2 theta)^n10 (2 (1 - theta))^n01

    Without, a mixture over all win probabilities above one half, with ``B`` the beta function and ``I`` the regularised
    incomplete beta function::

        E = 2^(n10 + n01) B(n10 + 8, n01 + 8) I_1/2(n01 + 8, n10 + 8) / (B(8, 8) / 2)

    With identical prompts every discordant pair is a fair coin given all pairs before it, so that ``E`` is a
    martingale with mean 1 and ``P(E ever >= x) <= 1/x``, at any number of looks (Ville 1939). It may be
    read after every pass.

    Parameters
    ----------
    n10
        Pairs in which only the variant completed the task.
    n01
        Pairs in which only the original did.
    theta
        Share of discordant pairs that a variant worth finding wins, between 0.5 and 1. It must have been
        fixed before the data were seen: chosen afterwards it makes the e-value too large. ``None`` needs no
        such choice, but has less power with few pairs.

    Returns
    -------
    float
        1 for no evidence. Infinite above 1.8e308; `mcnemar_log_e_value` stays finite.

    Raises
    ------
    ValueError
        If a count is negative or not whole, or ``theta`` is out of range.

    References
    ----------
    A. Wald (1945), Sequential tests of statistical hypotheses. Annals of Mathematical Statistics 16, 117-186.

    Examples
    --------
    >>> round(mcnemar_e_value(31, 14), 6)
    11.474403
    >>> round(mcnemar_e_value(31, 14, theta=0.67), 6)
    25.933662
    """
    log_e = mcnemar_log_e_value(n10, n01, theta=theta)
    return math.exp(log_e) if log_e < 709.0 else math.inf


def log_e_values(
    n10: NDArray[np.float64], n01: NDArray[np.float64], *, theta: float | None = None
) -> NDArray[np.float64]:
    """Compute many log e-values at once; without ``theta``, minus infinity if the variant is far behind.

    Intended for boundaries, which are on the winning side: there it equals `mcnemar_log_e_value`.
    """
    if theta is not None:
        return _log_likelihood_ratio(n10, n01, theta)
    from scipy.special import betainc, betaln  # noqa: PLC0415  (80 ms; rates never need it)

    a, b = n01 + _PRIOR, n10 + _PRIOR
    with np.errstate(divide="ignore"):
        log_tail = np.log(betainc(a, b, 0.5))
    values: NDArray[np.float64] = (n10 + n01 + 1) * math.log(2) + betaln(b, a) + log_tail - _LOG_B_PRIOR
    return np.where(n10 + n01 == 0, 0.0, values)


def confidence_from_log(log_e: float) -> float:
    """Compute ``E / (1 + E)`` from the logarithm of ``E``, without overflow."""
    if log_e >= 0:
        return 1.0 / (1.0 + math.exp(-log_e))
    return math.exp(log_e) / (1.0 + math.exp(log_e))


def confidence(n10: int, n01: int, *, theta: float | None = None) -> float:
    """Compute the confidence that the variant is better than the original: ``E / (1 + E)``.

    Two readings are true. Error: if the variant is no better, it ever reaches 0.80 / 0.90 / 0.95 with
    probability at most 0.25 / 0.111 / 0.053. Probability: with even prior odds that the finalist is better,
    about a share ``c`` of the results reported at ``c`` are truly better. It is neither ``1 - p`` nor the
    probability of being the best of several.

    Parameters
    ----------
    n10, n01
        Pairs in which only the variant, only the original completed the task.
    theta
        The run's theta, fixed before its first pair, otherwise ``None``; see `mcnemar_e_value`.

    Returns
    -------
    float
        Between 0 and 1; 0.5 before any discordant pair.

    Raises
    ------
    ValueError
        If a count is negative or not whole, or ``theta`` is out of range.

    Examples
    --------
    >>> round(confidence(31, 14), 6)
    0.919836
    >>> confidence(0, 0)
    0.5
    """
    return confidence_from_log(mcnemar_log_e_value(n10, n01, theta=theta))


def confidence_calibrated(e: float, base_rate: float) -> float:
    """Compute the probability that the variant is better, given the share of finalists that are.

    ``base_rate E / (1 - base_rate + base_rate E)``. Only for an account with at least 30 confirmed winners
    with known outcomes in production; shown in addition to ``confidence``, never instead of it.

    Parameters
    ----------
    e
        The e-value.
    base_rate
        Share of confirmed winners that later held in production, strictly between 0 and 1.

    Raises
    ------
    ValueError
        If ``e`` is negative or ``base_rate`` is not between 0 and 1.
    """
    if not 0.0 < base_rate < 1.0:
        raise ValueError(f"base_rate must be a number between 0 and 1, not {base_rate!r}.")
    if not e >= 0.0:
        raise ValueError(f"e must be a number of at least 0, not {e!r}.")
    if math.isinf(e):
        return 1.0
    return base_rate * e / (1.0 - base_rate + base_rate * e)


def e_threshold(confidence_mode: ConfidenceMode) -> float:
    """Return the e-value that makes a finalist the winner: 4 / 9 / 19 for low / moderate / high.

    Parameters
    ----------
    confidence_mode
        ``low``, ``moderate`` or ``high``.

    Raises
    ------
    ValueError
        If the mode is unknown.
    """
    if confidence_mode not in _E_THRESHOLDS:
        raise ValueError(f"confidence_mode must be low, moderate or high, not {confidence_mode!r}.")
    return _E_THRESHOLDS[confidence_mode]
