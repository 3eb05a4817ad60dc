"""Whole reads at 300 requests a minute: they finish, hardly later than they must, and are hardly ever refused."""

from __future__ import annotations

import pytest

from support.limiters import LIMITERS, FixedMinutes, PacedService, SharedClock
from support.pulled import answer, workspace

ROWS = 700
READS = {
    "conversations": lambda lift, _folder: lift.conversations(insights=True),
    "pull": lambda lift, folder: lift.pull(folder),
}


def no_account(_method, path, _count):
    return answer(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n{}") if path == "/account" else None


@pytest.mark.slow
@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("tells", [True, False], ids=["Retry-After", "bare"])
@pytest.mark.parametrize("kind", LIMITERS)
@pytest.mark.parametrize("read", READS)
def test_a_read_takes_hardly_longer_than_it_must(tmp_path, read, kind, tells, told):
    clock = SharedClock()
    limiter = LIMITERS[kind](tells=tells)
    with PacedService(
        limiter=limiter, clock=clock, plan="pro", fault=None if told else no_account
    ) as service:
        service.fill(ROWS)
        lift = workspace(service, clock=clock)
        clock.transport = lift.client.transport
        READS[read](lift, tmp_path)
        answered = len(service.seen) - limiter.refused
    assert answered >= ROWS
    # Who was told the rate finds out by one request how it is counted.
    assert limiter.refused <= (3 if not told else isinstance(limiter, FixedMinutes))
    least = limiter.least(answered) + answered % 300 * service.seconds
    assert clock.time <= 1.05 * least + 2
