"""The request rate of a plan, from values alone."""

from __future__ import annotations

import pytest

from promptlift.service.routes.authentication import rate_headers

MINUTE = 1_769_851_800_000


@pytest.mark.parametrize(("left", "seconds"), [(60_000, 60), (1_001, 2), (1_000, 1), (1, 1), (0, 1)])
def test_the_wait_is_whole_seconds_and_never_too_short(left, seconds):
    assert rate_headers(60, 61, MINUTE, now=MINUTE - left)["Retry-After"] == str(seconds)
