"""The course of our search in a world without HTTP, for comparisons of ways to search that need many worlds.

    python tests/benchmarks/prompt_world/course.py --families additive weak-writer --worlds 30 --mode validation

What the service adds (guards, limits of length, personas, restarts) is left out; the search, the choice of what the writer
sees, the world's writer and judge, and the experiment that confirms are the ones that the service has.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

# Run as a program, it finds the tests' shared modules two floors up.
sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.prompt_world.world import FAMILIES, SETTLED, draw_world
from benchmarks.prompt_world.writer import write_edits
from promptlift.service.search.choice import Seen, choose
from promptlift.service.search.edits import CandidateEdit, assemble, join
from promptlift.service.search.pool import Child, Search, Talk
from promptlift.stats import Experiment
from promptlift.stats.budget import SearchBudget
from promptlift.stats.passes import Outcome, Searched

if TYPE_CHECKING:
    from benchmarks.prompt_world.world import World
    from promptlift.service.search.pool import Write

__all__ = ["Course", "Ended", "hold_course"]

PERSONAS, SCENARIOS, ITERATIONS, CHILDREN = 5, 3, 10, 3


class Ended(NamedTuple):
    """What a course came to.

    Attributes
    ----------
    found
        True points of the finalist.
    gain
        True points of what the confirmation named; 0 when it named nothing.
    """

    found: float
    gain: float
    named: bool
    generations: int
    spent: int


class Course:
    """One search in one world."""

    def __init__(self, world: World, search: Search) -> None:
        self.world = world
        self.search = search
        self._texts: dict[str, str] = {}
        self._seen: list[Seen] = []
        self._shown: Counter[str] = Counter()
        self._written = 0
        for number, one in enumerate(world.log):
            opening, reply = one.messages[0][1], one.messages[1][1]
            self._add(f"log{number}", opening, reply, None)

    def _add(self, name: str, opening: str, reply: str, candidate: int | None) -> bool:
        """Take a conversation as the world's judge sees it."""
        rng = self.world.rng("judge", opening, reply)
        settled = SETTLED in reply
        judge = self.world.judge
        completed = settled == (rng.random() < (judge.true_positive if settled else judge.true_negative))
        themes = [mode.theme for mode in self.world.modes if mode.symptom in reply.casefold()]
        issues = () if completed else (f"Left the {themes[0]} open" if themes else "Request was not settled",)
        self._seen.append(Seen(name, completed, issues, candidate))
        self._texts[name] = f"{opening}\n{reply}"
        return completed

    def text(self, number: int) -> str:
        """Return the prompt of a candidate."""
        search = self.search
        return assemble(self.world.seed_prompt, [search.edits[name] for name in search.members[number].edits])

    def converse(self, cell: object, arm: int) -> bool:
        """Hold a conversation of a candidate in a cell; says whether it is judged completed."""
        opening = self.world.opening("cell", self.search.seed, cell)
        reply = self.world.reply(self.text(arm), opening, f"{self.search.seed} {cell}")
        return self._add(f"{cell} {arm}", opening, reply, arm)

    def hold(self) -> None:
        """Carry out the search."""
        while (step := self.search.step()) is not None:
            if isinstance(step, Talk):
                cells = range(step.first_cell, step.first_cell + step.cells)
                self.search.talked(
                    {cell: {arm: self.converse(cell, arm) for arm in step.arms} for cell in cells}
                )
            else:
                self._write(step)

    def _write(self, step: Write) -> None:
        search = self.search
        new: dict[str, CandidateEdit] = {}
        children = list(step.given)
        edits = [search.edits[name] for name in search.members[step.parent].edits]
        for _ in range(step.children):
            before = {one.id for one in edits}
            edits = self._reflect(edits, new)
            if {one.id for one in edits} != before:
                names = sorted((one.id for one in edits), key=lambda name: int(name[1:]))
                children.append(Child(step.parent, tuple(names)))
        search.wrote(children, new)

    def _reflect(self, edits: list[CandidateEdit], new: dict[str, CandidateEdit]) -> list[CandidateEdit]:
        search, prompt = self.search, assemble(self.world.seed_prompt, edits)
        seed = f"{search.seed} {search.generation} {self._shown.total()}"
        chosen = choose(self._seen, edits=edits, edits_of=search.edits_of, shown=self._shown, seed=seed)
        self._shown.update(one.key for one in chosen if not one.completed)
        context = "\n".join(self._texts[one.id] for one in chosen)
        for draft in write_edits(self.world, prompt, context, self.world.rng("reflection", seed)):
            self._written += 1
            shows = [
                one for one in chosen if draft.symptom and draft.symptom in self._texts[one.id].casefold()
            ]
            if not shows:
                continue  # the service refuses an edit without evidence
            edit = CandidateEdit(
                f"e{self._written}",
                draft.operation,
                draft.anchor,
                draft.text,
                draft.symptom,
                draft.cause,
                evidence=tuple((one.id, draft.symptom) for one in shows[:3]),
                issues=tuple(dict.fromkeys(one.issues[0] for one in shows[:3] if one.issues)),
            )
            joined = join(self.world.seed_prompt, edits, edit)
            if joined.problem is None:
                edits = list(joined.edits)
                new |= {one.id: one for one in edits}
        return edits


