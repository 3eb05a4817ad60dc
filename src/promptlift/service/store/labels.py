"""Rows of what people say of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, insert, select, update

from promptlift.service.store import paging
from promptlift.service.store.tables import conversations, labels, optimizations, simulations

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow

    # Prompt and optimization of a conversation; no optimization where it is a logged one.
    Place = tuple[str, str | None]


def page(
    connection: Connection, account_id: str, *, limit: int, offset: int, **wanted: str | None
) -> tuple[Sequence[AnyRow], int]:
    """Return one page of the labels with these values, newest first, and how many there are."""
    conditions = paging.equal(labels, account_id=account_id, **wanted)
    return paging.page(connection, labels, conditions, limit=limit, offset=offset)


def places(connection: Connection, account_id: str, ids: Collection[str]) -> dict[str, Place]:
    """Return where conversations belong; those that are not there are left out.

    Logged ones cannot be deleted before the transaction ends.
    """
    logged = (
        select(conversations.c.id, conversations.c.prompt_id)
        .where(conversations.c.account_id == account_id, conversations.c.id.in_(ids))
        .order_by(conversations.c.seq)
        .with_for_update(read=True)
    )
    simulated = (
        select(simulations.c.id, simulations.c.optimization_id, optimizations.c.prompt_id)
        .join(optimizations, optimizations.c.id == simulations.c.optimization_id)
        .where(simulations.c.account_id == account_id, simulations.c.id.in_(ids))
    )
    found: dict[str, Place] = {row.id: (row.prompt_id, None) for row in connection.execute(logged)}
    found |= {row.id: (row.prompt_id, row.optimization_id) for row in connection.execute(simulated)}
    return found


def of_conversations(
    connection: Connection, account_id: str, ids: Collection[str]
) -> dict[tuple[str, str, str], AnyRow]:
    """Return the labels of conversations by conversation, question and labeller."""
    rows = connection.execute(
        select(labels).where(labels.c.account_id == account_id, labels.c.conversation_id.in_(ids))
    )
    return {(row.conversation_id, row.question, row.labeller): row for row in rows}


def add(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Keep new labels; all rows have the same columns."""
    if rows:
        connection.execute(insert(labels), list(rows))


def change(connection: Connection, label_id: str, values: dict[str, Any]) -> None:
    """Change columns of a label."""
    connection.execute(update(labels).filter_by(id=label_id).values(**values))


def remove(connection: Connection, ids: Collection[str]) -> None:
    """Remove labels."""
    connection.execute(delete(labels).where(labels.c.id.in_(ids)))
