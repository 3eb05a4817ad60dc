"""The trend against plain pandas, across clock changes, and with the gaps it must show."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from promptlift import analysis
from promptlift.analysis.periods import last_period_end
from support.synthetic_tables import conversations, small


def reference(table, freq, tz):
    """The same by pandas' own calendar."""
    ended = table[(table["status"] != "in_progress") & table["task_completed"].notna()]
    local = ended["started_at"].fillna(ended["created_at"]).dt.tz_convert(tz).dt.tz_localize(None)
    if freq == "h":
        utc = ended["started_at"].fillna(ended["created_at"])
        past = local - local.dt.floor("h")
        key = (utc - past).dt.tz_convert(tz)
    else:
        period = local.dt.to_period({"D": "D", "W": "W-SUN", "MS": "M"}[freq])
        key = period.dt.start_time.dt.tz_localize(tz)
    return ended["task_completed"].astype(int).groupby(key).agg(["size", "sum"])


@pytest.mark.parametrize(
    ("freq", "tz", "start"),
    [
        ("h", "Australia/Lord_Howe", "2026-03-01"),
        ("D", "Europe/Berlin", "2026-10-05"),
        ("W", "Australia/Lord_Howe", "2026-03-01"),
        ("MS", "Europe/Berlin", "2026-10-05"),
    ],
)
def test_the_trend_is_what_pandas_calendar_gives(freq, tz, start):
    table = conversations(1_500, days=45, start=start)
    result = analysis.completion_trend(table, freq=freq, tz=tz)
    expected = reference(table, freq, tz)
    filled = result[result["n"] > 0]
    assert filled["n"].tolist() == expected["size"].tolist()
    assert filled["completed"].tolist() == expected["sum"].tolist()
    assert list(filled["period_start"]) == list(expected.index)
    assert result["period_start"].is_monotonic_increasing
    assert result["period_start"].is_unique
    assert int(result[["n", "n_missing", "n_in_progress"]].to_numpy().sum()) == 1_500


@pytest.mark.parametrize(("n", "days", "freq"), [(3_000, 60, "D"), (100, 60, "W"), (3_000, 8_000, "MS")])
def test_auto_takes_weeks_when_days_are_thin(n, days, freq):
    table = conversations(n, days=days, start="2001-01-10")
    result = analysis.completion_trend(table, freq="auto")
    assert result.attrs["promptlift"]["freq"] == freq
    pd.testing.assert_frame_equal(result, analysis.completion_trend(table, freq=freq))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"freq": "fortnight"}, "freq must be"),
        ({"tz": "Europe/Atlantis"}, "tz must name a time zone"),
        ({"tz": "../../etc/passwd"}, "tz must name a time zone"),
        ({"level": 0}, "level must be"),
        ({"by": "period_start"}, "no column period_start"),
    ],
)
def test_options_that_cannot_be_used_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        analysis.completion_trend(conversations(10), **options)


def test_a_range_beyond_reason_is_refused_with_its_ends():
    table = small(started_at=["1970-01-01", "2026-01-01"], task_completed=[True, True])
    with pytest.raises(ValueError, match=r"between 1970-01-01 and 2026-01-01.*Choose a longer freq"):
        analysis.completion_trend(table, freq="h")
    assert len(analysis.completion_trend(table, freq="D", tz="Asia/Kolkata")) == 20_455


@pytest.mark.slow
def test_too_many_groups_are_refused():
    table = conversations(40_000, days=60)
    with pytest.raises(ValueError, match="fewer values"):
        analysis.completion_trend(table, by="conversation_id")


def test_text_is_not_time():
    table = small(task_completed=[True]).assign(started_at=["2026-01-01"])
    with pytest.raises(ValueError, match=r"started_at holds str, not times.*pandas.to_datetime"):
        analysis.completion_trend(table, freq="D")


@pytest.mark.parametrize(
    ("last", "freq", "tz", "end"),
    [
        ("2026-03-29", "D", "Europe/Berlin", "2026-03-30 00:00+02:00"),  # 23 hours
        ("2026-10-25", "D", "Europe/Berlin", "2026-10-26 00:00+01:00"),  # 25 hours
        ("2026-10-25 01:00+00:00", "h", "Europe/Berlin", "2026-10-25 02:00+00:00"),
        ("2026-09-05", "D", "America/Santiago", "2026-09-06 01:00-03:00"),  # the clock skips midnight
        ("2026-12-01", "MS", "Pacific/Kiritimati", "2027-01-01 00:00+14:00"),
        ("2028-02-01", "MS", "America/Los_Angeles", "2028-03-01 00:00-08:00"),
    ],
)
def test_the_last_period_ends_where_the_next_one_would_start(last, freq, tz, end):
    began = pd.Timestamp(last) if "+" in last else pd.Timestamp(f"{last} 12:00", tz=tz)
    table = small(started_at=[began], task_completed=[True])
    starts = pd.DatetimeIndex(analysis.completion_trend(table, freq=freq, tz=tz)["period_start"])
    assert last_period_end(starts, freq).tolist() == [pd.Timestamp(end)]


@pytest.mark.parametrize("slope", [0.012, 0.0])
def test_weeks_have_the_test_of_their_days(slope):
    rng = np.random.default_rng(7)
    day = np.repeat(np.arange(60), 5)
    table = small(
        started_at=pd.Timestamp("2026-01-01") + pd.to_timedelta(day, "D"),
        task_completed=list(rng.random(300) < 0.5 + slope * (day - 30)),
        conversation_id=[str(i) for i in range(300)],
    )
    weeks, days = (analysis.completion_trend(table, freq=freq).attrs["promptlift"] for freq in ("auto", "D"))
    assert (weeks["freq"], weeks["trends"]) == ("W", days["trends"])
    assert weeks["trends"][0]["is_trend"] == (slope > 0)
    assert "trends" not in analysis.completion_trend(table, freq="MS").attrs["promptlift"]
