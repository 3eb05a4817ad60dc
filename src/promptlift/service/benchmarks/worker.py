"""Run benchmarks in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from promptlift.service.benchmarks import requests
from promptlift.service.benchmarks.run import BenchmarkRun
from promptlift.service.simulations.run import SimulationRuns
from promptlift.service.store import benchmarks

if TYPE_CHECKING:
    from promptlift.service.models import Models
    from promptlift.service.simulations.run import Simulator
    from promptlift.service.store.database import Database

__all__ = ["BenchmarkJobs"]

# Each mostly waits for the model; the others are queued.
RUNS_AT_A_TIME: Final = 8


class BenchmarkJobs(SimulationRuns):
    """Run benchmarks; see ``SimulationRuns``."""

    name = "benchmark"
    threads = RUNS_AT_A_TIME

    def __init__(self, database: Database, models: Models, pool: Simulator, *, worker: str) -> None:
        super().__init__(benchmarks.LEASES, database, models, pool, worker=worker)

    def open(self, row_id: str) -> BenchmarkRun:
        """Return the run of a benchmark, with the configured model or the rehearsal."""
        with self._database.read() as connection:
            row = benchmarks.get(connection, row_id)
        tasks = self._models.tasks(rehearsal=row.rehearsal, seed=row.seed, own_models=True)
        return BenchmarkRun(self._database, self._pool, tasks, row, worker=self._worker)

    def fail(self, row_id: str, reason: str) -> None:
        """End a benchmark for a reason, with what was measured."""
        with self._database.write() as connection:
            if self.leases.held(connection, self._worker, [row_id]):
                requests.end(connection, benchmarks.get(connection, row_id), "failed", failure=reason)
