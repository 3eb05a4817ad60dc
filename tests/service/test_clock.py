"""Time inside the service."""

from __future__ import annotations

from datetime import UTC, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlift.schema.model import from_wire_time
from promptlift.service import clock


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_time_that_a_transcript_may_have_can_be_written(value):
    milliseconds = clock.from_datetime(value)
    assert from_wire_time(clock.iso(milliseconds)) <= value
    assert value - from_wire_time(clock.iso(milliseconds)) < timedelta(milliseconds=1)


@pytest.mark.parametrize(
    ("now", "start", "end"),
    [
        ("2026-01-31T09:30:00Z", "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"),
        ("2026-12-31T23:59:59.999Z", "2026-12-01T00:00:00.000Z", "2027-01-01T00:00:00.000Z"),
        ("2028-02-29T12:00:00Z", "2028-02-01T00:00:00.000Z", "2028-03-01T00:00:00.000Z"),
    ],
)
def test_a_billing_period_is_a_calendar_month(now, start, end):
    period = clock.billing_period(clock.from_datetime(from_wire_time(now)))
    assert tuple(map(clock.iso, period)) == (start, end)
