"""``GET /metrics``: what an operator watches, as Prometheus reads it."""

from __future__ import annotations

import asyncio
import ipaddress
import os
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route

from promptlift._version import __version__
from promptlift.service.actions import backlog

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from promptlift.service.background.kind import Kind
    from promptlift.service.store.database import Database

__all__ = ["PATH", "Counts", "RequestCounts", "description", "is_local", "routes"]

PATH: Final = "/metrics"
MEDIA_TYPE: Final = "text/plain; version=0.0.4"
# Upper bounds of the classes of durations, in seconds.
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"))
# Concurrent requests share one look into the database.
_MEMORY_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 5.0


def is_local(scope: Scope) -> bool:
    """Whether a request comes from this machine itself, and not through a proxy or a web page on it.

    A page may have its own name resolve to this machine (DNS rebinding), but its browser sends that name as ``Host``.
    """
    client = scope.get("client")
    headers = Headers(scope=scope)
    if client is None or any(name in headers for name in ("forwarded", "x-forwarded-for", "via")):
        return False
    try:
        host = (urlsplit(f"//{headers.get('host', '')}").hostname or "").removesuffix(".")
        return ipaddress.ip_address(client[0]).is_loopback and (
            host == "localhost" or ipaddress.ip_address(host).is_loopback
        )
    except ValueError:
        return False


class RequestCounts:
    """ASGI middleware that counts requests and how long they took."""

    def __init__(self, app: ASGIApp, *, counts: Counts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        status = 500

        async def send_and_note(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, send_and_note)
        finally:
            self._counts.add(scope["method"], status, time.perf_counter() - begun)


class Counts:
    """Requests of this process since its start."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def add(self, method: str, status: int, seconds: float) -> None:
        """Count a request. Called in the event loop only."""
        self._requests[method if method in _METHODS else "other", status] += 1
        self._durations[next((n for n, bound in enumerate(_BOUNDS) if seconds <= bound), -1)] += 1
        self._seconds += seconds

    def lines(self) -> list[str]:
        """Write the counts."""
        total, buckets = 0, {}
        for bound, count in zip((*_BOUNDS, "+Inf"), self._durations, strict=True):
            total += count
            buckets[f'_bucket{{le="{bound}"}}'] = total
        return [
            *_metric(
                *("promptlift_http_requests_total", "counter", "Requests answered."),
                {
                    f'{{method="{method}",status="{status}"}}': n
                    for (method, status), n in self._requests.items()
                },
            ),
            *_metric(
                *(
                    "promptlift_http_request_duration_seconds",
                    "histogram",
                    "From a request's headers to its answer.",
                ),
                {**buckets, "_sum": self._seconds, "_count": total},
            ),
        ]


class _WaitingWork:
    """What waits in the database; asked for at most once a second."""

    def __init__(self, database: Database, kinds: Sequence[Kind]) -> None:
        self._database = database
        self._kinds = kinds
        self._asked_at = -_MEMORY_SECONDS
        self._asking: asyncio.Task[list[str] | None] | None = None

    async def lines(self) -> list[str]:
        now = time.monotonic()
        if self._asking is None or (self._asking.done() and now - self._asked_at > _MEMORY_SECONDS):
            self._asked_at = now
            self._asking = asyncio.create_task(run_in_threadpool(self._ask))
        # A database that hangs blocks one thread, and not what else is to be said.
        await asyncio.wait({self._asking}, timeout=_ANSWER_SECONDS)
        found = self._asking.result() if self._asking.done() else None
        up = _metric(
            *("promptlift_database_up", "gauge", "Whether the database answers."),
            {"": int(found is not None)},
        )
        return [*up, *(found or ())]

    def _ask(self) -> list[str] | None:
        found = backlog.look(self._database, self._kinds)
        if found is None:
            return None
        return [
            *_metric(
                *("promptlift_conversations", "gauge", "Conversations that are kept."),
                {
                    f'{{status="{status}",has_insights="{str(judged).lower()}"}}': count
                    for (status, judged), count in found.conversations.items()
                },
            ),
            *_metric(
                *("promptlift_work_waiting", "gauge", "Background work that is due or under way."),
                {f'{{kind="{kind}"}}': count for kind, (count, _) in found.work.items()},
            ),
            *_metric(
                *("promptlift_work_oldest_seconds", "gauge", "How long the oldest of it has been due."),
                {f'{{kind="{kind}"}}': seconds for kind, (_, seconds) in found.work.items()},
            ),
        ]


def routes(database: Database, kinds: Sequence[Kind], counts: Counts) -> list[Route]:
    """Make the route ``/metrics``."""
    work = _WaitingWork(database, kinds)
    started_at = time.time()

    async def metrics(_request: Request) -> Response:
        lines = [*_process(started_at), *counts.lines(), *await work.lines()]
        return Response("\n".join([*lines, ""]), media_type=MEDIA_TYPE)

    return [Route(PATH, metrics, methods=["GET"])]


def _process(started_at: float) -> Iterable[str]:
    used = os.times()
    yield from _metric(
        "promptlift_build_info", "gauge", "Version of promptlift.", {f'{{version="{__version__}"}}': 1}
    )
    yield from _metric(
        "process_start_time_seconds", "gauge", "When the process started, since 1970.", {"": started_at}
    )
    yield from _metric(
        *("process_cpu_seconds_total", "counter", "Processor time of the process."),
        {"": used.user + used.system},
    )
    memory = _resident_bytes()
    if memory is not None:
        yield from _metric("process_resident_memory_bytes", "gauge", "Resident memory.", {"": memory})


def _resident_bytes() -> int | None:
    """Return the resident memory of the process; ``None`` where the system does not tell it as Linux does."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - read on every request
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _metric(name: str, kind: str, meaning: str, samples: Mapping[str, float]) -> list[str]:
    """Write one metric; samples by what follows its name."""
    return [
        f"# HELP {name} {meaning}",
        f"# TYPE {name} {kind}",
        *(f"{name}{suffix} {value}" for suffix, value in samples.items()),
    ]


def description() -> dict[str, Any]:
    """Describe the endpoint."""
    refused = {"application/json": {"schema": {"$ref": "#/components/schemas/ErrorBody"}}}
    operation = {
        "summary": "Metrics for Prometheus; from another machine with a key (beyond the specification)",
        "operationId": "get_metrics",
        "responses": {
            "200": {"description": "Success", "content": {"text/plain": {"schema": {"type": "string"}}}},
            **{
                status: {"description": code, "content": refused}
                for status, code in (
                    ("401", "INVALID_API_KEY"),
                    ("429", "RATE_LIMIT_EXCEEDED"),
                    ("500", "INTERNAL_ERROR"),
                    ("503", "SERVICE_UNAVAILABLE"),
                )
            },
        },
    }
    return {PATH: {"get": operation}}
