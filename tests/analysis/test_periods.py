"""Spans of time that no border of a period cuts, in every zone."""

from __future__ import annotations

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
