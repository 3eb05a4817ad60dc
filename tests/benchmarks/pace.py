"""Measure whole reads from services that limit requests against the least possible time: real sockets, the real clock.

Reads of one rate run side by side, each against a service of its own; they sleep nearly all the time, and begin one after the
other, so that none has to share the processors with the burst of another::

    PYTHONPATH=tests python tests/benchmarks/pace.py [RATE ...]
"""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from support.limiters import Bucket, Minutes, PacedService
from support.pulled import answer, workspace

_RATES = (60, 300, 1200, 3000, 6000)
_KINDS = {
    "minutes": Minutes,
    "bucket of 1": lambda rate, tells: Bucket(rate, tells, 1),
    "bucket of 50": lambda rate, tells: Bucket(rate, tells, 50),
    "bucket of 300": lambda rate, tells: Bucket(rate, tells, 300),
    "bucket of a minute": lambda rate, tells: Bucket(rate, tells, rate),
}
# So much traffic do the processors carry at once.
_PER_MINUTE = 6000
# Requests a second of one read that nothing limits, for the least time.
_PER_SECOND = 500


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


def measure(rate: int, kind: str, *, tells: bool, told: bool, after: float = 0.0) -> str:
    """Run one read that takes two minutes, after some seconds, and describe how long it took."""
    limiter = _KINDS[kind](rate, tells)
    with PacedService(limiter=limiter, clock=RealClock(), plan="pro", fault=no_account) as service:
        service.fill(int(getattr(limiter, "size", rate) + 2 * rate) - 20)
        lift = workspace(service)
        if told:
            lift.client.transport.pace.tell(rate)
        time.sleep(after)
        began = time.monotonic()
        lift.conversations(insights=True)
        took = time.monotonic() - began
    least = limiter.least(len(service.seen) - len(limiter.refusals), _PER_SECOND)
    late = sum(at > began + 60 for at in limiter.refusals)
    return (
        f"{rate:5} {kind:18} {'Retry-After' if tells else 'bare':12} {'told' if told else 'untold':7} "
        f"{took:7.1f} s, least {least:6.1f} s: {took / least:.3f}; {len(limiter.refusals)} refused, {late} after the first minute"
    )


def main() -> None:
    """Print a line for each read."""
    for rate in [int(text) for text in sys.argv[1:]] or _RATES:
        cases = list(product(_KINDS, (True, False), (True, False)))
        beside = max(1, min(len(cases), _PER_MINUTE // rate))

        def run(number: int, rate: int = rate, cases: list = cases, beside: int = beside) -> str:
            kind, tells, told = cases[number]
            return measure(rate, kind, tells=tells, told=told, after=number % beside * 60 / beside / 4)

        with ThreadPoolExecutor(beside) as threads:
            for line in threads.map(run, range(len(cases))):
                print(line, flush=True)


if __name__ == "__main__":
    main()
