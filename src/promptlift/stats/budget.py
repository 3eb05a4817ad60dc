"""The rules that a run fixes before its first conversation: its budget, its evidence, and when it stops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, Self

from promptlift.stats.evidence import e_threshold, mcnemar_log_e_value

if TYPE_CHECKING:
    from promptlift.stats.evidence import ConfidenceMode

Mode = Literal["exploratory", "validation"]

VARIANTS_MAX: Final = 5

# Passes after a win, which decide nothing and only measure how large the lift is.
VERIFICATION_PASSES: Final = 4
VERIFICATION_PASSES_MAX: Final = 12

# Passes per iteration.
PASSES_PER_ITERATION: Final[dict[Mode, int]] = {"exploratory": 1, "validation": 2}
CONFIRM_PASSES_MAX: Final = 16
# An exploratory confirmation is longer if less was spent on choosing the finalist.
_EXPLORATORY_MAX: Final = {True: 8, False: 9}
_MANY: Final = 3
_TWO_SCREENS_FROM: Final = 4

# Variants kept after each screening pass, by their number.
_HALVING: Final = {2: (2, 1), 3: (3, 2, 2, 1), 4: (4, 2, 2, 1), 5: (5, 3, 3, 2, 2, 1)}

# Normal quantile of the probability below which a run is given up: 10 and 5%.
_FUTILITY_Z: Final[dict[Mode, float]] = {"exploratory": 1.28, "validation": 1.64}


def screening_plan(variant_count: int, mode: Mode, max_iterations: int) -> tuple[int, ...]:
    """Return how many variants are kept after each screening pass; empty if there is nothing to screen.

    Exploratory: two passes for three or more variants, otherwise one. Validation: successive halving.

    Raises
    ------
    ValueError
        If ``mode`` is unknown, or a number is out of range.
    """
    check_budget(variant_count, mode, max_iterations)
    if variant_count == 1:
        return ()
    if mode == "exploratory":
        # unspecified: how many variants remain in the second pass. The better half, rounded up: with three
        # variants that makes the budget of 345 conversations.
        if variant_count >= _MANY and max_iterations >= _TWO_SCREENS_FROM:
            return (math.ceil(variant_count / 2), 1)
        # unspecified: budgets in which screening would leave no pass to confirm. A run that could never have
        # a winner would only cost money, so one iteration is a single pass without screening.
        return (1,) if max_iterations > 1 else ()
    halving = _HALVING[variant_count]
    # unspecified: the same in validation. One pass chooses until halving leaves two passes to confirm.
    return halving if PASSES_PER_ITERATION[mode] * max_iterations - len(halving) >= 2 else (1,)


def confirm_passes(variant_count: int, mode: Mode, max_iterations: int) -> int:
    """Return the maximum passes of confirmation: the iterations left by screening, at most 8, 9 or 16.

    An exploratory iteration is one pass, a validation iteration two.

    Raises
    ------
    ValueError
        If ``mode`` is unknown, or a number is out of range.
    """
    screening = len(screening_plan(variant_count, mode, max_iterations))
    if mode == "validation":
        return max(1, min(CONFIRM_PASSES_MAX, PASSES_PER_ITERATION[mode] * max_iterations - screening))
    # A single variant has no screening pass, and the same confirmation as with two.
    left = max_iterations - max(screening, 1)
    # unspecified: one iteration, for which the formula gives zero. At least one pass confirms.
    return max(1, min(_EXPLORATORY_MAX[variant_count >= _MANY], left))


def futility_bound(n10: int, n01: int, n: int, *, pairs_left: int, theta: float, mode: Mode) -> float:
    """Compute how far the log e-value may be below its threshold before a run is given up.

    With ``q = (n10 + n01 + 1)/(n + 3)``, ``d = q pairs_left`` more discordant pairs are expected. If the
    variant were as good as ``theta``, their evidence would have the mean ``d mu`` and the standard deviation
    ``sigma sqrt(d)``, and the probability of gaining more than ``d mu + z sigma sqrt(d)`` is 10%
    (exploratory) or 5% (validation). Stopping if more is missing can only lower the share of false winners.

    Parameters
    ----------
    n10, n01, n
        Pairs in which only the variant, only the original completed the task, and all pairs.
    pairs_left
        Pairs left in the budget.
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
        A setting is invalid; the message names it.
    """
    if mode not in PASSES_PER_ITERATION:
        raise ValueError(f"mode must be exploratory or validation, not {mode!r}.")
    if max_iterations < 1:
        raise ValueError(f"max_iterations must be at least 1, not {max_iterations!r}.")
    if not 1 <= variant_count <= VARIANTS_MAX:
        raise ValueError(f"variant_count must lie between 1 and {VARIANTS_MAX}, not {variant_count!r}.")


_ARMS: Final = 2
# A search may use one in so many conversations. An exploratory run has few: as pairs they name more than they improve.
_SEARCH_PART: Final[dict[Mode, int]] = {"exploratory": 3, "validation": 2}


class PlannedSpending(NamedTuple):
    """The maximum number of conversations of each part of an optimization.

    Attributes
    ----------
    search
        Of the search, or of the screening without a search.
    confirmation
        Of the confirmation, if the search or screening uses its whole budget.
    verification
        In addition, after a win.
    pairs
        Pairs of that confirmation.
    searches
        Whether there is a search.
    """

    search: int
    confirmation: int
    verification: int
    pairs: int
    searches: bool

    @property
    def most(self) -> int:
        """Conversations without those of the verification."""
        return self.search + self.confirmation


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Conversations and iterations of an optimization with a search.

    Search and confirmation together have the budget of screening and confirmation without a search, of which
    the search may use at most a third (exploratory) or half (validation). A generation takes an iteration, like a pass of the confirmation.

    Attributes
    ----------
    conversations
        Maximum conversations of search and confirmation together.
    search
        Maximum of these for the search.
    iterations
        Maximum generations and passes of confirmation together.
    pass_pairs
        Pairs of one pass.
    """

    conversations: int
    search: int
    iterations: int
    pass_pairs: int

    @classmethod
    def of(cls, *, variants: int, mode: Mode, personas: int, scenarios: int, iterations: int) -> Self:
        """Return the budget of some settings.

        Raises
        ------
        ValueError
            If a setting is out of range.
        """
        without = planned_spending(
            variants, mode, personas=personas, scenarios=scenarios, iterations=iterations
        )
        return cls(
            conversations=without.most,
            search=without.most // _SEARCH_PART[mode],
            iterations=PASSES_PER_ITERATION[mode] * iterations,
            pass_pairs=personas * scenarios,
        )

    @property
    def generations_max(self) -> int:
        """The maximum number of generations, which leaves at least one pass of confirmation."""
        return self.iterations - 1

    def confirm_passes(self, *, spent: int, generations: int) -> int:
        """Return the maximum passes of confirmation after a search; 0 if not even one fits."""
        affordable = (self.conversations - spent) // (_ARMS * self.pass_pairs)
        return max(0, min(CONFIRM_PASSES_MAX, affordable, self.iterations - generations))

    @property
    def fewest_passes(self) -> int:
        """Passes of the confirmation if the search uses its whole budget; 0 if the budget is too small for a search."""
        return self.confirm_passes(spent=self.search, generations=1)


