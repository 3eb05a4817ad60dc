"""Conversations that spans tell of, until they are closed and logged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import delete, insert, select, update

from promptlift.service.store.leases import Leases, Wait
from promptlift.service.store.tables import conversations, traced_calls, traced_conversations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection

    from promptlift.service.store.tables import AnyRow

# Rows of one statement: databases bound the number of its parameters.
_AT_ONCE: Final = 500


def leases(*, quiet: int) -> Leases:
    """Return the leases of conversations that are to be closed, ``quiet`` milliseconds after their last call."""
    close_at = traced_conversations.c.close_at
    return Leases(traced_conversations, close_at.is_not(None), due=close_at, wait=Wait(close_at, quiet))


def known_spans(connection: Connection, account_id: str, span_ids: Sequence[str]) -> set[str]:
    """Return which of these spans are kept already."""
    found: set[str] = set()
    for at in range(0, len(span_ids), _AT_ONCE):
        some = traced_calls.c.span_id.in_(span_ids[at : at + _AT_ONCE])
        mine = select(traced_calls.c.span_id).where(traced_calls.c.account_id == account_id, some)
        found.update(connection.scalars(mine))
    return found


def find(
    connection: Connection, account_id: str, prompt_id: str, *, key: str, tail: str | None
) -> AnyRow | None:
    """Return the conversation of a key, or else the one that ended with the same words, longest ago."""
    mine = (traced_conversations.c.account_id == account_id, traced_conversations.c.prompt_id == prompt_id)
    statement = select(traced_conversations).where(*mine, traced_conversations.c.key == key)
    row = connection.execute(statement).one_or_none()
    if row is None and tail is not None:
        same = select(traced_conversations).where(*mine, traced_conversations.c.tail == tail)
        row = connection.execute(same.order_by(traced_conversations.c.changed_at).limit(1)).one_or_none()
    return row


def add(connection: Connection, values: Mapping[str, Any]) -> None:
    """Add a conversation."""
    connection.execute(insert(traced_conversations).values(**values))


def change(connection: Connection, traced_id: str, values: Mapping[str, Any]) -> None:
    """Change columns of a conversation."""
    connection.execute(
        update(traced_conversations).where(traced_conversations.c.id == traced_id).values(**values)
    )


def add_calls(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Keep calls."""
    if rows:
        connection.execute(insert(traced_calls), [dict(row) for row in rows])


def claimed(connection: Connection, ids: Sequence[str], worker: str) -> Sequence[AnyRow]:
    """Return those of some conversations that a worker has, and lock them: no call joins them until it has committed."""
    return connection.execute(
        select(traced_conversations)
        .where(
            traced_conversations.c.id.in_(ids),
            traced_conversations.c.worker == worker,
            traced_conversations.c.close_at.is_not(None),
        )
        .order_by(traced_conversations.c.seq)
        .with_for_update()
    ).all()


def calls(connection: Connection, ids: Sequence[str]) -> Sequence[AnyRow]:
    """Return the calls of some conversations."""
    return connection.execute(select(traced_calls).where(traced_calls.c.traced_id.in_(ids))).all()


def logged(connection: Connection, account_id: str, prompt_id: str, source_id: str) -> str | None:
    """Return the newest conversation that was logged with the application's id."""
    return connection.scalar(
        select(conversations.c.id)
        .where(
            conversations.c.account_id == account_id,
            conversations.c.prompt_id == prompt_id,
            conversations.c.source_id == source_id,
        )
        .order_by(conversations.c.seq.desc())
        .limit(1)
    )


def closed(connection: Connection, traced_id: str, conversation_id: str | None) -> None:
    """Note that a conversation was logged with all its calls."""
    connection.execute(delete(traced_calls).where(traced_calls.c.traced_id == traced_id))
    values: dict[str, Any] = {"close_at": None, "worker": None}
    if conversation_id is not None:
        values["conversation_id"] = conversation_id
    change(connection, traced_id, values)


def drop_closed(connection: Connection, *, before: int) -> None:
    """Forget conversations that were closed, and that nothing was added to for long."""
    connection.execute(
        delete(traced_conversations).where(
            traced_conversations.c.close_at.is_(None), traced_conversations.c.changed_at < before
        )
    )
