"""Shared by llm and net: an event loop for callers in threads, and the connections and failures of requests."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import threading
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any, Final, ParamSpec, Self, TypeVar

import httpcore

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Failure = TypeVar("Failure", bound=Exception)

_BROKEN_HTTP: Final = {
    "disconnected without": "it closed the connection without an answer",
    "closed connection": "it closed the connection within its answer",
    "too long": "its answer's headers are too long",
}


class EventLoopThread:
    """Run coroutines for other threads, which wait for their futures or cancel them.

    The thread starts with the first coroutine, and again in a forked child.

    Parameters
    ----------
    name
        Name of the thread.
    at_end
        Awaited on the loop after its tasks are cancelled.
    """

    def __init__(self, name: str, *, at_end: Callable[[], Awaitable[None]]) -> None:
        self._name = name
        self._at_end = at_end
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop = asyncio.Event()
        self._closed = False

    def submit(
        self,
        function: Callable[Parameters, Coroutine[Any, Any, Result]],
        *arguments: Parameters.args,
        **options: Parameters.kwargs,
    ) -> Future[Result]:
        """Run a coroutine function. Cancelling the future cancels its task; after ``close`` the future is cancelled."""

        async def work() -> Result:
            if task := asyncio.current_task():
                # A cancelled future accepts no exception; without this the loop would log it.
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
            return await function(*arguments, **options)

        with self._lock:
            if not self._closed:
                return asyncio.run_coroutine_threadsafe(work(), self._running())
        refused: Future[Result] = Future()
        refused.cancel()
        return refused

    def close(self) -> None:
        """Cancel all tasks and end the thread; returns when it has ended."""
        with self._lock:
            started = not self._closed and self._thread is not None and self._thread.is_alive()
            self._closed = True
            if started and self._loop is not None:
                # Runs after every submitted coroutine: the loop processes both in order.
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread is not None:
            self._thread.join()

    def _running(self) -> asyncio.AbstractEventLoop:
        if self._loop is None or self._thread is None or not self._thread.is_alive():
            self._stop = asyncio.Event()
            started: Future[asyncio.AbstractEventLoop] = Future()
            self._thread = threading.Thread(target=self._run, args=(started,), name=self._name, daemon=True)
            self._thread.start()
            self._loop = started.result()
        return self._loop

    def _run(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        with asyncio.Runner(loop_factory=_Loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[asyncio.AbstractEventLoop]) -> None:
        started.set_result(asyncio.get_running_loop())
        await self._stop.wait()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._at_end()


class _Loop(asyncio.SelectorEventLoop):
    """Look names up in daemon threads: a hanging name server blocks neither a cancelled task nor the process."""

    async def getaddrinfo(self, host: Any, port: Any, **options: Any) -> Any:
        found: Future[Any] = Future()

        def look_up() -> None:
            # The future may be cancelled meanwhile.
            with contextlib.suppress(InvalidStateError):
                try:
                    found.set_result(socket.getaddrinfo(host, port, **options))
                except Exception as error:  # noqa: BLE001 - it belongs to the task that asked
                    found.set_exception(error)

        threading.Thread(target=look_up, name="promptlift-lookup", daemon=True).start()
        return await asyncio.wrap_future(found)


class OpenedConnections:
    """The connections that a request opens; closed when it fails.

    httpcore forgets a connection whose TLS handshake is cancelled, and leaves it open.
    """

    def __init__(self) -> None:
        self._streams: list[httpcore.AsyncNetworkStream] = []

    def __bool__(self) -> bool:
        return bool(self._streams)

    async def note(self, event: str, info: Mapping[str, Any]) -> None:
        """Record an event of a request; used as its extension ``trace``."""
        if event.endswith("connect_tcp.complete"):
            self._streams.append(info["return_value"])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            for stream in self._streams:
                await stream.aclose()


def problem_of(error: Exception) -> str:
    """Return why there is no answer, as a clause without addresses, keys or text from the other side."""
    said = str(error)
    # Errors of httpx are caused by those of httpcore.
    if _cause(error, httpcore.ProxyError):
        status = said[:3] if said[:3].isdigit() else "no status"
        return f"the proxy refused the connection with {status}"
    if _cause(error, httpcore.RemoteProtocolError):
        known = (problem for words, problem in _BROKEN_HTTP.items() if words in said)
        return next(known, "its answer is not HTTP")
    cause = _cause(error, ssl.SSLError)
    if isinstance(cause, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {cause.verify_message}"
    if cause is not None:
        return f"no secure connection ({cause.reason or type(cause).__name__})"
    if _cause(error, httpcore.ReadError) or _cause(error, httpcore.WriteError):
        return "the connection broke"
    return "it cannot be reached"


def _cause(error: BaseException | None, kind: type[Failure]) -> Failure | None:
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error
