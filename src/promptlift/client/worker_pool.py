"""A pool of threads that does the same work for many items and can be stopped immediately."""

from __future__ import annotations

import threading
import time
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Generic, Self, TypeVar, cast

from promptlift.client.transport import Stopped, Task, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from promptlift.client.connection import Connection

Item = TypeVar("Item")
Result = TypeVar("Result")

_LOOK_SECONDS = 0.25
_JOIN_SECONDS = 1.0
_START_SECONDS = 0.1
_END = object()


class WorkerPool(Generic[Item, Result]):
    """Threads that process items and yield results in the order of completion.

    Leaving the ``with`` block ends the threads; an exception, Ctrl-C included, also aborts their requests.

    Parameters
    ----------
    transport
        Provides a connection for each thread.
    work
        Called in a thread with an item and a connection.
    task
        Counts the requests; stopping it stops the pool.
    threads
        Maximum number of threads; each starts when there is an item for it.
    """

    def __init__(
        self,
        transport: Transport,
        work: Callable[[Item, Connection], Result],
        *,
        task: Task,
        threads: int,
    ) -> None:
        self._transport = transport
        self._work = work
        self._task = task
        self._max_threads = threads
        self._workers: list[tuple[threading.Thread, Connection]] = []
        self._todo: SimpleQueue[Item | object] = SimpleQueue()
        self._done: SimpleQueue[tuple[Item, Result | None, Exception | None]] = SimpleQueue()
        self._waiting = 0

    def __enter__(self) -> Self:
        return self

    def submit(self, item: Item) -> None:
        """Add an item to the queue."""
        self._waiting += 1
        self._todo.put(item)
        if len(self._workers) < self._max_threads:
            connection = self._transport.acquire()
            # Daemons: a thread that hangs while connecting must not keep the interpreter from exiting.
            thread = threading.Thread(
                target=self._run, args=(connection,), name="promptlift-worker", daemon=True
            )
            # Recorded before it starts: Ctrl-C may arrive between any two statements.
            self._workers.append((thread, connection))
            thread.start()

    def results(
        self, *, leave: int = 0, until: float | None = None
    ) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Yield items with their result or error until at most ``leave`` items are left.

        With ``until``, a time of the monotonic clock, it stops then at the latest.
        """
        while self._waiting > leave:
            left = _LOOK_SECONDS if until is None else min(_LOOK_SECONDS, until - time.monotonic())
            if left <= 0:
                return
            try:
                done = self._done.get(timeout=left)
            except Empty:
                if not any(thread.is_alive() for thread, _ in self._workers):
                    return
                continue
            self._waiting -= 1
            yield done

    def cancel_pending(self) -> list[Item]:
        """Remove the items that no thread has started, and return them."""
        removed: list[Item] = []
        while True:
            try:
                removed.append(cast("Item", self._todo.get_nowait()))
            except Empty:
                self._waiting -= len(removed)
                return removed

    def ready(self) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Yield the results that are ready, without waiting."""
        while self._waiting:
            try:
                done = self._done.get_nowait()
            except Empty:
                return
            self._waiting -= 1
            yield done

    def __exit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        if kind is not None or self._waiting:
            self._task.stop.set()
            for _, connection in self._workers:
                connection.abort()
        for _ in self._workers:
            self._todo.put(_END)
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread, connection in self._workers:
            # Ctrl-C may have interrupted the start of the last thread: it then has an id very soon, or never.
            id_deadline = time.monotonic() + _START_SECONDS
            while thread.ident is None and time.monotonic() < id_deadline:
                time.sleep(0.001)
            if thread.ident is not None:
                thread.join(max(0.0, deadline - time.monotonic()))
            if not thread.is_alive():
                self._transport.release(connection)

    def _run(self, connection: Connection) -> None:
        while not self._task.stop.is_set():
            item = self._todo.get()
            if item is _END:
                return
            try:
                result = self._work(cast("Item", item), connection)
            except Stopped:
                return
            except Exception as error:  # noqa: BLE001 - raised in the thread that waits
                self._done.put((cast("Item", item), None, error))
            else:
                self._done.put((cast("Item", item), result, None))
                del result
            # An idle thread keeps nothing: items may be megabytes.
            del item
