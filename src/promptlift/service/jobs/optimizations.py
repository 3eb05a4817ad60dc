"""Runs the optimizations of one service process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.errors import PromptliftError
from promptlift.service import moment
from promptlift.service.actions import optimization_life
from promptlift.service.jobs.leased_runs import LeasedRuns
from promptlift.service.jobs.optimization_run import OptimizationRun
from promptlift.service.jobs.simulated_conversations import SimulationRooms
from promptlift.service.store import accounts, optimizations

if TYPE_CHECKING:
    from promptlift.service.jobs.leased_runs import Work
    from promptlift.service.llm.calls import Calls
    from promptlift.service.models import Models
    from promptlift.service.store.database import Database

__all__ = ["OptimizationJobs"]

LOOK_SECONDS: Final = 0.5
# Each mostly waits for the model.
RUNS_AT_A_TIME: Final = 40


class OptimizationJobs:
    """Runs the optimizations of one service process.

    Parameters
    ----------
    database
        Where they are kept.
    models
        Gives the language model of a run.
    worker
        Stable name of this process.
    """

    def __init__(self, database: Database, models: Models, *, worker: str) -> None:
        self._database = database
        self._models = models
        self._worker = worker
        self.rooms = SimulationRooms(database, at_a_time=models.conversations_at_a_time)
        self._runs = LeasedRuns(
            database,
            optimizations.LEASES,
            name="optimization",
            worker=worker,
            begin=self._begin,
            at_a_time=RUNS_AT_A_TIME,
            look_seconds=LOOK_SECONDS,
        )

    def start(self) -> None:
        """Begin to run; what a former process of this name left comes first."""
        self._runs.start()

    def stop(self) -> None:
        """End all calls and threads; the runs go on at the next start."""
        self._runs.stop()
        self.rooms.close()

    def look(self) -> None:
        """Look now: a run was added or stopped."""
        self._runs.look()

    def _begin(self, optimization_id: str) -> Work | None:
        with self._database.read() as connection:
            row = optimizations.get(connection, optimization_id)
        try:
            calls = self._models.calls(rehearsal=row.rehearsal, seed=row.seed)
        except PromptliftError as error:
            _fail(self._database, self._worker, optimization_id, str(error))
            return None
        return _Work(self._database, self._models, self.rooms, calls, optimization_id, self._worker)


class _Work:
    """One optimization."""

    def __init__(
        self,
        database: Database,
        models: Models,
        rooms: SimulationRooms,
        calls: Calls,
        optimization_id: str,
        worker: str,
    ) -> None:
        self.calls = calls
        self._database = database
        self._models = models
        self._rooms = rooms
        self._id = optimization_id
        self._worker = worker
        self._run: OptimizationRun | None = None

    def run(self) -> None:
        self._run = OptimizationRun(
            self._database,
            self._rooms,
            self.calls,
            self._models.judge(self.calls),
            agent_model=self._models.agent_model,
            optimization_id=self._id,
            worker=self._worker,
        )
        self._run.to_its_end()

    def fail(self, reason: str) -> None:
        _fail(self._database, self._worker, self._id, reason, self._run)


def _fail(
    database: Database, worker: str, optimization_id: str, reason: str, run: OptimizationRun | None = None
) -> None:
    with database.write() as connection:
        row = optimizations.get(connection, optimization_id)
        accounts.lock(connection, row.account_id)
        if optimizations.LEASES.held(connection, worker, [optimization_id]):
            if run is not None:
                run.count(connection)
            optimization_life.fail(connection, row, reason, now=moment.now())
