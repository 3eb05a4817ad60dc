"""The most conversations that an optimization may hold: to choose a finalist, to confirm it, and to verify its lift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from promptlift.stats.budget import (
    CONFIRM_PASSES_MAX,
    PASSES_PER_ITERATION,
    VERIFICATION_PASSES,
    confirm_passes,
    screening_plan,
)

if TYPE_CHECKING:
    from promptlift.stats.budget import Mode

__all__ = ["PlannedSpending", "SearchBudget", "planned_spending"]

_ARMS: Final = 2


class PlannedSpending(NamedTuple):
    """The most conversations of each part of an optimization.

    Attributes
    ----------
    search
        Of the search, or of the screening where there is none.
    confirmation
        Of the confirmation, when the search or screening spends all it may.
    verification
        On top, after a win.
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

    Search and confirmation have together what screening and confirmation have without a search, and the search half of it
    at most. A generation takes an iteration as a pass of the confirmation does.

    Attributes
    ----------
    conversations
        The most that search and confirmation may hold together.
    search
        The most of them that the search may hold.
    iterations
        The most generations and passes of confirmation together.
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
            When a setting is out of range.
        """
        without = planned_spending(
            variants, mode, personas=personas, scenarios=scenarios, iterations=iterations
        )
        return cls(
            conversations=without.most,
            search=without.most // 2,
            iterations=PASSES_PER_ITERATION[mode] * iterations,
            pass_pairs=personas * scenarios,
        )

    @property
    def generations_max(self) -> int:
        """The most generations: at least one pass of confirmation is left."""
        return self.iterations - 1

    def confirm_passes(self, *, spent: int, generations: int) -> int:
        """Return the most passes of confirmation after a search; 0 where not even one fits."""
        affordable = (self.conversations - spent) // (_ARMS * self.pass_pairs)
        return max(0, min(CONFIRM_PASSES_MAX, affordable, self.iterations - generations))

    @property
    def fewest_passes(self) -> int:
        """Passes of the confirmation when the search spends all it may; 0 where the budget is too small for a search."""
        return self.confirm_passes(spent=self.search, generations=1)

    def to_json(self) -> dict[str, Any]:
        """Return the budget as plain JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


def planned_spending(
    variants: int,
    mode: Mode,
    *,
    personas: int = 5,
    scenarios: int = 3,
    iterations: int = 10,
    verification_passes: int = VERIFICATION_PASSES,
    search: bool = False,
    engine: str | None = None,
) -> PlannedSpending:
    """Return the most that an optimization may spend.

    A search and its confirmation have together what screening and confirmation have without a search, and the search
    half of it at most. Where that is too little for a search there is none, nor with a single variant, unless the engine
    is ``gepa``.

    Raises
    ------
    ValueError
        When ``mode`` is unknown, or a number is out of range.

    Examples
    --------
    >>> planned_spending(3, "exploratory").most, planned_spending(3, "validation").most
    (345, 690)
    >>> planned_spending(3, "exploratory", search=True)
    PlannedSpending(search=172, confirmation=150, verification=120, pairs=75, searches=True)
    """
    cells = personas * scenarios
    active, screening = variants, 0
    for keep in screening_plan(variants, mode, iterations):
        screening += (1 + active) * cells
        active = keep
    passes, searches = confirm_passes(variants, mode, iterations), False
    if search and (variants > 1 or engine == "gepa"):
        budget = SearchBudget.of(
            variants=variants, mode=mode, personas=personas, scenarios=scenarios, iterations=iterations
        )
        if budget.fewest_passes:
            screening, passes, searches = budget.search, budget.fewest_passes, True
    pairs = cells * passes
    return PlannedSpending(
        screening, _ARMS * pairs, _ARMS * cells * verification_passes, pairs, searches=searches
    )
