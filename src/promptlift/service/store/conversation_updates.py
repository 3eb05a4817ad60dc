"""Existing conversations: look-up by ids, changes, and deletion of old ones."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sqlalchemy import and_, delete, exists, func, or_, select, update

from promptlift.schema.search import DELETED
from promptlift.service.store import changes, conversation_counts, conversations
from promptlift.service.store.leases import announce
from promptlift.service.store.tables.conversations import (
    ContentRow,
    ConversationRow,
    IdempotencyKeyRow,
    InsightsRow,
)
from promptlift.service.store.tables.events import DeliveryRow, EventRow
from promptlift.service.store.tables.prompts import LabelRow
from promptlift.service.store.tables.runs import OptimizationRow, SimulationRow, VerdictRow

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from sqlalchemy import Connection

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
    mine = and_(ConversationRow.account_id == account_id, ConversationRow.prompt_id == prompt_id)
    wanted = []
    if ids:
        wanted.append(ConversationRow.id.in_(ids))
    if source_ids:
        place = func.row_number().over(
            partition_by=ConversationRow.source_id, order_by=ConversationRow.seq.desc()
        )
        ranked = (
            select(ConversationRow.seq, place.label("place"))
            .where(mine, ConversationRow.source_id.in_(source_ids))
            .subquery()
        )
        newest = select(ranked.c.seq).where(ranked.c.place <= SAME_SOURCE)
        wanted.append(ConversationRow.seq.in_(newest))
    if not wanted:
        return []
    found = select(*(getattr(ConversationRow, name) for name in Known._fields)).where(mine, or_(*wanted))
    return [Known._make(row) for row in connection.execute(found.order_by(ConversationRow.seq.desc()))]


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
    connection.execute(update(ConversationRow).where(ConversationRow.seq == before.seq).values(**values))
    announce(connection, ConversationRow)
    if content is not None:
        connection.execute(delete(ContentRow).where(ContentRow.conversation_id == before.id))
        conversations.add_contents(connection, {before.id: content})
        for kind in (InsightsRow, VerdictRow):
            connection.execute(delete(kind).where(kind.conversation_id == before.id))


# Conversations per transaction, so that others can write in between.
AT_ONCE = 500

_HAS_CONTENT = exists().where(ContentRow.conversation_id == ConversationRow.id)


def delete_transcripts(connection: Connection, *, before: int, after_seq: int) -> tuple[int, int | None]:
    """Delete a batch of transcripts of conversations that started before a time; return how many and where to continue.

    Conversations that wait for insights keep them. Quotations from them in searches are deleted too.

    Parameters
    ----------
    after_seq
        Where to continue; 0 at first. Returned as ``None`` when nothing is left.
    """
    rows = _some(
        connection, and_(_HAS_CONTENT, ConversationRow.judging.in_(("done", "failed"))), before, after_seq
    )
    if not rows:
        return 0, None
    ids = [row.id for row in rows]
    connection.execute(delete(ContentRow).where(ContentRow.conversation_id.in_(ids)))
    accounts = {row.account_id for row in rows}
    forget_quotations(connection, accounts, ids)
    stamp = changes.stamp(connection, accounts)
    connection.execute(update(ConversationRow).where(ConversationRow.id.in_(ids)).values(updated_at=stamp))
    return len(ids), int(rows[-1].seq)


def delete_conversations(connection: Connection, *, before: int, after_seq: int) -> tuple[int, int | None]:
    """Delete a batch of conversations that started before a time; return how many and where to continue.

    Their insights, verdicts, labels, events and quotations in searches are deleted too; counts are updated,
    and readers of changes learn of the deletion.
    """
    rows = _some(connection, ConversationRow.judging.in_(("done", "failed")), before, after_seq)
    if not rows:
        return 0, None
    ids = [row.id for row in rows]
    with conversation_counts.following(connection, ids):
        of_event = select(EventRow.id).where(EventRow.subject_id.in_(ids))
        connection.execute(delete(DeliveryRow).where(DeliveryRow.event_id.in_(of_event)))
        connection.execute(delete(EventRow).where(EventRow.subject_id.in_(ids)))
        for kind in (IdempotencyKeyRow, InsightsRow, VerdictRow, LabelRow, ContentRow):
            connection.execute(delete(kind).where(kind.conversation_id.in_(ids)))
        forget_quotations(connection, {row.account_id for row in rows}, ids)
        changes.note_deleted(connection, rows)
        connection.execute(delete(ConversationRow).where(ConversationRow.id.in_(ids)))
    return len(ids), int(rows[-1].seq)


def _some(
    connection: Connection, condition: object, before: int, after_seq: int
) -> Sequence[OldConversation]:
    found = (
        select(*(getattr(ConversationRow, name) for name in OldConversation._fields))
        .where(ConversationRow.seq > after_seq, ConversationRow.started_at < before, condition)  # type: ignore[arg-type]
        .order_by(ConversationRow.seq)
        .limit(AT_ONCE)
        .with_for_update(of=ConversationRow)
    )
    return [OldConversation._make(row) for row in connection.execute(found)]


def places(connection: Connection, account_id: str, ids: Collection[str]) -> dict[str, Place]:
    """Return the prompt and optimization of conversations; missing ones are left out.

    Logged ones cannot be deleted before the transaction ends.
    """
    logged = (
        select(ConversationRow.id, ConversationRow.prompt_id)
        .where(ConversationRow.account_id == account_id, ConversationRow.id.in_(ids))
        .order_by(ConversationRow.seq)
        .with_for_update(read=True)
    )
    simulated = (
        select(SimulationRow.id, SimulationRow.optimization_id, OptimizationRow.prompt_id)
        .join(OptimizationRow, OptimizationRow.id == SimulationRow.optimization_id)
        .where(SimulationRow.account_id == account_id, SimulationRow.id.in_(ids))
    )
    found: dict[str, Place] = {row.id: (row.prompt_id, None) for row in connection.execute(logged)}
    found |= {row.id: (row.prompt_id, row.optimization_id) for row in connection.execute(simulated)}
    return found


def forget_quotations(
    connection: Connection, accounts: Collection[str], conversation_ids: Collection[str]
) -> None:
    """Delete the quotations from some conversations, in the transaction that deletes their transcripts.

    The evidence stays, without words and the conversation's id.
    """
    rows = connection.execute(
        select(OptimizationRow.id, OptimizationRow.search)
        .where(
            OptimizationRow.account_id.in_(accounts),
            # A running optimization may be about to store its first quotations, so wait for its row.
            or_(OptimizationRow.search.is_not(None), OptimizationRow.status == "running"),
        )
        .with_for_update()
    ).all()
    gone = set(conversation_ids)
    for row in rows:
        state = row.search
        if state is not None and forget_in([*state["search"]["edits"], *state["refused"]], gone):
            connection.execute(update(OptimizationRow).filter_by(id=row.id).values(search=state))


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
        select(ContentRow.conversation_id).where(ContentRow.conversation_id.in_(conversation_ids))
    )
    return set(found)
