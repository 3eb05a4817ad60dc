"""Runs regression tests and watches live texts in production.

The row of a deployment is the truth, as that of an optimization is: who works on its test, and until when that holds
without a sign of life. A test that was killed goes on with the conversations that are not there yet.
"""

from __future__ import annotations

import itertools
import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from promptlift.errors import PromptliftError
from promptlift.service import moment
from promptlift.service.actions import deployment_watch, regression_end
from promptlift.service.jobs.regression_run import RegressionRun, measured
from promptlift.service.jobs.simulated_conversations import LostHold
from promptlift.service.llm.calls import Calls, Cancelled
from promptlift.service.store import deployments, optimizations

if TYPE_CHECKING:
    from promptlift.service.jobs.simulated_conversations import SimulationRooms
    from promptlift.service.models import Models
    from promptlift.service.store.database import Database

__all__ = ["DeploymentJobs"]

_LOG = logging.getLogger(__name__)

LEASE = 30 * moment.SECOND
RENEW_SECONDS = 5.0
LOOK_SECONDS = 2.0
LOOK_EVERYWHERE = 30  # looks
# Tests of one process at a time; they share the rooms with optimizations.
TESTS_AT_A_TIME = 8


@dataclass
class _Active:
    calls: Calls
    thread: threading.Thread | None = field(default=None)


