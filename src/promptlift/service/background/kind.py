"""What the background worker needs to know about one kind of work.

A new kind is one small class: which rows it works on (``leases``), and what it does with some of them (``work``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from promptlift.service.store.leases import Leases

__all__ = ["Kind"]


class Kind(ABC):
    """One kind of work.

    Attributes
    ----------
    name
        For threads and the log.
    leases
        The rows that are worked on.
    chunk
        Rows that are worked on in one go.
    threads
        Chunks that this process works on at a time.
    watches_leases
        Whether work is cancelled soon after its row was taken away. Other kinds find out when they write.
    grace
        Seconds to wait, when the process ends, for work that was cancelled.
    gather
        Seconds between two looks for new rows, so that those that come meanwhile are claimed together.
    """

    name: str
    leases: Leases
    chunk: int = 1
    threads: int = 1
    watches_leases: bool = False
    grace: float = 5.0
    gather: float = 0.0

    def announced(self, tables: Collection[str]) -> bool:
        """Return whether there may be rows of this kind, now that there is new work in these tables."""
        return self.leases.table in tables

    @abstractmethod
    def work(self, ids: Sequence[str]) -> None:
        """Work on some claimed rows until nothing remains to be done for them.

        After a failure of the database, or a defect, the rows are released and claimed again a little later.
        """

    def places(self, held: int) -> int:
        """Return how many rows to claim now; ``held`` is the number of rows that this process has already."""
        return max(0, self.threads * self.chunk - held)

    def claimed(self, ids: Sequence[str]) -> None:  # noqa: B027 - most kinds need not know
        """Note which rows were claimed after `places` asked for some: none when no row was due."""

    def cancel(self, ids: Sequence[str]) -> None:  # noqa: B027 - short work ends by itself
        """End the work on these rows soon: they were taken away, or the process ends."""

    def start(self) -> None:  # noqa: B027 - most kinds need not
        """Prepare for work."""

    def stop(self) -> None:  # noqa: B027 - most kinds need not
        """Begin nothing more."""

    @property
    def problem(self) -> str | None:
        """Why rows of this kind wait although they are due; ``None`` when nothing is known to be wrong."""
        return None
