"""The same work for many items, side by side in threads, that stops at once when it is told to."""

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

_JOIN_SECONDS = 1.0
_START_SECONDS = 0.1
_END = object()


class WorkerPool(Generic[Item, Result]):
    """Threads that take items and give results, in the order in which they are done.

    Leaving the ``with`` block ends the threads: in the middle of a request if an exception (Ctrl-C too) is on its way.

    Parameters
    ----------
    transport
        Lends every thread its own connection.
    work
        Called in a thread with an item and a connection.
    task
        Counts the requests; stopping it stops the pool.
    threads
        At most so many; a thread starts when there is an item for it.
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
        self._most = threads
        self._members: list[tuple[threading.Thread, Connection]] = []
        self._todo: SimpleQueue[Item | object] = SimpleQueue()
        self._done: SimpleQueue[tuple[Item, Result | None, Exception | None]] = SimpleQueue()
        self._waiting = 0

    def __enter__(self) -> Self:
        return self

    def give(self, item: Item) -> None:
        """Add an item."""
        self._waiting += 1
        self._todo.put(item)
        if len(self._members) < self._most:
            connection = self._transport.acquire()
            # Daemons: one that hangs in a connect must not hold up the interpreter's end.
            thread = threading.Thread(
                target=self._run, args=(connection,), name="promptlift-worker", daemon=True
            )
            # In one step, and before the start: Ctrl-C may come between any two.
            self._members.append((thread, connection))
            thread.start()

    def results(self, *, leave: int = 0) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Give items with their result or their error, until at most ``leave`` items are left."""
        while self._waiting > leave:
            try:
                done = self._done.get(timeout=0.25)
            except Empty:
                if not any(thread.is_alive() for thread, _ in self._members):
                    return
                continue
            self._waiting -= 1
            yield done

    def withdraw(self) -> int:
        """Take back the items that no thread has begun, and tell how many they were."""
        count = 0
        while True:
            try:
                self._todo.get_nowait()
            except Empty:
                self._waiting -= count
                return count
            count += 1

    def ready(self) -> Iterator[tuple[Item, Result | None, Exception | None]]:
        """Give what is done by now, without waiting."""
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
            for _, connection in self._members:
                connection.abort()
        for _ in self._members:
            self._todo.put(_END)
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread, connection in self._members:
            # Ctrl-C may have come while the last one was being started: it shows in a moment, or never.
            shows = time.monotonic() + _START_SECONDS
            while thread.ident is None and time.monotonic() < shows:
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
            except Exception as error:  # noqa: BLE001 - told by the thread that waits
                self._done.put((cast("Item", item), None, error))
            else:
                self._done.put((cast("Item", item), result, None))
