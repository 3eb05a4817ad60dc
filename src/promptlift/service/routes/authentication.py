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
from promptlift.service.routes import monitoring
from promptlift.service.routes.messages import refuse
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from promptlift.service.store.database import Database

# The API, and requests of OpenTelemetry exporters.
_WITH_KEY = (f"{API_PATH}/", "/v1/")


class Authentication:
    """ASGI middleware around the whole service, which also counts requests and their durations."""

    def __init__(self, app: ASGIApp, *, database: Database, counts: monitoring.Counts) -> None:
        self._app = app
        self._database = database
        self._keys = access.KeyCache(database)
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it in the API's error format."""
        begun = time.perf_counter()
        headers: dict[str, str] = {}
        status: int | None = None

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if headers:
                    MutableHeaders(scope=message).update(headers)
            await send(message)

        path: str = scope["path"]
        try:
            if path.startswith(_WITH_KEY) or (path == monitoring.METRICS and not monitoring.is_local(scope)):
                headers.update(await self._admit(scope))
            app = self._app
            if b"%2f" in scope.get("raw_path", b"").lower():
                # Decoded before it is matched: an id "a/status" would become another endpoint of "a".
                app = refuse(ApiException("NOT_FOUND", "No such path; no id has a slash in it"))
            await app(scope, receive, send_with_headers)
        except ClientDisconnect:
            return  # the client is gone
        except (Exception, asyncio.CancelledError) as error:
            if status is not None:
                raise
            # If uvicorn is stopping, it has waited long enough; by itself it would answer in plain text.
            is_stopping = isinstance(error, asyncio.CancelledError)
            refusal = stopping() if is_stopping else access.refusal_of(error, "a request failed")
            await refuse(refusal)(scope, receive, send_with_headers)
        finally:
            self._counts.add(scope["method"], status or 500, time.perf_counter() - begun)

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
