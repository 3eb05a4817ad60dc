"""The monitor as a person sees it: it polls by itself, shows a run while it continues, and stops when asked."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.service.store import optimizations, runs
from promptlift.stats import Experiment
from support.experiments import record_table

pytestmark = pytest.mark.timeout(240)


def hold_pass(experiment: Experiment, *, better: int) -> None:
    """In each cell that the original fails, up to ``better`` of them, the variants do not."""
    step = experiment.next_pass()
    assert step is not None
    cells = []
    for at in range(len(step.cells)):
        original = at >= 6
        cells.append([original if arm == 0 else original or at < better for arm in step.arms])
    record_table(experiment, cells)


def test_a_monitor_shows_a_run_while_it_continues_and_stops_it(shown, service, world):
    from playwright.sync_api import expect

    running = world.optimization(status="queued", winner=None)
    experiment = Experiment(2, "exploratory", "high", 5, 3, 7, seed=1)
    hold_pass(experiment, better=2)
    hold_pass(experiment, better=2)
    world.talk(running, [f"Matter {number}" for number in range(15)])
    world.measured(running, experiment)
    with world.database.write() as connection:
        runs.change(connection, optimizations.get(connection, running), status="running")
    notebook, box = shown("monitor", f"widgets.OptimizationMonitor(lift, {running!r})")
    said = experiment.verdict()
    expect(box).to_contain_text("testing the finalist")
    expect(box).to_contain_text(f"30 of at most {said.progress.conversations_max:,}")
    # Seven, and four that would verify a winner.
    expect(box).to_contain_text("2 of at most 11")
    expect(box).to_contain_text(f"lift so far +{said.analysis.lift:.1f}%")
    expect(box).to_contain_text(f"confidence {said.confidence:.2f}, a winner needs 0.95")
    notebook.screenshot("monitor-running")
    # The run continues, and nobody touches the page.
    hold_pass(experiment, better=2)
    world.talk(running, [f"Matter {number}" for number in range(15, 30)], first=15)
    world.measured(running, experiment)
    later = experiment.verdict()
    assert (later.reason, later.analysis.n) == (None, 30)
    expect(box).to_contain_text("60 of at most", timeout=30_000)
    expect(box).to_contain_text("3 of at most 11")
    words = ", ".join(f"{one:.2f}" for one in later.trace)
    expect(box).to_contain_text(f"confidence by pass: {words}")
    assert box.locator(".plw-spark").count() == 2
    expect(box).to_contain_text("time left")
    notebook.screenshot("monitor-running-later")

    box.locator(".plw-stop").click()
    box.locator(".plw-dialog textarea").fill("seen enough")
    notebook.screenshot("monitor-stop")
    notebook.page.wait_for_timeout(800)
    box.locator(".plw-confirm").click()
    expect(box.locator(".plw-end")).to_contain_text("seen enough", timeout=20_000)
    notebook.screenshot("monitor-stopped")
    with promptlift.connect(service.base_url, world.key, progress=False) as lift:
        assert lift.optimizations[running].stop_reason == "seen enough"
        assert lift.actions()["kind"].tolist() == ["stop"]
    assert notebook.problems() == []
