"""The outbox: events are written in the transaction of the change that they record."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

import orjson
from sqlalchemy import func, select

from promptlift.schema.events import EventRecord
from promptlift.service.identifiers import new_id
from promptlift.service.store import webhooks
from promptlift.service.store.rows import insert_rows, newest
from promptlift.service.store.tables import conversations, events
from promptlift.service.store.tables.events import EventRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlalchemy import Connection, Select

    from promptlift.schema.events import EventKind
    from promptlift.schema.model import ApiModel


class NewEvent(TypedDict):
    """The row of an unwritten event."""

    id: str
    account_id: str
    type: EventKind
    subject_id: str
    data: str
    created_at: int


def row(
    kind: EventKind, account_id: str, subject_id: str, data: Mapping[str, object], *, now: int
) -> NewEvent:
    """Make the row of one event; ``subject_id`` identifies its subject, ``data`` is the payload of the specification."""
    return {
        "id": new_id("evt"),
        "account_id": account_id,
        "type": kind,
        "subject_id": subject_id,
        "data": orjson.dumps(data).decode(),
        "created_at": now,
    }


def add(
    connection: Connection, kind: EventKind, account_id: str, subject_id: str, payload: ApiModel, *, now: int
) -> None:
    """Write one event; see `row`."""
    write(connection, [row(kind, account_id, subject_id, payload.to_wire(), now=now)])


def write(connection: Connection, rows: Sequence[NewEvent]) -> None:
    """Store events, and queue them for their subscribers."""
    if rows:
        insert_rows(connection, events, rows)
        webhooks.enqueue(connection, rows)


def listed(account_id: str, *, kind: EventKind | None = None, before: int | None = None) -> Select[EventRow]:
    """Return the query for the events of an account, newest first.

    Parameters
    ----------
    before
        Only events before this sequence number, at a cost independent of its position.
    """
    query = newest(EventRow, account_id=account_id, type=kind)
    return query if before is None else query.where(EventRow.seq < before)


def record(row: EventRow) -> EventRecord:
    """Return an event in its API form, both for lists and deliveries."""
    return row.shown(EventRecord, timestamp=row.created_at, data=orjson.loads(row.data))


def last(connection: Connection) -> int:
    """Return the number of the newest event."""
    return int(connection.scalar(select(func.max(events.c.seq))) or 0)


def with_news(connection: Connection, *, after: int) -> set[tuple[str, str]]:
    """Return the prompts with insights newer than an event, with their accounts."""
    found = (
        select(events.c.account_id, conversations.c.prompt_id)
        .join(conversations, conversations.c.id == events.c.subject_id)
        .where(events.c.seq > after, events.c.type == "insights.generated")
        .distinct()
    )
    return {(account_id, prompt_id) for account_id, prompt_id in connection.execute(found)}
