"""Periods are those of the zone that was asked for, on every engine and whatever the clock of its session says."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis
from support.engines import ENGINES, Tables, as_kept_by
from support.synthetic_tables import conversations, small

pytestmark = pytest.mark.filterwarnings(
    "ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::ResourceWarning"
)

# A zone, and the days on which its clock changes: by an hour, by half an hour, at midnight, over a whole day.
CHANGES = [
    ("UTC", "2026-03-28"),
    ("Europe/Berlin", "2026-03-28"),
    ("Europe/London", "2026-10-24"),
    ("America/New_York", "2026-03-07"),
    ("America/St_Johns", "2026-10-31"),
    ("America/Santiago", "2026-04-04"),
    ("America/Havana", "2026-03-07"),
    ("Australia/Lord_Howe", "2026-04-04"),
    ("Australia/Adelaide", "2026-10-03"),
    ("Asia/Kathmandu", "2026-03-28"),
    ("Pacific/Chatham", "2026-04-04"),
    ("Pacific/Apia", "2011-12-29"),
]
ODDEST = [change for change in CHANGES if change[0] in ("Australia/Lord_Howe", "Pacific/Apia")]
CASES = [(engine, *change) for change in ODDEST for engine in ENGINES] + [
    pytest.param("duckdb", *change, marks=pytest.mark.slow) for change in CHANGES if change not in ODDEST
]


@pytest.mark.parametrize(("engine", "zone", "day"), CASES)
@pytest.mark.slow
def test_periods_are_those_of_the_zone_where_its_clock_changes(engines, engine, zone, day):
    at = pd.date_range(f"{day} 00:00", periods=4 * 24 * 5, freq="15min", tz=zone).tz_convert("UTC")
    # One second before and at each quarter of an hour: the border of a bucket is where a wrong cut shows.
    at = at.append(at - pd.Timedelta(seconds=1)).as_unit("us")
    source = small(
        conversation_id=[f"c{k}" for k in range(len(at))],
        started_at=at,
        task_completed=[k % 3 > 0 for k in range(len(at))],
        issues=[[] for _ in at],
        topics=[[] for _ in at],
    )
    for freq in ("h", "D", "W"):
        runs = [
            analysis.completion_trend(Tables(engines, which, source).conversations, freq=freq, tz=zone)
            for which in (engine, "pandas")
        ]
        pd.testing.assert_frame_equal(*runs)
        local = pd.Series(1, at).tz_convert(zone)
        if freq == "D":
            by_hand = local.groupby(local.index.strftime("%Y-%m-%d")).sum()
            assert runs[0]["n"].tolist() == by_hand.tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_the_inputs_are_read_and_not_changed_by_another_clock(engines, engine):
    """Times without a zone are UTC, whatever the clock of the engine's session says."""
    source = as_kept_by(engine, conversations(200))
    naive = source.assign(
        started_at=source["started_at"].dt.tz_localize(None),
        created_at=source["created_at"].dt.tz_localize(None),
    )
    expected = analysis.completion_trend(source, freq="h", tz="Asia/Kathmandu")
    result = analysis.completion_trend(
        Tables(engines, engine, naive).conversations, freq="h", tz="Asia/Kathmandu"
    )
    pd.testing.assert_frame_equal(result, expected)
    overview = analysis.prompt_overview(Tables(engines, engine, naive).conversations)
    assert overview["first_at"].tolist() == analysis.prompt_overview(source)["first_at"].tolist()


@pytest.mark.parametrize("engine", [one for one in ENGINES if one != "ibis on sqlite"])
def test_dates_are_days_of_utc_whatever_the_clock_of_the_session(engines, engine):
    source = conversations(200)
    days = source.assign(
        started_at=source["started_at"].dt.floor("D"), created_at=source["created_at"].dt.floor("D")
    )
    dates = days.assign(started_at=days["started_at"].dt.date, created_at=days["created_at"].dt.date)
    result, expected = (
        analysis.completion_trend(table, freq="D")
        for table in (Tables(engines, engine, dates).conversations, days)
    )
    pd.testing.assert_frame_equal(result, expected)
