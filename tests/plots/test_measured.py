"""The targets of an optimization and the production metrics of a deployment, by their artists and numbers."""

from __future__ import annotations

import pandas as pd
import pytest

from promptlift import analysis, plots
from promptlift.errors import FrameError
from promptlift.frames import production_metrics_table, targets_table
from support.drawn import words

METRICS = ("task_completion", "sentiment", "quality", "abandonment", "response_time", "length")


def target(name, points=None, *, half=5.0, change="unclear", n=120):
    ends = (None, None) if points is None else (points - half, points + half)
    return {
        "optimizationId": "opt_1", "target": name, "change": change, "original": None if points is None else 50.0,
        "variant": None if points is None else 50.0 + points, "points": points, "pointsLow": ends[0],
        "pointsHigh": ends[1], "intervalLevel": 0.95, "n": n,
    }  # fmt: skip


def targets(*rows, hypothesis=None):
    table = targets_table(list(rows))[0]
    table.attrs["promptlift"] = {"table": "targets", "hypothesis": hypothesis}
    return table


def metrics(**changed):
    values = {"task_completion": (60.0, 40.0), "sentiment": (0.2, 0.1), "response_time": (2.0, 3.0)}
    rows = [
        {
            "metric": name,
            "before": values.get(name, (None, None))[0],
            "after": values.get(name, (None, None))[1],
            "conversationsBefore": 200,
            "conversations": 60,
            "p": 0.001 if name == "task_completion" else 1.0,
            "level": 0.008,
            "regressed": name == "task_completion",
            **changed,
        }
        for name in METRICS
    ]
    return production_metrics_table(rows)[0]


def points(ax):
    return [(x, y) for line in ax.lines if line.get_marker() == "o" for x, y in line.get_xydata().tolist()]


def test_targets_are_ordered_by_their_improvement_and_say_what_changed():
    table = targets(
        target("Be polite", -2.0),
        target("Name the day", 15.0, change="improved"),
        target("<b>$x$</b>", n=0),
        hypothesis={"text": "It helps.", "held": None, "measuredBy": "targets"},
    )
    found = analysis.targets(table)
    assert found["target"].tolist() == ["Name the day", "Be polite", "<b>$x$</b>"]
    assert found.attrs["promptlift"]["level"] == 0.95
    ax = plots.targets(table)
    assert sorted(points(ax)) == [(-2.0, 1.0), (15.0, 2.0)]
    texts = words(ax)
    for said in (
        "Name the day: improved",
        "50.0 % → 65.0 % · 120 pairs",
        "Be polite: unclear",
        "no pairs",
        "Whether the hypothesis held is open: “It helps.”",
    ):
        assert any(said in text for text in texts), said
    assert any("95 % interval" in text for text in texts)
    # The result of the analysis is drawn as it is.
    assert sorted(points(plots.targets(found))) == [(-2.0, 1.0), (15.0, 2.0)]


@pytest.mark.parametrize(
    ("held", "said"), [(True, "The hypothesis held"), (False, "The hypothesis did not hold")]
)
def test_the_hypothesis_is_said_without_targets_too(held, said):
    table = targets(hypothesis={"text": "It helps.", "held": held, "measuredBy": "taskCompletion"})
    texts = words(plots.targets(table))
    assert "This optimization has no targets" in texts
    assert f"{said}, measured by task completion: “It helps.”" in texts


def test_every_metric_is_on_its_own_scale_with_its_test():
    table = metrics()
    found = analysis.production_metrics(table).set_index("metric")
    assert found["change"]["task_completion"] == -20.0
    assert found["got_worse"][["task_completion", "sentiment", "response_time"]].all()
    assert not found["got_worse"]["quality"]
    ax = plots.production_metrics(table)
    at = points(ax)
    bars = [(x, y) for line in ax.lines if line.get_marker() == "|" for x, y in line.get_xydata().tolist()]
    # Completion from 60 to 40 of 100 percent, sentiment from 0.2 to 0.1 between -1 and 1.
    assert bars[:2] == [pytest.approx((0.6, 5.0)), pytest.approx((0.6, 4.0))]
    assert at[:2] == [pytest.approx((0.4, 5.0)), pytest.approx((0.55, 4.0))]
    assert len(bars) == len(at) == 3
    texts = words(ax)
    assert "Task completion: regressed" in texts
    assert "60.0 % → 40.0 % · 200 and 60 conversations · p = 0.001 < 0.008" in texts
    assert "Sentiment: no harm seen" in texts
    assert "+0.20 → +0.10 · 200 and 60 conversations · p = 1 ≥ 0.008" in texts
    assert "Quality: nothing to compare" in texts


def test_before_the_first_look_that_is_said():
    assert "No look yet: the first is at 30 judged conversations" in words(
        plots.production_metrics(production_metrics_table([])[0])
    )


def test_what_is_missing_is_named():
    with pytest.raises(FrameError, match="points"):
        plots.targets(pd.DataFrame({"target": ["a"]}))
    with pytest.raises(FrameError, match="before"):
        plots.production_metrics(pd.DataFrame({"metric": ["length"]}))
