"""A monitor as the front end drives it: it polls at its own pace, stops at the end, and survives a lost network."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.widgets import OptimizationMonitor, VariantReview
from support.front_end import TreeFrontEnd
from support.request_log import requests_of
from support.switched_workspace import SwitchedWorkspace

pytestmark = pytest.mark.slow


def pause_of(there):
    return float(there.root.one(action="poll")["poll"])


def test_the_monitor_polls_at_its_pace_stops_at_the_end_and_can_stop(lift, world):
    running = world.optimization(status="queued", winner=None)
    now = [0.0]
    there = TreeFrontEnd(OptimizationMonitor(lift, running, clock=lambda: now[0]))
    assert there.root.all(".plw-spark") == []
    with requests_of(lift) as made:
        there.press("poll")  # too early: another view asked a moment ago
        assert made == []
        now[0] = 5.0
        there.press("poll")
        assert len(made) == 1
        assert pause_of(there) == pytest.approx(0.5)
        now[0] = 80.0
        there.press("poll")
        assert pause_of(there) == pytest.approx(8.0)
        made.clear()
        there.press("stop")
        there.confirm("enough")
        assert len(made) <= 3, made  # the first action also asks whether the service keeps actions
        assert "enough" in there.root.one(".plw-end").text
        # It asks no more, also when an older view does.
        assert there.root.all(action="poll") == there.root.all(action="stop") == []
        made.clear()
        now[0] = 500.0
        there.send("poll")
        assert made == []
    assert "was stopped" in there.html


def test_a_monitor_without_a_network_says_so_and_asks_less_often(lift, world):
    running = world.optimization(status="queued", winner=None)
    now = [0.0]
    switched = SwitchedWorkspace(lift)
    there = TreeFrontEnd(OptimizationMonitor(switched, running, clock=lambda: now[0]))
    with promptlift.connect("http://127.0.0.1:9", "nobody_0123456789abcdef", progress=False) as nowhere:
        switched.to(nowhere)
        pauses = []
        for step in range(1, 5):
            now[0] += 100.0 * step
            there.press("poll")
            pauses.append(pause_of(there))
        assert "cannot be reached" in there.notice
        assert pauses == sorted(pauses)
        assert pauses[-1] == 60.0
    switched.to(lift)
    there.press("refresh")
    assert there.notice == ""


def test_confidence_and_lift_are_shown_by_pass_and_on_new_pairs_after_the_decision(lift, world):
    """They are those of the service, so they are all there also when the monitor is opened late."""
    done = lift.optimize(world.prompt_id, mode="validation", variants=2, seed=4, wait=False).wait(timeout=120)
    results = done.results
    assert (results.winner_selected, results.verified_pairs.n) == (True, 60)
    there = TreeFrontEnd(OptimizationMonitor(lift, done.id))
    trace, lifts = results.trace, results.lift_trace
    assert len(trace) == len(lifts) > 1
    said, said_of_lift = there.root.texts(".plw-measure")[-2:]
    confidence, gain = there.root.all(".plw-spark")
    heights = [bar["style"].partition(";")[0] for bar in confidence.all(".plw-spark-bar")]
    assert heights == [f"height:{28 * one:.1f}px" for one in trace]
    assert (
        said
        == confidence["aria-label"]
        == f"confidence by pass: {', '.join(f'{one:.2f}' for one in trace[-12:])}"
    )
    assert len(gain.all(".plw-spark-bar")) == len(lifts)
    assert said_of_lift.startswith("lift by pass: ")
    assert said in there.html
    assert lifts[-1] == results.lift
    assert "on 60 new pairs after the decision" in there.root.text
    assert "on new pairs after the decision" in VariantReview(lift, done.id)._repr_html_()
