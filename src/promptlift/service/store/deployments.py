"""Rows of deployments: the fate of a variant after its optimization."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import case, insert, select, update

from promptlift.service.identifiers import new_id
from promptlift.service.store.leases import Leases, Wait, announce
from promptlift.service.store.rows import Rows, newest
from promptlift.service.store.tables import deployments, optimizations
from promptlift.service.store.tables.prompts import VersionRow
from promptlift.service.store.tables.runs import DeploymentRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables.prompts import PromptRow
    from promptlift.service.store.tables.runs import OptimizationRow

# States from which a variant may still go live.
WAITING = ("staged", "testing")

LEASES = Leases(deployments, deployments.c.state == "testing")
"""Leases of regression tests."""

LIVE = Wait(deployments.c.applied_at, 0)
"""The time from which conversations use the text of a deployment."""


def add(
    connection: Connection,
    optimization: OptimizationRow,
    variant_id: str,
    *,
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
            checked=0,
            created_at=now,
            updated_at=now,
            **values,
        )
    )
    announce(connection, deployments)


def change(connection: Connection, deployment: DeploymentRow, *, now: int, **values: Any) -> bool:
    """Change a deployment that is still in the state and verification of the row; return whether it was."""
    same = deployments.c.verification.is_not_distinct_from(deployment.verification)
    result = connection.execute(
        update(deployments)
        .where(deployments.c.id == deployment.id, deployments.c.state == deployment.state, same)
        .values(updated_at=now, **values)
    )
    announce(connection, deployments)
    return bool(result.rowcount)


def get(connection: Connection, deployment_id: str) -> DeploymentRow:
    """Return an existing deployment of any account, for background work."""
    return Rows(connection).scalars(select(DeploymentRow).filter_by(id=deployment_id)).one()


def of_optimization(connection: Connection, optimization_id: str) -> Sequence[DeploymentRow]:
    """Return the deployments of an optimization: the live one, then the newest first."""
    is_live = case((DeploymentRow.state == "live", 0), else_=1)
    mine = select(DeploymentRow).filter_by(optimization_id=optimization_id)
    return Rows(connection).all(mine.order_by(is_live, DeploymentRow.seq.desc()))


def of_prompt(connection: Connection, prompt: PromptRow, *states: str) -> Sequence[DeploymentRow]:
    """Return the deployments of a prompt in some states; at most one is live."""
    mine = select(DeploymentRow).filter_by(account_id=prompt.account_id, prompt_id=prompt.id)
    return Rows(connection).all(mine.where(DeploymentRow.state.in_(states)))


def former_of_text(connection: Connection, prompt: PromptRow, content: str) -> DeploymentRow | None:
    """Return the newest superseded deployment that made a text current; ``None`` if there is none.

    The original does not count, because it is not a fix.
    """
    return Rows(connection).find(
        newest(DeploymentRow, account_id=prompt.account_id, prompt_id=prompt.id)
        .join(VersionRow, VersionRow.seq == DeploymentRow.version_seq)
        .where(
            VersionRow.content == content,
            DeploymentRow.state.in_(("superseded", "rolled_back")),
            DeploymentRow.verification.is_not(None),
        )
        .limit(1)
    )


def superseded_version(connection: Connection, version: VersionRow) -> DeploymentRow | None:
    """Return the superseded deployment that had made a version current; ``None`` if there is none."""
    mine = {"account_id": version.account_id, "prompt_id": version.prompt_id, "version_seq": version.seq}
    return Rows(connection).find(newest(DeploymentRow, **mine, state="superseded").limit(1))


def version_before(connection: Connection, deployment: DeploymentRow) -> VersionRow | None:
    """Return the version that was current before a deployment."""
    mine = select(VersionRow).filter_by(account_id=deployment.account_id, prompt_id=deployment.prompt_id)
    return Rows(connection).find(mine.filter_by(seq=deployment.previous_version_seq))


def count(connection: Connection, deployment: DeploymentRow, worker: str, spent: Mapping[str, int]) -> bool:
    """Add a regression test's usage to its optimization, and return whether this worker still holds the test."""
    mine = update(deployments).filter_by(id=deployment.id, worker=worker, state="testing")
    # An update that changes nothing locks the row until the end of the transaction, on every database.
    if not connection.execute(mine.values(worker=worker)).rowcount:
        return False
    connection.execute(
        update(optimizations)
        .filter_by(id=deployment.optimization_id)
        .values({name: optimizations.c[name] + amount for name, amount in spent.items()})
    )
    return True
