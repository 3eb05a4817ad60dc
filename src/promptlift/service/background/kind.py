"""The interface between the background worker and one kind of work.

A new kind is one small class: which rows it works on (``leases``), and how it processes some of them
(``work``).
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Final, TypeVar

from promptlift.service.store import SQLAlchemyError
from promptlift.service.store.leases import Leases
from promptlift.service.store.tables.accounts import SingletonJobRow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence


T = TypeVar("T")

_LOG = logging.getLogger(__name__)
_LOOK_ANYWAY_SECONDS: Final = 60.0


class Kind(ABC):
    """One kind of work.

    Attributes
    ----------
    name
        Name for threads and the log.
    leases
        The rows to work on.
    chunk
        Rows that are processed together.
    threads
        Chunks that this process works on concurrently.
    watches_leases
        Whether work is cancelled soon after its row lost its lease. Other kinds find out when they write.
    grace
        Seconds to wait for cancelled work when the process ends.
    gather
        Seconds between two polls for new rows, so that rows arriving meanwhile are claimed together.
    """

    name: str
    leases: Leases
    chunk: int = 1
    threads: int = 1
    watches_leases: bool = False
    grace: float = 5.0
    gather: float = 0.0

    def announced(self, tables: Collection[str]) -> bool:
        """Return whether new work in these tables may include rows of this kind."""
        return self.leases.table in tables

    @abstractmethod
    def work(self, ids: Sequence[str]) -> None:
        """Work on some claimed rows until nothing remains to be done for them.

        After a database failure or a defect, the rows are released and claimed again a little later.
        """

    def places(self, held: int) -> int:
        """Return how many rows to claim now; ``held`` is the number of rows that this process already holds."""
        return max(0, self.threads * self.chunk - held)

    def claimed(self, ids: Sequence[str]) -> None:  # noqa: B027 - most kinds need not know
        """Receive the rows claimed after `places` requested some; empty when no row was due."""

    def cancel(self, ids: Sequence[str]) -> None:  # noqa: B027 - short work ends by itself
        """End the work on these rows soon: they lost their lease, or the process ends."""

    def start(self) -> None:  # noqa: B027 - most kinds need not
        """Prepare for work."""

    def stop(self) -> None:  # noqa: B027 - most kinds need not
        """Start nothing more."""

    @property
    def problem(self) -> str | None:
        """Why due rows of this kind are waiting; ``None`` when no problem is known."""
        return None


def each(what: str, rows: Iterable[T], act: Callable[[T], None], *, key: str = "id") -> None:
    """Act on every row. A defect in one is logged and must not block the others; a failure of the database ends it."""
    for row in rows:
        try:
            act(row)
        except SQLAlchemyError:
            raise
        except Exception:  # noqa: BLE001 - logged
            _LOG.exception("%s %s was left out", what, getattr(row, key))


class SingletonJob(Kind):
    """A job that one worker at a time runs repeatedly for all, for as long as the worker lives.

    Parameters
    ----------
    name
        Name of its row.
    step
        Function to call each time.
    every_seconds
        Pause before each time.
    news_in
        Table whose news :meth:`has_news` reports.
    """

    watches_leases = True

    def __init__(
        self, name: str, step: Callable[[], None], *, every_seconds: float, news_in: str = ""
    ) -> None:
        super().__init__()
        self.name = name
        self.leases = Leases(SingletonJobRow, SingletonJobRow.id == name)
        self._step = step
        self._every_seconds = every_seconds
        self._over = threading.Event()
        self._news_in = news_in
        self._news = threading.Event()
        self._look_at = 0.0

    def announced(self, tables: Collection[str]) -> bool:
        """Note whether there is news."""
        if self._news_in in tables:
            self._news.set()
        return super().announced(tables)

    def has_news(self) -> bool:
        """Return whether there was news, or a minute has passed, since this returned True: other processes may have told nothing."""
        if not self._news.is_set() and time.monotonic() < self._look_at:
            return False
        self._news.clear()
        self._look_at = time.monotonic() + _LOOK_ANYWAY_SECONDS
        return True

    def claimed(self, ids: Sequence[str]) -> None:
        """Note that this worker has the job."""
        if ids:
            self._over.clear()

    def work(self, ids: Sequence[str]) -> None:  # noqa: ARG002 - there is one row
        """Run the job until the worker ends or loses it to another worker."""
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
