"""Time inside the service."""

from __future__ import annotations

from datetime import UTC, timedelta

from hypothesis import given
from hypothesis import strategies as st

from promptlift.schema.model import from_wire_time
from promptlift.service import clock


@given(st.datetimes(timezones=st.just(UTC)))
def test_every_time_that_a_transcript_may_have_can_be_written(value):
    milliseconds = clock.from_datetime(value)
    assert from_wire_time(clock.iso(milliseconds)) <= value
    assert value - from_wire_time(clock.iso(milliseconds)) < timedelta(milliseconds=1)
