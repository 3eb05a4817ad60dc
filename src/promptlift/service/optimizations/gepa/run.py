"""The search of one optimization by GEPA: each conversation and each text is kept, so that another worker can go on.

A worker that takes over runs GEPA once more from its beginning. With the same seed and the same answers it takes the same
course, and it is answered from what is kept up to where that ends: no conversation is held and no text is written twice.
GEPA's own folder of state would have to be shared by all workers, is written between its iterations only, and does not
hold its random numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.errors import PromptliftError
from promptlift.service.optimizations.generations.run import Searching
from promptlift.service.optimizations.gepa.asking import check_installed
from promptlift.service.optimizations.gepa.pool import MINIBATCH, REFUSED, GepaPool
from promptlift.service.optimizations.gepa.rewriting import Lesson, Rewriting
from promptlift.service.search.choice import Seen
from promptlift.service.search.edits import Edit
from promptlift.service.simulations.run import SimulatedConversation
from promptlift.service.store import optimizations, simulations
from promptlift.stats.passes import Cell, Pass

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptlift.service.optimizations.run import OptimizationRun
    from promptlift.service.optimizations.variants.logged_words import LoggedWords

__all__ = ["GepaSearching"]

# Cells to score accepted candidates on, and their part of a small budget; cells to learn from, in batches of three.
VALIDATED: Final = 15
VALIDATED_PART: Final = 8
TRAINED: Final = 60
SAME_TEXT: Final = "It was written before."


class OutOfBudget(PromptliftError):
    """The search has no conversations left for what GEPA wants."""


class GepaSearching(Searching):
    """Search for a finalist with GEPA; see ``Searching``."""

    def __init__(
        self, run: OptimizationRun, *, prior_sd_points: float, said: LoggedWords | None = None
    ) -> None:
        super().__init__(run, prior_sd_points=prior_sd_points, said=said)
        most = self._budget.search
        validated = min(VALIDATED, most // VALIDATED_PART)
        self._search: GepaPool = GepaPool(
            conversations=most,
            generations_max=most // (2 * MINIBATCH),
            first=1,
            each=1,
            seed=self._row.seed,
            validated=validated,
            goal=bool(run.goal.weights),
        )
        self._rewriting = Rewriting(run, said)
        self._notes: Sequence[str] = ()
        # What was written before another worker took over, by id; with the reason why it may not be tested.
        self._earlier: dict[str, tuple[Edit, str | None]] = {}
        self._asked = 0
        self._arms = {run.prompt.content: 0}
        self._cell_of: dict[int, int] = {}
        self._lesson = Lesson(0, run.prompt.content)

    def begin(self, pool: Sequence[tuple[str, float]], notes: Sequence[str]) -> None:
        """Keep the original, with which GEPA begins.

        Raises
        ------
        PromptliftError
            The budget pays for no candidate.
        """
        check_installed()
        left = self._budget.confirm_passes(spent=self._budget.search, generations=1)
        if not self._search.validated or not left:
            raise PromptliftError(
                "The budget is too small for GEPA: raise maxIterations, personaCount or scenariosPerSimulation in the "
                "settings, or leave the engine out."
            )
        with self._run.transaction() as connection:
            optimizations.add_variants(
                connection, [self._variant(0, "Original", self._run.prompt.content, None)]
            )
            optimizations.change(connection, self._row.id, {"pool": orjson.dumps(list(pool)).decode()})
            self._keep(connection, notes)

    def restore(self, state: dict[str, Any]) -> None:
        """Take what was written so far; the rest comes from running GEPA once more."""
        for kept in state["search"]["edits"]:
            self._earlier[kept["id"]] = Edit.from_json(kept), None
        for kept in state["refused"]:
            edit = Edit.from_json({name: kept[name] for name in Edit.__slots__})
            self._earlier[edit.id] = edit, kept["reason"]

    def to_finalist(self, notes: Sequence[str]) -> None:
        """Run GEPA to its end, and keep its choice."""
        check_installed()
        from promptlift.service.optimizations.gepa.adapter import Halted, optimize  # noqa: PLC0415 - an extra

        self._notes = notes
        try:
            optimize(
                self,
                content=self._run.prompt.content,
                trained=TRAINED,
                validated=self._search.validated,
                seed=self._row.seed,
            )
        except Halted as halted:
            if not isinstance(halted.reason, OutOfBudget):
                raise halted.reason from None
        if not any(one.spent for one in self._search.members[1:]):
            reasons = [one["reason"] for one in self._refused[-1:]]
            raise PromptliftError(
                f"GEPA wrote no text that can be tested, in {self._asked} tries. {' '.join(reasons)}"
            )
        for one in self._search.testing:
            self._search.settle(one, "rejected")
        with self._run.transaction() as connection:
            self._keep(connection, notes, ended=True)

    @property
    def _confirm_passes(self) -> int:
        # unspecified: what an iteration of another optimizer counts as. All of GEPA is one generation; the conversations
        # bound it.
        return self._budget.confirm_passes(spent=self._search.spent, generations=1)

    # What GEPA asks for

    def may_go_on(self, iterations: int, conversations: int) -> bool:
        """Whether another iteration fits, which holds some conversations at most.

        What is left when none fits goes to the confirmation.
        """
        # An iteration may hold none, because all were held before.
        return self._search.left >= conversations and iterations < self._search.conversations

    def play(self, text: str, places: Sequence[int]) -> list[bool | None] | None:
        """Hold the conversations of a text on some cells, unless they are kept; ``None`` where it may not be tested."""
        arm = self._arms.get(text)
        if arm is None:
            return None
        held = self._search.outcomes
        todo = [one for one in dict.fromkeys(places) if arm not in held.get(self._cell_of.get(one, -1), {})]
        if len(todo) > self._search.left:
            raise OutOfBudget("The search has spent its conversations.")
        if todo:
            self._hold(arm, text, sorted(self._cells(arm, todo)))
        return [held[self._cell_of[one]][arm] for one in places]

    def scores(self, text: str, places: Sequence[int]) -> list[float]:
        """Return what GEPA is told of the conversations of a text on some cells, after ``play``."""
        arm = self._arms.get(text)
        if arm is None:
            # A text that may not be tested is the worst of all.
            return [0.0] * len(places)
        member = self._search.members[arm]
        if member.state == "testing" and self._search.loses_completion(member):
            return [REFUSED] * len(places)
        return [self._search.score(arm, self._cell_of[one]) for one in places]

    def learn_from(self, text: str, places: Sequence[int]) -> Sequence[Any]:
        """Return the conversations of a text on some cells as they may be shown; the next text is written from them."""
        arm = self._arms[text]
        cells = {self._cell_of[one] for one in places}
        with self._run.database.read() as connection:
            found = simulations.of_stage(connection, self._row.id, "screen")
        simulated = [
            Seen(
                one.id,
                bool(one.task_completed),
                tuple(orjson.loads(one.issues or "[]")),
                arm,
                self._run.goal.unmet(one, self._run.targets),
            )
            for one in found
            if one.arm == arm and one.cell in cells and one.task_completed is not None
        ]
        self._lesson = self._rewriting.lesson(arm, text, simulated)
        return self._lesson.conversations

    def propose(self, asked: str, extract: Callable[[str], str]) -> str:
        """Return the text that GEPA asks for: as it was written before, or as the model writes it now."""
        self._asked += 1
        name = f"e{self._asked}"
        earlier = self._earlier.get(name)
        edit, reason = earlier or self._rewriting.rewrite(name, asked, self._lesson, self._search, extract)
        if reason is None and edit.text in self._arms:
            reason = SAME_TEXT
        rows = []
        if reason is None:
            member = self._search.add(edit, self._lesson.parent)
            self._arms[edit.text] = member.number
            why = f"GEPA wrote it from {len(self._lesson.conversations)} conversations."
            rows.append(self._variant(member.number, f"GEPA candidate {member.number}", edit.text, why))
        else:
            self._refused.append({**edit.to_json(), "reason": reason, "candidate": self._lesson.parent})
        if earlier is None:
            with self._run.transaction() as connection:
                if rows:
                    optimizations.add_variants(connection, rows)
                self._keep(connection, self._notes)
        return edit.text

    def accepted(self, text: str) -> None:
        """Note that GEPA took a candidate into its pool."""
        if number := self._arms[text]:
            member = self._search.members[number]
            self._search.settle(member, "rejected" if self._search.loses_completion(member) else "pool")

    def rejected(self) -> None:
        """Note that GEPA did not take the candidate that it tried last."""
        for one in self._search.testing:
            self._search.settle(one, "rejected")

    # Conversations

    def _cells(self, arm: int, places: Sequence[int]) -> list[int]:
        """Return the cells of examples; those that GEPA has not used yet get the next ones, all in one pass."""
        new = [one for one in places if one not in self._cell_of]
        for one in new:
            self._cell_of[one] = len(self._cell_of)
        if new:
            self._batches += 1
            self._run.cells.of(self._batch(self._batches, arm, [self._cell_of[one] for one in new]))
        return [self._cell_of[one] for one in places]

    def _batch(self, number: int, arm: int, cells: Sequence[int]) -> Pass:
        return Pass(
            number,
            "screen",
            (arm,),
            tuple(
                Cell(cell, cell % self._personas if self._is_panel else cell // self._scenarios, cell, (arm,))
                for cell in cells
            ),
        )

    def _hold(self, arm: int, text: str, numbers: Sequence[int]) -> None:
        cells = self._run.cells.of(self._batch(self._batches, arm, numbers))
        with self._run.database.read() as connection:
            kept = self._run.kept(connection, numbers[0], numbers[-1])
        self._run.hold(
            [[SimulatedConversation(cells[number], arm, text)] for number in numbers],
            done=self._search.spent,
            most=self._experiment(None, {}).verdict().progress.conversations_max,
        )
        wanted = set(numbers)
        with self._run.database.read() as connection:
            rows = simulations.of_cells(connection, self._row.id, numbers[0], numbers[-1])
        mine = [row for row in rows if row.arm == arm and row.cell in wanted]
        self._search.played(arm, {row.cell: row.task_completed for row in mine}, self._scores(mine))
        if any((number, arm) not in kept for number in numbers):
            with self._run.transaction() as connection:
                self._keep(connection, self._notes)
