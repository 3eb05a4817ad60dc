"""What searches quote from logged conversations: a quotation goes with the conversation that it stands in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import or_, select, update

from promptlift.schema.search import DELETED
from promptlift.service.store.tables import conversation_contents, optimizations

if TYPE_CHECKING:
    from collections.abc import Collection

    from sqlalchemy import Connection

__all__ = ["forget", "forget_in", "still_there"]


def forget(connection: Connection, accounts: Collection[str], conversations: Collection[str]) -> None:
    """Delete the quotations from some conversations, in the transaction that deletes their transcripts.

    The evidence stays as a place without words and without the conversation's id.
    """
    rows = connection.execute(
        select(optimizations.c.id, optimizations.c.search)
        .where(
            optimizations.c.account_id.in_(accounts),
            # One that runs may be about to keep its first quotations: waiting for its row is waiting for them.
            or_(optimizations.c.search.is_not(None), optimizations.c.status == "running"),
        )
        .with_for_update()
    ).all()
    gone = set(conversations)
    for row in rows:
        state = row.search
        if state is not None and forget_in([*state["search"]["edits"], *state["refused"]], gone):
            connection.execute(update(optimizations).filter_by(id=row.id).values(search=state))


def forget_in(edits: Collection[dict[str, Any]], gone: Collection[str]) -> bool:
    """Delete the quotations from some conversations in edits as they are kept; says whether there were any."""
    changed = False
    for edit in edits:
        if any(conversation in gone for conversation, _ in edit["evidence"]):
            edit["evidence"] = [
                [DELETED, ""] if conversation in gone else [conversation, quote]
                for conversation, quote in edit["evidence"]
            ]
            changed = True
    return changed


def still_there(connection: Connection, conversations: Collection[str]) -> set[str]:
    """Return those of some conversations that still have their transcripts."""
    found = connection.scalars(
        select(conversation_contents.c.conversation_id).where(
            conversation_contents.c.conversation_id.in_(conversations)
        )
    )
    return set(found)
