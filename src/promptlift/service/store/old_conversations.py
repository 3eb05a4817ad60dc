"""Deleting what is old: transcripts first, later the conversations with their insights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import and_, delete, exists, select, update

from promptlift.service.store import changes, conversation_counts, quotations
from promptlift.service.store.tables import (
    conversation_contents,
    conversations,
    deliveries,
    events,
    idempotency_keys,
    insights,
    judge_verdicts,
    labels,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Select

    from promptlift.service.store.tables import AnyRow

# Conversations of one transaction: others write in between.
AT_ONCE = 500

_HAS_CONTENT = exists().where(conversation_contents.c.conversation_id == conversations.c.id)


def delete_transcripts(connection: Connection, *, before: int, after_seq: int) -> tuple[int, int | None]:
    """Delete the transcripts of some conversations that started before a time; return how many and where to go on.

    Those that wait for their insights keep them. What searches quote from them goes too.

    Parameters
    ----------
    after_seq
        Where to go on; 0 at first. ``None`` is the answer when nothing is left.
    """
    rows = _some(
        connection, and_(_HAS_CONTENT, conversations.c.judging.in_(("done", "failed"))), before, after_seq
    )
    if not rows:
        return 0, None
    ids = [row.id for row in rows]
    connection.execute(delete(conversation_contents).where(conversation_contents.c.conversation_id.in_(ids)))
    accounts = {row.account_id for row in rows}
    quotations.forget(connection, accounts, ids)
    stamp = changes.stamp(connection, accounts)
    connection.execute(update(conversations).where(conversations.c.id.in_(ids)).values(updated_at=stamp))
    return len(ids), int(rows[-1].seq)


def delete_conversations(connection: Connection, *, before: int, after_seq: int) -> tuple[int, int | None]:
    """Delete some conversations that started before a time, and return how many and where to go on.

    Their insights, verdicts, labels, events and what searches quote from them go with them; the counts no longer have them, and readers are told.
    """
    rows = _some(connection, conversations.c.judging.in_(("done", "failed")), before, after_seq)
    if not rows:
        return 0, None
    ids = [row.id for row in rows]
    with conversation_counts.following(connection, ids):
        of_event = select(events.c.id).where(events.c.subject_id.in_(ids))
        connection.execute(delete(deliveries).where(deliveries.c.event_id.in_(of_event)))
        connection.execute(delete(events).where(events.c.subject_id.in_(ids)))
        for table in (idempotency_keys, insights, judge_verdicts, labels, conversation_contents):
            connection.execute(delete(table).where(table.c.conversation_id.in_(ids)))
        quotations.forget(connection, {row.account_id for row in rows}, ids)
        changes.note_deleted(connection, rows)
        connection.execute(delete(conversations).where(conversations.c.id.in_(ids)))
    return len(ids), int(rows[-1].seq)


def _some(connection: Connection, condition: object, before: int, after_seq: int) -> Sequence[AnyRow]:
    names = (conversations.c.seq, conversations.c.id, conversations.c.account_id, conversations.c.prompt_id)
    found: Select[tuple[int, str, str, str]] = (
        select(*names)
        .where(conversations.c.seq > after_seq, conversations.c.started_at < before, condition)  # type: ignore[arg-type]
        .order_by(conversations.c.seq)
        .limit(AT_ONCE)
        .with_for_update(of=conversations)
    )
    return connection.execute(found).all()
