"""Monitoring endpoints: ``/metrics`` for Prometheus, ``/healthz`` and ``/readyz`` for load balancers."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import time
from bisect import bisect_left
from collections import Counter
from typing import TYPE_CHECKING, Final, Generic, TypeVar
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route

from promptlift._version import __version__
from promptlift.service.actions import access
from promptlift.service.errors import ApiException
from promptlift.service.routes.messages import answer, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.requests import Request
    from starlette.types import Scope

    from promptlift.service.actions.access import Backlog
    from promptlift.service.call import AppContext
    from promptlift.service.store.database import Database


Found = TypeVar("Found")

_LOG = logging.getLogger(__name__)
METRICS: Final = "/metrics"
MEDIA_TYPE: Final = "text/plain; version=0.0.4"
# Upper bounds of the duration buckets, in seconds.
_BOUNDS: Final = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"))
# Concurrent requests share one database query, because some of them need no key.
_MEMORY_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 5.0
_NO_ANSWER: Final = "The database does not answer"
_METRICS: Final = {
    "promptlift_build_info": ("gauge", "Version of promptlift."),
    "process_start_time_seconds": ("gauge", "Start time of the process, in seconds since 1970."),
    "process_cpu_seconds_total": ("counter", "Processor time of the process."),
    "process_resident_memory_bytes": ("gauge", "Resident memory."),
    "promptlift_http_requests_total": ("counter", "Requests answered."),
    "promptlift_http_request_duration_seconds": ("histogram", "Time from a request's headers to its answer."),
    "promptlift_database_up": ("gauge", "Whether the database answers."),
    "promptlift_conversations": ("gauge", "Number of stored conversations."),
    "promptlift_work_waiting": ("gauge", "Background work that is due or in progress."),
    "promptlift_work_oldest_seconds": ("gauge", "How long the oldest background work has been due."),
}


def is_local(scope: Scope) -> bool:
    """Return whether a request comes directly from this machine, not through a proxy or a web page.

    A page's own name may resolve to this machine (DNS rebinding), but the browser sends that name as
    ``Host``.
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


class Counts:
    """Requests of this process since its start."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, int]] = Counter()
        self._durations = [0] * (len(_BOUNDS) + 1)
        self._seconds = 0.0

    def add(self, method: str, status: int, seconds: float) -> None:
        """Count a request. Called in the event loop only."""
        self._requests[method if method in _METHODS else "other", status] += 1
        self._durations[bisect_left(_BOUNDS, seconds)] += 1
        self._seconds += seconds

    def lines(self) -> list[str]:
        """Return the counts as lines of metrics."""
        total, buckets = 0, {}
        for bound, count in zip((*_BOUNDS, "+Inf"), self._durations, strict=True):
            total += count
            buckets[f'_bucket{{le="{bound}"}}'] = total
        requests = {
            f'{{method="{method}",status="{status}"}}': count
            for (method, status), count in self._requests.items()
        }
        durations = {**buckets, "_sum": self._seconds, "_count": total}
        return [
            *_metric("promptlift_http_requests_total", requests),
            *_metric("promptlift_http_request_duration_seconds", durations),
        ]


class _SharedLook(Generic[Found]):
    """A database query shared by concurrent requests, so that a hanging database blocks only one thread."""

    def __init__(self, look: Callable[[], Found | None]) -> None:
        self._look = look
        self._looked_at = -_MEMORY_SECONDS
        self._looking: asyncio.Task[Found | None] | None = None

    async def found(self) -> Found | None:
        """Return the result of the last second; ``None`` if the database does not answer."""
        now = time.monotonic()
        if self._looking is None or (self._looking.done() and now - self._looked_at > _MEMORY_SECONDS):
            self._looked_at = now
            self._looking = asyncio.create_task(run_in_threadpool(self._look))
        await asyncio.wait({self._looking}, timeout=_ANSWER_SECONDS)
        return self._looking.result() if self._looking.done() else None


def routes(context: AppContext, counts: Counts) -> list[Route]:
    """Make the routes ``/metrics``, ``/healthz`` and ``/readyz``."""
    waiting = _SharedLook(lambda: access.look(context.database, context.kinds))
    started_with = context.database.version()
    version = _SharedLook(lambda: _version(context.database))
    started_at = time.time()

    async def metrics(_request: Request) -> Response:
        lines = [*_process(started_at), *counts.lines(), *_waiting(await waiting.found())]
        return Response("\n".join([*lines, ""]), media_type=MEDIA_TYPE)

    async def healthz(_request: Request) -> Response:
        return answer({"status": "alive"})

    async def readyz(_request: Request) -> Response:
        found = await version.found()
        if found == started_with:
            return answer({"status": "ready"})
        changed = "The tables of the database were changed by another version of promptlift"
        return refuse(ApiException("SERVICE_UNAVAILABLE", _NO_ANSWER if found is None else changed))

    paths = {METRICS: metrics, "/healthz": healthz, "/readyz": readyz}
    return [Route(path, endpoint, methods=["GET"]) for path, endpoint in paths.items()]


def _version(database: Database) -> str | None:
    try:
        return database.version()
    except Exception as error:  # noqa: BLE001 - whatever the reason, there is no answer
        _LOG.error("the database does not answer: %s", str(error).partition("\n")[0])
        return None


def _waiting(found: Backlog | None) -> Iterable[str]:
    yield from _metric("promptlift_database_up", {"": int(found is not None)})
    if found is None:
        return
    conversations = {
        f'{{status="{status}",has_insights="{str(judged).lower()}"}}': count
        for (status, judged), count in found.conversations.items()
    }
    yield from _metric("promptlift_conversations", conversations)
    for name, place in (("promptlift_work_waiting", 0), ("promptlift_work_oldest_seconds", 1)):
        yield from _metric(name, {f'{{kind="{kind}"}}': one[place] for kind, one in found.work.items()})


def _process(started_at: float) -> Iterable[str]:
    used = os.times()
    yield from _metric("promptlift_build_info", {f'{{version="{__version__}"}}': 1})
    yield from _metric("process_start_time_seconds", {"": started_at})
    yield from _metric("process_cpu_seconds_total", {"": used.user + used.system})
    memory = _resident_bytes()
    if memory is not None:
        yield from _metric("process_resident_memory_bytes", {"": memory})


def _resident_bytes() -> int | None:
    """Return the resident memory of the process; ``None`` on systems that do not report it like Linux."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123 - read on every request
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return None


def _metric(name: str, samples: Mapping[str, float]) -> list[str]:
    """Format one metric; samples are keyed by the suffix of its name."""
    kind, meaning = _METRICS[name]
    return [
        f"# HELP {name} {meaning}",
        f"# TYPE {name} {kind}",
        *(f"{name}{suffix} {value}" for suffix, value in samples.items()),
    ]
