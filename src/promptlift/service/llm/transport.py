"""Requests to one endpoint: JSON out, JSON in, connections kept and shared, each request ended by its job alone."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.service.llm.dial import NoAnswer, Route, dial
from promptlift.service.llm.line import ANSWER_BYTES, Line
from promptlift.service.llm.retry import read_retry_after

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from promptlift.service.llm.port import JobView
    from promptlift.service.llm.settings import LlmSettings

__all__ = ["ANSWER_BYTES", "NoAnswer", "Reply", "TooSlow", "Transport"]

CONNECT_SECONDS: Final = 10.0
KEPT: Final = 64


class TooSlow(NoAnswer):
    """The time that it was given passed."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An HTTP answer.

    Attributes
    ----------
    document
        The decoded JSON body, ``None`` when it is not JSON.
    """

    status: int
    document: Any
    retry_after: float | None


class Transport:
    """Requests to one endpoint. Safe from several threads.

    Parameters
    ----------
    settings
        Address and key.
    """

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._route: Route | None = None
        self._heads: dict[tuple[str, str, str], bytes] = {}
        self._lock = threading.Lock()
        self._kept: list[Line] = []
        self._cuts: dict[object, tuple[float, Callable[[], None]]] = {}
        self._closed = False

    def send(
        self,
        method: str,
        path: str,
        *,
        purpose: str,
        job: JobView,
        seconds: float,
        body: dict[str, Any] | None = None,
    ) -> Reply:
        """Send one request.

        Parameters
        ----------
        seconds
            For the whole request. An endpoint that sends a byte now and then does not stretch it.

        Raises
        ------
        TooSlow
            It took longer than ``seconds``.
        NoAnswer
            The endpoint cannot be reached, sends too much, or the request was cut.
        """
        deadline = time.monotonic() + seconds
        content = b"" if body is None else _encode(body)
        request = self._head(method, path, purpose) + b"%d\r\n\r\n" % len(content) + content
        line = self._kept_line() or self._opened(min(CONNECT_SECONDS, seconds), job)
        try:
            with self._cutting(line.cut), job.holding(line.cut):
                raw = line.exchange(request, deadline)
        except TimeoutError:
            line.close()
            raise TooSlow(f"it did not answer within {seconds:.3g} seconds") from None
        except BaseException:
            line.close()
            raise
        # From here on no cancelling reaches the line, so the next request over it may be another job's.
        self._keep(line)
        retry_after = raw.headers.get(b"retry-after")
        return Reply(
            raw.status,
            _decode(raw.body),
            None if retry_after is None else read_retry_after(retry_after.decode("ascii", "replace")),
        )

    def close(self) -> None:
        """Close all connections; requests under way end without an answer."""
        with self._lock:
            self._closed = True
            kept, self._kept = self._kept, []
            for _, cut in self._cuts.values():
                cut()
        for line in kept:
            line.close()

    def cut_older_than(self, moment: float) -> int:
        """End requests that were begun before a time of ``time.monotonic``: they have no answer. Gives how many."""
        with self._lock:
            old = [cut for begun, cut in self._cuts.values() if begun < moment]
            for cut in old:
                cut()
        return len(old)

    def _head(self, method: str, path: str, purpose: str) -> bytes:
        head = self._heads.get((method, path, purpose))
        if head is None:
            route = self._way()
            lines = [
                f"{method} {route.target}{path} HTTP/1.1",
                f"Host: {route.netloc}",
                "Accept: application/json",
                "Accept-Encoding: identity",
                "User-Agent: promptlift",
                f"X-Promptlift-Purpose: {purpose}",
            ]
            if self._settings.api_key is not None:
                lines.append(f"Authorization: Bearer {self._settings.api_key}")
            if route.proxy_authorization is not None and route.tls is None:
                lines.append(f"Proxy-Authorization: {route.proxy_authorization}")
            if method == "POST":
                lines.append("Content-Type: application/json")
            head = ("\r\n".join(lines) + "\r\nContent-Length: ").encode("ascii")
            self._heads[method, path, purpose] = head
        return head

    def _way(self) -> Route:
        if self._route is None:
            self._route = Route.to(self._settings)
        return self._route

    def _kept_line(self) -> Line | None:
        while True:
            with self._lock:
                if self._closed:
                    raise NoAnswer("the client was closed")
                line = self._kept.pop() if self._kept else None
            if line is None or (line.usable and line.silent):
                return line
            line.close()

    def _keep(self, line: Line) -> None:
        with self._lock:
            if line.usable and not self._closed and len(self._kept) < KEPT:
                self._kept.append(line)
                return
        line.close()

    def _opened(self, seconds: float, job: JobView) -> Line:
        """Open a line in a thread of its own: nothing else can leave a name server or a handshake that hangs."""
        opening = _Opening(self._way(), seconds)
        try:
            with self._cutting(opening.leave), job.holding(opening.leave):
                return Line(opening.wait())
        except BaseException:
            opening.abandon()
            raise

    @contextmanager
    def _cutting(self, cut: Callable[[], None]) -> Iterator[None]:
        mark = object()
        with self._lock:
            if self._closed:
                raise NoAnswer("the client was closed")
            self._cuts[mark] = (time.monotonic(), cut)
        try:
            yield
        finally:
            with self._lock:
                del self._cuts[mark]


class _Opening:
    """A connection that a thread of its own opens, for somebody who may not wait for it to the end."""

    def __init__(self, route: Route, seconds: float) -> None:
        self._route = route
        self._seconds = seconds
        self._lock = threading.Lock()
        self._decided = threading.Event()
        self._left = False
        self._socket: socket.socket | None = None
        self._problem = f"no connection within {seconds:g} seconds"
        threading.Thread(target=self._run, name="promptlift-llm-dial", daemon=True).start()

    def wait(self) -> socket.socket:
        self._decided.wait(self._seconds)
        self.leave()
        if self._socket is None:
            raise NoAnswer(self._problem)
        return self._socket

    def leave(self) -> None:
        """Wait no longer; a connection that comes later is closed."""
        with self._lock:
            self._left = True
        self._decided.set()

    def abandon(self) -> None:
        """Leave, and close a connection that is there already."""
        self.leave()
        if self._socket is not None:
            self._socket.close()

    def _run(self) -> None:
        opened: socket.socket | None = None
        problem = self._problem
        try:
            opened = dial(self._route, self._seconds)
        except NoAnswer as error:
            problem = str(error)
        with self._lock:
            if not self._left:
                self._socket, opened, self._problem = opened, None, problem
        self._decided.set()
        if opened is not None:
            opened.close()


def _encode(body: dict[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # half a surrogate pair
        return json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")


def _decode(raw: bytes) -> Any:
    try:
        return orjson.loads(raw)
    except ValueError:
        pass
    try:  # takes what orjson does not: half a surrogate pair, NaN, a byte order mark
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None
