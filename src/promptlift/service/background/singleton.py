"""Jobs that one worker at a time does for all, again and again, for as long as it lives."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

from promptlift.service.background.kind import Kind
from promptlift.service.store import singleton_jobs
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from promptlift.service.store.leases import Wait

__all__ = ["SingletonJob"]

_LOG = logging.getLogger(__name__)


class SingletonJob(Kind):
    """One such job.

    Parameters
    ----------
    name
        Name of its row.
    step
        What is done each time.
    every_seconds
        Pause before each time.
    wait
        A stored time that the job goes by.
    """

    watches_leases = True

    def __init__(
        self, name: str, step: Callable[[], None], *, every_seconds: float, wait: Wait | None = None
    ) -> None:
        super().__init__()
        self.name = name
        self.leases = singleton_jobs.leases(name, wait)
        self._step = step
        self._every_seconds = every_seconds
        self._over = threading.Event()

    def claimed(self, ids: Sequence[str]) -> None:
        """Note that the job is this worker's."""
        if ids:
            self._over.clear()

    def work(self, ids: Sequence[str]) -> None:  # noqa: ARG002 - there is one row
        """Do it until the worker ends, or the job is another one's."""
        while not self._over.wait(self._every_seconds):
            try:
                self._step()
            except SQLAlchemyError as error:
                _LOG.warning("%s waits for the database: %s", self.name, error)
            except Exception:  # noqa: BLE001 - the next time may fare better
                _LOG.exception("%s failed", self.name)

    def cancel(self, ids: Sequence[str]) -> None:  # noqa: ARG002 - there is one row
        """End soon."""
        self._over.set()
