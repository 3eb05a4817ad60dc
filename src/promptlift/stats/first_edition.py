"""The rules of optimizations that began before ``theta`` was fixed: they end as they were planned."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from promptlift.stats import budget

if TYPE_CHECKING:
    from promptlift.stats.budget import Mode

__all__ = ["confirm_passes", "is_futile", "screening_plan"]

# Smallest true difference worth continuing for, a fraction.
_FUTILITY_TARGETS: Final[dict[Mode, float]] = {"exploratory": 0.10, "validation": 0.075}


def screening_plan(variant_count: int, mode: Mode, max_iterations: int) -> tuple[int, ...]:
    """Return how many variants are kept after each screening pass."""
    budget.check_budget(variant_count, mode, max_iterations)
    if mode == "exploratory" and variant_count > 1:
        return (1,) if max_iterations > 1 else ()
    return budget.screening_plan(variant_count, mode, max_iterations)


def confirm_passes(variant_count: int, mode: Mode, max_iterations: int) -> int:
    """Return the most passes of confirmation: ``min(6, iterations - 1)``, or ``2 iterations - 4`` in validation."""
    if mode == "exploratory":
        return max(1, min(6, max_iterations - 1))
    screening = len(screening_plan(variant_count, mode, max_iterations))
    formula = max(min(2, max_iterations), 2 * max_iterations - 4)
    return max(1, min(formula, 2 * max_iterations - screening))


def is_futile(n10: int, n01: int, n: int, mode: Mode) -> bool:
    """Whether the evidence is ten to one against a difference that would matter.

    ``-(D S - n D²/2) / var > ln 10`` with ``S = n10 - n01``, ``D`` the target of the mode and ``var = max((n10
    + n01 + 1)/(n + 3) - (S/n)², 0.02)``.
    """
    if n == 0:
        return False
    target, wins = _FUTILITY_TARGETS[mode], n10 - n01
    variance = max((n10 + n01 + 1) / (n + 3) - (wins / n) ** 2, 0.02)
    return -(target * wins - n * target**2 / 2.0) / variance > math.log(10.0)
