"""What the workers of other processes say, for a process that does not work itself."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Final

from promptlift.service.background.wake_ups import WakeUps
from promptlift.service.store import workers
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from promptlift.service.store.database import Database

__all__ = ["OtherWorkers"]

_LOG = logging.getLogger(__name__)
LOOK_SECONDS: Final = 2.0


class OtherWorkers:
    """Why work waits, as the workers of other processes say it; read now and then, so that no request waits for it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._problem: str | None = None
        self._ending = threading.Event()
        self._wake_ups = WakeUps(database, None)
        self._thread = threading.Thread(target=self._look_for_ever, name="other-workers", daemon=True)

    def problem(self) -> str | None:
        """Return why work waits; ``None`` when nothing is known to be wrong."""
        return self._problem

    def start(self) -> None:
        """Begin to look, and to tell them of new work."""
        self._wake_ups.start()
        self._thread.start()

    def stop(self) -> None:
        """Stop looking."""
        self._wake_ups.stop()
        self._ending.set()

    def _look_for_ever(self) -> None:
        while True:
            try:
                with self._database.read() as connection:
                    self._problem = next(iter(workers.problems(connection)), None)
            except SQLAlchemyError as error:
                _LOG.warning("other workers could not be looked at: %s", error)
            if self._ending.wait(LOOK_SECONDS):
                return
