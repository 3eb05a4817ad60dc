"""Finding the caller of a key, counting requests against the rate of the plan, and answering requests that fail."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from promptlift.service.errors import ApiException, unavailable
from promptlift.service.store import DBAPIError, accounts, usage
from promptlift.service.store.database import is_full_or_locked

if TYPE_CHECKING:
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

_LOG = logging.getLogger(__name__)


def find_caller(database: Database, key: str) -> Caller | None:
    """Return the caller of a key; ``None`` for a key that is unknown or revoked."""
    with database.read() as connection:
        return accounts.find_caller(connection, key)


def touch_key(database: Database, key_id: str) -> None:
    """Note that a key was used, unless the database cannot be written now."""
    try:
        with database.write() as connection:
            accounts.touch_key(connection, key_id)
    except DBAPIError as error:
        if not is_full_or_locked(error):
            raise
        unavailable(error)  # only logged: a request that only reads can still be answered


def count_request(database: Database, caller: Caller, *, now: int) -> tuple[int, int]:
    """Count a request; return the requests of this minute and when it ends."""
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
