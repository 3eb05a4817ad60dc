"""Which titles of issues a model holds to mean the same: the name of its group for each title that it has seen."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from sqlalchemy import insert, select

from promptlift.service.store.tables import events, issue_names

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection


def read(connection: Connection, account_id: str) -> dict[str, str]:
    """Return the name of its group for each title of an account."""
    columns = (issue_names.c.title, issue_names.c.name)
    rows = connection.execute(select(*columns).where(issue_names.c.account_id == account_id))
    return {title.decode(): name.decode() for title, name in rows}


def add(connection: Connection, account_id: str, names: Mapping[str, str], *, now: int) -> None:
    """Keep the names of groups by title; a title that has one already keeps it."""
    known = read(connection, account_id)
    rows = [
        {
            "account_id": account_id,
            "issue": hashlib.md5(title.encode(), usedforsecurity=False).hexdigest(),
            "title": title.encode(),
            "name": name.encode(),
            "created_at": now,
        }
        for title, name in names.items()
        if title not in known
    ]
    if rows:
        connection.execute(insert(issue_names), rows)


def accounts_with_news(connection: Connection, *, after: int) -> set[str]:
    """Return the accounts that got insights after an event."""
    return set(
        connection.scalars(
            select(events.c.account_id)
            .where(events.c.seq > after, events.c.type == "insights.generated")
            .distinct()
        )
    )
