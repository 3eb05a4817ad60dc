"""How many model calls run side by side in one process, shared fairly between the jobs that make them."""

from __future__ import annotations

import threading
from collections import deque

__all__ = ["Budget", "Turn"]


class Turn:
    """One call's wait for a place.

    Attributes
    ----------
    granted
        Whether it has a place now.
    """

    __slots__ = ("_gate", "granted")

    def __init__(self) -> None:
        self.granted = False
        self._gate = threading.Lock()
        self._gate.acquire()

    def wait(self) -> None:
        """Sleep until the turn is decided: granted, or given up by ``Budget.withdraw``."""
        self._gate.acquire()

    def _decide(self, *, granted: bool) -> None:
        self.granted = granted
        self._gate.release()


class Budget:
    """A limit of model calls side by side, over everything that one process does.

    Places that become free go round: one to each job that waits, whatever the number of its waiting calls, and first
    come first served within a job. A job with a hundred calls in line does not hold up another with one.

    Parameters
    ----------
    at_a_time
        Calls side by side.
    """

    def __init__(self, at_a_time: int) -> None:
        if at_a_time < 1:
            raise ValueError(f"at_a_time must be at least 1, not {at_a_time}")
        self.at_a_time = at_a_time
        self._taken = 0
        self._lock = threading.Lock()
        # In the order of their turns; a job is here only while calls of it wait.
        self._waiting: dict[object, deque[Turn]] = {}

    def __repr__(self) -> str:
        return f"Budget(at_a_time={self.at_a_time})"

    def ask(self, job: object) -> Turn | None:
        """Take a place at once, ``None``, or get in line: wait for the turn that is given."""
        with self._lock:
            if self._taken < self.at_a_time:
                self._taken += 1
                return None
            turn = Turn()
            self._waiting.setdefault(job, deque()).append(turn)
            return turn

    def free(self) -> None:
        """Give a place back; the next in line has it at once."""
        with self._lock:
            if not self._waiting:
                self._taken -= 1
                return
            job, turns = next(iter(self._waiting.items()))
            del self._waiting[job]
            turn = turns.popleft()
            if turns:
                self._waiting[job] = turns
            turn._decide(granted=True)  # noqa: SLF001 - the two are one mechanism

    def withdraw(self, job: object) -> None:
        """End the wait of every call of a job; none of them is granted."""
        with self._lock:
            for turn in self._waiting.pop(job, ()):
                turn._decide(granted=False)  # noqa: SLF001 - the two are one mechanism
