"""A run of simulated conversations: what optimizations, regression tests and benchmarks have in common."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import orjson

from promptlift.errors import PromptliftError
from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost, Runs
from promptlift.service.errors import tokens_used_up
from promptlift.service.identifiers import new_id
from promptlift.service.insights.organization import Organization
from promptlift.service.llm.availability import Availability, ModelGone
from promptlift.service.llm.failures import Cancelled
from promptlift.service.store import simulations, usage
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection

    from promptlift.service.models import Models
    from promptlift.service.simulations.cells import Cell
    from promptlift.service.simulations.conversation import TokenCounts
    from promptlift.service.simulations.tasks import PromptText, SimulationTasks
    from promptlift.service.simulations.tools.toolbox import Toolbox
    from promptlift.service.store.database import Database
    from promptlift.service.store.leases import Leases
    from promptlift.service.store.tables import AnyRow

__all__ = [
    "Run",
    "SimulatedConversation",
    "SimulationRuns",
    "TokensUsedUp",
]


class TokensUsedUp(PromptliftError):
    """The account may use no more tokens this month; the message says so."""


class SimulatedConversation(NamedTuple):
    """A conversation to simulate: a cell with the text of one arm.

    Attributes
    ----------
    prompt
        How the text is run where that is not as the run's own prompt: another model, say.
    """

    cell: Cell
    arm: int
    content: str
    prompt: PromptText | None = None


class Simulator(Protocol):
    """Simulates conversations of many runs side by side."""

    def simulate_all(self, run: Run, conversations: Sequence[SimulatedConversation]) -> None:
        """Simulate conversations of a run and keep them as they end."""


class Run(ABC):
    """A run that one worker has leased, continued from where its rows left it.

    Whatever it finishes is kept as it comes, in transactions that check the lease, so another worker can carry it on at
    any moment.

    Parameters
    ----------
    pool
        Where conversations are simulated.
    tasks
        Whoever carries out the run's tasks: a language model, or the rehearsal.
    row
        Row of what is run: its settings, its seed and its account.
    prompt
        How the texts are run, and the objective by which conversations are judged.
    worker
        Name of the worker that has the lease.
    """

    def __init__(
        self,
        database: Database,
        pool: Simulator,
        tasks: SimulationTasks,
        *,
        row: AnyRow,
        prompt: PromptText,
        worker: str,
    ) -> None:
        self.database = database
        self.tasks = tasks
        self.prompt = prompt
        self.row = row
        settings: dict[str, Any] = orjson.loads(row.settings)
        self.general: dict[str, Any] = settings.get("general", {})
        self.exclusions: str | None = self.general.get("excludedDataAndTopics") or None
        self.organization = Organization.of(self.general)
        # What the judge says of each conversation beside the rest: nothing, unless a kind of run wants to know.
        self.targets: tuple[str, ...] = ()
        # The agent's tools, where a kind of run plays them.
        self.toolbox: Toolbox | None = None
        self.max_turns: int = settings["maxTurns"]
        self.worker = worker
        self._pool = pool
        self._counted = (0, 0)
        self._model = Availability()
        self._lock = threading.Lock()

    @abstractmethod
    def carry_on(self) -> None:
        """Do what is left of the run; see ``to_its_end``."""

    @abstractmethod
    def count_calls(self, connection: Connection, calls: int, tokens: int) -> bool:
        """Count model calls into the run's row; says whether the worker still has the lease."""

    def to_its_end(self) -> None:
        """Run until there is a result.

        Raises
        ------
        Cancelled, LeaseLost
            The run was stopped or is another worker's.
        PromptliftError
            It failed; the message is the reason.
        """
        try:
            self.carry_on()
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except Exception:
            with self.transaction():
                pass  # counts the calls that no row has recorded so far
            raise

    def cancel(self) -> None:
        """End all tasks of the run, from any thread."""
        self.tasks.cancel()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Open a transaction that is kept only while the worker has the lease; see ``check_lease``."""
        with self.database.write() as connection:
            self.check_lease(connection)
            yield connection

    def check_lease(self, connection: Connection) -> None:
        """Count the model calls since the last time, in this transaction.

        Raises
        ------
        LeaseLost
            The run was stopped, or another worker has it. Nothing of this transaction may be kept.
        """
        with self._lock:
            counted = (self.tasks.calls, self.tasks.tokens)
            calls, tokens = counted[0] - self._counted[0], counted[1] - self._counted[1]
            self._counted = counted
        if not self.count_calls(connection, calls, tokens):
            raise LeaseLost("The run was stopped or given to another worker.")
        if tokens:
            usage.add(connection, self.row.account_id, "tokens", tokens, now=clock.now())

    def simulate(self, conversations: Sequence[SimulatedConversation]) -> None:
        """Simulate the conversations that were not kept before.

        Parameters
        ----------
        conversations
            By number of their cells.

        Raises
        ------
        Cancelled, LeaseLost, ModelGone, TokensUsedUp
            The rest was not simulated; what had ended is kept.
        """
        if (used_up := self.tokens_used_up()) is not None:
            raise used_up
        numbers = conversations[0].cell.number, conversations[-1].cell.number
        with self.database.read() as connection:
            there = self.kept(connection, *numbers)
        todo = [one for one in conversations if (one.cell.number, one.arm) not in there]
        if todo:
            self._pool.simulate_all(self, todo)

    def tokens_used_up(self) -> TokensUsedUp | None:
        """Return why no more tokens may be used this month; ``None`` while they may, and in a rehearsal."""
        if self.row.rehearsal:
            return None
        now = clock.now()
        with self.database.read() as connection:
            limit = usage.token_limit_reached(connection, self.row.account_id, now=now)
        return None if limit is None else TokensUsedUp(tokens_used_up(limit, now=now))

    def kept(self, connection: Connection, first: int, last: int) -> set[tuple[int, int]]:
        """Return cell and arm of the conversations that are kept already, in a range of cells."""
        found = simulations.of_cells(connection, self.row.id, first, last)
        return {(row.cell, row.arm) for row in found}

    def keep(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        """Keep conversations that ended; see ``to_row``."""
        simulations.add(connection, rows)

    def to_row(
        self,
        conversation: SimulatedConversation,
        outcome: dict[str, Any],
        tokens: TokenCounts | None,  # noqa: ARG002 - for runs that count what an arm costs
    ) -> dict[str, Any]:
        """Return the columns that keep a conversation that ended.

        Parameters
        ----------
        outcome
            What the judge said, or why the conversation was lost.
        tokens
            What the assistant read and wrote; ``None`` when the conversation was lost.
        """
        cell = conversation.cell
        return {
            "id": new_id("sim"),
            "account_id": self.row.account_id,
            "optimization_id": self.row.id,
            "cell": cell.number,
            "arm": conversation.arm,
            "pass_number": cell.pass_number,
            "stage": cell.stage,
            "created_at": clock.now(),
            **outcome,
        }

    def given_up(self, conversation: SimulatedConversation) -> ModelGone | None:  # noqa: ARG002 - for runs with several models
        """Return why a conversation is not worth beginning; ``None`` when it is."""
        return None

    def answered(self, conversation: SimulatedConversation) -> None:  # noqa: ARG002 - for runs with several models
        """Note that the model answered."""
        self._model.record(None)

    def unanswered(
        self,
        error: PromptliftError,
        conversation: SimulatedConversation,  # noqa: ARG002 - for runs with several models
    ) -> ModelGone | None:
        """Note that the model did not answer a conversation.

        Returns
        -------
        ModelGone or None
            Why the run may not continue: it happened too often in a row, or cannot improve.
        """
        return self._model.gone(error)


class SimulationRuns(Runs):
    """A kind of work whose rows are runs of simulated conversations.

    Parameters
    ----------
    database
        Where they are kept.
    models
        Gives each run its view of the language model.
    pool
        Where conversations are simulated; shared by all kinds of runs, and closed by its owner.
    worker
        Name of the worker in the rows that it has.
    """

    def __init__(
        self, leases: Leases, database: Database, models: Models, pool: Simulator, *, worker: str
    ) -> None:
        super().__init__()
        self.leases = leases
        self._database = database
        self._models = models
        self._pool = pool
        self._worker = worker