def planned_spending(
    variants: int,
    mode: Mode,
    *,
    personas: int = 5,
    scenarios: int = 3,
    iterations: int = 10,
    verification_passes: int = VERIFICATION_PASSES,
    search: bool = False,
) -> PlannedSpending:
    """Return the maximum that an optimization may spend.

    A search and its confirmation together have the budget of screening and confirmation without a search, of
    which the search may use at most a third (exploratory) or half (validation). There is no search if that is too little, or with a single variant.

    Raises
    ------
    ValueError
        If ``mode`` is unknown, or a number is out of range.

    Examples
    --------
    >>> planned_spending(3, "exploratory").most, planned_spending(3, "validation").most
    (345, 690)
    >>> planned_spending(3, "exploratory", search=True)
    PlannedSpending(search=115, confirmation=210, verification=120, pairs=105, searches=True)
    """
    cells = personas * scenarios
    active, screening = variants, 0
    for keep in screening_plan(variants, mode, iterations):
        screening += (1 + active) * cells
        active = keep
    passes, searches = confirm_passes(variants, mode, iterations), False
    if search and variants > 1:
        budget = SearchBudget.of(
            variants=variants, mode=mode, personas=personas, scenarios=scenarios, iterations=iterations
        )
        if budget.fewest_passes:
            screening, passes, searches = budget.search, budget.fewest_passes, True
    pairs = cells * passes
    return PlannedSpending(
        screening, _ARMS * pairs, _ARMS * cells * verification_passes, pairs, searches=searches
    )


# Share of discordant pairs that a variant worth finding wins.
THETAS: Final[dict[Mode, dict[ConfidenceMode, float]]] = {
    "exploratory": {"low": 0.62, "moderate": 0.67, "high": 0.70},
    "validation": {"low": 0.61, "moderate": 0.65, "high": 0.67},
}

# A logarithm that misses a threshold only by rounding has reached it.
_ROUNDING: Final = 1e-12


class Discordance(Protocol):
    """The counts of discordant pairs."""

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
        If one of them is unknown.
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
    mode
        That of the run.
    theta
        Theta of the likelihood ratio.
    keep
        How many variants are kept after each screening pass.
    confirm_passes
        Maximum passes of confirmation.
    """

    mode: Mode
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
            If a setting is unknown or out of range; the message names it.
        """
        keep = screening_plan(variant_count, mode, max_iterations)
        theta = theta_of(mode, confidence_mode)
        return cls(mode, theta, keep, confirm_passes(variant_count, mode, max_iterations))

    def log_e(self, pairs: Discordance) -> float:
        """Return the logarithm of the e-value of "the variant is better"."""
        return mcnemar_log_e_value(pairs.n10, pairs.n01, theta=self.theta)

    def wins(self, pairs: Discordance, *, e_needed: float) -> bool:
        """Return whether the e-value suffices for a winner."""
        return self.log_e(pairs) >= math.log(e_needed) - _ROUNDING

    def gives_up(self, pairs: Discordance, *, pairs_left: int, e_needed: float) -> bool:
        """Return whether a winner has become so unlikely that the rest of the budget is better saved."""
        # Without remaining pairs, the budget ends the run.
        missing = math.log(e_needed) - self.log_e(pairs)
        return pairs_left > 0 and missing > futility_bound(
            pairs.n10, pairs.n01, pairs.n, pairs_left=pairs_left, theta=self.theta, mode=self.mode
        )
