"""What a search for candidates leaves to the experiment that confirms its finalist."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Searched"]


@dataclass(frozen=True, slots=True)
class Searched:
    """A search that came before, or is still under way. Its conversations never enter the confirmation.

    Attributes
    ----------
    finalist
        Number of the candidate to confirm; ``None`` while the search is under way.
    passes, cells, conversations
        What it has used.
    confirm_passes
        The most passes of confirmation.
    conversations_max
        The most conversations of search and confirmation together.
    """

    finalist: int | None
    passes: int
    cells: int
    conversations: int
    confirm_passes: int
    conversations_max: int

    def most(self, *, pair_cells: int) -> int:
        """Return the most conversations of search and confirmation, as far as is known."""
        if self.finalist is None:
            return self.conversations_max
        return self.conversations + 2 * pair_cells * self.confirm_passes

    def to_state(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return asdict(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from `to_state`."""
        return cls(**state)
