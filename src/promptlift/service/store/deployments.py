"""Rows of deployments: what became of a variant after its optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import func, insert, select, update

from promptlift.service.identifiers import new_id
from promptlift.service.store.tables import deployments, optimizations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import ColumnElement, Connection

    from promptlift.service.store.tables import AnyRow

# States from which a variant may still go live.
WAITING = ("staged", "testing")


def add(
    connection: Connection,
    optimization: AnyRow,
    variant_id: str,
    *,
    state: str,
    origin: str,
    now: int,
    **values: Any,
) -> None:
    """Add a deployment of a variant."""
    connection.execute(
        insert(deployments).values(
            id=new_id("dep"),
            account_id=optimization.account_id,
            prompt_id=optimization.prompt_id,
            optimization_id=optimization.id,
            variant_id=variant_id,
            state=state,
            origin=origin,
            checked=0,
            created_at=now,
            updated_at=now,
            **values,
        )
    )


def change(connection: Connection, deployment: AnyRow, *, now: int, **values: Any) -> bool:
    """Change a deployment that is still in the state and verification of the row; tells whether it was."""
    same = deployments.c.verification.is_not_distinct_from(deployment.verification)
    result = connection.execute(
        update(deployments)
        .where(deployments.c.id == deployment.id, deployments.c.state == deployment.state, same)
        .values(updated_at=now, **values)
    )
    return bool(result.rowcount)


def get(connection: Connection, deployment_id: str) -> AnyRow:
    """A deployment that exists, of any account: for background work."""
    return connection.execute(select(deployments).where(deployments.c.id == deployment_id)).one()


def of_optimization(connection: Connection, optimization_id: str) -> Sequence[AnyRow]:
    """The deployments of an optimization, newest first."""
    return connection.execute(
        select(deployments)
        .where(deployments.c.optimization_id == optimization_id)
        .order_by(deployments.c.seq.desc())
    ).all()


def live(connection: Connection, account_id: str, prompt_id: str) -> Sequence[AnyRow]:
    """The deployments of a prompt that are live: one at most."""
    return connection.execute(
        select(deployments).where(
            deployments.c.account_id == account_id,
            deployments.c.prompt_id == prompt_id,
            deployments.c.state == "live",
        )
    ).all()


def testing(connection: Connection, account_id: str, prompt_id: str) -> Sequence[AnyRow]:
    """The deployments of a prompt whose regression test is under way."""
    return connection.execute(
        select(deployments).where(
            deployments.c.account_id == account_id,
            deployments.c.prompt_id == prompt_id,
            deployments.c.state == "testing",
        )
    ).all()


def open_of_prompt(connection: Connection, account_id: str, prompt_id: str) -> Sequence[AnyRow]:
    """The deployments of a prompt that are live or may still go live."""
    return connection.execute(
        select(deployments).where(
            deployments.c.account_id == account_id,
            deployments.c.prompt_id == prompt_id,
            deployments.c.state.in_((*WAITING, "live")),
        )
    ).all()


# Who runs which regression test


def _free(now: int) -> tuple[ColumnElement[bool], ...]:
    return (deployments.c.state == "testing", func.coalesce(deployments.c.lease_until, 0) < now)


def waiting(connection: Connection, *, now: int) -> bool:
    """Whether there is a regression test that nobody works on."""
    statement = select(deployments.c.id).where(*_free(now)).limit(1)
    return connection.scalar(statement) is not None


def claim(connection: Connection, worker: str, *, limit: int, now: int, until: int) -> list[str]:
    """Take regression tests that nobody works on; the oldest first."""
    free = (
        select(deployments.c.id)
        .where(*_free(now))
        .order_by(deployments.c.seq)
        .limit(limit)
        .with_for_update(skip_locked=True)
    )
    ids = list(connection.scalars(free))
    if ids:
        connection.execute(
            update(deployments).where(deployments.c.id.in_(ids)).values(worker=worker, lease_until=until)
        )
    return ids


def renew(connection: Connection, worker: str, *, until: int) -> None:
    """Say that this process still works on what it took."""
    connection.execute(
        update(deployments)
        .where(deployments.c.worker == worker, deployments.c.state == "testing")
        .values(lease_until=until)
    )


def release(connection: Connection, worker: str | None = None) -> None:
    """Give back what a process took; everything when no process is named."""
    wanted = [deployments.c.state == "testing"]
    if worker is not None:
        wanted.append(deployments.c.worker == worker)
    connection.execute(update(deployments).where(*wanted).values(worker=None, lease_until=None))


def held(connection: Connection, worker: str, ids: Sequence[str]) -> set[str]:
    """Which of these tests this process may go on with: still under way, and still its own."""
    return set(
        connection.scalars(
            select(deployments.c.id).where(
                deployments.c.id.in_(ids),
                deployments.c.worker == worker,
                deployments.c.state == "testing",
            )
        )
    )


def count_calls(connection: Connection, deployment: AnyRow, worker: str, calls: int, tokens: int) -> bool:
    """Count model calls of a regression test into its optimization; says whether this process still has the test."""
    mine = (
        deployments.c.id == deployment.id,
        deployments.c.worker == worker,
        deployments.c.state == "testing",
    )
    # An update that changes nothing holds the row until the end of the transaction, on every database.
    if not connection.execute(update(deployments).where(*mine).values(worker=worker)).rowcount:
        return False
    connection.execute(
        update(optimizations)
        .where(optimizations.c.id == deployment.optimization_id)
        .values(model_calls=optimizations.c.model_calls + calls, tokens=optimizations.c.tokens + tokens)
    )
    return True
