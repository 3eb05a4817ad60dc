"""Conversations that are there already: found by their ids, and changed."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import and_, delete, func, insert, or_, select, update

from promptlift.service.store import changes
from promptlift.service.store.tables import conversation_contents, conversations, insights, judge_verdicts
from promptlift.service.store.wake_ups import announce

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow

# An id that more conversations have is no id of a conversation: a customer's, say.
SAME_SOURCE: Final = 9


def content_hash(content: bytes) -> str:
    """Return the SHA-256 of a content in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def lookup(
    connection: Connection,
    account_id: str,
    prompt_id: str,
    *,
    ids: Sequence[str],
    source_ids: Sequence[str],
) -> Sequence[AnyRow]:
    """Return the conversations of a prompt that have one of the ids, newest first.

    At most ``SAME_SOURCE`` come for each source id.
    """
    mine = and_(conversations.c.account_id == account_id, conversations.c.prompt_id == prompt_id)
    wanted = []
    if ids:
        wanted.append(conversations.c.id.in_(ids))
    if source_ids:
        place = func.row_number().over(
            partition_by=conversations.c.source_id, order_by=conversations.c.seq.desc()
        )
        ranked = (
            select(conversations.c.seq, place.label("place"))
            .where(mine, conversations.c.source_id.in_(source_ids))
            .subquery()
        )
        newest = select(ranked.c.seq).where(ranked.c.place <= SAME_SOURCE)
        wanted.append(conversations.c.seq.in_(newest))
    if not wanted:
        return []
    return connection.execute(
        select(
            conversations.c.id,
            conversations.c.source_id,
            conversations.c.status,
            conversations.c.content_hash,
        )
        .where(mine, or_(*wanted))
        .order_by(conversations.c.seq.desc())
    ).all()


def change(
    connection: Connection, before: AnyRow, values: dict[str, Any], content: bytes | None = None
) -> None:
    """Change columns of a conversation.

    Parameters
    ----------
    before
        The row as it was: `conversations.find`, after it was locked.
    values
        New values by column.
    content
        The new content. The insights and verdicts of the old one are removed, so that they are not taken for those of the new one.
    """
    values = {**values, "updated_at": changes.stamp(connection, [before.account_id])}
    connection.execute(update(conversations).where(conversations.c.seq == before.seq).values(**values))
    announce(connection, conversations)
    if content is not None:
        connection.execute(
            delete(conversation_contents).where(conversation_contents.c.conversation_id == before.id)
        )
        connection.execute(insert(conversation_contents).values(conversation_id=before.id, content=content))
        for table in (insights, judge_verdicts):
            connection.execute(delete(table).where(table.c.conversation_id == before.id))
