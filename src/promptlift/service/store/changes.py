"""Times of changes to conversations, so that a reader can request what is new and misses nothing.

A plain time would not do: a transaction that began first may be committed last, after somebody has read
everything up to now. Every change is stamped with a time later than all existing stamps, and a reader gets a
time below which no transaction in progress, and no later one, stamps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import func, insert, select, text, update

from promptlift.service import clock
from promptlift.service.store.rows import newest
from promptlift.service.store.tables import accounts, conversations, deleted_conversations
from promptlift.service.store.tables.conversations import DeletedConversationRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlalchemy import Connection, Select

    from promptlift.service.store.conversation_updates import OldConversation
    from promptlift.service.store.conversations import StoredConversation
    from promptlift.service.store.database import Database

# Transactions that write conversations take far less. Applies only if one ends during the query for it.
_LONGEST = 10 * 60 * clock.SECOND

# Its number first: a reader between this and the stamp sees that a transaction is in progress.
_BEGIN_WRITING = text("SELECT pg_current_xact_id()")
# The database's clock, like that of its sessions: processes on several machines may disagree.
_NOW = text("SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)")
# Transactions in progress for this view: their number, the number of sessions that still have them or have
# them in another database, the start of the oldest in this one, and the current time.
_IN_PROGRESS = text(
    "SELECT count(*), count(a.pid), "
    "floor(extract(epoch FROM min(a.xact_start) FILTER (WHERE a.datname = current_database())) * 1000), "
    "floor(extract(epoch FROM clock_timestamp()) * 1000) "
    "FROM pg_snapshot_xip(pg_current_snapshot()) AS x LEFT JOIN pg_stat_activity AS a ON a.backend_xid = x::xid"
)
# The start of the oldest writing transaction in any visible session, and the time of this query.
_WRITING = text(
    "SELECT floor(extract(epoch FROM min(xact_start)) * 1000), floor(extract(epoch FROM statement_timestamp()) * 1000) "
    "FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND datname = current_database()"
)


def stamp(connection: Connection, account_ids: Iterable[str]) -> int:
    """Return the stamp for this transaction's changes in some accounts, later than all existing stamps."""
    if connection.dialect.name == "sqlite":
        now = clock.now()
    else:
        connection.execute(_BEGIN_WRITING)
        now = int(connection.scalar(_NOW) or 0)
    return max(now, *(_newest(connection, one) + 1 for one in sorted(set(account_ids))))


def horizon(database: Database) -> int | None:
    """Return a time below which only transactions stamp that a later view contains; for :func:`as_of`.

    A PostgreSQL snapshot does not list transactions in progress that are younger than the last one that
    ended, so they are queried before it begins: transactions that end in between are in it, and those that
    begin in between read a later clock. ``None`` on SQLite, where writers are serialized.
    """
    if database.is_sqlite:
        return None
    with database.read() as connection:
        oldest, asked = connection.execute(_WRITING).one()
    return int(asked if oldest is None else min(oldest, asked))


def as_of(connection: Connection, account_id: str, horizon: int | None) -> int:
    """Return the time below which nothing is stamped that the caller's view of the database lacks.

    Parameters
    ----------
    horizon
        The result of :func:`horizon` before the view began.
    """
    after_newest = _newest(connection, account_id) + 1
    if horizon is None:
        return after_newest
    after_newest = min(after_newest, horizon)
    count, found, oldest, now = connection.execute(_IN_PROGRESS).one()
    if count > found:  # it ended during the query, or belongs to an invisible session
        return min(after_newest, int(now) - _LONGEST)
    return after_newest if oldest is None else min(after_newest, int(oldest))


def _newest(connection: Connection, account_id: str) -> int:
    """Return the newest stamp of an account, 0 if there is none."""
    changed = select(func.max(conversations.c.updated_at)).filter_by(account_id=account_id)
    deleted = select(func.max(deleted_conversations.c.deleted_at)).filter_by(account_id=account_id)
    insights = select(accounts.c.insights_at).filter_by(id=account_id)
    return max(connection.scalar(one) or 0 for one in (changed, deleted, insights))


def note_all_insights(connection: Connection, account_id: str) -> None:
    """Record that insights of an account are read differently from now on."""
    now = stamp(connection, [account_id])
    connection.execute(update(accounts).filter_by(id=account_id).values(insights_at=now))


def all_insights_since(connection: Connection, account_id: str, since: int) -> bool:
    """Return whether something changed since a time that may change all insights."""
    return (connection.scalar(select(accounts.c.insights_at).filter_by(id=account_id)) or 0) >= since


def note_deleted(connection: Connection, rows: Sequence[StoredConversation | OldConversation]) -> None:
    """Record that conversations were deleted."""
    if rows:
        now = stamp(connection, {row.account_id for row in rows})
        names = ("id", "account_id", "prompt_id")
        connection.execute(
            insert(deleted_conversations),
            [{**{name: getattr(row, name) for name in names}, "deleted_at": now} for row in rows],
        )


def deleted(account_id: str, *, prompt_id: str | None, since: int | None) -> Select[DeletedConversationRow]:
    """Return the query for the conversations deleted since a time, newest first."""
    query = newest(DeletedConversationRow, account_id=account_id, prompt_id=prompt_id)
    return query if since is None else query.where(DeletedConversationRow.deleted_at >= since)
