"""Rows of what people say of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select

from promptlift.service.store.rows import wanted
from promptlift.service.store.tables import conversations, optimizations, simulations
from promptlift.service.store.tables.prompts import LabelRow

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection, Select

    # Prompt and optimization of a conversation; no optimization where it is a logged one.
    Place = tuple[str, str | None]


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


def of_conversations(account_id: str, ids: Collection[str]) -> Select[LabelRow]:
    """Return the query of the labels of conversations."""
    return wanted(LabelRow, account_id=account_id).where(LabelRow.conversation_id.in_(ids))
