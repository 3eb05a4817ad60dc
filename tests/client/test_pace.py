from __future__ import annotations

import random

import pytest

from promptlift.client.pace import Pace
from support.limiters import Bucket, Minutes, send

KINDS = [
    "minutes",
    "minutes that began before",
    "bucket of 1",
    "bucket of 50",
    "bucket of 300",
    "bucket of a minute",
]


def read_at_random(seed):
    """Read from a service drawn at random; return what is allowed, what it took, and the refusals.

    Refusals are those of ten seconds on average, from a minute and a half after the first on.
    """
    chance = random.Random(seed)
    rate, kind = round(60 * 100 ** chance.random()), chance.choice(KINDS)
    told, tells = chance.random() < 0.5, chance.random() < 0.5
    senders, latency = chance.choice([1, 4, 16]), chance.choice([0.002, 0.01, 0.03, 0.1])
    if rate > 40 * senders / latency:
        senders, latency = 16, min(latency, 0.03)
    requests = int(rate * chance.uniform(2, 3))
    if kind.startswith("minutes"):
        requests += rate
        limiter = Minutes(rate, tells, 60.0 if kind == "minutes" else chance.uniform(0.1, 60))
    else:
        size = {"1": 1, "50": 50, "300": 300, "minute": rate}[kind.split()[-1]]
        requests += size
        limiter = Bucket(rate, tells, size)
    took = send(Pace(rate if told else None), limiter, requests, senders=senders, latency=latency, seed=seed)
    bound = 1.1 if told else 1.25
    if kind == "bucket of 1":
        # The network brings requests closer together by up to a millisecond, and the next has to wait for up to a second.
        bound = 1.2 if told else 1.45
    steady = (limiter.refusals or [0.0])[0] + 90
    often = sum(at > steady for at in limiter.refusals) / max((took - steady) / 10, 1)
    return took / limiter.least(requests, senders / latency), bound, often


@pytest.mark.parametrize(
    "seeds",
    [
        range(12),
        pytest.param(range(12, 2000), marks=pytest.mark.benchmark),
    ],
    ids=["few", "all"],
)
def test_what_a_service_allows_is_used_up_and_hardly_ever_exceeded(seeds):
    reads = {seed: read_at_random(seed) for seed in seeds}
    # A told minute whose first refusal comes in its last second is taken for a bucket: it is used up, but no longer at once.
    assert sum(took > bound for took, bound, _ in reads.values()) <= len(reads) / 300
    assert {seed: took for seed, (took, _, _) in reads.items() if took > 1.5} == {}
    assert {seed: often for seed, (_, _, often) in reads.items() if often > 1} == {}


@pytest.mark.parametrize("tells", [True, False], ids=["Retry-After", "bare"])
def test_3000_a_minute_in_a_bucket_of_50_are_found(tells):
    assert send(Pace(), Bucket(3000, tells, 50), 2023) <= 1.25 * 39.5


def test_300_a_minute_with_bare_refusals_are_used_up_at_once():
    assert send(Pace(), Minutes(300, tells=False), 404) <= 1.1 * 60.3


def test_a_told_minute_earns_one_refusal():
    limiter = Minutes(300)
    send(Pace(300), limiter, 1500)
    assert len(limiter.refusals) == 1


def test_a_told_bucket_earns_one():
    limiter = Bucket(300)
    send(Pace(300), limiter, 3000)
    assert len(limiter.refusals) == 1


@pytest.mark.parametrize("told", [None, 300])
def test_a_rate_that_is_raised_is_found(told):
    class Raised(Bucket):
        def allows(self, now):
            self.rate = 300 if now < 120 else 3000
            return super().allows(now)

    limiter = Raised(size=50)
    pace = Pace(told)
    began = send(pace, limiter, 600)
    pace.tell(None if told is None else 3000)
    assert send(pace, limiter, 6000, start=began) - 120 <= 2.5 * 120


@pytest.mark.parametrize("told", [None, 300])
def test_a_bucket_that_others_use_too_is_shared(told):
    class Shared(Bucket):
        others = 0.0

        def allows(self, now):
            while self.others < now - 0.4:  # half of what flows in
                self.others += 0.4
                refused = len(self.refusals)
                super().allows(self.others)
                del self.refusals[refused:]
            return super().allows(now)

    assert send(Pace(told), Shared(), 1000) <= 1.1 * (1000 - 300) / 2.5


@pytest.mark.parametrize("told", [None, 300])
def test_a_client_that_asked_for_less_for_long_is_neither_faster_nor_slower_after_it(told):
    pace, limiter = Pace(told), Bucket()
    began = send(pace, limiter, 900) + 1000
    assert send(pace, limiter, 900, start=began) - began <= 1.6 * 120
    assert len(limiter.refusals) <= 50


def test_requests_of_one_burst_that_are_refused_are_one_wait():
    pace = Pace()
    assert [pace.ask(0.0) for _ in range(8)] == [0.0] * 8
    for _ in range(8):
        pace.refused(0.5)
    assert 0 < pace.ask(0.5) <= 0.2


def test_one_request_tries_after_a_refusal_once_all_others_are_answered():
    pace = Pace()
    for _ in range(3):
        pace.ask(0.0)
    pace.refused(0.5, 7.0)
    assert pace.ask(0.5) == pytest.approx(7.05)
    assert pace.ask(8.0) > 0
    pace.answered(8.0)
    pace.failed()
    assert pace.ask(8.0) == 0
    assert pace.ask(8.0) > 0


def test_headers_tell_the_rate_and_the_end_of_the_minute():
    pace = Pace()
    pace.ask(0.0)
    pace.answered(0.1)
    pace.tell(60)
    pace.left(59, 59.9, 0.1)
    assert (pace.per_minute, pace.told, pace.ask(0.2)) == (60, True, 0)
    pace.answered(0.3)
    pace.left(0, 20.0, 0.3)  # somebody else used the rest
    assert pace.ask(0.3) == pytest.approx(21.0)
    assert pace.ask(21.5) == 0


def test_a_reset_that_makes_no_sense_holds_for_minutes_and_no_longer():
    pace = Pace()
    pace.left(0, 999_999.0, 0.1)
    assert pace.ask(0.1) <= 121


def test_where_nothing_is_limited_nothing_is_held_up():
    class Free(Bucket):
        def allows(self, _now):
            return True, None

    for latency in (0.005, 0.3, 2.0):
        assert send(Pace(), Free(), 4000, latency=latency) <= 4000 * (latency + 0.001) / 16 * 1.02


def test_requests_that_hang_for_minutes_break_nothing():
    pace = Pace()
    for _ in range(16):
        pace.ask(0.0)
    for number in range(15):
        pace.answered(100.0 + number)
    pace.refused(200.0)
    assert 0 < pace.ask(200.0) < 1
