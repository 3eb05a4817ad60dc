"""The outbox: events are written in the transaction of the change that they record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson
from sqlalchemy import insert

from promptlift.service.identifiers import new_id
from promptlift.service.store.tables import events

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection

    from promptlift.schema.events import EventKind


_WRITE = insert(events)


def row(
    kind: EventKind, account_id: str, subject_id: str, data: dict[str, Any], *, now: int
) -> dict[str, Any]:
    """One event; ``subject_id`` names what it is about, ``data`` is the payload of the specification."""
    return {
        "id": new_id("evt"),
        "account_id": account_id,
        "type": kind,
        "subject_id": subject_id,
        "data": orjson.dumps(data).decode(),
        "created_at": now,
    }


def write(connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
    """Keep events."""
    if rows:
        connection.execute(_WRITE, list(rows))
