"""What became more or less frequent: spans, counts, intervals and the decision."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import FrameError
from promptlift.stats.differences import score_interval, score_test_p
from support.synthetic_tables import conversations, small


def with_issue(days, named):
    """A conversation on each day, those of ``named`` with an issue."""
    return small(
        conversation_id=[f"c{place}" for place in range(len(days))],
        started_at=[f"2026-01-{day:02d}T12:00" for day in days],
        issues=[[{"title": "Slow", "severity": "high"}] if has else [] for has in named],
    )


def before_and_after(x0, n0, x1, n1):
    return with_issue([1] * n0 + [20] * n1, [i < x0 for i in range(n0)] + [i < x1 for i in range(n1)])


def test_shares_difference_interval_and_p_are_those_of_the_two_spans():
    row = analysis.changes(before_and_after(10, 50, 30, 60), at="2026-01-10").iloc[0]
    low, high = score_interval(30, 60, 10, 50)
    assert row[["n_before", "total_before", "n_after", "total_after"]].tolist() == [10, 50, 30, 60]
    assert row[["share_before", "share_after"]].tolist() == pytest.approx([0.2, 0.5])
    assert row[["difference", "difference_low", "difference_high"]].tolist() == pytest.approx(
        [30.0, 100 * float(low), 100 * float(high)]
    )
    assert row["p"] == pytest.approx(score_test_p(30, 60, 10, 50))
    assert (row["change"], row["severity"]) == ("more", "high")


def test_the_instant_itself_belongs_to_the_later_span():
    table = with_issue([9, 10], [True, True])
    found = analysis.changes(table, at="2026-01-10T12:00")
    assert found[["n_before", "n_after"]].to_numpy().tolist() == [[1, 1]]


def test_a_window_alone_compares_the_last_days_with_those_before():
    table = with_issue([1, 11, 12, 19, 20], [True] * 5)
    found = analysis.changes(table, window="5D").attrs["promptlift"]
    assert (found["n_before"], found["n_after"]) == (2, 2)
    both = analysis.changes(table, at="2026-01-15", window="5D").attrs["promptlift"]
    assert (both["n_before"], both["n_after"]) == (2, 1)


@pytest.mark.parametrize(
    ("spans", "said"),
    [
        ({}, "Say what to compare"),
        ({"at": "soon"}, "at must be a time"),
        ({"at": None, "window": "-3D"}, "window must be a length"),
        ({"window": "often"}, "window must be a length"),
        ({"at": "2026-01-01", "periods": (("2026-01-01", "2026-01-02"),) * 2}, "not both"),
        ({"periods": ("2026-01-01", "2026-01-02")}, "two pairs"),
        ({"periods": (("2026-02-01", "2026-03-01"), ("2026-01-01", "2026-02-01"))}, "second after the first"),
        ({"at": "2026-01-01", "top": 0}, "top must be"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_the_way_out(spans, said):
    with pytest.raises(ValueError, match=said):
        analysis.changes(conversations(10), **spans)
    with pytest.raises(FrameError):
        analysis.changes(small(started_at=["2026-01-01"]), at="2026-01-01")


def test_conversations_without_a_time_or_insights_are_not_counted():
    table = before_and_after(2, 4, 2, 4)
    table.loc[0, "started_at"] = pd.NaT
    table["issues"] = table["issues"].astype(object)
    table.loc[7, "issues"] = None
    facts = analysis.changes(table, at="2026-01-10").attrs["promptlift"]
    assert (facts["n_before"], facts["n_after"], facts["n_undated"]) == (3, 3, 1)
