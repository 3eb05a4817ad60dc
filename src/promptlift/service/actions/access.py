"""Needed by every request and operator: the caller of a key, the request rate, failures, and the backlog of work."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anyio import to_thread

from promptlift.service import clock
from promptlift.service.background.kind import SingletonJob
from promptlift.service.errors import ApiException, unavailable
from promptlift.service.identifiers import key_hash
from promptlift.service.store import DBAPIError, SQLAlchemyError, accounts, conversation_counts
from promptlift.service.store.database import is_full_or_locked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from promptlift.service.background.kind import Kind
    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

_LOG = logging.getLogger(__name__)
# How long a key is accepted without being read again. Revoking a key waits this long, so that the key is
# refused everywhere afterwards.
KEY_MEMORY_SECONDS = 0.25
_KEYS_REMEMBERED = 10_000
_TOUCH_SECONDS = 60.0


class KeyCache:
    """Cache the callers of recently used keys, so that not every request queries the database."""

    def __init__(self, database: Database, steady: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._steady = steady
        self._known: dict[str, tuple[Caller, float]] = {}
        self._touched: dict[str, float] = {}

    async def caller(self, authorization: str | None) -> Caller:
        """Return the caller of an ``Authorization`` header.

        Raises
        ------
        ApiException
            ``INVALID_API_KEY``.
        """
        kind, _, key = (authorization or "").partition(" ")
        key = key.strip()
        if kind.lower() != "bearer" or not key or len(key) > 512:
            raise self._refusal("The API key is missing or invalid; send Authorization: Bearer <API_KEY>")
        digest = key_hash(key)
        known = self._known.get(digest)
        if known is not None and known[1] > self._steady():
            return known[0]
        # The time before reading: a key revoked meanwhile must not be cached for longer.
        read_at = self._steady()
        caller = await to_thread.run_sync(self._look_up, key)
        if caller is None:
            self._known.pop(digest, None)
            raise self._refusal("The API key is invalid")
        if len(self._known) >= _KEYS_REMEMBERED:
            self._known.clear()
        self._known[digest] = (caller, read_at + KEY_MEMORY_SECONDS)
        return caller

    def _look_up(self, key: str) -> Caller | None:
        with self._database.read() as connection:
            caller = accounts.find_caller(connection, key)
        if (
            caller is not None
            and self._touched.get(caller.key_id, -_TOUCH_SECONDS) + _TOUCH_SECONDS <= self._steady()
        ):
            self._touched[caller.key_id] = self._steady()
            self._touch(caller.key_id)
        return caller

    def _touch(self, key_id: str) -> None:
        """Record that a key was used, unless the database cannot be written to now."""
        try:
            with self._database.write() as connection:
                accounts.touch_key(connection, key_id)
        except DBAPIError as error:
            if not is_full_or_locked(error):
                raise
            unavailable(error)  # only logged: a request that only reads can still be answered

    @staticmethod
    def _refusal(message: str) -> ApiException:
        return ApiException("INVALID_API_KEY", message, headers={"WWW-Authenticate": "Bearer"})


def count_request(database: Database, caller: Caller, *, now: int) -> tuple[int, int]:
    """Count a request; return the number of requests in this minute and when the minute ends."""
    with database.write() as connection:
        return accounts.count_request(connection, caller.account_id, now=now)


def refusal_of(error: BaseException, failed: str) -> ApiException:
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
