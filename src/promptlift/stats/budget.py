"""How much an optimization may spend: passes of screening and of confirmation, and when to give up."""

from __future__ import annotations

import math
from typing import Final, Literal

__all__ = ["FUTILITY_TARGETS", "VARIANTS_MAX", "Mode", "confirm_passes", "is_futile", "screening_plan"]

Mode = Literal["exploratory", "validation"]

VARIANTS_MAX: Final = 5

# Smallest true difference worth continuing for, a fraction.
FUTILITY_TARGETS: Final[dict[Mode, float]] = {"exploratory": 0.10, "validation": 0.075}

_PASSES_OF_VALIDATION: Final = 2  # an iteration

# Variants kept after each screening pass, by their number.
_HALVING: Final = {2: (2, 1), 3: (3, 2, 2, 1), 4: (4, 2, 2, 1), 5: (5, 3, 3, 2, 2, 1)}


def screening_plan(variant_count: int, mode: Mode, max_iterations: int) -> tuple[int, ...]:
    """Return how many variants are kept after each screening pass; empty when there is nothing to screen.

    Exploratory: one pass keeps one. Validation: successive halving.

    Raises
    ------
    ValueError
        When ``mode`` is unknown, or a number is out of range.
    """
    _check(mode, max_iterations)
    if not 1 <= variant_count <= VARIANTS_MAX:
        raise ValueError(f"variant_count must lie between 1 and {VARIANTS_MAX}, not {variant_count!r}.")
    if variant_count == 1:
        return ()
    # unspecified: budgets in which screening would leave no pass to confirm. A run that could never name a
    # winner would only cost money. One exploratory iteration is one pass, so nothing is screened; validation
    # chooses in one pass, as in exploratory mode, until halving leaves two.
    if mode == "exploratory":
        return (1,) if max_iterations > 1 else ()
    halving = _HALVING[variant_count]
    return halving if _PASSES_OF_VALIDATION * max_iterations - len(halving) >= 2 else (1,)


def confirm_passes(mode: Mode, max_iterations: int, *, screening: int = 0) -> int:
    """Return the most passes of confirmation: ``min(6, iterations - 1)``, or ``2 iterations - 4`` in validation.

    Parameters
    ----------
    screening
        Passes that screening takes. An exploratory iteration is one pass, one of validation is two; with the
        confirmation they are never more than ``max_iterations`` iterations.

    Raises
    ------
    ValueError
        When ``mode`` is unknown, or ``max_iterations`` is below 1.
    """
    _check(mode, max_iterations)
    # unspecified: one or two iterations, where the formulas give nothing. At least one pass confirms; two in
    # validation where they fit.
    if mode == "exploratory":
        return max(1, min(6, max_iterations - 1))
    formula = max(min(2, max_iterations), 2 * max_iterations - 4)
    return max(1, min(formula, _PASSES_OF_VALIDATION * max_iterations - screening))


def is_futile(n10: int, n01: int, n: int, mode: Mode) -> bool:
    """Whether the evidence is ten to one against a difference that would matter.

    ``-(D S - n D²/2) / var > ln 10`` with ``S = n10 - n01``, ``D`` the target of the mode and ``var = max((n10
    + n01 + 1)/(n + 3) - (S/n)², 0.02)``. Stopping here can only lower the share of false winners.
    """
    if n == 0:
        return False
    target, wins = FUTILITY_TARGETS[mode], n10 - n01
    variance = max((n10 + n01 + 1) / (n + 3) - (wins / n) ** 2, 0.02)
    return -(target * wins - n * target**2 / 2.0) / variance > math.log(10.0)


def _check(mode: Mode, max_iterations: int) -> None:
    if mode not in FUTILITY_TARGETS:
        raise ValueError(f"mode must be exploratory or validation, not {mode!r}.")
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations!r}.")
