"""Rows of runs of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import update
from sqlalchemy.orm import defer

from promptlift.service.store.leases import Leases
from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables.runs import RunRow
from promptlift.service.store.wake_ups import announce

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import ColumnElement, Connection

OPEN = ("queued", "running")


def leases(*kinds: str) -> Leases:
    """Return which worker has which runs of some kinds."""
    return Leases(RunRow.__table__, RunRow.kind.in_(kinds) & RunRow.status.in_(OPEN))


def add(connection: Connection, row: RunRow) -> RunRow:
    """Add a run and return it."""
    rows = Rows(connection)
    rows.add(row)
    rows.flush()
    announce(connection, RunRow.__table__)
    return row


def found(
    connection: Connection,
    account_id: str,
    run_id: str,
    name: str,
    kinds: Iterable[str],
    *,
    lock: bool = False,
) -> RunRow:
    """Return a run of the account, of one of these kinds.

    Raises
    ------
    ApiException
        ``NOT_FOUND``, with the name of such a run.
    """
    query = wanted(RunRow, account_id=account_id, id=run_id).where(RunRow.kind.in_(kinds))
    return Rows(connection).found(query.with_for_update() if lock else query, name)


def get(connection: Connection, run_id: str) -> RunRow:
    """Return a run that exists, of any account: for background work."""
    return Rows(connection).scalars(wanted(RunRow, id=run_id)).one()


def page(
    connection: Connection,
    account_id: str,
    kinds: Iterable[str],
    *where: ColumnElement[bool],
    limit: int,
    offset: int,
) -> tuple[Sequence[RunRow], int]:
    """Return one page of runs without their state, newest first, and how many there are."""
    rows = Rows(connection)
    query = newest(RunRow, account_id=account_id).where(RunRow.kind.in_(kinds), *where)
    shown = query.options(defer(RunRow.state, raiseload=True)).limit(limit).offset(offset)
    return rows.all(shown), rows.count(query)


def change(connection: Connection, row: RunRow, **values: Any) -> None:
    """Change columns of a run."""
    connection.execute(update(RunRow).filter_by(id=row.id).values(values))
    for name, value in values.items():
        setattr(row, name, value)
    if "status" in values:
        announce(connection, RunRow.__table__)


def count(connection: Connection, run_id: str, worker: str, spent: Mapping[str, int]) -> bool:
    """Count what a run has used up, and return whether this worker still has it."""
    columns = RunRow.__table__.c
    result = connection.execute(
        update(RunRow)
        .filter_by(id=run_id, worker=worker)
        .where(RunRow.status.in_(OPEN))
        .values({name: columns[name] + amount for name, amount in spent.items()})
    )
    return result.rowcount == 1
