"""The base of every type: names, times, unknown fields."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from promptlift.schema.model import from_wire_time, to_wire_time


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-01-31T09:30:00Z", datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
        ("2026-01-31T09:30:00.123Z", datetime(2026, 1, 31, 9, 30, 0, 123_000, tzinfo=UTC)),
        ("2026-01-31T09:30:00.123456Z", datetime(2026, 1, 31, 9, 30, 0, 123_456, tzinfo=UTC)),
        ("2026-01-31T10:30:00+01:00", datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
        ("2026-01-31T09:30:00", datetime(2026, 1, 31, 9, 30, tzinfo=UTC)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
    ],
)
def test_times_are_read_in_utc(text, moment):
    read = from_wire_time(text)
    assert read == moment
    assert read.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026-01-31T25:00:00Z", "1738316400", "٢٠٢٦"]
)
def test_a_text_that_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="must be an ISO 8601 time such as"):
        from_wire_time(text)


def test_times_are_written_in_utc_with_milliseconds():
    east = timezone(timedelta(hours=5, minutes=30))
    assert to_wire_time(datetime(2026, 1, 31, 15, 0, tzinfo=east)) == "2026-01-31T09:30:00.000Z"
    assert to_wire_time(datetime(2026, 1, 31, 9, 30)) == "2026-01-31T09:30:00.000Z"  # noqa: DTZ001
    assert to_wire_time(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000Z"
