"""A search as a state machine: what to write and test next, who enters the pool, who is the finalist.

It knows no model and no database: the same seed, the same edits and the same outcomes give the same course.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import TypeAdapter

from promptlift.service.search.edits import CandidateEdit  # noqa: TC001 - pydantic reads it
from promptlift.service.search.evidence import Outcomes, Record, Worth, mean_gain, record_of, worth

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


def front(outcomes: Outcomes, members: Collection[int]) -> dict[int, int]:
    """Return the candidates that no other one dominates, each with the number of cells in which it is among the best.

    A candidate dominates another if it is nowhere worse on the cells that both have, and somewhere better. If
    each is dominated by another, which can happen in a cycle when pairs share different cells, all are in
    front.
    """
    best: dict[int, int] = dict.fromkeys(sorted(members), 0)
    for found in outcomes.values():
        there = {one: reached for one, reached in found.items() if one in best and reached is not None}
        if len(there) > 1 and (most := max(there.values())):
            for one, reached in there.items():
                best[one] += reached == most
    ahead = {
        one: cells
        for one, cells in best.items()
        if not any(_dominates(outcomes, other, one) for other in best if other != one)
    }
    return ahead or best


def draw_parent(outcomes: Outcomes, members: Collection[int], rng: random.Random) -> int:
    """Draw a parent from the front, with probability proportional to the cells in which it is among the best."""
    found = front(outcomes, members)
    names = list(found)
    return rng.choices(names, [found[name] + 1 for name in names])[0]


def _dominates(outcomes: Outcomes, one: int, other: int) -> bool:
    pairs = [
        (mine, its)
        for found in outcomes.values()
        if (mine := found.get(one)) is not None and (its := found.get(other)) is not None
    ]
    return any(mine > its for mine, its in pairs) and not any(its > mine for mine, its in pairs)


# Cells of a batch, and the fewest that are informative.
BATCH: Final = 8
BATCH_LEAST: Final = 4
LOOKS: Final = 2
# A parent is drawn from the front this often; otherwise it is the best by all evidence.
FROM_FRONT: Final = 0.25
# The finalist has the best mean minus this many standard deviations.
CAUTION: Final = 0.3
# Edits worth less than this are tentatively removed.
USELESS: Final = 0.0
ORIGINAL: Final = 0


class Child(NamedTuple):
    """A candidate as it was written: its whole set of edits, by id."""

    parent: int
    edits: tuple[str, ...]
    other_parent: int | None = None


class Write(NamedTuple):
    """Write candidates: each from the previous one, the first from ``parent``; ``given`` are made without a model."""

    parent: int
    children: int
    given: tuple[Child, ...] = ()


class Talk(NamedTuple):
    """Simulate conversations of some candidates on new cells."""

    arms: tuple[int, ...]
    first_cell: int
    cells: int


@dataclass(slots=True)
class Member:
    """One candidate; the original is number 0.

    Attributes
    ----------
    base
        The candidate against which it was tested first.
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
        Maximum number of conversations.
    generations_max
        Maximum number of generations.
    first, each
        Number of candidates in the first generation and in every later one.
    scores
        By cell and candidate how far the goal was met, 0 to 1, if there is a goal and the judge decided.
    """

    conversations: int
    generations_max: int
    first: int
    each: int
    seed: int
    members: list[Member] = field(default_factory=lambda: [Member(0, 0, None, None, (), state="pool")])
    edits: dict[str, CandidateEdit] = field(default_factory=dict)
    outcomes: dict[int, dict[int, bool | None]] = field(default_factory=dict)
    scores: dict[int, dict[int, float]] = field(default_factory=dict)
    generation: int = 0
    looks: int = 0
    spent: int = 0
    pruned: bool = False
    ended: str | None = None

    @property
    def left(self) -> int:
        """Remaining conversations in the budget."""
        return self.conversations - self.spent

    @property
    def testing(self) -> list[Member]:
        """Candidates whose tests are not finished."""
        return [one for one in self.members if one.state == "testing"]

    @property
    def wanted(self) -> Outcomes:
        """The scores for comparing candidates: how far they met the goal, or without one whether they completed the task."""
        return self.scores or self.outcomes

    @property
    def edits_of(self) -> dict[int, tuple[str, ...]]:
        """Edits of each candidate."""
        return {one.number: one.edits for one in self.members}

    def step(self) -> Write | Talk | None:
        """Return the next step, the same until its result is recorded; ``None`` when the search has ended."""
        if testing := self.testing:
            return self._talk(testing)
        count = min(self.each if self.generation else self.first, self.left // BATCH_LEAST - 1)
        if self.generation >= self.generations_max or count < 1:
            return None
        best = self.best()
        if self.ended is not None or (count < self.each and self.generation):
            # The rest of the budget is too small for another generation, so it tests whether all edits are
            # worth keeping.
            shorter = None if self.pruned else self._shorter(best)
            return None if shorter is None else Write(best.number, 0, (shorter,))
        rng = random.Random(f"{self.seed} parent {self.generation}")
        pool = [one.number for one in self.members if one.state == "pool"]
        parent = draw_parent(self.wanted, pool, rng) if rng.random() < FROM_FRONT else best.number
        merge = self._merge(best.number)
        return Write(parent, count, ()) if merge is None else Write(parent, count - 1, (merge,))

    def _shorter(self, best: Member) -> Child | None:
        """Return the best candidate without the edits that are worthless by all evidence."""
        known = self.worth()
        kept = tuple(edit for edit in best.edits if known.of([edit])[0] >= USELESS)
        tried = {frozenset(one.edits) for one in self.members}
        return None if not kept or frozenset(kept) in tried else Child(best.number, kept)

    def _talk(self, testing: Sequence[Member]) -> Talk | None:
        arms = tuple(dict.fromkeys([testing[0].base, *(one.number for one in testing)]))
        cells = min(BATCH, self.left // len(arms))
        return Talk(arms, len(self.outcomes), cells)

    def _merge(self, best: int) -> Child | None:
        """Return the union of two members of the pool, neither of which has all edits of the other."""
        tried = {frozenset(one.edits) for one in self.members}
        mine = set(self.members[best].edits)
        for one in reversed(self.members):
            union = mine | set(one.edits)
            if one.state == "pool" and union not in (mine, set(one.edits)) and frozenset(union) not in tried:
                edits = tuple(sorted(union, key=lambda name: int(name[1:])))
                return Child(best, edits, one.number)
        return None

    def wrote(self, children: Sequence[Child], edits: Mapping[str, CandidateEdit]) -> None:
        """Record the candidates of a generation; without any, the search has ended."""
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
            one.state, one.reason = "rejected", "The budget had no conversations left for it."

    def talked(
        self,
        outcomes: Mapping[int, Mapping[int, bool | None]],
        scores: Mapping[int, Mapping[int, float]] | None = None,
    ) -> None:
        """Record the outcomes of a batch of conversations, and decide who gets another batch.

        Parameters
        ----------
        scores
            See ``Search``. A candidate that loses completion is rejected, however well it meets the goal.
        """
        for cell, found in outcomes.items():
            self.outcomes[cell] = dict(found)
            self.spent += len(found)
        self._score(scores or {})
        self.looks += 1
        testing = self.testing
        for one in testing:
            one.spent = self.spent
            record = record_of(self.outcomes, one.number, one.base)
            gain = self._gain(one, record)
            if record.won < record.lost or gain < 0:
                one.state, one.reason = "rejected", self._how(one, record)
            elif self.looks >= LOOKS or self.left // BATCH_LEAST < 2:
                # A shorter candidate need only be as good.
                shorter = set(one.edits) < set(self.members[one.base].edits)
                better = gain > 0 or (shorter and gain == 0)
                one.state = "pool" if better else "rejected"
                one.reason = self._how(one, record)

    def _score(self, scores: Mapping[int, Mapping[int, float]]) -> None:
        for cell, found in scores.items():
            if found:
                self.scores.setdefault(cell, {}).update(found)

    def _gain(self, member: Member, record: Record) -> float:
        """Return the gain of a candidate over the one against which it was tested; above 0 is better."""
        gain = mean_gain(self.scores, member.number, member.base)
        # unspecified: what counts if the judge left the goal open on all cells. Completion, as without a
        # goal.
        return float(record.won - record.lost) if gain is None else gain

    def _how(self, member: Member, record: Record) -> str:
        """Describe how the test of a candidate ended."""
        told = f"It won {record.won} and lost {record.lost} of {record.n} cells."
        gain = mean_gain(self.scores, member.number, member.base)
        return told if gain is None else f"{told} By the goal that is {100 * gain:+.1f} points."

    # Who is best

    def worth(self) -> Worth:
        """Return the current worth of each edit, in points of the goal if there is one."""
        return worth(self.wanted, self.edits_of)

    def best(self) -> Member:
        """Return the member of the pool with the best lower bound on the joint worth of its edits."""
        return _best_of([one for one in self.members if one.state == "pool"], self.worth())

    def finalist(self) -> Member | None:
        """Return the candidate to confirm: the best of the pool, or else the best rejected one, if any.

        Rejected candidates are ranked by completion, even with a goal: some were rejected for losing it.
        """
        tested = [one for one in self.members[1:] if one.spent]
        if pool := [one for one in tested if one.state == "pool"]:
            return _best_of(pool, self.worth())
        return _best_of(tested, worth(self.outcomes, self.edits_of)) if tested else None

    def _shared(self, number: int, child: Child) -> int:
        return len(set(self.members[number].edits) & set(child.edits))

    def to_json(self) -> dict[str, Any]:
        """Return the search as plain JSON, from which ``from_json`` continues exactly like this one."""
        state: dict[str, Any] = _STATE.dump_python(self, mode="json")
        return {**state, "edits": list(state["edits"].values())}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Search:
        """Rebuild a search from ``to_json``."""
        return _STATE.validate_python({**found, "edits": {one["id"]: one for one in found["edits"]}})


_STATE: Final = TypeAdapter(Search)


def _best_of(members: Sequence[Member], known: Worth) -> Member:
    def bound(member: Member) -> tuple[float, int]:
        mean, sd = known.of(member.edits)
        return mean - CAUTION * sd, member.number

    return max(members, key=bound)
