"""The background worker of one process: one loop claims due rows of every kind and keeps this process's lease.

It polls for rows of a kind when new work is announced (`wake_ups`), and for all kinds every few seconds, to
find rows that became due or were never announced.

The row is the only source of truth: its state, and which worker holds it. A worker has one lease for all its
work, renewed only here. When a worker dies, its lease expires and another worker releases its rows.

SQLite has one process: no other process may take its rows, so its lease needs no renewal, and any row claimed
at the start belonged to a process that is gone.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final

from promptlift.service import clock
from promptlift.service.background.runs import LeaseLost
from promptlift.service.background.wake_ups import WakeUps
from promptlift.service.identifiers import new_id
from promptlift.service.llm.port import Cancelled
from promptlift.service.store import SQLAlchemyError, leases

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from promptlift.service.background.kind import Kind
    from promptlift.service.store.database import Database


_LOG = logging.getLogger(__name__)

# Between two polls of all kinds.
LOOK_SECONDS: Final = 5.0
LEASE_SECONDS: Final = 15.0
# How often a lease is renewed within its time, so that a slow database does not lose it.
_RENEWALS: Final = 5
# Rows whose work was interrupted by the database are retried after this time.
RETRY_SECONDS: Final = 5.0


@dataclass
class _Queue:
    """The rows of one kind that this process holds."""

    kind: Kind
    # Whether there may be work, and when to poll for it.
    woken: bool = True
    look_at: float = 0.0
    waiting: deque[list[str]] = field(default_factory=deque)
    active: set[str] = field(default_factory=set)
    threads: set[threading.Thread] = field(default_factory=set)
    # Rows to release, and when: their work was interrupted, or they were reclaimed meanwhile.
    to_release: list[tuple[float, list[str]]] = field(default_factory=list)
    # Rows that lost their lease and were reclaimed while still running here.
    again: set[str] = field(default_factory=set)

    def next_look(self) -> float:
        """Return when to poll this kind, unless all kinds are polled earlier."""
        times = [at for at, _ in self.to_release]
        return min([*times, self.look_at] if self.woken else times, default=float("inf"))

    def held(self) -> set[str]:
        """Return every row claimed here."""
        chunks = (*self.waiting, *(ids for _, ids in self.to_release))
        return self.active.union(*chunks)


class Worker:
    """Work on due rows in the background.

    Parameters
    ----------
    database
        The database with the rows.
    lease_seconds
        Rows of a worker that gives no sign of life for this long are taken over.

    Attributes
    ----------
    id
        Name of this worker in the rows that it holds; different at every start.
    """

    def __init__(self, database: Database, *, lease_seconds: float = LEASE_SECONDS) -> None:
        self.id = new_id("wrk")
        self._database = database
        self._lease_seconds = lease_seconds
        self._queues: list[_Queue] = []
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._wake_ups = WakeUps(database, self._announced)
        self._ending = False
        self._renew_at = 0.0
        self._thread = threading.Thread(target=self._loop, name="worker", daemon=True)

    def start(self, kinds: Sequence[Kind]) -> None:
        """Start working; rows left by dead workers are released first."""
        self._queues = [_Queue(kind) for kind in kinds]
        with self._database.write() as connection:
            if self._database.is_sqlite:
                leases.remove_all_workers(connection)
            leases.renew(connection, self.id, seconds=self._lease_seconds)
            leases.remove_expired_workers(connection)
            for kind in kinds:
                kind.leases.release_orphans(connection)
        for queue in self._queues:
            queue.kind.start()
        self._wake_ups.start()
        self._thread.start()

    def stop(self) -> None:
        """Shut down in order: start nothing more, cancel running work, and release everything."""
        self._ending = True
        self._wake.set()
        self._thread.join(timeout=10)
        for queue in self._queues:
            queue.kind.stop()
        for queue in self._queues:
            with self._lock:
                queue.waiting.clear()
                active = list(queue.active)
            queue.kind.cancel(active)
        begun = time.monotonic()
        for queue in self._queues:
            for thread in list(queue.threads):
                thread.join(timeout=max(0.0, begun + queue.kind.grace - time.monotonic()))
        try:
            with self._database.write() as connection:
                for queue in self._queues:
                    queue.kind.leases.release(connection, self.id)
                leases.remove_worker(connection, self.id)
        except SQLAlchemyError as error:
            _LOG.warning("work could not be released, others take it over when the lease expires: %s", error)
        self._wake_ups.stop()

    def _announced(self, tables: Collection[str]) -> None:
        for queue in self._queues:
            if queue.kind.announced(tables) and not queue.woken:
                queue.woken = True
                self._wake.set()

    # The loop

    def _loop(self) -> None:
        next_look_at_all = 0.0
        while not self._ending:
            self._wake.clear()
            self._guard(self._keep_lease, "the lease of this worker could not be renewed")
            now = time.monotonic()
            if now >= next_look_at_all:
                next_look_at_all = now + LOOK_SECONDS
                due = self._queues
            else:
                due = [queue for queue in self._queues if self._next_look(queue) <= now]
            if due:
                self._look_at(due)
            next_step = min(next_look_at_all, *map(self._next_look, self._queues))
            if not self._database.is_sqlite:
                next_step = min(next_step, self._renew_at)
            self._wake.wait(max(0.0, next_step - time.monotonic()))

    def _next_look(self, queue: _Queue) -> float:
        with self._lock:
            return queue.next_look()

    @staticmethod
    def _guard(step: Callable[[], None], failure: str) -> None:
        """Run one step of the loop, which survives any failure."""
        try:
            step()
        except SQLAlchemyError as error:
            _LOG.warning("%s: %s", failure, error)
        except Exception:  # noqa: BLE001 - logged
            _LOG.exception("%s", failure)

    def _keep_lease(self) -> None:
        if self._database.is_sqlite or time.monotonic() < self._renew_at:
            return
        problem = next(filter(None, (queue.kind.problem for queue in self._queues)), None)
        with self._database.write() as connection:
            leases.renew(connection, self.id, seconds=self._lease_seconds, problem=problem)
        self._renew_at = time.monotonic() + self._lease_seconds / _RENEWALS
        with self._database.write() as connection:
            if leases.remove_expired_workers(connection):
                for queue in self._queues:
                    queue.kind.leases.release_orphans(connection)

    def _look_at(self, queues: Sequence[_Queue]) -> None:
        """Release, cancel and claim rows as needed; one statement finds the kinds with due rows."""
        wanted: list[tuple[_Queue, int]] = []
        for queue in queues:
            woken, queue.woken = queue.woken, False
            self._guard(partial(self._release, queue), f"no {queue.kind.name} could be released")
            # On SQLite no row is taken away without notice.
            if queue.kind.watches_leases and (woken or not self._database.is_sqlite):
                self._guard(partial(self._cancel_lost, queue), f"no {queue.kind.name} could be checked")
            with self._lock:
                held = len(queue.held())
            if (places := queue.kind.places(held)) > 0:
                wanted.append((queue, places))
        if wanted:
            self._guard(partial(self._claim_due, wanted), "polling for work failed")
        for queue in queues:
            self._begin(queue)

    def _claim_due(self, wanted: Sequence[tuple[_Queue, int]]) -> None:
        with self._database.read() as connection:
            looked_at = [queue.kind.leases for queue, _ in wanted]
            found = set(leases.with_work(connection, looked_at, now=clock.now()))
        for place, (queue, places) in enumerate(wanted):
            claim = partial(self._claim, queue, places if place in found else 0)
            self._guard(claim, f"no {queue.kind.name} could be claimed")

    def _release(self, queue: _Queue) -> None:
        now = time.monotonic()
        with self._lock:
            due = [row_id for at, ids in queue.to_release if at <= now for row_id in ids]
        if not due:
            return
        with self._database.write() as connection:
            queue.kind.leases.release(connection, self.id, due)
        with self._lock:
            queue.to_release = [one for one in queue.to_release if one[0] > now]

    def _cancel_lost(self, queue: _Queue) -> None:
        with self._lock:
            active = set(queue.active)
        if not active:
            return
        with self._database.read() as connection:
            lost = active - queue.kind.leases.held(connection, self.id, list(active))
        if lost:
            queue.kind.cancel(sorted(lost))

    def _claim(self, queue: _Queue, places: int) -> None:
        """Claim this many rows, if any."""
        kind = queue.kind
        ids: list[str] = []
        if places:
            with self._database.write() as connection:
                if not self._database.is_sqlite:
                    # In one transaction, so that no row ever belongs to a worker without a lease.
                    leases.renew(connection, self.id, seconds=self._lease_seconds, problem=kind.problem)
                ids = kind.leases.claim(connection, self.id, limit=places, now=clock.now())
        kind.claimed(ids)
        # If all places were filled there may be more rows, so poll again without gathering.
        queue.look_at = 0.0 if 0 < places == len(ids) else time.monotonic() + kind.gather
        with self._lock:
            # Work that was running before the claim may have ended since; then nobody else restarts it.
            held = queue.held()
            new = [row_id for row_id in ids if row_id not in held]
            queue.again.update(held.intersection(ids))
            queue.waiting.extend(new[at : at + kind.chunk] for at in range(0, len(new), kind.chunk))

    # Threads

    def _begin(self, queue: _Queue) -> None:
        with self._lock:
            count = min(len(queue.waiting), queue.kind.threads - len(queue.threads))
            threads = [
                threading.Thread(
                    target=self._work_off, args=(queue,), name=f"{queue.kind.name}-{n}", daemon=True
                )
                for n in range(count)
            ]
            queue.threads.update(threads)
        for thread in threads:
            thread.start()

    def _work_off(self, queue: _Queue) -> None:
        while True:
            with self._lock:
                if self._ending or not queue.waiting:
                    queue.threads.discard(threading.current_thread())
                    return
                ids = queue.waiting.popleft()
                queue.active.update(ids)
            broken = False
            try:
                broken = not self._work(queue.kind, ids)
            finally:
                with self._lock:
                    queue.active.difference_update(ids)
                    again = queue.again.intersection(ids)
                    queue.again -= again
                    if broken:
                        queue.to_release.append((time.monotonic() + RETRY_SECONDS, ids))
                    elif again:
                        queue.to_release.append((time.monotonic(), sorted(again)))
            queue.woken = True
            self._wake.set()

    def _work(self, kind: Kind, ids: Sequence[str]) -> bool:
        """Work on rows; return whether that finished."""
        try:
            with suppress(Cancelled, LeaseLost):
                kind.work(ids)
        except SQLAlchemyError as error:
            # A full disk or a lost server.
            _LOG.warning("%s waits for the database (%s): %s", kind.name, ", ".join(ids[:3]), error)
            return False
        except Exception:  # noqa: BLE001 - a defect that some rows show must not hold up the others
            if not self._ending:
                _LOG.exception("%s failed (%s)", kind.name, ", ".join(ids[:3]))
            return False
        return True
