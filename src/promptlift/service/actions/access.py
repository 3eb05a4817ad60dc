"""Needed by every request and operator: the caller of a key, the request rate, failures, and the backlog of work."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from promptlift.service import clock
from promptlift.service.background.kind import SingletonJob
from promptlift.service.errors import ApiException, unavailable
from promptlift.service.store import DBAPIError, SQLAlchemyError, accounts, conversation_counts, usage
from promptlift.service.store.database import is_full_or_locked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from promptlift.service.background.kind import Kind
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

_LOG = logging.getLogger(__name__)


def find_caller(database: Database, key: str) -> Caller | None:
    """Return the caller of a key; ``None`` for a key that is unknown or revoked."""
    with database.read() as connection:
        return accounts.find_caller(connection, key)


def touch_key(database: Database, key_id: str) -> None:
    """Record that a key was used, unless the database cannot be written to now."""
    try:
        with database.write() as connection:
            accounts.touch_key(connection, key_id)
    except DBAPIError as error:
        if not is_full_or_locked(error):
            raise
        unavailable(error)  # only logged: a request that only reads can still be answered


def count_request(database: Database, caller: Caller, *, now: int) -> tuple[int, int]:
    """Count a request; return the number of requests in this minute and when the minute ends."""
    with database.write() as connection:
        return usage.count_request(connection, caller.account_id, now=now)


def refusal_of(error: Exception, failed: str) -> ApiException:
    """Return the error of the API for an exception; an unexpected one is logged as ``failed``."""
    if isinstance(error, ApiException):
        return error
    if isinstance(error, DBAPIError) and is_full_or_locked(error):
        return unavailable(error)
    _LOG.error(failed, exc_info=error)
    return ApiException("INTERNAL_ERROR", "The service failed; its log says why")


@dataclass(frozen=True)
class Backlog:
    """The contents of the database.

    Attributes
    ----------
    conversations
        Counts by status and whether there are insights.
    work
        By kind: rows that are due or in progress, and for how many seconds the oldest has been due.
    """

    conversations: Mapping[tuple[str, bool], int]
    work: Mapping[str, tuple[int, float]]


def look(database: Database, kinds: Sequence[Kind]) -> Backlog | None:
    """Count stored conversations and waiting work; ``None`` when the database does not answer."""
    now = clock.now()
    try:
        with database.read() as connection:
            # A job that one worker runs forever is not part of the backlog.
            found = {
                kind.name: kind.leases.backlog(connection, now=now)
                for kind in kinds
                if not isinstance(kind, SingletonJob)
            }
            conversations = conversation_counts.kept(connection)
    except SQLAlchemyError as error:
        _LOG.warning("metrics cannot read the database: %s", str(error).partition("\n")[0])
        return None
    return Backlog(
        conversations,
        {
            kind: (count, 0.0 if due is None else max(0, now - due) / clock.SECOND)
            for kind, (count, due) in found.items()
        },
    )
