"""Runs optimizations in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost, Runs
from promptlift.service.llm.failures import Cancelled
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.run import OptimizationRun
from promptlift.service.store import accounts, optimizations
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from promptlift.service.models import Models
    from promptlift.service.optimizations.tasks import OptimizationTasks
    from promptlift.service.simulations.pool import SimulationPool
    from promptlift.service.store.database import Database

__all__ = ["OptimizationJobs"]

# Each mostly waits for the model.
RUNS_AT_A_TIME: Final = 40


class OptimizationJobs(Runs["OptimizationTasks"]):
    """Run optimizations.

    Parameters
    ----------
    database
        Where they are kept.
    models
        Gives the language model of a run.
    pool
        Where conversations are held; closed by its owner.
    worker
        Name of the worker in the rows that it has.
    """

    name = "optimization"
    threads = RUNS_AT_A_TIME

    def __init__(self, database: Database, models: Models, pool: SimulationPool, *, worker: str) -> None:
        super().__init__()
        self.leases = optimizations.LEASES
        self._database = database
        self._models = models
        self._pool = pool
        self._worker = worker

    def tasks_of(self, row_id: str) -> OptimizationTasks:
        """Return who carries out the tasks of a run: the configured model, or the rehearsal."""
        with self._database.read() as connection:
            row = optimizations.get(connection, row_id)
        return self._models.tasks(rehearsal=row.rehearsal, seed=row.seed)

    def carry_on(self, row_id: str, tasks: OptimizationTasks) -> None:
        """Carry an optimization on to its end."""
        run = OptimizationRun(
            self._database,
            self._pool,
            tasks,
            optimization_id=row_id,
            worker=self._worker,
        )
        try:
            run.to_its_end()
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except Exception:
            run.count()
            raise

    def fail(self, row_id: str, reason: str) -> None:
        """End an optimization for a reason, with what was measured."""
        with self._database.write() as connection:
            row = optimizations.get(connection, row_id)
            accounts.lock(connection, row.account_id)
            if self.leases.held(connection, self._worker, [row_id]):
                lifecycle.fail(connection, row, reason, now=clock.now())
