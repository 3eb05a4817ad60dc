"""The request rate of a plan, from values alone."""

from __future__ import annotations

import pytest

from promptlift.service.routes.authentication import rate_headers

MINUTE = 1_769_851_800_000


@pytest.mark.parametrize(
    ("count", "exceeded", "remaining"), [(1, False, 59), (60, False, 0), (61, True, 0), (999, True, 0)]
)
def test_the_sixty_first_request_of_a_minute_is_one_too_many(count, exceeded, remaining):
    headers = rate_headers(60, count, MINUTE + 60_000, now=MINUTE + 15_500)
    expected = {
        "X-RateLimit-Limit": "60",
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset": str((MINUTE + 60_000) // 1_000),
    }
    assert headers == ({**expected, "Retry-After": "45"} if exceeded else expected)


@pytest.mark.parametrize(("left", "seconds"), [(60_000, 60), (1_001, 2), (1_000, 1), (1, 1), (0, 1)])
def test_the_wait_is_whole_seconds_and_never_too_short(left, seconds):
    assert rate_headers(60, 61, MINUTE, now=MINUTE - left)["Retry-After"] == str(seconds)
