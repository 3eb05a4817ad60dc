"""The monitor as a person sees it: it polls by itself, stops when asked, and is quiet at the end."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.service.store import optimizations
from promptlift.stats import Experiment
from support.experiments import record_table
from support.reviewed_world import ReviewedWorld
from support.service_process import wait_until

pytestmark = pytest.mark.timeout(240)


def test_a_monitor_polls_by_itself_and_stops_after_a_confirmation(lab):
    from playwright.sync_api import expect

    world = ReviewedWorld.beside(lab.service.data)
    running = world.optimization(status="queued", winner=None)
    code = f"""
import promptlift
from promptlift import widgets
lift = promptlift.connect({lab.service.base_url!r}, {world.key!r}, progress=False)
monitor = widgets.OptimizationMonitor(lift, {running!r})
monitor
"""
    notebook = lab.open([code], name="monitor.ipynb")
    notebook.run_all()
    page = notebook.page
    box = page.locator(".plw-monitor")
    expect(box).to_contain_text("queued")
    # It asks without anybody's help.
    notebook.evaluate("first = monitor._polled_at")
    wait_until(lambda: notebook.evaluate("print(monitor._polled_at > first)") == "True", what="it has asked")
    box.locator(".plw-stop").click()
    box.locator(".plw-dialog textarea").fill("seen enough")
    notebook.screenshot("monitor-stop")
    page.wait_for_timeout(800)
    box.locator(".plw-confirm").click()
    expect(box.locator(".plw-end")).to_contain_text("seen enough", timeout=20_000)
    notebook.screenshot("monitor-stopped")
    with promptlift.connect(lab.service.base_url, world.key, progress=False) as lift:
        assert lift.optimizations[running].stop_reason == "seen enough"
        assert lift.actions()["kind"].tolist() == ["stop"]
    assert notebook.problems() == []
    world.database.close()


def hold_pass(experiment: Experiment, *, better: int) -> None:
    """In each cell that the original fails, up to ``better`` of them, the variants do not."""
    step = experiment.next_pass()
    assert step is not None
    cells = []
    for at in range(len(step.cells)):
        original = at >= 6
        cells.append([original if arm == 0 else original or at < better for arm in step.arms])
    record_table(experiment, cells)


def test_a_monitor_shows_a_run_as_it_goes_on(lab):
    from playwright.sync_api import expect

    world = ReviewedWorld.beside(lab.service.data)
    running = world.optimization(status="queued", winner=None)
    experiment = Experiment(2, "exploratory", "high", 5, 3, 7, seed=1)
    hold_pass(experiment, better=2)
    hold_pass(experiment, better=2)
    world.talk(running, [f"Matter {number}" for number in range(15)])
    world.measured(running, experiment)
    with world.database.write() as connection:
        optimizations.change(connection, running, status="running")
    code = f"""
import promptlift
from promptlift import widgets
lift = promptlift.connect({lab.service.base_url!r}, {world.key!r}, progress=False)
monitor = widgets.OptimizationMonitor(lift, {running!r})
monitor
"""
    notebook = lab.open([code], name="monitor-run.ipynb")
    notebook.run_all()
    box = notebook.page.locator(".plw-monitor")
    said = experiment.verdict()
    expect(box).to_contain_text("testing the finalist")
    expect(box).to_contain_text(f"30 of at most {said.progress.conversations_max:,}")
    # Seven, and four that would verify a winner.
    expect(box).to_contain_text("2 of at most 11")
    expect(box).to_contain_text(f"lift so far +{said.analysis.lift:.1f} %")
    expect(box).to_contain_text(f"confidence {said.confidence:.2f}, a winner needs 0.95")
    notebook.screenshot("monitor-running")
    # The run goes on, and nobody touches the page.
    hold_pass(experiment, better=2)
    world.talk(running, [f"Matter {number}" for number in range(15, 30)], first=15)
    world.measured(running, experiment)
    later = experiment.verdict()
    assert later.reason is None
    assert later.analysis.n == 30
    expect(box).to_contain_text("60 of at most", timeout=30_000)
    expect(box).to_contain_text("3 of at most 11")
    expect(box).to_contain_text(f"confidence {later.confidence:.2f}")
    words = ", ".join(f"{one:.2f}" for one in later.trace)
    expect(box).to_contain_text(f"confidence by pass: {words}")
    assert box.locator(".plw-spark").count() == 2
    assert box.locator(".plw-spark").first.locator("span").count() == len(later.trace)
    expect(box).to_contain_text("time left")
    notebook.screenshot("monitor-running-later")
    assert notebook.problems() == []
    world.database.close()
