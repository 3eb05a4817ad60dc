"""Runs optimizations: takes them up, keeps them while it works on them, and ends them.

The row of an optimization is the truth: its state, who works on it, and until when that holds without a sign of
life. Every pass, every cell and every conversation is kept as it comes, so a process that dies leaves a run that any
process goes on with. That, and not the job engine, carries these runs: a killed process's runs are taken over without
its help, and a run needs no step log beside its own rows.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlalchemy.exc import SQLAlchemyError

from promptlift.errors import PromptliftError
from promptlift.service import moment
from promptlift.service.actions import optimization_life
from promptlift.service.jobs.optimization_run import OptimizationRun
from promptlift.service.jobs.simulated_conversations import LostHold, SimulationRooms
from promptlift.service.llm.calls import Calls, Cancelled
from promptlift.service.store import accounts, optimizations

if TYPE_CHECKING:
    from promptlift.service.models import Models
    from promptlift.service.store.database import Database

__all__ = ["OptimizationJobs"]

_LOG = logging.getLogger(__name__)

LEASE = 30 * moment.SECOND
RENEW_SECONDS = 5.0
LOOK_SECONDS = 0.5
# Runs of one process at a time; each mostly waits for the model.
RUNS_AT_A_TIME = 40


@dataclass
class _Active:
    calls: Calls
    thread: threading.Thread | None = field(default=None)


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
        self._active: dict[str, _Active] = {}
        self._lock = threading.Lock()
        self._look = threading.Event()
        self._ending = False
        self._keeper = threading.Thread(target=self._keep_for_ever, name="optimization-keeper", daemon=True)

    def start(self) -> None:
        """Begin to run; what a former process of this name left comes first."""
        with self._database.write() as connection:
            # SQLite has one process: whoever had a run is gone.
            optimizations.release(connection, None if self._database.is_sqlite else self._worker)
        self._keeper.start()

    def stop(self) -> None:
        """End all calls and threads; the runs go on at the next start."""
        self._ending = True
        self._look.set()
        self._keeper.join(timeout=10)
        with self._lock:
            active = list(self._active.values())
        for one in active:
            one.calls.cancel()
        for one in active:
            if one.thread is not None:
                one.thread.join(timeout=5)
        self.rooms.close()

    def look(self) -> None:
        """Look now: a run was added or stopped."""
        self._look.set()

    def _keep_for_ever(self) -> None:
        renewed = 0
        while not self._ending:
            self._look.clear()
            try:
                if moment.now() - renewed >= RENEW_SECONDS * moment.SECOND:
                    renewed = moment.now()
                    self._renew(renewed + LEASE)
                self._end_lost()
                self._take_up()
            except SQLAlchemyError as error:
                _LOG.warning("optimizations could not be looked for: %s", error)
            self._look.wait(LOOK_SECONDS)

    def _renew(self, until: int) -> None:
        with self._lock:
            active = list(self._active)
        if active:
            with self._database.write() as connection:
                optimizations.renew(connection, self._worker, active, until=until)

    def _end_lost(self) -> None:
        """End the calls of runs that were stopped, or that another process has."""
        with self._lock:
            active = dict(self._active)
        if not active:
            return
        with self._database.read() as connection:
            held = optimizations.held(connection, self._worker, list(active))
        for optimization_id, one in active.items():
            if optimization_id not in held:
                one.calls.cancel()

    def _take_up(self) -> None:
        with self._lock:
            free = RUNS_AT_A_TIME - len(self._active)
            mine = list(self._active)
        if free <= 0:
            return
        with self._database.read() as connection:
            if not optimizations.waiting(connection, now=moment.now()):
                return
        with self._database.write() as connection:
            now = moment.now()
            taken = optimizations.claim(connection, self._worker, limit=free, now=now, until=now + LEASE)
        for optimization_id in taken:
            # Its lease ran out while it works here (a machine that slept): it goes on as it is.
            if optimization_id not in mine:
                self._run_in_thread(optimization_id)

    def _run_in_thread(self, optimization_id: str) -> None:
        with self._database.read() as connection:
            row = optimizations.get(connection, optimization_id)
        try:
            calls = self._models.calls(rehearsal=row.rehearsal, seed=row.seed)
        except PromptliftError as error:
            self._fail(optimization_id, str(error))
            return
        active = _Active(calls)
        active.thread = threading.Thread(
            target=self._run,
            args=(optimization_id, calls),
            name=f"optimization-{optimization_id}",
            daemon=True,
        )
        with self._lock:
            self._active[optimization_id] = active
        active.thread.start()

    def _run(self, optimization_id: str, calls: Calls) -> None:
        run: OptimizationRun | None = None
        try:
            run = OptimizationRun(
                self._database,
                self.rooms,
                calls,
                self._models.judge(calls),
                agent_model=self._models.agent_model,
                optimization_id=optimization_id,
                worker=self._worker,
            )
            run.to_its_end()
        except (Cancelled, LostHold):
            pass
        except PromptliftError as error:
            self._fail(optimization_id, str(error), run)
        except SQLAlchemyError as error:
            # A full disk or a lost server: the run is given back, and taken up again when its lease runs out.
            _LOG.warning("optimization %s waits for the database: %s", optimization_id, error)
        except Exception as error:  # noqa: BLE001 - a defect in one run must not leave it running for ever
            _LOG.exception("optimization %s failed", optimization_id)
            self._fail(optimization_id, f"A defect of the service: {type(error).__name__}: {error}", run)
        finally:
            with self._lock:
                self._active.pop(optimization_id, None)
            self._look.set()

    def _fail(self, optimization_id: str, reason: str, run: OptimizationRun | None = None) -> None:
        try:
            with self._database.write() as connection:
                row = optimizations.get(connection, optimization_id)
                accounts.lock(connection, row.account_id)
                if optimizations.held(connection, self._worker, [optimization_id]):
                    if run is not None:
                        run.count(connection)
                    optimization_life.fail(connection, row, reason, now=moment.now())
        except SQLAlchemyError as error:
            _LOG.warning("the end of optimization %s could not be kept: %s", optimization_id, error)
