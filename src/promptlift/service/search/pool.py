"""A search as a state machine: what to write and test next, who enters the pool, who is the finalist.

It knows no model and no database: the same seed, the same edits and the same outcomes give the same course.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pydantic import TypeAdapter

from promptlift.service.search.edits import CandidateEdit  # noqa: TC001 - pydantic reads it
from promptlift.service.search.evidence import (
    Issues,
    Outcomes,
    Worth,
    cost_of,
    mean_gain,
    record_of,
    worth,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence


# Cells of a batch, and the fewest that are informative.
BATCH: Final = 8
BATCH_LEAST: Final = 4
LOOKS: Final = 2
# The finalist has the best mean minus this many standard deviations.
CAUTION: Final = 0.3
ORIGINAL: Final = 0


# The finalist may be worth this much less if it is shorter.
SLACK: Final = 0.005
ASSEMBLED: Final = "It has the edits that earn their words according to all conversations of the search."


class Child(NamedTuple):
    """A candidate as it was written: its whole set of edits, by id."""

    parent: int
    edits: tuple[str, ...]
    other_parent: int | None = None


class Write(NamedTuple):
    """Write candidates with new edits, from the last of ``given`` or from ``parent``; ``given`` are made without a model."""

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
    wrong
        By cell and candidate what went wrong.
    logged
        Number of logged conversations, and of those in which each issue went wrong.
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
    wrong: dict[int, dict[int, list[str]]] = field(default_factory=dict)
    logged: tuple[int, dict[str, int]] = (0, {})
    generation: int = 0
    looks: int = 0
    spent: int = 0
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
        best = self.best()
        if self.closing:
            given = self._proposed(best, slack=SLACK)
            return Write(best.number, 0, given) if given else None
        count = self._affordable
        given = self._proposed(best) if count > 1 else ()
        return Write(best.number, count - len(given), given)

    @property
    def closing(self) -> bool:
        """Whether there is nothing more to write, or no budget for another generation."""
        least = self.each if self.generation else 1
        return self.ended is not None or self.generation >= self.generations_max or self._affordable < least

    @property
    def _affordable(self) -> int:
        """Candidates of the next generation."""
        return min(self.each if self.generation else self.first, self.left // BATCH_LEAST - 1)

    def _proposed(self, best: Member, slack: float = 0.0) -> tuple[Child, ...]:
        """Return the candidate with all edits that earn their words, unless there is one."""
        edits = self._earning(best, slack)
        if not edits or frozenset(edits) in {frozenset(one.edits) for one in self.members}:
            return ()
        more = set(edits) - set(best.edits)
        other = max(self.members, key=lambda one: len(more & set(one.edits)))
        return (Child(best.number, edits, other.number if more else None),)

    def _earning(self, best: Member, slack: float) -> tuple[str, ...]:
        """Return all edits that earn their words beside the others, those of the best candidate first.

        So candidates that gain are united, one that lost is taken apart, and repeats are left out.

        Parameters
        ----------
        slack
            What the last edits together may be worth and are still left out.
        """
        known = self.worth()
        edits = self.edits

        def gain(name: str) -> float:
            return known.adds(edits[name], [one for one in kept if one != name])

        kept: list[str] = []
        for name in sorted(edits, key=lambda name: (name not in best.edits, -gain(name))):
            if gain(name) > 0:
                kept += [name]
        while kept:
            least = min(kept, key=gain)
            slack -= max(gain(least), 0.0)
            if slack < 0:
                break
            kept.remove(least)
        return tuple(sorted(kept, key=lambda name: int(name[1:])))

    def _talk(self, testing: Sequence[Member]) -> Talk | None:
        arms = tuple(dict.fromkeys([testing[0].base, *(one.number for one in testing)]))
        cells = min(BATCH, self.left // len(arms))
        return Talk(arms, len(self.outcomes), cells)

    def wrote(self, children: Sequence[Child], edits: Mapping[str, CandidateEdit]) -> None:
        """Record the candidates of a generation; without any, the search has ended."""
        self.edits.update(edits)
        known = {frozenset(one.edits) for one in self.members}
        new = [one for one in children if frozenset(one.edits) not in known]
        if not new:
            self.ended = "nothing more to write"
            return
        if self.closing:
            self.members += [
                Member(
                    len(self.members),
                    self.generation + 1,
                    one.parent,
                    one.other_parent,
                    one.edits,
                    one.parent,
                    state="pool",
                    reason=ASSEMBLED,
                )
                for one in new[:1]
            ]
            return
        self.generation += 1
        self.looks = 0
        first = len(self.members)
        for child in new:
            number = len(self.members)
            parent = child.parent
            if number > first and child.other_parent is None:
                has = set(child.edits)
                parent = max(
                    parent, number - 1, key=lambda one: len(has.intersection(self.members[one].edits))
                )
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
        wrong: Mapping[int, Mapping[int, Sequence[str]]] | None = None,
    ) -> None:
        """Record the outcomes of a batch of conversations, and decide who gets another batch.

        Parameters
        ----------
        scores, wrong
            See ``Search``. A candidate that loses completion is rejected, however well it meets the goal.
        """
        for cell, found in outcomes.items():
            self.outcomes[cell] = dict(found)
            self.spent += len(found)
        for cell, reached in (scores or {}).items():
            if reached:
                self.scores.setdefault(cell, {}).update(reached)
        for cell, by_arm in (wrong or {}).items():
            self.wrong[cell] = {one: list(titles) for one, titles in by_arm.items()}
        self.looks += 1
        testing = self.testing
        for one in testing:
            one.spent = self.spent
            record = record_of(self.outcomes, one.number, one.base)
            told = f"It won {record.won} and lost {record.lost} of {record.n} cells."
            gain = mean_gain(self.scores, one.number, one.base)
            if gain is None:
                # unspecified: what counts if the judge left the goal open on all cells. Completion, as without a goal.
                gain = float(record.won - record.lost)
            else:
                told += f" By the goal that is {100 * gain:+.1f} points."
            if record.won < record.lost or gain < 0:
                one.state, one.reason = "rejected", told
            elif self.looks >= LOOKS or self.left // BATCH_LEAST < 2:
                # A shorter candidate need only be as good.
                shorter = set(one.edits) < set(self.members[one.base].edits)
                better = gain > 0 or (shorter and gain == 0)
                one.state = "pool" if better else "rejected"
                one.reason = told

    # Who is best

    def worth(self, outcomes: Outcomes | None = None) -> Worth:
        """Return the current worth of each edit, in points of the goal if there is one and nothing else is given."""
        outcomes = self.wanted if outcomes is None else outcomes
        # With a goal, targets that were missed are among what went wrong, but are no failures to complete.
        issues = Issues(self.logged, self.wrong) if outcomes is self.wanted else Issues((0, {}), {})
        return worth(outcomes, self.edits_of, self.edits, issues)

    def may_earn(self, new: CandidateEdit, edits: Collection[CandidateEdit]) -> bool:
        """Return whether a new edit would earn its words beside others if it prevented all that they leave of its issue."""
        known = {**self.edits, **{one.id: one for one in (*edits, new)}}
        found = worth(self.wanted, self.edits_of, known, Issues(self.logged, self.wrong))
        return found.against[new.id].left([one.id for one in edits]) > cost_of(new)

    def best(self) -> Member:
        """Return the member of the pool with the best lower bound on the joint worth of its edits."""
        return self._best_of([one for one in self.members if one.state == "pool"])

    def finalist(self) -> Member | None:
        """Return the candidate to confirm: the one with the edits that earn their words, or else the best.

        Rejected candidates are ranked by completion, even with a goal: some were rejected for losing it.
        """
        if pool := [one for one in self.members[1:] if one.state == "pool"]:
            best = self._best_of(pool)
            lean = self._earning(best, SLACK)
            return next((one for one in pool if one.edits == lean), best)
        tested = [one for one in self.members[1:] if one.spent]
        return self._best_of(tested, self.outcomes) if tested else None

    def _best_of(self, members: Sequence[Member], outcomes: Outcomes | None = None) -> Member:
        known = self.worth(outcomes)

        def bound(member: Member) -> tuple[float, int]:
            mean, sd = known.of(member.edits)
            cost = sum(cost_of(self.edits[name]) for name in member.edits)
            return mean - cost - CAUTION * sd, member.number

        return max(members, key=bound)

    def to_json(self) -> dict[str, Any]:
        """Return the search as plain JSON, from which ``from_json`` continues exactly like this one."""
        state: dict[str, Any] = _STATE.dump_python(self, mode="json")
        return {**state, "edits": list(state["edits"].values())}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Search:
        """Rebuild a search from ``to_json``."""
        return _STATE.validate_python({**found, "edits": {one["id"]: one for one in found["edits"]}})


_STATE: Final = TypeAdapter(Search)
