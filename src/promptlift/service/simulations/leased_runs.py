"""Takes up work that lies in rows, keeps it while this process works on it, and lets go of what was taken away.

The row is the truth: its state, who works on it, and until when that holds without a sign of life. Everything that a
run finishes is kept as it comes, so a process that dies leaves a run that any process goes on with. That, and not the
job engine, carries these runs: a killed process's runs are taken over without its help, and a run needs no step log
beside its own rows.
"""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from promptlift.errors import PromptliftError
from promptlift.service import clock
from promptlift.service.llm.calls import Calls, Cancelled
from promptlift.service.simulations.pool import LeaseLost
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from promptlift.service.store.database import Database
    from promptlift.service.store.leases import Leases

__all__ = ["Kind", "LeasedRuns"]

_LOG = logging.getLogger(__name__)

LEASE: Final = 30 * clock.SECOND
RENEW_SECONDS: Final = 5.0


class Kind(Protocol):
    """What is done for one kind of row."""

    def calls_of(self, row_id: str) -> Calls:
        """Model calls of a row's run; cancelled when the row is taken away or the process ends."""

    def work_on(self, row_id: str, calls: Calls) -> None:
        """Work until the end."""

    def fail(self, row_id: str, reason: str) -> None:
        """End the row for a reason, if this process still has it."""


@dataclass(slots=True)
class _Active:
    calls: Calls
    thread: threading.Thread | None = field(default=None)


class LeasedRuns:
    """The runs of one kind that this process works on, each in a thread.

    Parameters
    ----------
    name
        Of the kind, for threads and the log.
    worker
        Stable name of this process.
    kind
        Does the work.
    at_a_time
        Runs of this process at most.
    look_seconds
        Pause between two looks for work; ``look`` ends it.
    """

    def __init__(
        self,
        database: Database,
        leases: Leases,
        *,
        name: str,
        worker: str,
        kind: Kind,
        at_a_time: int,
        look_seconds: float,
    ) -> None:
        self._database = database
        self._leases = leases
        self._name = name
        self._worker = worker
        self._kind = kind
        self._at_a_time = at_a_time
        self._look_seconds = look_seconds
        self._active: dict[str, _Active] = {}
        self._lock = threading.Lock()
        self._look = threading.Event()
        self._ending = False
        self._keeper = threading.Thread(target=self._keep_for_ever, name=f"keeper-of-{name}", daemon=True)

    def start(self) -> None:
        """Begin to run; what a former process of this name left comes first."""
        with self._database.write() as connection:
            # SQLite has one process: whoever had a run is gone.
            self._leases.release(connection, None if self._database.is_sqlite else self._worker)
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

    def look(self) -> None:
        """Look now: work came or was taken away."""
        self._look.set()

    def _keep_for_ever(self) -> None:
        renewed = 0
        while not self._ending:
            self._look.clear()
            try:
                if clock.now() - renewed >= RENEW_SECONDS * clock.SECOND:
                    renewed = clock.now()
                    self._renew(renewed + LEASE)
                self._end_lost()
                self._take_up()
            except SQLAlchemyError as error:
                _LOG.warning("work could not be looked for (%s): %s", self._name, error)
            self._look.wait(self._look_seconds)

    def _renew(self, until: int) -> None:
        active = self._ids()
        if active:
            with self._database.write() as connection:
                self._leases.renew(connection, self._worker, active, until=until)

    def _end_lost(self) -> None:
        """End the calls of runs that were ended, or that another process has."""
        with self._lock:
            active = dict(self._active)
        if not active:
            return
        with self._database.read() as connection:
            held = self._leases.held(connection, self._worker, list(active))
        for row_id, one in active.items():
            if row_id not in held:
                one.calls.cancel()

    def _take_up(self) -> None:
        mine = self._ids()
        free = self._at_a_time - len(mine)
        if free <= 0:
            return
        with self._database.read() as connection:
            if not self._leases.waiting(connection, now=clock.now()):
                return
        with self._database.write() as connection:
            now = clock.now()
            taken = self._leases.claim(connection, self._worker, limit=free, now=now, until=now + LEASE)
        for row_id in taken:
            # Its lease ran out while it works here (a machine that slept): it goes on as it is.
            if row_id not in mine:
                self._run_in_thread(row_id)

    def _ids(self) -> list[str]:
        with self._lock:
            return list(self._active)

    def _run_in_thread(self, row_id: str) -> None:
        try:
            calls = self._kind.calls_of(row_id)
        except PromptliftError as error:
            self._kind.fail(row_id, str(error))
            return
        active = _Active(calls)
        active.thread = threading.Thread(
            target=self._run, args=(row_id, calls), name=f"{self._name}-{row_id}", daemon=True
        )
        with self._lock:
            self._active[row_id] = active
        active.thread.start()

    def _run(self, row_id: str, calls: Calls) -> None:
        try:
            self._work_on(row_id, calls)
        except (Cancelled, LeaseLost):
            pass
        except SQLAlchemyError as error:
            # A full disk or a lost server: the run is taken up again when its lease runs out.
            _LOG.warning("%s %s waits for the database: %s", self._name, row_id, error)
        finally:
            with self._lock:
                self._active.pop(row_id, None)
            self._look.set()

    def _work_on(self, row_id: str, calls: Calls) -> None:
        try:
            self._kind.work_on(row_id, calls)
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except PromptliftError as error:
            self._kind.fail(row_id, str(error))
        except Exception as error:  # noqa: BLE001 - a defect must not leave the row at work for ever
            if self._ending:  # the pool take no more conversations
                return
            _LOG.exception("%s %s failed", self._name, row_id)
            self._kind.fail(row_id, f"A defect of the service: {type(error).__name__}: {error}")
