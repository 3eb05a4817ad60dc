"""Runs the optimizations of one service process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service import clock
from promptlift.service.llm.calls import Cancelled
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.run import OptimizationRun
from promptlift.service.simulations.leased_runs import LeasedRuns
from promptlift.service.simulations.pool import LeaseLost, SimulationPool
from promptlift.service.store import accounts, optimizations
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
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
        self.pool = SimulationPool(database, at_a_time=models.conversations_at_a_time)
        self._runs = LeasedRuns(
            database,
            optimizations.LEASES,
            name="optimization",
            worker=worker,
            kind=self,
            at_a_time=RUNS_AT_A_TIME,
            look_seconds=LOOK_SECONDS,
        )

    def start(self) -> None:
        """Begin to run; what a former process of this name left comes first."""
        self._runs.start()

    def stop(self) -> None:
        """End all calls and threads; the runs go on at the next start."""
        self._runs.stop()
        self.pool.close()

    def look(self) -> None:
        """Look now: a run was added or stopped."""
        self._runs.look()

    # What is done for one optimization

    def calls_of(self, optimization_id: str) -> Calls:
        """Its model calls: those of the rehearsal model for a rehearsal."""
        with self._database.read() as connection:
            row = optimizations.get(connection, optimization_id)
        return self._models.calls(rehearsal=row.rehearsal, seed=row.seed)

    def work_on(self, optimization_id: str, calls: Calls) -> None:
        """Carry it on to its end."""
        run = OptimizationRun(
            self._database,
            self.pool,
            calls,
            self._models.judge(calls),
            agent_model=self._models.agent_model,
            optimization_id=optimization_id,
            worker=self._worker,
        )
        try:
            run.to_its_end()
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except Exception:
            run.count()
            raise

    def fail(self, optimization_id: str, reason: str) -> None:
        """End it for a reason, with what was measured."""
        with self._database.write() as connection:
            row = optimizations.get(connection, optimization_id)
            accounts.lock(connection, row.account_id)
            if optimizations.LEASES.held(connection, self._worker, [optimization_id]):
                lifecycle.fail(connection, row, reason, now=clock.now())
