"""Measure whole reads at 300 requests a minute against the least possible time, by the real clock.

All reads run side by side, each against a service of its own; they sleep nearly all the time, and begin one after the other
so that none has to share the processors with another one's burst::

    PYTHONPATH=tests python tests/benchmarks/pace.py [ROWS]
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from support.limiters import LIMITERS, PacedService
from support.pulled import answer, workspace

_READS = {
    "lift.conversations": lambda lift, _folder: lift.conversations(insights=True),
    "lift.pull": lambda lift, folder: lift.pull(folder),
}
# All within a minute: bursts come back every minute.
_APART_SECONDS = 3.5


class RealClock:
    """The real time, for a service that takes no more of it than it takes."""

    @property
    def time(self) -> float:
        return time.monotonic()

    def work(self, _seconds: float) -> None:
        pass


def no_account(_method, path, _count):
    """Refuse to say what the plan is."""
    return answer(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n{}") if path == "/account" else None


def measure(read: str, kind: str, *, tells: bool, told: bool, rows: int, after: float = 0.0) -> str:
    """Run one read, after some seconds, and say how long it took."""
    limiter = LIMITERS[kind](tells=tells)
    fault = None if told else no_account
    with (
        tempfile.TemporaryDirectory() as folder,
        PacedService(limiter=limiter, clock=RealClock(), plan="pro", fault=fault) as service,
    ):
        service.fill(rows)
        lift = workspace(service)
        time.sleep(after)
        began = time.monotonic()
        _READS[read](lift, folder)
        took = time.monotonic() - began
        least = limiter.least(len(service.seen) - limiter.refused)
    return (
        f"{read:20} {kind:14} {'Retry-After' if tells else 'bare':12} {'told' if told else 'untold':7} "
        f"{took:7.1f} s, least {least:6.1f} s: {took / least:.3f}; {limiter.refused} refused"
    )


def main() -> None:
    """Print a line for each read."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 700
    cases = list(product(_READS, LIMITERS, (True, False), (True, False)))

    def run(number: int) -> str:
        read, kind, tells, told = cases[number]
        return measure(read, kind, tells=tells, told=told, rows=rows, after=number * _APART_SECONDS)

    with ThreadPoolExecutor(len(cases)) as threads:
        for line in threads.map(run, range(len(cases))):
            print(line, flush=True)


if __name__ == "__main__":
    main()
