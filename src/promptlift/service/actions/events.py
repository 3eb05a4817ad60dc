"""The events of an account, as webhooks receive them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema.queries import write_cursor
from promptlift.service.store import events

if TYPE_CHECKING:
    from promptlift.schema.queries import EventsQuery
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database


def page(database: Database, caller: Caller, query: EventsQuery) -> dict[str, Any]:
    """Return one page of events, newest first.

    All are counted for the first page only; its cursor carries the number to the following ones.
    """
    account_id, limit = caller.account_id, query.limit
    before, total = query.cursor or (None, None)
    with database.read() as connection:
        if total is None:
            total = events.count(connection, account_id, kind=query.kind)
        # One more than asked for tells whether this is the last page.
        rows = events.page(
            connection, account_id, kind=query.kind, before=before, limit=limit + 1, offset=query.offset
        )
    place: dict[str, Any] = {"total": total, "limit": limit, "offset": query.offset}
    if len(rows) > limit:
        place["nextCursor"] = write_cursor(rows[limit - 1].seq, total)
    return {"data": [events.envelope(row) for row in rows[:limit]], "pagination": place}
