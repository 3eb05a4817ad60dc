"""The most conversations that an optimization may hold: to choose a finalist, to confirm it, and to verify its lift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from promptlift.stats.budget import (
    CONFIRM_PASSES_MAX,
    PASSES_PER_ITERATION,
    VERIFICATION_PASSES,
    confirm_passes,
    screening_plan,
)

if TYPE_CHECKING:
    from promptlift.stats.budget import Mode

__all__ = ["PlannedSpending", "planned_spending"]

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
    """

    search: int
    confirmation: int
    verification: int
    pairs: int

    @property
    def most(self) -> int:
        """Conversations without those of the verification."""
        return self.search + self.confirmation


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
    """Return the most that an optimization may spend.

    A search and its confirmation have together what screening and confirmation have without a search, and the search
    half of it at most.

    Raises
    ------
    ValueError
        When ``mode`` is unknown, or a number is out of range.

    Examples
    --------
    >>> planned_spending(3, "exploratory").most, planned_spending(3, "validation").most
    (345, 690)
    >>> planned_spending(3, "exploratory", search=True)
    PlannedSpending(search=172, confirmation=150, verification=120, pairs=75)
    """
    cells = personas * scenarios
    active, screening = variants, 0
    for keep in screening_plan(variants, mode, iterations):
        screening += (1 + active) * cells
        active = keep
    passes = confirm_passes(variants, mode, iterations)
    if search and variants > 1:
        whole = screening + _ARMS * cells * passes
        screening = whole // 2
        # A generation takes an iteration as a pass of the confirmation does.
        left = PASSES_PER_ITERATION[mode] * iterations - 1
        passes = max(0, min(CONFIRM_PASSES_MAX, (whole - screening) // (_ARMS * cells), left))
    pairs = cells * passes
    return PlannedSpending(screening, _ARMS * pairs, _ARMS * cells * verification_passes, pairs)
