"""Runs regression tests and watches live texts in production."""

from __future__ import annotations

import itertools
import logging
import threading
from typing import TYPE_CHECKING

from promptlift.service import clock
from promptlift.service.deployments import regression_end, watch
from promptlift.service.deployments.regression_run import RegressionRun, measured
from promptlift.service.simulations.leased_runs import LeasedRuns
from promptlift.service.store import deployments, optimizations
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from promptlift.service.llm.calls import Calls
    from promptlift.service.models import Models
    from promptlift.service.simulations.pool import SimulationPool
    from promptlift.service.store.database import Database

__all__ = ["DeploymentJobs"]

_LOG = logging.getLogger(__name__)

LOOK_SECONDS = 2.0
LOOK_EVERYWHERE = 30  # looks
# Tests of one process at a time; they share the pool with optimizations.
TESTS_AT_A_TIME = 8


class DeploymentJobs:
    """The deployments of one service process.

    Parameters
    ----------
    database
        Where they are kept.
    models
        Gives the language model of a test.
    pool
        Where conversations are held; shared with optimizations, and closed by their owner.
    worker
        Stable name of this process.
    """

    def __init__(self, database: Database, models: Models, pool: SimulationPool, *, worker: str) -> None:
        self._database = database
        self._models = models
        self._pool = pool
        self._worker = worker
        self._tests = LeasedRuns(
            database,
            deployments.LEASES,
            name="regression",
            worker=worker,
            kind=self,
            at_a_time=TESTS_AT_A_TIME,
            look_seconds=LOOK_SECONDS,
        )
        self._ending = threading.Event()
        self._watcher = threading.Thread(target=self._watch_for_ever, name="deployment-watcher", daemon=True)

    def start(self) -> None:
        """Begin to test and to watch; what a former process of this name left comes first."""
        self._tests.start()
        self._watcher.start()

    def stop(self) -> None:
        """End all calls and threads; tests go on at the next start."""
        self._ending.set()
        self._tests.stop()
        self._watcher.join(timeout=10)

    # Production

    def _watch_for_ever(self) -> None:
        seen: int | None = None
        for look in itertools.count():
            if self._ending.wait(LOOK_SECONDS):
                return
            try:
                prompts, newest = watch.news(self._database, after=seen)
                # All of them now and then: another process's event may get its number before ours and be kept after.
                everywhere = look % LOOK_EVERYWHERE == 0
                if prompts or everywhere:
                    due = watch.due(self._database, prompt_ids=None if everywhere else prompts)
                    for row in due:
                        self._check(row.id)
                seen = newest
            except SQLAlchemyError as error:
                _LOG.warning("live texts could not be watched: %s", error)

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

    # Regression tests

    def calls_of(self, deployment_id: str) -> Calls:
        """Model calls of a test. A rehearsal is never tested: its winner does not go live by itself."""
        with self._database.read() as connection:
            row = deployments.get(connection, deployment_id)
            optimization = optimizations.get(connection, row.optimization_id)
        return self._models.calls(rehearsal=False, seed=optimization.seed)

    def work_on(self, deployment_id: str, calls: Calls) -> None:
        """Carry a test on to its end."""
        RegressionRun(
            self._database,
            self._pool,
            calls,
            self._models.judge(calls),
            deployment_id=deployment_id,
            worker=self._worker,
            agent_model=self._models.agent_model,
        ).to_its_end()

    def fail(self, deployment_id: str, reason: str) -> None:
        """Reject what could not be tested."""
        with self._database.write() as connection:
            if deployments.LEASES.held(connection, self._worker, [deployment_id]):
                row = deployments.get(connection, deployment_id)
                stopped = f"The regression test could not be finished: {reason}".replace("\x00", "")
                summary = measured(connection, row.optimization_id, stopped=stopped)
                regression_end.end(connection, row, summary, now=clock.now())
