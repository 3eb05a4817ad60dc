"""What a search may spend, and what it leaves to the confirmation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

from promptlift.stats.experiment import Experiment

if TYPE_CHECKING:
    from promptlift.stats.budget import Mode

__all__ = ["Budget"]

# Arms of a pair.
PAIR: Final = 2
CONFIRM_PASSES_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Budget:
    """Conversations and iterations of one optimization with a search.

    Attributes
    ----------
    conversations
        The most that search and confirmation may hold together: what the same settings cost without a search.
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
        same = Experiment(
            variants, mode, "moderate", personas, scenarios, iterations, verification_passes=0
        ).verdict()
        most = same.progress.conversations_max
        return cls(
            conversations=most,
            search=most // 2,
            iterations=iterations * (2 if mode == "validation" else 1),
            pass_pairs=personas * scenarios,
        )

    @property
    def generations_max(self) -> int:
        """The most generations: at least one pass of confirmation is left."""
        return self.iterations - 1

    def confirm_passes(self, *, spent: int, generations: int) -> int:
        """Return the most passes of confirmation after a search; 0 where not even one fits."""
        affordable = (self.conversations - spent) // (PAIR * self.pass_pairs)
        return max(0, min(CONFIRM_PASSES_MAX, affordable, self.iterations - generations))

    def to_json(self) -> dict[str, Any]:
        """Return the budget as plain JSON."""
        return {name: getattr(self, name) for name in self.__slots__}
