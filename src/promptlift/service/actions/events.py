"""The events of an account, as webhooks receive them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.service.store import events

if TYPE_CHECKING:
    from promptlift.schema.events import EventKind
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database


def page(
    database: Database, caller: Caller, *, kind: EventKind | None, limit: int, offset: int
) -> dict[str, Any]:
    """Return one page of events, newest first."""
    with database.read() as connection:
        rows, total = events.page(connection, caller.account_id, kind=kind, limit=limit, offset=offset)
    return {
        "data": [events.envelope(row) for row in rows],
        "pagination": {"total": total, "limit": limit, "offset": offset},
    }
