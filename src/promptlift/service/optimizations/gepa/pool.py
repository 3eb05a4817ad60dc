"""The candidates of GEPA, kept as those of our own search are, so that all that reads a search can read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from promptlift.service.search.evidence import record_of
from promptlift.service.search.pool import Member, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from promptlift.service.search.edits import Edit

__all__ = ["MINIBATCH", "REFUSED", "GepaPool"]

# Conversations that one text is written from: GEPA's own default, named because budget and cells depend on it.
MINIBATCH: Final = 3
# unspecified: what GEPA is told of a conversation that was lost, or whose judge left the goal open. It says nothing for or
# against a candidate.
LOST: Final = 0.5
# Below every score, so that GEPA neither accepts a candidate nor writes others from it.
REFUSED: Final = -1.0


@dataclass(slots=True)
class GepaPool(Search):
    """The candidates of one run of GEPA.

    Each is the original with one edit that replaces all of it.

    Attributes
    ----------
    validated
        The first cells, on which GEPA scores every candidate that it accepts.
    goal
        Whether a goal is given: GEPA is told how far conversations met it, not whether they completed the task.
    """

    validated: int = 0
    goal: bool = False

    def add(self, edit: Edit, parent: int) -> Member:
        """Take a text that GEPA is going to try."""
        generation = self.members[parent].generation + 1
        member = Member(len(self.members), generation, parent, None, (edit.id,), base=parent)
        self.edits[edit.id] = edit
        self.members.append(member)
        self.generation = max(self.generation, generation)
        return member

    def played(
        self,
        number: int,
        outcomes: Mapping[int, bool | None],
        scores: Mapping[int, Mapping[int, float]] | None = None,
    ) -> None:
        """Take how conversations of a candidate ended, by cell; ``scores`` as of ``Search``."""
        for cell, completed in outcomes.items():
            self.outcomes.setdefault(cell, {})[number] = completed
        self._score(scores or {})
        self.spent = sum(map(len, self.outcomes.values()))
        if self.members[number].state == "testing":
            # What it talks later, as one that others are made from, tests these others.
            self.members[number].spent = self.spent

    def score(self, number: int, cell: int) -> float:
        """Return what GEPA is told of a conversation."""
        reached = self.scores.get(cell, {}).get(number) if self.goal else self.outcomes[cell][number]
        return LOST if reached is None else float(reached)

    def loses_completion(self, member: Member) -> bool:
        """Whether a candidate completes fewer tasks than the one that it was made from, which no goal makes up for.

        Without a goal GEPA's own rules are all that there is.
        """
        record = record_of(self.outcomes, member.number, member.base)
        return self.goal and record.won < record.lost

    def settle(self, member: Member, state: str) -> None:
        """Note what GEPA made of a candidate, and how it had fared against the one that it was made from."""
        record = record_of(self.outcomes, member.number, member.base)
        member.state, member.reason = state, self._how(member, record)

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
            return sum(self.score(member.number, cell) for cell in range(self.validated))
        record = record_of(self.outcomes, member.number, member.base)
        return float(record.won - record.lost)
