"""Conversations that are there already: found by their ids, changed, and deleted when they are old."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final, NamedTuple

from sqlalchemy import and_, delete, exists, func, insert, or_, select, update

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
from promptlift.service.store.wake_ups import announce

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.conversations import StoredConversation

# An id that more conversations have is no id of a conversation: a customer's, say.
SAME_SOURCE: Final = 9


class Known(NamedTuple):
    """A conversation that a lookup found; its fields are those of the answer."""

    id: str
    source_id: str | None
    status: str
    content_hash: str | None


class OldConversation(NamedTuple):
    """A conversation that started before a time."""

    seq: int
    id: str
    account_id: str
    prompt_id: str


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
) -> Sequence[Known]:
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
    found = select(*(conversations.c[name] for name in Known._fields)).where(mine, or_(*wanted))
    return [Known._make(row) for row in connection.execute(found.order_by(conversations.c.seq.desc()))]


def change(
    connection: Connection,
    before: StoredConversation,
    values: Mapping[str, object],
    content: bytes | None = None,
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


def _some(
    connection: Connection, condition: object, before: int, after_seq: int
) -> Sequence[OldConversation]:
    found = (
        select(*(conversations.c[name] for name in OldConversation._fields))
        .where(conversations.c.seq > after_seq, conversations.c.started_at < before, condition)  # type: ignore[arg-type]
        .order_by(conversations.c.seq)
        .limit(AT_ONCE)
        .with_for_update(of=conversations)
    )
    return [OldConversation._make(row) for row in connection.execute(found)]
