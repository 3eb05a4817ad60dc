"""Services that keep a rate, and many senders that share a pace, on a clock that only goes on when all of them wait."""

from __future__ import annotations

import heapq
import itertools
import math
import random
import threading
from dataclasses import dataclass, field
from typing import Any

from promptlift.client.transport import Clock
from support.foreign_service import ForeignService


@dataclass
class Minutes:
    """A number of requests a minute; the first minute has ``left`` seconds to go, or begins with the first request."""

    rate: float = 300
    tells: bool = True
    left: float = 60.0
    refusals: list[float] = field(default_factory=list)
    _ends: float | None = None
    _count: int = 0

    def allows(self, now: float) -> tuple[bool, float | None]:
        """Whether a request is accepted, and the ``Retry-After`` of a refusal."""
        if self._ends is None:
            self._ends = now + self.left
        elif now >= self._ends:
            # Minutes follow each other, whether or not there are requests.
            self._ends, self._count = now + 60 - (now - self._ends) % 60, 0
        if self._count < self.rate:
            self._count += 1
            return True, None
        self.refusals.append(now)
        return False, math.ceil(self._ends - now) if self.tells else None

    def least(self, requests: float, per_second: float) -> float:
        """Seconds that so many requests take at least where the network carries ``per_second``."""
        time, minute = 0.0, self.left
        while requests > (carried := min(self.rate, minute * per_second)):
            requests, time, minute = requests - carried, time + minute, 60.0
        return time + requests / per_second


@dataclass
class Bucket:
    """A bucket that fills all the time."""

    rate: float = 300
    tells: bool = True
    size: float = 300
    refusals: list[float] = field(default_factory=list)
    _tokens: float = math.inf
    _at: float = 0.0

    def allows(self, now: float) -> tuple[bool, float | None]:
        self._tokens = min(self.size, self._tokens + (now - self._at) * self.rate / 60)
        self._at = now
        if self._tokens >= 1:
            self._tokens -= 1
            return True, None
        self.refusals.append(now)
        return False, math.ceil((1 - self._tokens) * 60 / self.rate) if self.tells else None

    def least(self, requests: float, per_second: float) -> float:
        return max((requests - self.size) * 60 / self.rate, requests / per_second)


def send(pace, limiter, requests, *, senders=16, latency=0.03, start=0.0, seed=0):
    """Send requests from many senders, each of which waits for its answers; return the time at the end.

    The network takes half of the latency either way, and up to a millisecond more on the way there.
    """
    chance = random.Random(seed)
    events: list[tuple[float, int, str, tuple[bool, float | None]]] = []
    order = itertools.count()
    todo, done, now = requests, 0, start

    def at(time, kind, outcome=(True, None)):
        heapq.heappush(events, (time, next(order), kind, outcome))

    for _ in range(senders):
        at(start, "asks")
    while done < requests:
        now, _, kind, (accepted, retry_after) = heapq.heappop(events)
        if kind == "asks":
            if todo:
                wait = pace.ask(now)
                if wait > 0:
                    at(now + wait, "asks")
                else:
                    todo -= 1
                    at(now + latency / 2 + chance.random() / 1000, "arrives")
        elif kind == "arrives":
            at(now + latency / 2, "answered", limiter.allows(now))
        else:
            if accepted:
                done += 1
                pace.answered(now)
            else:
                todo += 1
                pace.refused(now, retry_after)
            at(now, "asks")
    return now


class SharedClock(Clock):
    """A clock for the threads of a client and a service: it goes on when the service works, and when all threads wait."""

    def __init__(self) -> None:
        self.time = 0.0
        self.transport: Any = None
        self._lock = threading.Lock()
        self._seen = threading.local()

    def now(self) -> float:
        self._seen.at = self.time
        return self.time

    def wall(self) -> float:
        return self.time

    def work(self, seconds: float) -> None:
        with self._lock:
            self.time += seconds

    def wait(self, seconds: float, stop: threading.Event) -> bool:
        """Go on to the end of the wait, once no request is on its way."""
        end = self._seen.at + seconds
        while not stop.is_set() and self.time < end:
            with self._lock:
                if not self.transport.pace._in_flight:
                    self.time = max(self.time, end)
                    break
            stop.wait(0.0005)
        return stop.is_set()


@dataclass
class PacedService(ForeignService):
    """A service behind a limiter; every request takes it some time."""

    limiter: Any = None
    clock: Any = None
    seconds: float = 0.004

    def _over_rate(self) -> float | None:
        self.clock.work(self.seconds)
        allowed, self._retry_after = self.limiter.allows(self.clock.time)
        return None if allowed else 0.0

    def send(self, handler, status, answer, headers=None):
        if status == 429:
            headers = {} if self._retry_after is None else {"Retry-After": str(self._retry_after)}
        super().send(handler, status, answer, headers)
