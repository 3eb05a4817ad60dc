"""Pauses between attempts, and the header that asks for one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from promptlift.retry import backoff, read_retry_after


def test_jitter_spreads_pauses_over_half_to_all_of_their_length_and_pauses_double_up_to_a_bound():
    assert [backoff(1, first=1, longest=9, jitter=jitter) for jitter in (0.0, 0.5, 1.0)] == [0.5, 0.75, 1.0]
    assert [backoff(n, first=0.2, longest=5, jitter=1) for n in (1, 2, 3)] == [0.2, 0.4, 0.8]
    assert backoff(100_000, first=0.2, longest=5, jitter=1) == 5


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("17", 17.0),
        ("-3", 0.0),
        ("nan", None),
        ("soon", None),
        ("Fri, 02 Jan 2026 00:00:09 GMT", 9.0),
        ("Thu, 01 Jan 2026 00:00:00 GMT", 0.0),
        ("Fri, 02 Jan 2026 00:00:09 -0000", 9.0),
        ("Fri, 02 Jan 99999 00:00:00 GMT", None),
        ("Fri, 99 Jan 2026 99:00:00 GMT", None),
    ],
)
def test_a_retry_after_header_is_read_or_ignored(value, seconds):
    assert read_retry_after(value, now=datetime(2026, 1, 2, tzinfo=UTC)) == seconds


def test_a_date_is_measured_from_the_current_time():
    date = datetime.now(UTC) + timedelta(seconds=100)
    for zone in (UTC, timezone(timedelta(hours=5))):
        text = date.astimezone(zone).strftime("%a, %d %b %Y %H:%M:%S %z")
        assert 95 < (read_retry_after(text) or 0) <= 100
