"""Run optimizations in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service import clock
from promptlift.service.optimizations import lifecycle
from promptlift.service.optimizations.run import OptimizationRun
from promptlift.service.simulations.run import SimulationRuns
from promptlift.service.store import accounts, optimizations

if TYPE_CHECKING:
    from promptlift.service.models import Models
    from promptlift.service.simulations.run import Simulator
    from promptlift.service.store.database import Database

__all__ = ["OptimizationJobs"]

# Each mostly waits for the model.
RUNS_AT_A_TIME: Final = 40


class OptimizationJobs(SimulationRuns):
    """Run optimizations; see ``SimulationRuns``."""

    name = "optimization"
    threads = RUNS_AT_A_TIME

    def __init__(self, database: Database, models: Models, pool: Simulator, *, worker: str) -> None:
        super().__init__(optimizations.LEASES, database, models, pool, worker=worker)

    def open(self, row_id: str) -> OptimizationRun:
        """Return the run of an optimization, with the configured model or the rehearsal."""
        with self._database.read() as connection:
            row = optimizations.get(connection, row_id)
        tasks = self._models.tasks(rehearsal=row.rehearsal, seed=row.seed)
        return OptimizationRun(self._database, self._pool, tasks, row, worker=self._worker)

    def fail(self, row_id: str, reason: str) -> None:
        """End an optimization for a reason, with what was measured."""
        with self._database.write() as connection:
            row = optimizations.get(connection, row_id)
            accounts.lock(connection, row.account_id)
            if self.leases.held(connection, self._worker, [row_id]):
                lifecycle.fail(connection, row, reason, now=clock.now())
