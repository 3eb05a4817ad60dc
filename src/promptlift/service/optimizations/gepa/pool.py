"""The candidates of GEPA, kept as those of our own search are, so that all that reads a search can read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.service.search.evidence import record_of
from promptlift.service.search.pool import Member, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.service.search.edits import Edit

__all__ = ["MINIBATCH", "GepaPool", "score_of"]

# Conversations that one text is written from: GEPA's own default, named because budget and cells depend on it.
MINIBATCH: Final = 3
# A conversation that was lost says nothing for or against a candidate.
LOST: Final = 0.5


def score_of(completed: bool | None) -> float:  # noqa: FBT001 - one outcome
    """Return what GEPA is told of a conversation."""
    return LOST if completed is None else float(completed)


@dataclass(slots=True)
class GepaPool(Search):
    """The candidates of one run of GEPA.

    Each is the original with one edit that replaces all of it.

    Attributes
    ----------
    validated
        The first cells, on which GEPA scores every candidate that it accepts.
    """

    validated: int = 0

    def add(self, edit: Edit, parent: int) -> Member:
        """Take a text that GEPA is going to try."""
        generation = self.members[parent].generation + 1
        member = Member(len(self.members), generation, parent, None, (edit.id,), base=parent)
        self.edits[edit.id] = edit
        self.members.append(member)
        self.generation = max(self.generation, generation)
        return member

    def played(self, number: int, outcomes: Mapping[int, bool | None]) -> None:
        """Take how conversations of a candidate ended, by cell."""
        for cell, completed in outcomes.items():
            self.outcomes.setdefault(cell, {})[number] = completed
        self.spent = sum(map(len, self.outcomes.values()))
        if self.members[number].state == "testing":
            # What it talks later, as one that others are made from, tests these others.
            self.members[number].spent = self.spent

    def settle(self, member: Member, state: str) -> None:
        """Note what GEPA made of a candidate, and how it had fared against the one that it was made from."""
        record = record_of(self.outcomes, member.number, member.base)
        member.state, member.reason = (
            state,
            f"It won {record.won} and lost {record.lost} of {record.n} cells.",
        )

    def finalist(self) -> Member | None:
        """Return the accepted candidate that GEPA scored best, the first of equals; else the best one that it rejected.

        As in GEPA the original counts among them, so there may be a finalist that only comes second to it: the
        confirmation tells.
        """
        tested = [one for one in self.members[1:] if one.spent]
        accepted = [one for one in tested if one.state == "pool"]
        return max(accepted or tested, key=self._merit, default=None)

    def _merit(self, member: Member) -> float:
        if member.state == "pool":
            return sum(score_of(self.outcomes[cell][member.number]) for cell in range(self.validated))
        record = record_of(self.outcomes, member.number, member.base)
        return float(record.won - record.lost)
