"""Rows of runs of every kind, optimizations among them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from sqlalchemy import update
from sqlalchemy.orm import defer

from promptlift.service.store.leases import Leases, announce
from promptlift.service.store.rows import Rows, newest, wanted
from promptlift.service.store.tables.runs import OptimizationRow, RunRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Select

    from promptlift.schema.queries import PageQuery

AnyRun = OptimizationRow | RunRow
R = TypeVar("R", OptimizationRow, RunRow)

OPEN = ("queued", "running")


def leases(*kinds: str) -> Leases:
    """Return the leases of runs of some kinds."""
    return Leases(RunRow, RunRow.kind.in_(kinds) & RunRow.status.in_(OPEN))


def add(connection: Connection, row: R) -> R:
    """Add a run and return it."""
    Rows(connection).insert(row)
    announce(connection, type(row))
    return row


def of(account_id: str, *kinds: str) -> Select[RunRow]:
    """Return the query for the runs of an account of these kinds, newest first."""
    return newest(RunRow, account_id=account_id).where(RunRow.kind.in_(kinds))


def get(connection: Connection, run_id: str) -> RunRow:
    """Return an existing run of any account, for background work."""
    return Rows(connection).scalars(wanted(RunRow, id=run_id)).one()


def page(rows: Rows, query: Select[RunRow], place: PageQuery) -> tuple[Sequence[RunRow], int]:
    """Return one page of runs without their state, and their total number."""
    return rows.page(query.options(defer(RunRow.state, raiseload=True)), place)


def change(connection: Connection, row: AnyRun, **values: Any) -> None:
    """Change columns of a run."""
    connection.execute(update(type(row)).filter_by(id=row.id).values(values))
    row.change(values)
    if "status" in values:
        announce(connection, type(row))


def count(connection: Connection, row: AnyRun, worker: str, spent: Mapping[str, int]) -> bool:
    """Record a run's usage, and return whether this worker still holds it."""
    kind = type(row)
    result = connection.execute(
        update(kind)
        .filter_by(id=row.id, worker=worker)
        .where(kind.status.in_(OPEN))
        .values({name: kind.__table__.c[name] + amount for name, amount in spent.items()})
    )
    return result.rowcount == 1
