"""Authentication, the request rate, and the common shape of all failures."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect

from promptlift.service import clock
from promptlift.service.actions import access
from promptlift.service.errors import ApiException, stopping
from promptlift.service.identifiers import key_hash
from promptlift.service.routes import monitoring
from promptlift.service.routes.messages import refuse
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from promptlift.service.store.accounts import Caller
    from promptlift.service.store.database import Database

# How long a key is accepted without being read again. Revoking a key waits this long, so that the key is
# refused everywhere afterwards.
KEY_MEMORY_SECONDS = 0.25
_KEYS_REMEMBERED = 10_000
_TOUCH_SECONDS = 60.0
# The API, and requests of OpenTelemetry exporters.
_WITH_KEY = (f"{API_PATH}/", "/v1/")


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
        caller = await run_in_threadpool(self._look_up, key)
        if caller is None:
            self._known.pop(digest, None)
            raise self._refusal("The API key is invalid")
        if len(self._known) >= _KEYS_REMEMBERED:
            self._known.clear()
        self._known[digest] = (caller, read_at + KEY_MEMORY_SECONDS)
        return caller

    def _look_up(self, key: str) -> Caller | None:
        caller = access.find_caller(self._database, key)
        if (
            caller is not None
            and self._touched.get(caller.key_id, -_TOUCH_SECONDS) + _TOUCH_SECONDS <= self._steady()
        ):
            self._touched[caller.key_id] = self._steady()
            access.touch_key(self._database, caller.key_id)
        return caller

    @staticmethod
    def _refusal(message: str) -> ApiException:
        return ApiException("INVALID_API_KEY", message, headers={"WWW-Authenticate": "Bearer"})


class Authentication:
    """ASGI middleware around the whole service."""

    def __init__(self, app: ASGIApp, *, database: Database) -> None:
        self._app = app
        self._database = database
        self._keys = KeyCache(database)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it in the API's error format."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers: dict[str, str] = {}
        started = False

        async def send_with_headers(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                if headers:
                    MutableHeaders(scope=message).update(headers)
            await send(message)

        try:
            if _needs_key(scope):
                headers.update(await self._admit(scope))
                _refuse_hidden_slashes(scope)
            await self._app(scope, receive, send_with_headers)
        except ClientDisconnect:
            return  # the client is gone
        except (Exception, asyncio.CancelledError) as error:
            if started:
                raise
            await refuse(_refusal(error))(scope, receive, send_with_headers)

    async def _admit(self, scope: Scope) -> Mapping[str, str]:
        caller = await self._keys.caller(Headers(scope=scope).get("authorization"))
        scope.setdefault("state", {})["caller"] = caller
        limit = caller.limits.requests_per_minute
        if limit is None:
            return {}
        now = clock.now()
        count, resets_at = await run_in_threadpool(access.count_request, self._database, caller, now=now)
        headers = rate_headers(limit, count, resets_at, now=now)
        if count > limit:
            wait = int(headers["Retry-After"])
            raise ApiException(
                "RATE_LIMIT_EXCEEDED",
                f"More than {limit} requests in this minute; try again in {wait} seconds",
                details={"limit": limit, "retryAfter": wait},
                headers=headers,
            )
        return headers


def _refusal(error: Exception | asyncio.CancelledError) -> ApiException:
    if isinstance(error, asyncio.CancelledError):
        # uvicorn is stopping and has waited long enough; by itself it would answer in plain text.
        return stopping()
    return access.refusal_of(error, "a request failed")


def _needs_key(scope: Scope) -> bool:
    path: str = scope["path"]
    return path.startswith(_WITH_KEY) or (path == monitoring.METRICS and not monitoring.is_local(scope))


def _refuse_hidden_slashes(scope: Scope) -> None:
    # The server decodes the path before it is matched: an id "a/status" would become another endpoint of "a".
    if b"%2f" in scope.get("raw_path", b"").lower():
        raise ApiException("NOT_FOUND", "No such path; no id has a slash in it")


def rate_headers(limit: int, count: int, resets_at: int, *, now: int) -> dict[str, str]:
    """Return the rate-limit headers of an answer; ``X-RateLimit-Reset`` is in seconds since 1970.

    Parameters
    ----------
    limit
        Requests allowed a minute.
    count
        Requests of this minute, this one included.
    resets_at
        End of the minute.
    """
    headers = {
        "X-RateLimit-Limit": str(limit),
        "X-RateLimit-Remaining": str(max(0, limit - count)),
        "X-RateLimit-Reset": str(math.ceil(resets_at / clock.SECOND)),
    }
    if count > limit:
        headers["Retry-After"] = str(max(1, math.ceil((resets_at - now) / clock.SECOND)))
    return headers
