"""Wake workers for new work: those of this process at commit, those of other processes through PostgreSQL.

A process without workers reads here why the work of the others is delayed.
"""

from __future__ import annotations

import logging
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from promptlift.service.identifiers import new_id
from promptlift.service.store import SQLAlchemyError, leases

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from promptlift.service.store.database import Database


_LOG = logging.getLogger(__name__)

# Announcements within this time are sent together.
_GATHER_SECONDS: Final = 0.05
_LISTEN_SECONDS: Final = 0.5
_RETRY_SECONDS: Final = 5.0
_LOOK_SECONDS: Final = 2.0


class WakeUps:
    """Listen for tables with new work. The next poll of all tables finds what is missed while PostgreSQL is away.

    Parameters
    ----------
    database
        The database with the work.
    heard
        Called with names of tables, from any thread; ``None`` in a process that only notifies others.
    """

    def __init__(self, database: Database, heard: Callable[[Collection[str]], None] | None) -> None:
        self._database = database
        self._heard = heard
        self._id = new_id("wak")
        self._lock = threading.Lock()
        self._untold: set[str] = set()
        self._news = threading.Event()
        self._ending = threading.Event()
        self._threads: list[threading.Thread] = []

    def start(self) -> None:
        """Start listening and notifying."""
        self._database.listeners.append(self._announced)
        if not self._database.is_sqlite:
            steps = [self._tell] if self._heard is None else [self._tell, self._listen]
            self._threads = [threading.Thread(target=step, name="wake-ups", daemon=True) for step in steps]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Send the remaining notifications, and end."""
        self._ending.set()
        self._news.set()
        for thread in self._threads:
            thread.join(timeout=5)
        with suppress(ValueError):  # already stopped
            self._database.listeners.remove(self._announced)

    def _announced(self, tables: Collection[str]) -> None:
        if self._heard is not None:
            self._heard(tables)
        if self._threads:
            with self._lock:
                self._untold.update(tables)
            self._news.set()

    def _tell(self) -> None:
        while not self._ending.is_set():
            self._news.wait()
            self._news.clear()
            with self._lock:
                tables, self._untold = self._untold, set()
            try:
                if tables:
                    self._database.tell(self._id, sorted(tables))
            except Exception as error:  # noqa: BLE001 - they look by themselves too
                _LOG.warning("other workers could not be notified of new work: %s", error)
            self._ending.wait(_GATHER_SECONDS)

    def _listen(self) -> None:
        assert self._heard is not None  # noqa: S101 - started for it
        while not self._ending.is_set():
            try:
                with self._database.listening() as hear:
                    while not self._ending.is_set():
                        for sender, tables in hear(_LISTEN_SECONDS):
                            if sender != self._id:
                                self._heard(tables)
            except Exception as error:  # noqa: BLE001 - a lost server
                _LOG.warning("cannot listen for new work of other processes: %s", error)
                self._ending.wait(_RETRY_SECONDS)


class OtherWorkers:
    """Why work waits, as reported by workers of other processes; read periodically, so that no request waits for it.

    Attributes
    ----------
    problem
        Why work waits; ``None`` when no problem is known.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.problem: str | None = None
        self._ending = threading.Event()
        self._wake_ups = WakeUps(database, None)
        self._thread = threading.Thread(target=self._look_for_ever, name="other-workers", daemon=True)

    def start(self) -> None:
        """Start polling, and notifying them of new work."""
        self._wake_ups.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop polling."""
        self._wake_ups.stop()
        self._ending.set()

    def _look_for_ever(self) -> None:
        while True:
            try:
                with self._database.read() as connection:
                    self.problem = next(iter(leases.problems(connection)), None)
            except SQLAlchemyError as error:
                _LOG.warning("the state of other workers could not be read: %s", error)
            if self._ending.wait(_LOOK_SECONDS):
                return
