"""The monitor as a person sees it: it looks by itself, stops when asked, and is quiet at the end."""

from __future__ import annotations

import pytest

import promptlift
from reviewed_world import ReviewedWorld

pytestmark = pytest.mark.timeout(240)


def test_a_monitor_looks_by_itself_and_stops_after_a_confirmation(lab):
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
    notebook.evaluate("first = monitor._view['looks']")
    page.wait_for_timeout(4_000)
    assert int(notebook.evaluate("print(monitor._view['looks'] - first)")) >= 1
    box.locator(".plw-stop").click()
    box.locator(".plw-dialog textarea").fill("seen enough")
    notebook.screenshot("monitor-stop")
    page.wait_for_timeout(800)
    box.locator(".plw-confirm").click()
    expect(box.locator(".plw-end")).to_contain_text("seen enough", timeout=20_000)
    notebook.screenshot("monitor-stopped")
    notebook.evaluate("last = monitor._view['looks']")
    page.wait_for_timeout(3_000)
    assert notebook.evaluate("print(monitor._view['looks'] - last)") == "0"
    with promptlift.connect(lab.service.base_url, world.key, progress=False) as lift:
        assert lift.optimization(running).stop_reason == "seen enough"
        assert lift.actions()["kind"].tolist() == ["stop"]
    assert notebook.problems() == []
    world.database.close()