class DeploymentJobs:
    """The deployments of one service process.

    Parameters
    ----------
    database
        Where they are kept.
    models
        Gives the language model of a test.
    rooms
        Where conversations are held; shared with optimizations, and closed by their owner.
    worker
        Stable name of this process.
    """

    def __init__(self, database: Database, models: Models, rooms: SimulationRooms, *, worker: str) -> None:
        self._database = database
        self._models = models
        self._rooms = rooms
        self._worker = worker
        self._active: dict[str, _Active] = {}
        self._lock = threading.Lock()
        self._ending = threading.Event()
        self._tester = threading.Thread(target=self._test_for_ever, name="deployment-tester", daemon=True)
        self._watcher = threading.Thread(target=self._watch_for_ever, name="deployment-watcher", daemon=True)

    def start(self) -> None:
        """Begin to test and to watch; what a former process of this name left comes first."""
        with self._database.write() as connection:
            # SQLite has one process: whoever had a test is gone.
            deployments.release(connection, None if self._database.is_sqlite else self._worker)
        self._tester.start()
        self._watcher.start()

    def stop(self) -> None:
        """End all calls and threads; tests go on at the next start."""
        self._ending.set()
        for keeper in (self._tester, self._watcher):
            keeper.join(timeout=10)
        with self._lock:
            active = list(self._active.values())
        for one in active:
            one.calls.cancel()
        for one in active:
            if one.thread is not None:
                one.thread.join(timeout=5)

    # Production

    def _watch_for_ever(self) -> None:
        seen: int | None = None
        for look in itertools.count():
            if self._ending.wait(LOOK_SECONDS):
                return
            try:
                prompts, newest = deployment_watch.news(self._database, after=seen)
                # All of them now and then: another process's event may get its number before ours and be kept after.
                everywhere = look % LOOK_EVERYWHERE == 0
                if prompts or everywhere:
                    due = deployment_watch.due(self._database, prompt_ids=None if everywhere else prompts)
                    for row in due:
                        self._check(row.id)
                seen = newest
            except SQLAlchemyError as error:
                _LOG.warning("live texts could not be watched: %s", error)

    def _check(self, deployment_id: str) -> None:
        with self._database.read() as connection:
            row = deployments.get(connection, deployment_id)
        try:
            deployment_watch.check(self._database, row)
        except SQLAlchemyError:
            raise
        except Exception:  # noqa: BLE001 - logged
            # A defect that one deployment shows must not hold up the others.
            _LOG.exception("deployment %s could not be checked", deployment_id)

    # Regression tests

    def _test_for_ever(self) -> None:
        renewed = 0
        while not self._ending.is_set():
            try:
                if moment.now() - renewed >= RENEW_SECONDS * moment.SECOND:
                    renewed = moment.now()
                    self._renew(renewed)
                self._end_lost()
                self._take_up()
            except SQLAlchemyError as error:
                _LOG.warning("regression tests could not be looked for: %s", error)
            self._ending.wait(LOOK_SECONDS)

    def _renew(self, now: int) -> None:
        with self._lock:
            if not self._active:
                return
        with self._database.write() as connection:
            deployments.renew(connection, self._worker, until=now + LEASE)

    def _end_lost(self) -> None:
        """End the calls of tests that were given up, or that another process has."""
        with self._lock:
            active = dict(self._active)
        if not active:
            return
        with self._database.read() as connection:
            held = deployments.held(connection, self._worker, list(active))
        for deployment_id, one in active.items():
            if deployment_id not in held:
                one.calls.cancel()

    def _take_up(self) -> None:
        with self._lock:
            mine = set(self._active)
        free = TESTS_AT_A_TIME - len(mine)
        with self._database.read() as connection:
            if free <= 0 or not deployments.waiting(connection, now=moment.now()):
                return
        with self._database.write() as connection:
            now = moment.now()
            taken = deployments.claim(connection, self._worker, limit=free, now=now, until=now + LEASE)
        for deployment_id in taken:
            # Its lease ran out while it works here (a machine that slept): it goes on as it is.
            if deployment_id not in mine:
                self._run_in_thread(deployment_id)

    def _run_in_thread(self, deployment_id: str) -> None:
        with self._database.read() as connection:
            row = deployments.get(connection, deployment_id)
            optimization = optimizations.get(connection, row.optimization_id)
        try:
            # A rehearsal is never tested: its winner does not go live by itself.
            calls = self._models.calls(rehearsal=False, seed=optimization.seed)
        except PromptliftError as error:
            self._reject(deployment_id, f"The regression test could not be run: {error}")
            return
        active = _Active(calls)
        active.thread = threading.Thread(
            target=self._run, args=(deployment_id, calls), name=f"regression-{deployment_id}", daemon=True
        )
        with self._lock:
            self._active[deployment_id] = active
        active.thread.start()

    def _run(self, deployment_id: str, calls: Calls) -> None:
        try:
            run = RegressionRun(
                self._database,
                self._rooms,
                calls,
                self._models.judge(calls),
                deployment_id=deployment_id,
                worker=self._worker,
                agent_model=self._models.agent_model,
            )
            run.to_its_end()
        except (Cancelled, LostHold):
            pass
        except PromptliftError as error:
            self._reject(deployment_id, f"The regression test could not be finished: {error}")
        except SQLAlchemyError as error:
            # A full disk or a lost server: the test is taken up again when its lease runs out.
            _LOG.warning("the regression test of %s waits for the database: %s", deployment_id, error)
        except RuntimeError as error:
            if not self._ending.is_set():  # at the end the rooms take no more conversations
                self._defect(deployment_id, error)
        except Exception as error:  # noqa: BLE001 - logged; the state must say how it ended
            self._defect(deployment_id, error)
        finally:
            with self._lock:
                self._active.pop(deployment_id, None)

    def _defect(self, deployment_id: str, error: Exception) -> None:
        _LOG.error("the regression test of %s failed", deployment_id, exc_info=error)
        self._reject(deployment_id, f"A defect of the service: {type(error).__name__}: {error}")

    def _reject(self, deployment_id: str, reason: str) -> None:
        try:
            with self._database.write() as connection:
                if deployments.held(connection, self._worker, [deployment_id]):
                    row = deployments.get(connection, deployment_id)
                    summary = measured(connection, row.optimization_id, stopped=reason.replace("\x00", ""))
                    regression_end.end(connection, row, summary, now=moment.now())
        except SQLAlchemyError as error:
            _LOG.warning("the end of the regression test of %s could not be kept: %s", deployment_id, error)
