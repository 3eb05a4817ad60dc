"""A run of simulated conversations: the common part of optimizations, regression tests and benchmarks."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from promptlift.service import clock
from promptlift.service.background.runs import Run, Runs
from promptlift.service.identifiers import new_id
from promptlift.service.insights.organization import Organization
from promptlift.service.simulations.personas import SimulatedPersona
from promptlift.service.simulations.scenarios import logged_scenarios, opening_key, write_scenarios
from promptlift.service.simulations.tasks import Scenario
from promptlift.service.store import runs
from promptlift.service.store.tables.runs import CellRow, SimulationRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection

    from promptlift.errors import PromptliftError
    from promptlift.service.insights.judge import Judgement
    from promptlift.service.llm.port import ModelGone
    from promptlift.service.models import Models
    from promptlift.service.simulations.conversation import Simulated
    from promptlift.service.simulations.pool import SimulationPool
    from promptlift.service.simulations.tasks import PromptText, Tasks
    from promptlift.service.simulations.tools import Toolbox
    from promptlift.service.store.database import Database
    from promptlift.service.store.leases import Leases
    from promptlift.service.store.runs import AnyRun
    from promptlift.service.store.tables.runs import BenchmarkConversationRow, OptimizationRow


@dataclass(frozen=True, slots=True)
class SimulatedCell:
    """A persona with a scenario, chosen once, which has one conversation with every arm.

    Attributes
    ----------
    pass_number, stage
        The part of the run that the cell belongs to.
    """

    number: int
    pass_number: int
    stage: str
    persona: SimulatedPersona
    scenario: Scenario

    @classmethod
    def from_row(cls, row: CellRow) -> SimulatedCell:
        """Read a stored cell."""
        scenario = Scenario(**{name: row.scenario[name] for name in Scenario.__slots__})
        return cls(row.number, row.pass_number, row.stage, SimulatedPersona(**row.persona), scenario)

    def to_row(self, optimization: OptimizationRow, **details: Any) -> CellRow:
        """Return the row of the cell; ``details`` are stored with its scenario."""
        return CellRow(
            account_id=optimization.account_id,
            optimization_id=optimization.id,
            number=self.number,
            pass_number=self.pass_number,
            stage=self.stage,
            persona=asdict(self.persona),
            scenario={**asdict(self.scenario), **details},
        )


class SimulatedConversation(NamedTuple):
    """A conversation to simulate: a cell with the text of one arm.

    Attributes
    ----------
    prompt
        How the text runs if it differs from the run's own prompt: another model, say.
    """

    cell: SimulatedCell
    arm: int
    content: str
    prompt: PromptText | None = None


class Ended(NamedTuple):
    """A conversation that was simulated and judged."""

    simulated: Simulated
    judgement: Judgement


class SimulationRun(Run):
    """A run of simulated conversations; see ``Run``.

    Parameters
    ----------
    kind
        The kind of work.
    tasks
        The implementation of the run's tasks: a language model, or the rehearsal.
    prompt
        How the texts run, and the objective by which conversations are judged.
    """

    def __init__(
        self,
        kind: SimulationRuns,
        tasks: Tasks,
        row: AnyRun,
        prompt: PromptText,
    ) -> None:
        super().__init__(kind.database, tasks.model, row=row, settings=row.settings, worker=kind.worker)
        self.tasks = tasks
        self.prompt = prompt
        self.organization = Organization.of(self.general)
        # Additional criteria for the judge: none, unless a kind of run needs them.
        self.targets: tuple[str, ...] = ()
        # The agent's tools, if a kind of run simulates them.
        self.toolbox: Toolbox | None = None
        self.max_turns: int = row.settings["maxTurns"]
        self.pool = kind.pool

    def logged_scenarios(
        self, ids: Sequence[str], *, used: Iterable[Scenario], count: int
    ) -> list[tuple[str, Scenario]]:
        """Read up to ``count`` scenarios of logged conversations, in order, with openings not used before."""
        known = {opening_key(one.opening) for one in used}
        account_id, exclusions = self.row.account_id, self.exclusions
        with self.database.read() as connection:
            found = logged_scenarios(connection, account_id, ids, known=known, exclusions=exclusions)
            return list(islice(found, count))

    def written_scenarios(
        self,
        count: int,
        *,
        used: Sequence[Scenario],
        personas: Sequence[SimulatedPersona],
        seed: int,
        prompt: PromptText | None = None,
    ) -> list[Scenario]:
        """Return scenarios written by the model; see ``write_scenarios``."""
        return write_scenarios(
            self.tasks,
            prompt=prompt or self.prompt,
            count=count,
            known=used,
            personas=personas,
            seed=seed,
            organization=self.organization,
            exclusions=self.exclusions,
        )

    def simulate(self, conversations: Sequence[SimulatedConversation]) -> None:
        """Simulate the conversations that are not stored yet.

        Parameters
        ----------
        conversations
            Conversations by the number of their cells.

        Raises
        ------
        Cancelled, LeaseLost, ModelGone, TokensUsedUp
            The rest was not simulated; ended conversations are stored.
        """
        numbers = conversations[0].cell.number, conversations[-1].cell.number
        with self.database.read() as connection:
            there = self.kept(connection, *numbers)
        todo = [one for one in conversations if (one.cell.number, one.arm) not in there]
        if todo:
            self.pool.simulate_all(self, todo)

    def kept(self, connection: Connection, first: int, last: int) -> set[tuple[int, int]]:
        """Return cell and arm of the stored conversations in a range of cells."""
        found = runs.outcomes(connection, self.row.id, cells=(first, last))
        return {(row.cell, row.arm) for row in found}

    def to_row(
        self, conversation: SimulatedConversation, ended: Ended | None, **outcome: Any
    ) -> SimulationRow | BenchmarkConversationRow:
        """Return the row of a conversation.

        Parameters
        ----------
        ended
            ``None`` if it was lost.
        outcome
            Columns common to all kinds of runs.
        """
        cell, judgement = conversation.cell, ended and ended.judgement
        return SimulationRow(
            id=new_id("sim"),
            account_id=self.row.account_id,
            optimization_id=self.row.id,
            cell=cell.number,
            arm=conversation.arm,
            pass_number=cell.pass_number,
            stage=cell.stage,
            criteria=judgement and (list(judgement.criteria) or None),
            issues=judgement and ([one["title"] for one in judgement.issues] or None),
            created_at=clock.moment(),
            **outcome,
        )

    def given_up(self, conversation: SimulatedConversation) -> ModelGone | None:  # noqa: ARG002 - for runs with several models
        """Return why a conversation should not be started; ``None`` if it should."""
        return None

    def answered(self, conversation: SimulatedConversation) -> None:  # noqa: ARG002 - for runs with several models
        """Note that the model answered."""
        self.availability.record(None)

    def unanswered(
        self,
        error: PromptliftError,
        conversation: SimulatedConversation,  # noqa: ARG002 - for runs with several models
    ) -> ModelGone | None:
        """Note that the model did not answer a conversation; return why the run may not continue, if so."""
        return self.availability.gone(error)


class SimulationRuns(Runs):
    """A kind of work whose rows are runs of simulated conversations.

    Attributes
    ----------
    kept_in
        The leases of these rows.

    Parameters
    ----------
    models
        Factory of each run's view of the language model.
    pool
        Threads that simulate conversations; shared by all kinds of runs, and closed by their owner.
    """

    kept_in: ClassVar[Leases]

    def __init__(self, database: Database, models: Models, pool: SimulationPool, *, worker: str) -> None:
        super().__init__(self.kept_in, database, worker=worker)
        self.models = models
        self.pool = pool
