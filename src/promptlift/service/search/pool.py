"""The course of a search as a state machine: what is written and tested next, who enters the pool, who is the finalist.

It knows no model and no database: the same seed, the same edits and the same outcomes give the same course.
"""

from __future__ import annotations

import random
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self

from promptlift.service.search.edits import Edit
from promptlift.service.search.evidence import Worth, record_of, worth
from promptlift.service.search.pareto import draw_parent

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Child", "Member", "Search", "Talk", "Write"]

# Cells of a batch, and the fewest that say anything.
BATCH: Final = 8
BATCH_LEAST: Final = 4
LOOKS: Final = 2
# A parent is drawn from the front this often; else it is the best by all evidence.
FROM_FRONT: Final = 0.25
# The finalist has the best mean less this many standard deviations.
CAUTION: Final = 0.3
# An edit whose worth is below this is tried without.
USELESS: Final = 0.0
ORIGINAL: Final = 0


class Child(NamedTuple):
    """A candidate as it was written: its whole set of edits, by id."""

    parent: int
    edits: tuple[str, ...]
    other_parent: int | None = None


class Write(NamedTuple):
    """Write candidates: each from the one before, the first from ``parent``; ``given`` are made without a model."""

    parent: int
    children: int
    given: tuple[Child, ...] = ()


class Talk(NamedTuple):
    """Hold conversations of some candidates on new cells."""

    arms: tuple[int, ...]
    first_cell: int
    cells: int


@dataclass(slots=True)
class Member:
    """One candidate; the original is number 0.

    Attributes
    ----------
    base
        Whom it was tested against first.
    """

    number: int
    generation: int
    parent: int | None
    other_parent: int | None
    edits: tuple[str, ...]
    base: int = ORIGINAL
    state: str = "testing"
    reason: str | None = None
    spent: int = 0


