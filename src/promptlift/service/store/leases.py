"""Leases: which worker is alive, which rows it holds, and how long rows may wait.

Times of workers are the database's own, so that the clocks of several machines need not agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import (
    BigInteger,
    cast,
    delete,
    extract,
    func,
    insert,
    literal,
    null,
    select,
    true,
    union_all,
    update,
)

from promptlift.service import clock
from promptlift.service.store.tables.accounts import WorkerRow

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection, SQLColumnExpression

    from promptlift.service.store.rows import Base


T = TypeVar("T")

# Maximum ids per statement: databases limit the number of parameters.
_AT_ONCE = 500


def in_batches(ids: Sequence[T]) -> Iterator[Sequence[T]]:
    """Split ids into batches that fit into one statement."""
    return (ids[at : at + _AT_ONCE] for at in range(0, len(ids), _AT_ONCE))


def announce(connection: Connection, kind: type[Base]) -> None:
    """Notify workers of new work in rows of a kind when this transaction is committed; see `Database.listeners`."""
    connection.info.setdefault("announced", set()).add(kind.__table__.name)


class Leases:
    """The rows of one kind for background work.

    Parameters
    ----------
    kind
        Rows with the columns ``id``, ``seq`` (oldest first) and ``worker``, which is empty if no worker holds
        the row.
    at_work
        Condition of rows with work to do, claimed or not.
    due
        Column with the time before which a row is not claimed; rows are claimed in its order. ``None`` if
        they are always due.
    free, claimed
        Values of other columns that distinguish unclaimed from claimed rows, for an index. They are set when
        a row is claimed and released.
    """

    def __init__(
        self,
        kind: type[Base],
        at_work: ColumnElement[bool],
        *,
        due: SQLColumnExpression[Any] | None = None,
        free: Mapping[str, Any] | None = None,
        claimed: Mapping[str, Any] | None = None,
    ) -> None:
        self._kind = kind
        self._table = kind.__table__
        self._at_work = at_work
        self._due = due
        self._free = dict(free or {})
        self._claimed = dict(claimed or {})

    @property
    def table(self) -> str:
        """Name of the table."""
        return self._table.name

    def _is_free(self, now: int) -> tuple[ColumnElement[bool], ...]:
        known = self._are(self._free) or (self._at_work, self._table.c.worker.is_(None))
        return (*known, true() if self._due is None else self._due <= now)

    def _is_claimed(self) -> tuple[ColumnElement[bool], ...]:
        return (*(self._are(self._claimed) or (self._at_work,)), self._table.c.worker.is_not(None))

    def _are(self, values: Mapping[str, Any]) -> tuple[ColumnElement[bool], ...]:
        return tuple(self._table.c[name] == value for name, value in values.items())

    def waiting(self, *, now: int) -> ColumnElement[bool]:
        """Return the condition that there is an unclaimed row that is due."""
        return select(self._table.c.id).where(*self._is_free(now)).limit(1).exists()

    def backlog(self, connection: Connection, *, now: int) -> tuple[int, int | None]:
        """Count the due rows, claimed or not, and return since when the oldest has been due, if rows have a due time."""
        is_due = true() if self._due is None else self._due <= now
        oldest = null() if self._due is None else func.min(self._due)
        row = connection.execute(select(func.count(), oldest).where(self._at_work, is_due)).one()
        return int(row[0]), row[1]

    def claim(self, connection: Connection, worker: str, *, limit: int, now: int) -> list[str]:
        """Claim due unclaimed rows, oldest first."""
        table = self._table
        order = (table.c.seq,) if self._due is None else (self._due, table.c.seq)
        free = select(table.c.id).where(*self._is_free(now)).order_by(*order).limit(limit)
        ids = list(connection.scalars(free.with_for_update(skip_locked=True)))
        if ids:
            values = {"worker": worker, **self._claimed}
            connection.execute(update(table).where(table.c.id.in_(ids)).values(values))
        return ids

    def release(self, connection: Connection, worker: str, ids: Sequence[str] | None = None) -> int:
        """Release some or all rows of a worker, and return their number."""
        mine = (*self._is_claimed(), self._table.c.worker == worker)
        if ids is None:
            return self._set_free(connection, *mine)
        return sum(self._set_free(connection, *mine, self._table.c.id.in_(some)) for some in in_batches(ids))

    def release_orphans(self, connection: Connection) -> int:
        """Release the rows of dead workers and return their number."""
        return self._set_free(
            connection, *self._is_claimed(), self._table.c.worker.not_in(select(WorkerRow.id))
        )

    def _set_free(self, connection: Connection, *which: ColumnElement[bool]) -> int:
        table = self._table
        # In the order in which others lock rows, so that there is no deadlock.
        found = select(table.c.id).where(*which).order_by(table.c.seq).with_for_update()
        ids = list(connection.scalars(found))
        for some in in_batches(ids):
            freed = update(table).where(table.c.id.in_(some))
            connection.execute(freed.values({"worker": None, **self._free}))
        if ids:
            announce(connection, self._kind)
        return len(ids)

    def held(self, connection: Connection, worker: str, ids: Sequence[str]) -> set[str]:
        """Return the rows on which a worker may continue: unfinished, and still its own."""
        table = self._table
        mine = (self._at_work, table.c.worker == worker, table.c.id.in_(ids))
        return set(connection.scalars(select(table.c.id).where(*mine)))


def with_work(connection: Connection, leases: Sequence[Leases], *, now: int) -> list[int]:
    """Return the indices of the leases with a due unclaimed row, using one statement."""
    looks = [select(literal(place)).where(one.waiting(now=now)) for place, one in enumerate(leases)]
    return list(connection.scalars(union_all(*looks)))


# Workers


def _now(connection: Connection) -> ColumnElement[int]:
    if connection.dialect.name == "sqlite":
        return literal(clock.now(), BigInteger)
    return cast(extract("epoch", func.clock_timestamp()) * clock.SECOND, BigInteger)


def renew(connection: Connection, worker: str, *, seconds: float, problem: str | None = None) -> None:
    """Record a sign of life of a worker; an unknown worker is added.

    Parameters
    ----------
    problem
        Why rows that it could work on wait, if there is a problem.
    """
    values = {"lease_until": _now(connection) + round(seconds * clock.SECOND), "problem": problem}
    found = connection.execute(update(WorkerRow).where(WorkerRow.id == worker).values(values)).rowcount
    if not found:
        connection.execute(insert(WorkerRow).values(id=worker, **values))


def remove_worker(connection: Connection, worker: str) -> None:
    """Remove a worker that ended; its rows must be released in the same transaction."""
    connection.execute(delete(WorkerRow).where(WorkerRow.id == worker))


def remove_expired_workers(connection: Connection) -> int:
    """Remove the workers whose lease expired and return their number.

    Their rows must be released in the same transaction.
    """
    expired = select(WorkerRow.id).where(WorkerRow.lease_until < _now(connection))
    ids = list(connection.scalars(expired.with_for_update(skip_locked=True)))
    if ids:
        connection.execute(delete(WorkerRow).where(WorkerRow.id.in_(ids)))
    return len(ids)


def remove_all_workers(connection: Connection) -> None:
    """Remove every worker, for a database used by one process only."""
    connection.execute(delete(WorkerRow))


def problems(connection: Connection) -> list[str]:
    """Return why work waits, as reported by live workers."""
    told = select(WorkerRow.problem).where(
        WorkerRow.problem.is_not(None), WorkerRow.lease_until >= _now(connection)
    )
    return list(connection.scalars(told.order_by(WorkerRow.id)))