def hold_course(
    world: World, mode: str, search_type: type[Search] = Search, course: type[Course] = Course
) -> Ended:
    """Search and confirm in a world with the default settings."""
    budget = SearchBudget.of(
        variants=CHILDREN, mode=mode, personas=PERSONAS, scenarios=SCENARIOS, iterations=ITERATIONS
    )
    search = search_type(budget.search, budget.generations_max, CHILDREN, CHILDREN, world.seed)
    held = course(world, search)
    held.hold()
    finalist = search.finalist()
    if finalist is None:
        return Ended(0.0, 0.0, False, search.generation, search.spent)
    found = world.gain(held.text(finalist.number))
    searched = Searched(
        finalist.number,
        passes=1,
        cells=len(search.outcomes),
        conversations=search.spent,
        confirm_passes=budget.confirm_passes(spent=search.spent, generations=search.generation),
        conversations_max=budget.conversations,
    )
    experiment = Experiment(
        len(search.members) - 1, mode, "moderate", PERSONAS, SCENARIOS, ITERATIONS, world.seed,
        verification_passes=0, searched=searched,
    )  # fmt: skip
    spent = search.spent
    while (step := experiment.next_pass()) is not None:
        outcomes = []
        for cell in step.cells:
            spent += len(cell.order)
            for arm in cell.order:
                done = held.converse(f"confirm {cell.number}", arm)
                outcomes.append(
                    Outcome(
                        cell.number, arm, done, 0.5 if done else -0.5, 80 if done else 30, f"p{cell.persona}"
                    )
                )
        experiment.record(outcomes)
    named = experiment.verdict().winner is not None
    return Ended(found, found if named else 0.0, named, search.generation, spent)


def row_of(ended: list[Ended]) -> str:
    """Return what many courses came to, in one line."""
    gains, found = [one.gain for one in ended], [one.found for one in ended]
    error = stdev(gains) / len(gains) ** 0.5 if len(gains) > 1 else float("nan")
    return (
        f"{fmean(gains):5.1f} ± {error:.1f} named {sum(one.named for one in ended)} of {len(ended)}, "
        f"finalist {fmean(found):5.1f}, {fmean(one.generations for one in ended):.1f} generations, "
        f"{fmean(one.spent for one in ended):.0f} conversations"
    )


def main(arguments: list[str] | None = None) -> int:
    """Hold courses and print a line a family."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES))
    parser.add_argument("--worlds", type=int, default=20)
    parser.add_argument("--mode", choices=("exploratory", "validation"), default="exploratory")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    for family in options.families:
        worlds = [draw_world(family, options.seed + number) for number in range(options.worlds)]
        print(f"{family}: {row_of([hold_course(world, options.mode) for world in worlds])}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
