"""Conversations received as spans, until they are closed and logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import delete, insert, select

from promptlift.service.store.leases import Leases, in_batches
from promptlift.service.store.rows import wanted
from promptlift.service.store.tables.conversations import TracedCallRow, TracedConversationRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.rows import Rows


LEASES = Leases(
    TracedConversationRow, TracedConversationRow.close_at.is_not(None), due=TracedConversationRow.close_at
)
"""Leases of conversations to close, some time after their last call."""


def known_spans(connection: Connection, account_id: str, span_ids: Sequence[str]) -> set[str]:
    """Return which of these spans are already stored."""
    found: set[str] = set()
    for some in in_batches(span_ids):
        mine = select(TracedCallRow.span_id).filter_by(account_id=account_id)
        found.update(connection.scalars(mine.where(TracedCallRow.span_id.in_(some))))
    return found


def find(
    rows: Rows, account_id: str, prompt_id: str, *, key: str, tail: str | None
) -> TracedConversationRow | None:
    """Return the conversation with a key, or else the oldest one that ended with the same words."""
    mine = wanted(TracedConversationRow, account_id=account_id, prompt_id=prompt_id)
    row = rows.find(mine.filter_by(key=key))
    if row is None and tail is not None:
        row = rows.find(mine.filter_by(tail=tail).order_by(TracedConversationRow.changed_at).limit(1))
    return row


def add_calls(connection: Connection, calls: Sequence[Mapping[str, object]]) -> None:
    """Store calls of existing conversations."""
    if calls:
        connection.execute(insert(TracedCallRow), calls)


def claimed(rows: Rows, ids: Sequence[str], worker: str) -> Sequence[TracedConversationRow]:
    """Return the conversations that a worker holds among some, and lock them, so that no call joins them until it has committed."""
    mine = wanted(TracedConversationRow, worker=worker).where(
        TracedConversationRow.id.in_(ids), TracedConversationRow.close_at.is_not(None)
    )
    return rows.all(mine.order_by(TracedConversationRow.seq).with_for_update())


def calls(rows: Rows, ids: Sequence[str]) -> Sequence[TracedCallRow]:
    """Return the calls of some conversations."""
    return rows.all(wanted(TracedCallRow).where(TracedCallRow.traced_id.in_(ids)))


def closed(rows: Rows, row: TracedConversationRow, conversation_id: str | None) -> None:
    """Record that a conversation was logged with all its calls."""
    rows.execute(delete(TracedCallRow).where(TracedCallRow.traced_id == row.id))
    row.close_at = row.worker = None
    row.conversation_id = conversation_id or row.conversation_id


def drop_closed(connection: Connection, *, before: int) -> None:
    """Delete the records of closed conversations without additions for a long time."""
    connection.execute(
        delete(TracedConversationRow).where(
            TracedConversationRow.close_at.is_(None), TracedConversationRow.changed_at < before
        )
    )
