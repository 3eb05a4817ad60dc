"""The outbox: events are written in the transaction of the change that they record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import func, select

from promptlift.service import clock
from promptlift.service.identifiers import new_id
from promptlift.service.store import bulk, webhooks
from promptlift.service.store.paging import equal
from promptlift.service.store.tables import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind
    from promptlift.service.store.tables import AnyRow


def row(
    kind: EventKind, account_id: str, subject_id: str, data: dict[str, Any], *, now: int
) -> dict[str, Any]:
    """Make the row of one event; ``subject_id`` names what it is about, ``data`` is the payload of the specification."""
    return {
        "id": new_id("evt"),
        "account_id": account_id,
        "type": kind,
        "subject_id": subject_id,
        "data": orjson.dumps(data).decode(),
        "created_at": now,
    }


def write(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Keep events, and put them on their way to those who subscribe to them."""
    if rows:
        bulk.insert_rows(connection, events, rows)
        webhooks.enqueue(connection, rows)


def count(connection: Connection, account_id: str, *, kind: EventKind | None) -> int:
    """Count the events of an account."""
    found = select(func.count()).select_from(events).where(*equal(events, account_id=account_id, type=kind))
    return int(connection.scalar(found) or 0)


def page(
    connection: Connection,
    account_id: str,
    *,
    kind: EventKind | None,
    before: int | None,
    limit: int,
    offset: int,
) -> Sequence[AnyRow]:
    """Return events of an account, newest first.

    Parameters
    ----------
    before
        Only those that were written before the one of this sequence number, which costs the same wherever it is.
    """
    which = equal(events, account_id=account_id, type=kind)
    if before is not None:
        which.append(events.c.seq < before)
    found = select(events).where(*which).order_by(events.c.seq.desc()).limit(limit).offset(offset)
    return connection.execute(found).all()


def envelope(row: AnyRow) -> dict[str, Any]:
    """Return an event as the API has it, whether it is listed or delivered.

    Parameters
    ----------
    row
        With ``event_id`` or ``id``, and ``type``, ``data`` and ``created_at`` of the event.
    """
    return {
        "id": getattr(row, "event_id", None) or row.id,
        "type": row.type,
        "timestamp": clock.iso(row.created_at),
        "data": orjson.loads(row.data),
    }
