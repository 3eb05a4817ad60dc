"""The live background workers, and until when they count as live without a sign of life.

Times are the database's own, so that the clocks of several machines need not agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlalchemy import BigInteger, cast, delete, extract, func, insert, literal, select, update

from promptlift.service import clock
from promptlift.service.store.leases import Leases, Wait
from promptlift.service.store.tables import singleton_jobs, workers

if TYPE_CHECKING:
    from sqlalchemy import ColumnElement, Connection


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
    found = connection.execute(update(workers).where(workers.c.id == worker).values(values)).rowcount
    if not found:
        connection.execute(insert(workers).values(id=worker, **values))


def remove(connection: Connection, worker: str) -> None:
    """Remove a worker that ended; its rows must be released in the same transaction."""
    connection.execute(delete(workers).where(workers.c.id == worker))


def remove_expired(connection: Connection, *, seconds: float) -> int:
    """Remove the workers whose lease of this many seconds expired and return their number.

    Their rows must be released in the same transaction.
    """
    Wait(workers.c.lease_until, round(seconds * clock.SECOND)).bring_forward(connection, now=_now(connection))
    expired = select(workers.c.id).where(workers.c.lease_until < _now(connection))
    ids = list(connection.scalars(expired.with_for_update(skip_locked=True)))
    if ids:
        connection.execute(delete(workers).where(workers.c.id.in_(ids)))
    return len(ids)


def remove_all(connection: Connection) -> None:
    """Remove every worker, for a database used by one process only."""
    connection.execute(delete(workers))


def problems(connection: Connection) -> list[str]:
    """Return why work waits, as reported by live workers."""
    told = select(workers.c.problem).where(
        workers.c.problem.is_not(None), workers.c.lease_until >= _now(connection)
    )
    return list(connection.scalars(told.order_by(workers.c.id)))


JOBS: Final = ("watch_deployments", "clean_up", "name_issues")
"""Jobs that one worker at a time does for all."""


def add_jobs(connection: Connection) -> None:
    """Add the row of every job, in a new database."""
    connection.execute(insert(singleton_jobs), [{"id": name} for name in JOBS])


def job_leases(name: str, wait: Wait | None = None) -> Leases:
    """Return the leases of the single row of a job, with the time that controls the job."""
    return Leases(singleton_jobs, singleton_jobs.c.id == name, wait=wait)
