"""What a run fixes before its first conversation: schedule, evidence, and when it wins or gives up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from promptlift.stats import budget
from promptlift.stats.evidence import e_threshold, mcnemar_log_e_value

if TYPE_CHECKING:
    from promptlift.stats.budget import Mode
    from promptlift.stats.evidence import ConfidenceMode

__all__ = ["THETAS", "Design", "Discordance", "theta_of"]

# Share of discordant pairs that a variant worth finding wins.
THETAS: Final[dict[Mode, dict[ConfidenceMode, float]]] = {
    "exploratory": {"low": 0.62, "moderate": 0.67, "high": 0.70},
    "validation": {"low": 0.61, "moderate": 0.65, "high": 0.67},
}

# A logarithm that misses a threshold by rounding alone has reached it.
_ROUNDING: Final = 1e-12


class Discordance(Protocol):
    """The counts of pairs that decide."""

    n10: int
    n01: int

    @property
    def n(self) -> int:
        """All pairs."""


def theta_of(mode: Mode, confidence_mode: ConfidenceMode) -> float:
    """Return the theta of a run, fixed by its mode and confidence mode.

    Raises
    ------
    ValueError
        When one of them is unknown.
    """
    e_threshold(confidence_mode)
    if mode not in THETAS:
        raise ValueError(f"mode must be exploratory or validation, not {mode!r}.")
    return THETAS[mode][confidence_mode]


@dataclass(frozen=True, slots=True)
class Design:
    """The rules of one run.

    Attributes
    ----------
    mode, confidence_mode
        Those of the run.
    theta
        Of the likelihood ratio.
    keep
        How many variants are kept after each screening pass.
    confirm_passes
        The most passes of confirmation.
    """

    mode: Mode
    confidence_mode: ConfidenceMode
    theta: float
    keep: tuple[int, ...]
    confirm_passes: int

    @classmethod
    def of(
        cls,
        variant_count: int,
        mode: Mode,
        confidence_mode: ConfidenceMode,
        max_iterations: int,
    ) -> Design:
        """Return the rules for some settings.

        Raises
        ------
        ValueError
            When a setting is unknown or out of range; the message names it.
        """
        keep = budget.screening_plan(variant_count, mode, max_iterations)
        theta = theta_of(mode, confidence_mode)
        confirm_passes = budget.confirm_passes(variant_count, mode, max_iterations)
        return cls(mode, confidence_mode, theta, keep, confirm_passes)

    def log_e(self, pairs: Discordance) -> float:
        """Return the logarithm of the e-value of "the variant is better"."""
        return mcnemar_log_e_value(pairs.n10, pairs.n01, theta=self.theta)

    def wins(self, pairs: Discordance, *, e_needed: float) -> bool:
        """Whether the e-value is enough for a winner."""
        return self.log_e(pairs) >= math.log(e_needed) - _ROUNDING

    def gives_up(self, pairs: Discordance, *, pairs_left: int, e_needed: float) -> bool:
        """Whether a winner is so unlikely by now that the rest of the budget is better saved."""
        # Without a pair left it is the budget that ends the run.
        missing = math.log(e_needed) - self.log_e(pairs)
        return pairs_left > 0 and missing > budget.futility_bound(
            pairs.n10, pairs.n01, pairs.n, pairs_left=pairs_left, theta=self.theta, mode=self.mode
        )
