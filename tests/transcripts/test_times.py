from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from promptlift.transcripts.times import read_time, time_and_zone

MOMENT = datetime(2025, 12, 2, 14, 4, 16, 36000, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2025-12-02T14:04:16.036Z",
        "2025-12-02 14:04:16.036 UTC",
        "2025-12-02T15:04:16.036000000+01:00",
        1764684256.036,
        1764684256036,
        "1764684256.036",
        "1764684256036000000",
        datetime(2025, 12, 2, 15, 4, 16, 36000, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_times_of_every_writing_are_the_same_moment(value):
    assert read_time(value) == MOMENT
    assert time_and_zone(value) == (MOMENT, True)


def test_what_is_no_time_gives_none():
    odd = [None, "", "soon", "05/01/2024", 12.5, True, -1, 1e30, float("nan"), "99999-01-01", [], {}]
    assert {read_time(value) for value in odd} == {None}
