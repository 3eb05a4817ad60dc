"""Run benchmarks from the first scenario to the results, in steps that each store their rows."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from promptlift.errors import PromptliftError
from promptlift.service import clock
from promptlift.service.background.runs import end_run
from promptlift.service.benchmarks import scenario_sets
from promptlift.service.benchmarks.arms import BenchmarkSettings
from promptlift.service.benchmarks.results import results_of
from promptlift.service.identifiers import new_id
from promptlift.service.llm.port import Availability, ModelGone, is_hopeless
from promptlift.service.simulations.conversation import TokenCounts
from promptlift.service.simulations.run import SimulatedConversation, SimulationRun, SimulationRuns
from promptlift.service.simulations.tasks import PromptText
from promptlift.service.store import prompts, runs
from promptlift.service.store.rows import Rows
from promptlift.service.store.tables.runs import BenchmarkConversationRow

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from promptlift.schema.benchmarks import BenchmarkResults
    from promptlift.service.simulations.run import Ended
    from promptlift.service.simulations.tasks import Tasks
    from promptlift.service.store.tables.runs import RunRow

__all__ = ["BenchmarkJobs", "BenchmarkRun"]

# The key is wrong for every model, so no other arm will succeed.
_NO_ENDPOINT: Final = frozenset({401, 403})


class BenchmarkRun(SimulationRun):
    """One benchmark: every arm has one conversation in every cell of the scenario set. See ``SimulationRun``."""

    def __init__(self, kind: BenchmarkJobs, tasks: Tasks, row: RunRow) -> None:
        settings = BenchmarkSettings.from_wire(row.settings)
        self._arms = settings.arms
        # One objective for all arms, so that they are judged alike.
        prompt = PromptText(self._arms[0].content or "", objective=settings.objective)
        super().__init__(kind, tasks, row, prompt)
        # By arm, because each may run on a different model: whether it answers, and why it was abandoned.
        self._models = [Availability() for _ in self._arms]
        self._gone: dict[int, ModelGone] = {}
        self._noting = threading.Lock()

    def kept(self, connection: Connection, first: int, last: int) -> set[tuple[int, int]]:
        """Return cell and arm of the conversations that are already stored."""
        found = runs.benchmark_outcomes(connection, self.row.id)
        return {(row.cell, row.arm) for row in found if first <= row.cell <= last}

    def to_row(
        self, conversation: SimulatedConversation, ended: Ended | None, **outcome: Any
    ) -> BenchmarkConversationRow:
        """Return the row of a conversation, with the tokens that its assistant read and wrote."""
        tokens = ended.simulated.tokens if ended else TokenCounts(0, 0, estimated=False)
        return BenchmarkConversationRow(
            id=new_id("sim"),
            account_id=self.row.account_id,
            benchmark_id=self.row.id,
            cell=conversation.cell.number,
            arm=conversation.arm,
            input_tokens=tokens.read,
            output_tokens=tokens.written,
            tokens_estimated=tokens.estimated,
            created_at=clock.moment(),
            **outcome,
        )

    def given_up(self, conversation: SimulatedConversation) -> ModelGone | None:
        """Return why the arm of a conversation was abandoned, if it was."""
        return self._gone.get(conversation.arm)

    def answered(self, conversation: SimulatedConversation) -> None:
        """Note that the arm's model answered."""
        self._models[conversation.arm].record(None)

    def unanswered(self, error: PromptliftError, conversation: SimulatedConversation) -> ModelGone | None:
        """Note that an arm's model did not answer; an arm whose model is gone is abandoned, and the others continue.

        Returns
        -------
        ModelGone or None
            Why the whole benchmark cannot continue: the endpoint is gone, or no arm is left.
        """
        if is_hopeless(error, statuses=_NO_ENDPOINT):
            return ModelGone(str(error))
        if (gone := self._models[conversation.arm].gone(error)) is None:
            return None
        with self._noting:
            self._gone[conversation.arm] = gone
            return gone if len(self._gone) == len(self._arms) else None

    def carry_on(self) -> None:
        """Simulate the remaining conversations, and complete the benchmark."""
        self.start()
        cells = self._cells()
        texts = [
            PromptText(arm.content or "", arm.llm_model, arm.temperature, arm.max_tokens)
            for arm in self._arms
        ]
        wanted = [
            SimulatedConversation(cell.to_cell(number), arm.number, arm.content or "", text)
            for number, cell in enumerate(cells, start=1)
            for arm, text in zip(self._arms, texts, strict=True)
        ]
        # Repeats only if it was resumed meanwhile, which discards the lost conversations.
        while self._kept() < len(wanted):
            self.simulate(wanted)
        with self.transaction() as connection:
            end_run(connection, self.row, "completed", results=results_of(connection, self.row, final=True))

    def _kept(self) -> int:
        mine = runs.conversations(BenchmarkConversationRow, benchmark_id=self.row.id)
        with self.database.read() as connection:
            return Rows(connection).count(mine)

    def _cells(self) -> list[scenario_sets.FixedCell]:
        """Return the scenarios of the set; the first benchmark to use it chooses them."""
        with self.database.read() as connection:
            row = runs.get_set(connection, self.row.subject_id)
            prompt = prompts.find(connection, row.account_id, row.prompt_id)
        if row.cells is None:
            shown = self.prompt if prompt is None else PromptText(prompt.content, objective=prompt.objective)
            chosen = scenario_sets.choose(self, row, prompt=shown)
            if not chosen:
                raise PromptliftError(
                    "None of the logged conversations can be used as a scenario (each needs a first message of the user "
                    "that is not too long). Log conversations, or request scenarios from the model: "
                    'scenarioSet {"source": "model"}.'
                )
            with self.transaction() as connection:
                runs.fill_set(connection, row.id, scenario_sets.to_state(chosen))
                row = runs.get_set(connection, row.id)
        return scenario_sets.cells_of(row)


# Each mostly waits for the model; the others are queued.
RUNS_AT_A_TIME: Final = 8


class BenchmarkJobs(SimulationRuns):
    """Run benchmarks; see ``SimulationRuns``."""

    name = "benchmark"
    threads = RUNS_AT_A_TIME
    kept_in = runs.leases("benchmark")

    def open(self, row_id: str) -> BenchmarkRun:
        """Return the run of a benchmark, with the configured model or the rehearsal."""
        with self.database.read() as connection:
            row = runs.get(connection, row_id)
        tasks = self.models.tasks(rehearsal=row.rehearsal, seed=row.seed, own_models=True)
        return BenchmarkRun(self, tasks, row)

    def found(self, connection: Connection, row: RunRow) -> BenchmarkResults | None:
        """Return a benchmark's results so far."""
        return results_of(connection, row, final=False)
