"""Existing conversations: look-up by ids, changes, and deletion of old ones."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, delete, exists, func, insert, or_, select, update

from promptlift.schema.search import DELETED
from promptlift.service.store import changes, conversation_counts
from promptlift.service.store.leases import announce
from promptlift.service.store.rows import wanted
from promptlift.service.store.tables import (
    conversation_contents,
    conversations,
    deliveries,
    events,
    idempotency_keys,
    insights,
    judge_verdicts,
    labels,
    optimizations,
    simulations,
)
from promptlift.service.store.tables.prompts import LabelRow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection, Select

    from promptlift.service.store.conversations import StoredConversation

# Prompt and optimization of a conversation; a logged one has no optimization.
Place = tuple[str, str | None]
# An id shared by more conversations does not identify a conversation, but, say, a customer.
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
    """Return the conversations of a prompt with one of the ids, newest first.

    At most ``SAME_SOURCE`` per source id.
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
        The row before the change: `conversations.find`, after locking it.
    values
        New values by column.
    content
        The new content. The insights and verdicts of the old content are removed, so that they are not
        mistaken for those of the new content.
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


# Conversations per transaction, so that others can write in between.
AT_ONCE = 500

_HAS_CONTENT = exists().where(conversation_contents.c.conversation_id == conversations.c.id)


def delete_transcripts(connection: Connection, *, before: int, after_seq: int) -> tuple[int, int | None]:
    """Delete a batch of transcripts of conversations that started before a time; return how many and where to continue.

    Conversations that wait for insights keep them. Quotations from them in searches are deleted too.

    Parameters
    ----------
    after_seq
        Where to continue; 0 at first. Returned as ``None`` when nothing is left.
    """
    rows = _some(
        connection, and_(_HAS_CONTENT, conversations.c.judging.in_(("done", "failed"))), before, after_seq
    )
    if not rows:
        return 0, None
    ids = [row.id for row in rows]
    connection.execute(delete(conversation_contents).where(conversation_contents.c.conversation_id.in_(ids)))
    accounts = {row.account_id for row in rows}
    forget_quotations(connection, accounts, ids)
    stamp = changes.stamp(connection, accounts)
    connection.execute(update(conversations).where(conversations.c.id.in_(ids)).values(updated_at=stamp))
    return len(ids), int(rows[-1].seq)


def delete_conversations(connection: Connection, *, before: int, after_seq: int) -> tuple[int, int | None]:
    """Delete a batch of conversations that started before a time; return how many and where to continue.

    Their insights, verdicts, labels, events and quotations in searches are deleted too; counts are updated,
    and readers of changes learn of the deletion.
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
        forget_quotations(connection, {row.account_id for row in rows}, ids)
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


def places(connection: Connection, account_id: str, ids: Collection[str]) -> dict[str, Place]:
    """Return the prompt and optimization of conversations; missing ones are left out.

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


def labels_of(account_id: str, ids: Collection[str]) -> Select[LabelRow]:
    """Return the query for the labels of conversations."""
    return wanted(LabelRow, account_id=account_id).where(LabelRow.conversation_id.in_(ids))


def forget_quotations(
    connection: Connection, accounts: Collection[str], conversation_ids: Collection[str]
) -> None:
    """Delete the quotations from some conversations, in the transaction that deletes their transcripts.

    The evidence stays, without words and the conversation's id.
    """
    rows = connection.execute(
        select(optimizations.c.id, optimizations.c.search)
        .where(
            optimizations.c.account_id.in_(accounts),
            # A running optimization may be about to store its first quotations, so wait for its row.
            or_(optimizations.c.search.is_not(None), optimizations.c.status == "running"),
        )
        .with_for_update()
    ).all()
    gone = set(conversation_ids)
    for row in rows:
        state = row.search
        if state is not None and forget_in([*state["search"]["edits"], *state["refused"]], gone):
            connection.execute(update(optimizations).filter_by(id=row.id).values(search=state))


def forget_in(edits: Collection[dict[str, Any]], gone: Collection[str]) -> bool:
    """Delete the quotations from some conversations in stored edits; return whether there were any."""
    changed = False
    for edit in edits:
        if any(conversation in gone for conversation, _ in edit["evidence"]):
            edit["evidence"] = [
                [DELETED, ""] if conversation in gone else [conversation, quote]
                for conversation, quote in edit["evidence"]
            ]
            changed = True
    return changed


def still_there(connection: Connection, conversation_ids: Collection[str]) -> set[str]:
    """Return which of some conversations still have their transcripts."""
    found = connection.scalars(
        select(conversation_contents.c.conversation_id).where(
            conversation_contents.c.conversation_id.in_(conversation_ids)
        )
    )
    return set(found)
