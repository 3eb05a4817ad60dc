"""Labelling a draw in a real browser: with keys, gone on with, and blind in page, DOM and messages."""

from __future__ import annotations

import re

import pytest

pytestmark = pytest.mark.timeout(240)

# The secrets are put together in the kernel: the page has the code of the cells.
TABLE = """
import json
import numpy as np
import pandas as pd
from promptlift import analysis, widgets

def secret(what): return "-".join(["SECRET", what])
rng = np.random.default_rng(1)
N = 400
df = pd.DataFrame({
    "conversation_id": [f"conv_{i:05}-" + secret("ID") for i in range(N)],
    "prompt": [secret("OLD") if i % 2 else secret("NEW") for i in range(N)],
    "status": "completed",
    "started_at": pd.date_range("2026-03-01", periods=N, freq="7min", tz="UTC"),
    "llm_model": secret("MODEL"),
    "sentiment": "negative",
    "task_completed": pd.array(rng.random(N) < 0.6, dtype="boolean"),
    "summary": secret("SUMMARY"),
    "issues": [[{"title": secret("ISSUE"), "severity": "low"}]] * N,
    "topics": [[secret("TOPIC")]] * N,
    "metadata.variant": secret("VARIANT"),
    "content": [json.dumps({"messages": [
        {"role": "system", "content": secret("SYSTEM")},
        {"role": "user", "content": f"Where is parcel number {i}?", "timestamp": "2026-03-01T10:00:00Z"},
        {"role": "assistant", "content": "It is on its way.", "model": secret("MODEL")},
    ]}) for i in range(N)],
})
df.attrs["promptlift"] = {"analyser": secret("ANALYSER")}
plan = analysis.label_plan(df, by="prompt", n=60)
"""
CELL = 'browser = widgets.ConversationBrowser(plan, labels="drawn.csv")\nbrowser'


def says(locator, words):
    from playwright.sync_api import expect

    expect(locator).to_contain_text(words, timeout=20_000)


def test_a_draw_is_labelled_with_keys_and_nothing_gives_verdict_prompt_or_variant_away(lab):
    (lab.folder / "drawn.csv").unlink(missing_ok=True)
    notebook = lab.open([TABLE, CELL], name="plan.ipynb")
    notebook.run_all()
    page = notebook.page
    box = page.locator(".plw-browser")
    box.locator(".plw-row").first.wait_for()
    box.scroll_into_view_if_needed()
    progress, shown = box.locator(".plw-progress"), box.locator(".plw-shown:not(.plw-stale)")
    says(progress, "0 of 60 labelled")
    says(progress, "No interval yet")
    box.locator(".plw-list").focus()
    for number in range(1, 61):
        says(box.locator(".plw-row[aria-selected=true]"), re.compile(rf"^Conversation {number}(?!\d)"))
        says(shown, "Where is parcel number")
        page.wait_for_function("() => !document.querySelector('.plw-shown').classList.contains('plw-stale')")
        page.keyboard.press("y" if number % 2 else "n")
        says(progress, f"{number} of 60 labelled")
        if number < 60:
            page.keyboard.press("Enter")
        if number == 3:
            says(progress, "No interval yet (2 of 2 groups)")
            notebook.screenshot("plan-begun")
    says(progress, re.compile(r"each rate is known to ±\d+\.\d points"))
    notebook.screenshot("plan-labelled")

    dom = page.content() + page.locator("body").inner_text()
    storage = page.evaluate("() => JSON.stringify({...sessionStorage}) + JSON.stringify({...localStorage})")
    for where in (dom.encode(), storage.encode(), *notebook.frames):
        # Only the cell's own code names it, before the first hyphen of a secret.
        assert b"SECRET-" not in where
    assert any(b"Where is parcel number" in frame for frame in notebook.frames)
    # Run again, it goes on where it was left.
    assert notebook.evaluate(
        "print(browser.labels['task_completed'].sum(), len(browser.labels))"
    ).split() == ["30", "60"]
    assert len((lab.folder / "drawn.csv").read_text().splitlines()) == 61
    assert notebook.problems() == []
