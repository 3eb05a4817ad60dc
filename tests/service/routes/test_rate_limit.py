"""The request rate of a plan, from values alone."""

from __future__ import annotations

import pytest

from promptlift.service.routes.http.authentication import Pace

MINUTE = 1_769_851_800_000


@pytest.mark.parametrize(
    ("count", "exceeded", "remaining"), [(1, False, 59), (60, False, 0), (61, True, 0), (999, True, 0)]
)
def test_the_sixty_first_request_of_a_minute_is_one_too_many(count, exceeded, remaining):
    pace = Pace(60, count, MINUTE + 60_000, MINUTE + 15_500)
    assert pace.exceeded is exceeded
    expected = {
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": str((MINUTE + 60_000) // 1_000),
    }
    assert pace.headers() == ({**expected, "Retry-After": "45"} if exceeded else expected)


@pytest.mark.parametrize(("left", "seconds"), [(60_000, 60), (1_001, 2), (1_000, 1), (1, 1), (0, 1)])
def test_the_wait_is_whole_seconds_and_never_too_short(left, seconds):
    assert Pace(60, 61, MINUTE, MINUTE - left).wait_seconds == seconds
