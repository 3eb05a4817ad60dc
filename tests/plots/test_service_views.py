"""Grouped issues by their artists, and the numbers of failing steps and the fleet."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis, plots
from promptlift.errors import FrameError
from promptlift.frames import fleet_table, step_failures_table, top_issues_table
from support.drawn import words

ISSUES = [
    {"issue": "Rude", "frequency": 40, "impact": "low", "share": 40.0, "completionWith": 60.0,
     "completionWithout": 62.0, "impactPoints": -2.0, "impactPointsLow": -20.0, "impactPointsHigh": 16.0},
    {"issue": "Late", "frequency": 20, "impact": "high", "share": 20.0, "completionWith": 20.0,
     "completionWithout": 70.0, "impactPoints": -50.0, "impactPointsLow": -66.0, "impactPointsHigh": -27.0},
    {"issue": "<b>$x$</b>", "frequency": 1, "impact": "medium"},
]  # fmt: skip
STEPS = [
    {"step": "tool:find", "reached": 10, "failures": 3, "failureRate": 30.0, "failureRateLow": 11.0,
     "failureRateHigh": 60.0, "kinds": {"refusal": 1, "tool_error": 2}, "medianTurn": 4.0, "quotes": []},
    {"step": "closing", "reached": 30, "failures": 1, "failureRate": 3.3, "failureRateLow": 1.0,
     "failureRateHigh": 17.0, "kinds": {"no_sign": 1}, "medianTurn": 9.0, "quotes": []},
]  # fmt: skip
FLEET = [
    {"id": f"p{place}", "name": f"Agent {place}", "rank": place, "rankLow": low, "rankHigh": high,
     "taskCompletionRate": rate, "taskCompletionLow": rate - 9, "taskCompletionHigh": rate + 9,
     "conversations": 100, "failed": round(100 - rate)}
    for place, low, high, rate in ((1, 1, 2, 90.0), (2, 1, 2, 85.0), (3, 3, 3, 50.0))
]  # fmt: skip


@pytest.fixture
def issues():
    return top_issues_table(ISSUES, prompt_id="prm_1")[0]


@pytest.fixture
def steps():
    return step_failures_table(STEPS, prompt_id="prm_1")[0]


@pytest.fixture
def fleet():
    return fleet_table(FLEET)[0]


def points(ax):
    return [(x, y) for line in ax.lines if line.get_marker() == "o" for x, y in line.get_xydata().tolist()]


def test_issues_are_ordered_by_what_they_cost(issues):
    found = analysis.top_issues(issues)
    assert found["issue"].tolist() == ["Late", "Rude", "<b>$x$</b>"]
    assert found["lost_points"].tolist()[:2] == pytest.approx([10.0, 0.8])
    ax = plots.top_issues(issues)
    assert sorted(points(ax)) == [(-50.0, 2.0), (-2.0, 1.0)]
    texts = words(ax)
    assert {"Late", "20 conversations · high impact", "1 conversation · medium impact"} <= set(texts)
    assert any("not a cause" in text.replace("\n", " ") for text in texts)
    assert analysis.top_issues(issues, top=1)["issue"].tolist() == ["Late"]
    assert plots.top_issues(found).get_xlabel() == ax.get_xlabel()


def test_steps_say_their_share_of_all_failures(steps):
    found = analysis.step_failures(steps)
    assert found["failures_pct"].tolist() == [75.0, 25.0]
    assert found["main_kind"].tolist() == ["tool_error", "no_sign"]


def test_the_fleet_says_which_places_are_possible(fleet):
    found = analysis.fleet(fleet)
    assert found["may_be_best"].tolist() == [True, True, False]
    assert found["may_be_worst"].tolist() == [False, False, True]


def test_a_service_that_gives_only_what_the_specification_has_is_drawn_without_numbers():
    table = top_issues_table([{"issue": "Late", "frequency": 3, "impact": "high"}], prompt_id="prm_1")[0]
    ax = plots.top_issues(table)
    assert points(ax) == []
    assert "3 conversations · high impact" in words(ax)


@pytest.mark.parametrize("name", ["top_issues", "step_failures", "fleet"])
def test_empty_tables_and_wrong_ones_are_told(name, request):
    table = request.getfixturevalue({"top_issues": "issues", "step_failures": "steps"}.get(name, name))
    compute = getattr(analysis, name)
    if name == "top_issues":
        assert "Nothing to show" in words(plots.top_issues(table.iloc[:0]))
    assert compute(table.iloc[:0]).empty
    with pytest.raises(FrameError, match=rf"lift\.{name}\("):
        compute(pd.DataFrame({"x": [1]}))
    with pytest.raises(ValueError, match="top must be"):
        compute(table, top=0)
