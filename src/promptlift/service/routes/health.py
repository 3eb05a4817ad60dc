"""Liveness and readiness for load balancers, without a key."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.routing import Route

from promptlift.service.errors import ApiException
from promptlift.service.routes.http.messages import answer, refuse

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request
    from starlette.responses import Response

    from promptlift.service.store.database import Database

_LOG = logging.getLogger(__name__)
# These endpoints need no key, so concurrent requests share one query of the database.
_MEMORY_SECONDS = 1.0
_ANSWER_SECONDS = 5.0
_NO_ANSWER = "The database does not answer"


def routes(database: Database) -> list[Route]:
    """Make the routes ``/healthz`` and ``/readyz``."""
    readiness = _Readiness(database)

    async def healthz(_request: Request) -> Response:
        return answer({"status": "alive"})

    async def readyz(_request: Request) -> Response:
        problem = await readiness.problem()
        return (
            answer({"status": "ready"})
            if problem is None
            else refuse(ApiException("SERVICE_UNAVAILABLE", problem))
        )

    return [Route("/healthz", healthz, methods=["GET"]), Route("/readyz", readyz, methods=["GET"])]


class _Readiness:
    """Check that the database answers and has the tables that this process was started with."""

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._clock = clock
        self._version = database.version()
        self._asking: asyncio.Task[str | None] | None = None
        self._asked_at = 0.0

    async def problem(self) -> str | None:
        """Return why requests cannot be answered; ``None`` when they can."""
        now = self._clock()
        if self._asking is None or (self._asking.done() and now - self._asked_at > _MEMORY_SECONDS):
            self._asked_at = now
            self._asking = asyncio.create_task(run_in_threadpool(self._ask))
        # A database that hangs blocks one thread, however many requests arrive.
        await asyncio.wait({self._asking}, timeout=_ANSWER_SECONDS)
        return self._asking.result() if self._asking.done() else _NO_ANSWER

    def _ask(self) -> str | None:
        try:
            version = self._database.version()
        except Exception as error:  # noqa: BLE001 - whatever the reason, there is no answer
            _LOG.error("the database does not answer: %s", str(error).partition("\n")[0])
            return _NO_ANSWER
        if version != self._version:
            return "The tables of the database were changed by another version of promptlift"
        return None


def description() -> dict[str, Any]:
    """Describe the endpoints that need no key."""
    return {
        "/healthz": _describe("alive", "Whether the process is alive", {}),
        "/readyz": _describe(
            "ready",
            "Whether the database answers and its tables are up to date",
            {"503": _answer("SERVICE_UNAVAILABLE", {"$ref": "#/components/schemas/ErrorBody"})},
        ),
        "/openapi.json": _describe(None, "This description", {}),
    }


def _describe(status: str | None, summary: str, errors: dict[str, Any]) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    if status is not None:
        schema |= {"required": ["status"], "properties": {"status": {"type": "string", "enum": [status]}}}
    operation = {
        "summary": summary,
        "operationId": status or "describe",
        "security": [],
        "responses": {"200": _answer("Success", schema), **errors},
    }
    return {"get": operation}


def _answer(described: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": described, "content": {"application/json": {"schema": schema}}}
