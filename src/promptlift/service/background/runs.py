"""Long runs: one row is one run, which calls a model, keeps what it has finished, and may take hours.

Everything that a run finishes is kept as it comes, so a process that dies leaves a run that any process goes on with.
"""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from promptlift.errors import PromptliftError
from promptlift.service.background.kind import Kind
from promptlift.service.llm.failures import Cancelled
from promptlift.service.store.errors import SQLAlchemyError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["LeaseLost", "Runs"]

_LOG = logging.getLogger(__name__)


class LeaseLost(PromptliftError):
    """The run was stopped, or another process has it: this one may not go on."""


class Cancellable(Protocol):
    """The tasks of a run, which end when the run is taken away."""

    def cancel(self) -> None:
        """End all of it, from any thread."""


Tasks = TypeVar("Tasks", bound=Cancellable)


class Runs(Kind, Generic[Tasks]):
    """A kind of work whose rows are runs, each in a thread of its own."""

    watches_leases = True

    def __init__(self) -> None:
        super().__init__()
        self._tasks: dict[str, Tasks] = {}
        self._ending = False
        self._lock = threading.Lock()

    @abstractmethod
    def tasks_of(self, row_id: str) -> Tasks:
        """Return who carries out the tasks of a run; they are cancelled when the row is taken away or the process ends."""

    @abstractmethod
    def carry_on(self, row_id: str, tasks: Tasks) -> None:
        """Carry a run on to its end."""

    @abstractmethod
    def fail(self, row_id: str, reason: str) -> None:
        """End a run for a reason, if this process still has it."""

    def work(self, ids: Sequence[str]) -> None:
        """Carry each of these runs on to its end, or end it with the reason why that is not possible."""
        for row_id in ids:
            self._work_on(row_id)

    def cancel(self, ids: Sequence[str]) -> None:
        """End the tasks of these runs."""
        with self._lock:
            tasks = [self._tasks[row_id] for row_id in ids if row_id in self._tasks]
        for one in tasks:
            one.cancel()

    def start(self) -> None:
        """Prepare for work."""
        self._ending = False

    def stop(self) -> None:
        """Begin no more runs."""
        with self._lock:
            self._ending = True

    def _work_on(self, row_id: str) -> None:
        try:
            tasks = self.tasks_of(row_id)
            with self._lock:
                if self._ending:
                    return
                self._tasks[row_id] = tasks
            self.carry_on(row_id, tasks)
        except (Cancelled, LeaseLost, SQLAlchemyError):
            raise
        except PromptliftError as error:
            self.fail(row_id, str(error))
        except Exception as error:  # noqa: BLE001 - a defect must not leave the row at work for ever
            if self._ending:  # the pool takes no more conversations
                return
            _LOG.exception("%s %s failed", self.name, row_id)
            self.fail(row_id, f"A defect of the service: {type(error).__name__}: {error}")
        finally:
            with self._lock:
                self._tasks.pop(row_id, None)
