"""Spans of time that no border of a period cuts, in every zone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import available_timezones

import pytest

from promptlift.analysis.periods import check_zone, grain

QUARTER = 15 * 60 * 1_000_000


@pytest.mark.slow
def test_no_zone_needs_buckets_shorter_than_a_quarter_of_an_hour():
    spans = {zone: grain(check_zone(zone), "D") for zone in sorted(available_timezones())}
    assert {zone: span for zone, span in spans.items() if span < QUARTER} == {}
    assert spans["Asia/Kathmandu"] == QUARTER
    assert spans["Asia/Kolkata"] == 2 * QUARTER
    assert spans["Europe/Berlin"] == 4 * QUARTER
    assert spans["UTC"] == 96 * QUARTER


@pytest.mark.parametrize(
    "zone",
    [
        "Africa/Casablanca",
        "Africa/Cairo",
        "Antarctica/Casey",
        "Asia/Pyongyang",
        "Australia/Eucla",
        "Pacific/Chatham",
    ],
)
def test_a_change_that_lasted_only_days_is_cut_right_too(zone):
    """Offsets are looked up month by month; whatever lies between is a multiple of the same span."""
    span = timedelta(microseconds=grain(check_zone(zone), "h"))
    start = datetime(1990, 1, 1, tzinfo=UTC)
    offsets = {
        (start + timedelta(days=day)).astimezone(check_zone(zone)).utcoffset() for day in range(50 * 365)
    }
    assert {offset for offset in offsets if offset % span} == set()
