"""Run regression tests in the background, and watch the current versions in production."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from promptlift.service import clock
from promptlift.service.background.singleton import SingletonJob
from promptlift.service.deployments import regression_end, watch
from promptlift.service.deployments.regression_run import RegressionRun, measured
from promptlift.service.llm.hostile_text import storable_text
from promptlift.service.simulations.run import SimulationRuns
from promptlift.service.store import deployments, optimizations
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Collection

    from promptlift.service.models import Models
    from promptlift.service.simulations.run import Simulator
    from promptlift.service.store.database import Database

__all__ = ["ProductionWatch", "RegressionTests"]

_LOG = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
LOOK_EVERYWHERE_SECONDS = 60.0
# Tests of one process at a time; they share the pool with optimizations.
TESTS_AT_A_TIME = 8


class RegressionTests(SimulationRuns):
    """Run regression tests; see ``SimulationRuns``."""

    name = "regression test"
    threads = TESTS_AT_A_TIME

    def __init__(self, database: Database, models: Models, pool: Simulator, *, worker: str) -> None:
        super().__init__(deployments.LEASES, database, models, pool, worker=worker)

    def open(self, row_id: str) -> RegressionRun:
        """Return the run of a test. A rehearsal is never tested: its winner is not deployed automatically."""
        with self._database.read() as connection:
            deployment = deployments.get(connection, row_id)
            optimization = optimizations.get(connection, deployment.optimization_id)
        tasks = self._models.tasks(rehearsal=False, seed=optimization.seed)
        return RegressionRun(
            self._database, self._pool, tasks, optimization, deployment=deployment, worker=self._worker
        )

    def fail(self, row_id: str, reason: str) -> None:
        """Reject what could not be tested."""
        with self._database.write() as connection:
            if self.leases.held(connection, self._worker, [row_id]):
                row = deployments.get(connection, row_id)
                stopped = f"The regression test could not be finished: {storable_text(reason)}"
                summary = measured(connection, row.optimization_id, stopped=stopped)
                regression_end.end(connection, row, summary, now=clock.now())


class ProductionWatch(SingletonJob):
    """Check live versions whenever enough new conversations of theirs were judged.

    Parameters
    ----------
    database
        Where deployments and insights are kept.
    """

    def __init__(self, database: Database) -> None:
        super().__init__(
            "watch_deployments", self._check_news, every_seconds=LOOK_SECONDS, wait=deployments.LIVE
        )
        self._database = database
        self._seen: int | None = None
        self._has_news = threading.Event()
        self._everywhere_at = 0.0

    def announced(self, tables: Collection[str]) -> bool:
        """Note that there are new insights."""
        if "insights" in tables:
            self._has_news.set()
        return super().announced(tables)

    def _check_news(self) -> None:
        # All of them now and then: another process's event may get its number before ours and be kept after.
        everywhere = time.monotonic() >= self._everywhere_at
        if not (everywhere or self._has_news.is_set()):
            return
        self._has_news.clear()
        if everywhere:
            self._everywhere_at = time.monotonic() + LOOK_EVERYWHERE_SECONDS
        prompts, newest = watch.news(self._database, after=self._seen)
        if prompts or everywhere:
            for row in watch.due(self._database, prompt_ids=None if everywhere else prompts):
                self._check(row.id)
        self._seen = newest

    def _check(self, deployment_id: str) -> None:
        with self._database.read() as connection:
            row = deployments.get(connection, deployment_id)
        try:
            watch.check(self._database, row)
        except SQLAlchemyError:
            raise
        except Exception:  # noqa: BLE001 - logged
            # A defect that one deployment shows must not hold up the others.
            _LOG.exception("deployment %s could not be checked", deployment_id)
