from __future__ import annotations

import pytest

from promptlift.client.pace import Pace
from support.limiters import Bucket, Minutes, send


@pytest.mark.parametrize("tells", [True, False], ids=["Retry-After", "bare"])
@pytest.mark.parametrize("told", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("left", [60.0, 7.0], ids=["whole minute", "a minute that began before"])
def test_a_rate_by_the_minute_is_used_up_and_refuses_little(told, tells, left):
    limiter = Minutes(300, tells, left)
    took = send(Pace(300 if told else None), limiter, 1500)
    # A told minute is a moving one, wherever that of the service begins.
    assert took <= 1.25 * (Minutes(300) if told else limiter).least(1500, 16 / 0.03)
    # Once where it is told; else some in flight, and attempts until the minute has ended.
    assert len(limiter.refusals) <= (1 if told and left == 60 else 40)


def test_a_told_bucket_is_used_up_and_an_untold_one_is_read_to_its_end():
    limiter = Bucket(300)
    assert send(Pace(300), limiter, 3000) <= 1.1 * limiter.least(3000, 16 / 0.03)
    assert len(limiter.refusals) <= 1
    limiter = Bucket(3000, tells=False, size=50)
    assert send(Pace(), limiter, 2000) <= 10 * limiter.least(2000, 16 / 0.03)


def test_where_nothing_is_limited_nothing_is_held_up():
    assert send(Pace(), Bucket(rate=10**9, size=10**9), 4000, latency=0.3) <= 4000 * 0.301 / 16 * 1.02


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
    pace.left(0, 999_999.0, 22.0)  # makes no sense
    assert pace.ask(22.0) <= 121
