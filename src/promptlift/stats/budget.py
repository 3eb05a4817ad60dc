"""How much an optimization may spend: passes of screening, of confirmation and of verification, and when to give up."""

from __future__ import annotations

import math
from typing import Final, Literal

__all__ = [
    "CONFIRM_PASSES_MAX",
    "PASSES_PER_ITERATION",
    "VARIANTS_MAX",
    "VERIFICATION_PASSES",
    "VERIFICATION_PASSES_MAX",
    "Mode",
    "check_budget",
    "confirm_passes",
    "futility_bound",
    "screening_plan",
]

Mode = Literal["exploratory", "validation"]

VARIANTS_MAX: Final = 5

# Passes after a win, which decide nothing and only say how large the lift is.
VERIFICATION_PASSES: Final = 4
VERIFICATION_PASSES_MAX: Final = 12

# Passes of an iteration.
PASSES_PER_ITERATION: Final[dict[Mode, int]] = {"exploratory": 1, "validation": 2}
CONFIRM_PASSES_MAX: Final = 16
# An exploratory confirmation is longer where less was spent on the choice of the finalist.
_EXPLORATORY_MAX: Final = {True: 8, False: 9}
_MANY: Final = 3
_TWO_SCREENS_FROM: Final = 4

# Variants kept after each screening pass, by their number.
_HALVING: Final = {2: (2, 1), 3: (3, 2, 2, 1), 4: (4, 2, 2, 1), 5: (5, 3, 3, 2, 2, 1)}

# Normal quantile of the chance below which a run is given up: 10 and 5 %.
_FUTILITY_Z: Final[dict[Mode, float]] = {"exploratory": 1.28, "validation": 1.64}


def screening_plan(variant_count: int, mode: Mode, max_iterations: int) -> tuple[int, ...]:
    """Return how many variants are kept after each screening pass; empty when there is nothing to screen.

    Exploratory: two passes for three and more variants, else one. Validation: successive halving.

    Raises
    ------
    ValueError
        When ``mode`` is unknown, or a number is out of range.
    """
    check_budget(variant_count, mode, max_iterations)
    if variant_count == 1:
        return ()
    if mode == "exploratory":
        # unspecified: how many of them the second pass still has. The better half, rounded up: with three variants that
        # makes the 345 conversations of the budget.
        if variant_count >= _MANY and max_iterations >= _TWO_SCREENS_FROM:
            return (math.ceil(variant_count / 2), 1)
        # unspecified: budgets in which screening would leave no pass to confirm. A run that could never name a winner
        # would only cost money, so that one iteration is one pass in which nothing is screened.
        return (1,) if max_iterations > 1 else ()
    halving = _HALVING[variant_count]
    # unspecified: the same in validation. It chooses in one pass until halving leaves two to confirm.
    return halving if PASSES_PER_ITERATION[mode] * max_iterations - len(halving) >= 2 else (1,)


def confirm_passes(variant_count: int, mode: Mode, max_iterations: int) -> int:
    """Return the most passes of confirmation: what screening leaves of the iterations, and at most 8, 9 or 16.

    An exploratory iteration is one pass, one of validation is two.

    Raises
    ------
    ValueError
        When ``mode`` is unknown, or a number is out of range.
    """
    screening = len(screening_plan(variant_count, mode, max_iterations))
    if mode == "validation":
        return max(1, min(CONFIRM_PASSES_MAX, PASSES_PER_ITERATION[mode] * max_iterations - screening))
    # A single variant has no screening pass, and the same confirmation as one of two.
    left = max_iterations - max(screening, 1)
    # unspecified: one iteration, where the formula gives nothing. At least one pass confirms.
    return max(1, min(_EXPLORATORY_MAX[variant_count >= _MANY], left))


def futility_bound(n10: int, n01: int, n: int, *, pairs_left: int, theta: float, mode: Mode) -> float:
    """Compute how much of the logarithm of the e-value may be missing before a run is given up.

    With ``q = (n10 + n01 + 1)/(n + 3)``, ``d = q pairs_left`` more discordant pairs are expected. Were the variant as good as
    ``theta`` says, their evidence would have the mean ``d mu`` and the standard deviation ``sigma sqrt(d)``, and the chance
    to gain more than ``d mu + z sigma sqrt(d)`` is 10 % (exploratory) or 5 % (validation). Stopping where more is missing
    can only lower the share of false winners.

    Parameters
    ----------
    n10, n01, n
        Pairs in which only the variant, only the original completed the task, and all pairs.
    pairs_left
        Pairs that the budget still has.
    theta, mode
        Those of the run.
    """
    discordant = (n10 + n01 + 1) / (n + 3) * pairs_left
    mean = theta * math.log(2.0 * theta) + (1.0 - theta) * math.log(2.0 * (1.0 - theta))
    sd = math.log(theta / (1.0 - theta)) * math.sqrt(theta * (1.0 - theta))
    return discordant * mean + _FUTILITY_Z[mode] * sd * math.sqrt(discordant)


def check_budget(variant_count: int, mode: Mode, max_iterations: int) -> None:
    """Refuse a mode that is unknown and numbers that are out of range.

    Raises
    ------
    ValueError
        The message names the setting.
    """
    if mode not in PASSES_PER_ITERATION:
        raise ValueError(f"mode must be exploratory or validation, not {mode!r}.")
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations!r}.")
    if not 1 <= variant_count <= VARIANTS_MAX:
        raise ValueError(f"variant_count must lie between 1 and {VARIANTS_MAX}, not {variant_count!r}.")
