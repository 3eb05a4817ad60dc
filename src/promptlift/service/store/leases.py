"""Who works on which rows of a table, and until when that holds without a sign of life."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, select, update

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection, Table

__all__ = ["Leases"]


class Leases:
    """The work of one table.

    Parameters
    ----------
    table
        With the columns ``id``, ``seq`` (oldest first), ``worker`` and ``lease_until``.
    at_work
        True for rows that somebody has to work on.
    """

    def __init__(self, table: Table, at_work: ColumnElement[bool]) -> None:
        self._table = table
        self._at_work = at_work

    def _free(self, now: int) -> tuple[ColumnElement[bool], ...]:
        return (self._at_work, func.coalesce(self._table.c.lease_until, 0) < now)

    def _of(self, worker: str, ids: Sequence[str]) -> tuple[ColumnElement[bool], ...]:
        return (self._at_work, self._table.c.worker == worker, self._table.c.id.in_(ids))

    def waiting(self, connection: Connection, *, now: int) -> bool:
        """Whether there is a row that nobody works on."""
        return connection.scalar(select(self._table.c.id).where(*self._free(now)).limit(1)) is not None

    def claim(self, connection: Connection, worker: str, *, limit: int, now: int, until: int) -> list[str]:
        """Take rows that nobody works on; the oldest first."""
        table = self._table
        free = select(table.c.id).where(*self._free(now)).order_by(table.c.seq).limit(limit)
        ids = list(connection.scalars(free.with_for_update(skip_locked=True)))
        if ids:
            mine = {"worker": worker, "lease_until": until}
            connection.execute(update(table).where(table.c.id.in_(ids)).values(mine))
        return ids

    def renew(self, connection: Connection, worker: str, ids: Sequence[str], *, until: int) -> None:
        """Say that this process still works on these."""
        connection.execute(update(self._table).where(*self._of(worker, ids)).values(lease_until=until))

    def release(self, connection: Connection, worker: str | None = None) -> None:
        """Give back what a process took; everything when no process is named."""
        wanted = [self._at_work]
        if worker is not None:
            wanted.append(self._table.c.worker == worker)
        connection.execute(update(self._table).where(*wanted).values(worker=None, lease_until=0))

    def held(self, connection: Connection, worker: str, ids: Sequence[str]) -> set[str]:
        """Which of these this process may go on with: still to be worked on, and still its own."""
        return set(connection.scalars(select(self._table.c.id).where(*self._of(worker, ids))))