@dataclass(slots=True)
class Search:
    """One search.

    Attributes
    ----------
    conversations
        The most that it may hold.
    generations_max
        The most generations.
    first, each
        Candidates of the first generation and of every later one.
    """

    conversations: int
    generations_max: int
    first: int
    each: int
    seed: int
    members: list[Member] = field(default_factory=lambda: [Member(0, 0, None, None, (), state="pool")])
    edits: dict[str, Edit] = field(default_factory=dict)
    outcomes: dict[int, dict[int, bool | None]] = field(default_factory=dict)
    generation: int = 0
    looks: int = 0
    spent: int = 0
    pruned: bool = False
    ended: str | None = None

    @property
    def left(self) -> int:
        """Conversations that may still be held."""
        return self.conversations - self.spent

    @property
    def testing(self) -> list[Member]:
        """Candidates of which not all is known yet."""
        return [one for one in self.members if one.state == "testing"]

    @property
    def edits_of(self) -> dict[int, tuple[str, ...]]:
        """Edits of each candidate."""
        return {one.number: one.edits for one in self.members}

    def step(self) -> Write | Talk | None:
        """Return what is to be done next, the same until it was recorded; ``None`` when the search has ended."""
        if testing := self.testing:
            return self._talk(testing)
        count = min(self.each if self.generation else self.first, self.left // BATCH_LEAST - 1)
        if self.generation >= self.generations_max or count < 1:
            return None
        best = self.best()
        if self.ended is not None or (count < self.each and self.generation):
            # What is left does not pay for another generation, so it says whether all edits earn something.
            shorter = None if self.pruned else self._shorter(best)
            return None if shorter is None else Write(best.number, 0, (shorter,))
        rng = random.Random(f"{self.seed} parent {self.generation}")
        pool = [one.number for one in self.members if one.state == "pool"]
        parent = draw_parent(self.outcomes, pool, rng) if rng.random() < FROM_FRONT else best.number
        merge = self._merge(best.number)
        return Write(parent, count, ()) if merge is None else Write(parent, count - 1, (merge,))

    def _shorter(self, best: Member) -> Child | None:
        """Return the best candidate without the edits that earn nothing by all evidence."""
        known = self.worth()
        kept = tuple(edit for edit in best.edits if known.of([edit])[0] >= USELESS)
        tried = {frozenset(one.edits) for one in self.members}
        return None if not kept or frozenset(kept) in tried else Child(best.number, kept)

    def _talk(self, testing: Sequence[Member]) -> Talk | None:
        arms = tuple(dict.fromkeys([testing[0].base, *(one.number for one in testing)]))
        cells = min(BATCH, self.left // len(arms))
        return Talk(arms, len(self.outcomes), cells)

    def _merge(self, best: int) -> Child | None:
        """Return the union of two members of the pool of which neither has all edits of the other."""
        tried = {frozenset(one.edits) for one in self.members}
        mine = set(self.members[best].edits)
        for one in reversed(self.members):
            union = mine | set(one.edits)
            if one.state == "pool" and union not in (mine, set(one.edits)) and frozenset(union) not in tried:
                edits = tuple(sorted(union, key=lambda name: int(name[1:])))
                return Child(best, edits, one.number)
        return None

    def wrote(self, children: Sequence[Child], edits: Mapping[str, Edit]) -> None:
        """Take the candidates of a generation; without any the search has ended."""
        self.pruned = self.pruned or any(
            set(one.edits) < set(self.members[one.parent].edits) for one in children
        )
        self.edits.update(edits)
        known = {frozenset(one.edits) for one in self.members}
        new = [one for one in children if frozenset(one.edits) not in known]
        if not new:
            self.ended = "nothing more to write"
            return
        self.generation += 1
        self.looks = 0
        first = len(self.members)
        for child in new:
            number = len(self.members)
            parent = child.parent
            if number > first and child.other_parent is None:
                parent = max(parent, number - 1, key=lambda one: self._shared(one, child))
            self.members.append(
                Member(number, self.generation, parent, child.other_parent, child.edits, new[0].parent)
            )
        fits = self.left // BATCH_LEAST - 1
        for one in self.testing[fits:]:
            one.state, one.reason = "rejected", "The budget had no conversations for it."

    def talked(self, outcomes: Mapping[int, Mapping[int, bool | None]]) -> None:
        """Take what a batch of conversations came to, and decide who gets another one."""
        for cell, found in outcomes.items():
            self.outcomes[cell] = dict(found)
            self.spent += len(found)
        self.looks += 1
        testing = self.testing
        for one in testing:
            one.spent = self.spent
            record = record_of(self.outcomes, one.number, one.base)
            if record.won < record.lost:
                one.state, one.reason = (
                    "rejected",
                    f"It won {record.won} and lost {record.lost} of {record.n} cells.",
                )
            elif self.looks >= LOOKS or self.left // BATCH_LEAST < 2:
                # A shorter one need only be as good.
                shorter = set(one.edits) < set(self.members[one.base].edits)
                better = record.won > record.lost or (shorter and record.won == record.lost)
                one.state = "pool" if better else "rejected"
                one.reason = f"It won {record.won} and lost {record.lost} of {record.n} cells."

    # Who is best

    def worth(self) -> Worth:
        """Return what each edit is worth by now."""
        return worth(self.outcomes, self.edits_of)

    def best(self) -> Member:
        """Return the member of the pool with the best lower bound of what its edits are worth together."""
        return self._best_of([one for one in self.members if one.state == "pool"])

    def finalist(self) -> Member | None:
        """Return whom to confirm: the best one of the pool, else the best one that was rejected; ``None`` without any."""
        tested = [one for one in self.members[1:] if one.spent]
        of = [one for one in tested if one.state == "pool"] or tested
        return self._best_of(of) if of else None

    def _best_of(self, members: Sequence[Member]) -> Member:
        known = self.worth()

        def bound(member: Member) -> tuple[float, int]:
            mean, sd = known.of(member.edits)
            return mean - CAUTION * sd, member.number

        return max(members, key=bound)

    def _shared(self, number: int, child: Child) -> int:
        return len(set(self.members[number].edits) & set(child.edits))

    def to_json(self) -> dict[str, Any]:
        """Return the search as plain JSON, from which ``from_json`` continues exactly as this one would."""
        names = (
            "conversations",
            "generations_max",
            "first",
            "each",
            "seed",
            "generation",
            "looks",
            "spent",
            "pruned",
            "ended",
        )
        return {
            **{name: getattr(self, name) for name in names},
            "members": [asdict(one) for one in self.members],
            "edits": [one.to_json() for one in self.edits.values()],
            "outcomes": [[cell, sorted(found.items())] for cell, found in self.outcomes.items()],
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Self:
        """Rebuild a search from ``to_json``."""
        edits = [Edit.from_json(one) for one in found["edits"]]
        return cls(
            **{
                **found,
                "members": [Member(**{**one, "edits": tuple(one["edits"])}) for one in found["members"]],
                "edits": {one.id: one for one in edits},
                "outcomes": {cell: dict(map(tuple, ended)) for cell, ended in found["outcomes"]},
            }
        )
