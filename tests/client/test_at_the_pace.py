"""Whole reads over real sockets from services that limit requests: they finish, hardly later than they must, and are hardly ever refused."""

from __future__ import annotations

import pytest

from support.limiters import Bucket, Minutes, PacedService, SharedClock
from support.pulled import answer, workspace

pytestmark = pytest.mark.slow

ROWS = 700
READS = {
    "conversations": lambda lift, _folder: lift.conversations(insights=True),
    "pull": lambda lift, folder: lift.pull(folder),
}
LIMITERS = {
    "300 a minute": Minutes,
    "300 in a bucket of 300": Bucket,
    "300 in a bucket of 50": lambda **tells: Bucket(size=50, **tells),
}


def no_account(_method, path, _count):
    return answer(b"HTTP/1.1 403 No\r\nContent-Length: 2\r\n\r\n{}") if path == "/account" else None


# A limiter that tells when to come again, of a plan that is known; and some that tell nothing, of a plan that is not.
@pytest.mark.parametrize(
    ("read", "kind", "tells", "told"),
    [
        ("conversations", "300 in a bucket of 300", True, True),
        ("conversations", "300 a minute", False, False),
        ("pull", "300 in a bucket of 50", False, False),
    ],
)
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
        answered = len(service.seen) - len(limiter.refusals)
    assert answered >= ROWS
    assert clock.time <= (1.1 if told else 1.25) * limiter.least(answered, 1 / service.seconds)
