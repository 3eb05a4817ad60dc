"""Long runs: one row is one run, which calls a model, keeps what it has finished, and may take hours.

Everything that a run finishes is kept as it comes, so any worker can carry on the run of a process that died.
"""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from typing import TYPE_CHECKING, Protocol

from promptlift.errors import PromptliftError
from promptlift.service.background.kind import Kind
from promptlift.service.llm.failures import Cancelled
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LeaseLost", "Run", "Runs"]

_LOG = logging.getLogger(__name__)


class LeaseLost(PromptliftError):
    """The run was stopped, or another worker has it: this one must stop."""


class Run(Protocol):
    """One run of one row."""

    def to_its_end(self) -> None:
        """Do all that is left of it."""

    def cancel(self) -> None:
        """End its work, from any thread; it then raises ``Cancelled``."""


class Runs(Kind):
    """A kind of work whose rows are runs, each in a thread of its own."""

    watches_leases = True

    def __init__(self) -> None:
        super().__init__()
        self._running: dict[str, Run] = {}
        self._ending = False
        self._lock = threading.Lock()

    @abstractmethod
    def open(self, row_id: str) -> Run:
        """Return the run of a row, to be carried on from where it stands."""

    @abstractmethod
    def fail(self, row_id: str, reason: str) -> None:
        """End a run for a reason, if this process still has it."""

    def work(self, ids: Sequence[str]) -> None:
        """Carry each of these runs on to its end, or end it with the reason why that is not possible."""
        for row_id in ids:
            self._work_on(row_id)

    def cancel(self, ids: Sequence[str]) -> None:
        """End the work of these runs."""
        with self._lock:
            running = [self._running[row_id] for row_id in ids if row_id in self._running]
        for run in running:
            run.cancel()

    def start(self) -> None:
        """Prepare for work."""
        self._ending = False

    def stop(self) -> None:
        """Begin no more runs."""
        with self._lock:
            self._ending = True

    def _work_on(self, row_id: str) -> None:
        try:
            run = self.open(row_id)
            with self._lock:
                if self._ending:
                    return
                self._running[row_id] = run
            run.to_its_end()
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except PromptliftError as error:
            self.fail(row_id, str(error))
        except Exception as error:  # noqa: BLE001 - a defect must not leave the row claimed for ever
            if self._ending:  # the pool takes no more conversations
                return
            _LOG.exception("%s %s failed", self.name, row_id)
            self.fail(row_id, f"A defect of the service: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._running.pop(row_id, None)
