"""An asyncio event loop in a thread of its own, for callers that are threads."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

__all__ = ["EventLoopThread"]

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class EventLoopThread:
    """Run coroutines for other threads, which wait for their futures or cancel them.

    The thread starts with the first coroutine, and anew in a forked child.

    Parameters
    ----------
    name
        Name of the thread.
    at_end
        Awaited on the loop after its tasks were cancelled.
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
                # A cancelled future takes no exception; without this the loop would log it.
                task.add_done_callback(lambda done: done.cancelled() or done.exception())
            return await function(*arguments, **options)

        with self._lock:
            if not self._closed:
                return asyncio.run_coroutine_threadsafe(work(), self._running())
        refused: Future[Result] = Future()
        refused.cancel()
        return refused

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function on the loop, if it runs."""
        with self._lock:
            if self._loop is not None and not self._closed:
                self._loop.call_soon_threadsafe(function, *arguments)

    def close(self) -> None:
        """Cancel all tasks and end the thread; returns when it has ended."""
        with self._lock:
            started = not self._closed and self._thread is not None and self._thread.is_alive()
            self._closed = True
            if started and self._loop is not None:
                # After every coroutine that was submitted: the loop takes both in their order.
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
    """Look names up in daemon threads: a name server that hangs holds up neither a cancelled task nor the process."""

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
