"""What a run fixes before its first conversation: schedule, evidence, and when it wins or gives up."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from promptlift.stats import budget, first_edition
from promptlift.stats.evidence import LIKELIHOOD_RATIO, MIXTURE, e_threshold, mcnemar_log_e_value

if TYPE_CHECKING:
    from promptlift.stats.budget import Mode
    from promptlift.stats.evidence import ConfidenceMethod, ConfidenceMode

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
    method
        What its confidence is made of.
    theta
        Of the likelihood ratio; ``None`` for the mixture.
    keep
        How many variants are kept after each screening pass.
    confirm_passes
        The most passes of confirmation.
    """

    mode: Mode
    confidence_mode: ConfidenceMode
    method: ConfidenceMethod
    theta: float | None
    keep: tuple[int, ...]
    confirm_passes: int

    @classmethod
    def of(
        cls,
        variant_count: int,
        mode: Mode,
        confidence_mode: ConfidenceMode,
        max_iterations: int,
        *,
        method: ConfidenceMethod = LIKELIHOOD_RATIO,
    ) -> Design:
        """Return the rules for some settings; the mixture has those of the runs that were begun with it.

        Raises
        ------
        ValueError
            When a setting is unknown or out of range; the message names it.
        """
        if method not in {LIKELIHOOD_RATIO, MIXTURE}:
            raise ValueError(f"confidence_method must be {LIKELIHOOD_RATIO} or {MIXTURE}, not {method!r}.")
        rules = budget if method == LIKELIHOOD_RATIO else first_edition
        keep = rules.screening_plan(variant_count, mode, max_iterations)
        theta = theta_of(mode, confidence_mode)
        return cls(
            mode,
            confidence_mode,
            method,
            theta if method == LIKELIHOOD_RATIO else None,
            keep,
            rules.confirm_passes(variant_count, mode, max_iterations),
        )

    def log_e(self, pairs: Discordance) -> float:
        """Return the logarithm of the e-value of "the variant is better"."""
        return mcnemar_log_e_value(pairs.n10, pairs.n01, theta=self.theta)

    def wins(self, pairs: Discordance, *, e_needed: float) -> bool:
        """Whether the e-value is enough for a winner."""
        return self.log_e(pairs) >= math.log(e_needed) - _ROUNDING

    def gives_up(self, pairs: Discordance, *, look: int, pairs_left: int, e_needed: float) -> bool:
        """Whether a winner is so unlikely by now that the rest of the budget is better saved."""
        if self.theta is None:
            return look >= 2 and first_edition.is_futile(pairs.n10, pairs.n01, pairs.n, self.mode)
        # Without a pair left it is the budget that ends the run.
        missing = math.log(e_needed) - self.log_e(pairs)
        return pairs_left > 0 and missing > budget.futility_bound(
            pairs.n10, pairs.n01, pairs.n, pairs_left=pairs_left, theta=self.theta, mode=self.mode
        )
