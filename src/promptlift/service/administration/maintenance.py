"""Deletion of old data, and moving to another database, for the operator of the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.errors import ConfigError
from promptlift.service import clock
from promptlift.service.administration.accounts import opened
from promptlift.service.store import conversation_updates, conversations, transfer
from promptlift.service.store.database import Database

if TYPE_CHECKING:
    from collections.abc import Callable

    from promptlift.service.settings import ServiceSettings
    from promptlift.service.store.transfer import TableContent


@dataclass(frozen=True, slots=True)
class Vacuumed:
    """The amount deleted, and the size of the database in bytes before and after.

    Attributes
    ----------
    transcripts
        Conversations that lost their transcripts, not counting deleted conversations.
    conversations
        Conversations that were deleted, with their insights.
    """

    transcripts: int
    conversations: int
    bytes_before: int
    bytes_after: int


def vacuum(
    settings: ServiceSettings, *, keep_days: int | None = None, keep_insights_days: int | None = None
) -> Vacuumed:
    """Delete data older than its retention period, and free the space of everything deleted.

    The service may run meanwhile.

    Parameters
    ----------
    keep_days
        Days for which transcripts are kept, from the start of a conversation; ``None`` keeps them all.
    keep_insights_days
        Days for which the rest of a conversation and its insights are kept; ``None`` keeps them all.

    Raises
    ------
    ConfigError
        Insights would be deleted before their transcripts.
    """
    if keep_insights_days is not None and (keep_days is None or keep_insights_days < keep_days):
        raise ConfigError(
            "--keep-insights is the longer time: give --keep too, and no more days than --keep-insights"
        )
    now = clock.now()
    with opened(settings) as database:
        before = database.size()
        # unspecified: which time defines the age of a conversation. Its start, as for every trend.
        deleted = transcripts = 0
        if keep_insights_days is not None:
            end = now - keep_insights_days * clock.DAY
            deleted = _in_batches(database, conversation_updates.delete_conversations, before=end)
        if keep_days is not None:
            end = now - keep_days * clock.DAY
            transcripts = _in_batches(database, conversation_updates.delete_transcripts, before=end)
        with database.write() as connection:
            conversations.drop_expired_keys(connection, now=now)
        database.vacuum()
        return Vacuumed(transcripts, deleted, before, database.size())


def _in_batches(database: Database, delete: Callable[..., tuple[int, int | None]], *, before: int) -> int:
    """Delete batch after batch, each in a transaction of its own, and return how many were deleted."""
    total = 0
    at: int | None = 0
    while at is not None:
        with database.write() as connection:
            count, at = delete(connection, before=before, after_seq=at)
        total += count
    return total


def move(source_url: str, target_url: str, *, note: Callable[[TableContent], None]) -> None:
    """Copy a SQLite database into an empty PostgreSQL database, and read both to compare them.

    The source is locked for writing meanwhile and stays unchanged. Afterwards the target has everything, or
    nothing.

    Parameters
    ----------
    note
        Called for each table that is identical in both.

    Raises
    ------
    ConfigError
        The addresses are not of these kinds, or the target is not empty.
    ServiceStartError
        One of the databases cannot be used.
    """
    with Database(source_url) as source, Database(target_url) as target:
        if not source.is_sqlite or target.is_sqlite:
            raise ConfigError(
                "migrate copies from SQLite to PostgreSQL: --from sqlite:///FILE --to postgresql://HOST/NAME"
            )
        source.migrate()
        target.migrate()
        with source.write() as reading, target.write() as writing:
            if not transfer.is_empty(writing):
                raise ConfigError(
                    "The database to copy to has accounts already: create an empty one, and copy to that"
                )
            copied = list(transfer.copy_tables(reading, writing))
            for there, here in zip(copied, transfer.contents(writing), strict=True):
                if there != here:
                    raise ConfigError(
                        f"The copy of the table {there.table} differs ({here.rows} rows of {there.rows}), so nothing was "
                        "kept: copy again, and report it if that happens twice"
                    )
                note(there)
        target.vacuum()  # the planner has no statistics of the new rows yet
