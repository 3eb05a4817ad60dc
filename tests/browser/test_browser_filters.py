"""Filters, sorting, marked words, own labels and a note in JupyterLab; they are there again after a restart of the kernel."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.timeout(280)

CODE = """
import json
import pandas as pd
from promptlift import widgets
N = 120
df = pd.DataFrame({
    "conversation_id": [f"c{i:03}" for i in range(N)],
    "started_at": pd.date_range("2026-03-01", periods=N, freq="3h", tz="UTC"),
    "prompt": [["Support v1", "Support v2", "Billing"][i % 3] for i in range(N)],
    "llm_model": [["gpt-4o", "gpt-4o-mini"][i % 2] for i in range(N)],
    "tokens": [(7 * i) % N for i in range(N)],
    "metadata.channel": [["web", "app"][i % 4 // 2] for i in range(N)],
    "task_completed": pd.array([i % 2 == 0 for i in range(N)], dtype="boolean"),
    "topics": [["refund"] if i % 5 == 0 else ["delivery"] for i in range(N)],
    "content": [json.dumps({"messages": [{"role": "user", "content": f"Where is parcel {i}?"},
        {"role": "assistant", "content": "It is on its way."}]}) for i in range(N)],
})
browser = widgets.ConversationBrowser(df, labels="own.csv", label_sets={"reason": ["refund", "bug"]})
browser
"""


def test_filters_sorting_labels_and_a_note_are_there_after_a_restart(lab):
    from playwright.sync_api import expect

    (lab.folder / "own.csv").unlink(missing_ok=True)
    notebook = lab.open([CODE], name="filters.ipynb")
    notebook.run_all()
    page = notebook.page
    box = page.locator(".plw-browser")
    box.scroll_into_view_if_needed()
    found = box.locator(".plw-found")
    expect(found).to_have_text("120 conversations")
    for label, value, count in (
        ("prompt", "Support v1", 40), ("model", "gpt-4o", 20), ("channel", "web", 10), ("topic", "delivery", 8),
    ):  # fmt: skip
        field = box.get_by_label(label, exact=True)
        words = field.locator("option").filter(has_text=f"{value} (").inner_text()
        field.select_option(words)
        expect(found).to_have_text(f"{count} of 120 conversations", timeout=20_000)
    box.get_by_label("From", exact=True).fill("2026-03-03")
    expect(found).not_to_have_text("8 of 120 conversations", timeout=20_000)
    box.get_by_label("Text in the conversation").fill('parcel "its WAY"')
    expect(box.locator(".plw-turn mark")).to_have_text(["parcel", "its way"], timeout=20_000)
    expect(box.locator(".plw-title mark").first).to_have_text("parcel")
    box.get_by_label("Sort", exact=True).select_option("Most tokens first")
    first = box.locator(".plw-row .plw-title").first
    expect(first).to_have_text("Where is parcel 84?", timeout=20_000)
    kept = notebook.evaluate(
        "print(browser._catalogue.row(int(browser._places[0])).title, len(browser._places))"
    )
    expect(first).to_have_text(kept.rpartition(" ")[0])
    tokens = notebook.evaluate("print(*df['tokens'].iloc[browser._places[:50]])")
    assert [int(one) for one in tokens.split()] == sorted(map(int, tokens.split()), reverse=True)

    box.get_by_role("button", name="bug", exact=True).click()
    note = box.get_by_label("Note", exact=True)
    note.fill("yes, no, 1 2 3: typed, not pressed")
    note.blur()
    expect(box.locator(".plw-row").first).to_contain_text("reason: bug", timeout=20_000)
    expect(box.locator(".plw-row").first).to_contain_text("note")
    notebook.screenshot("browser-facets")

    notebook.restart()
    notebook.run_all()
    box.locator(".plw-row").first.wait_for()
    expect(box.get_by_label("Sort", exact=True)).not_to_have_value("0")
    expect(box.get_by_label("Text in the conversation")).to_have_value('parcel "its WAY"')
    expect(box.get_by_label("From", exact=True)).to_have_value("2026-03-03")
    expect(found).to_have_text(f"{kept.rpartition(' ')[2]} of 120 conversations", timeout=20_000)
    expect(first).to_have_text(kept.rpartition(" ")[0])
    expect(box.locator(".plw-row").first).to_contain_text("reason: bug")
    expect(note).to_have_value("yes, no, 1 2 3: typed, not pressed")
    columns = notebook.evaluate("print(browser.labels[['reason', 'note']].values.tolist())")
    assert columns == "[['bug', 'yes, no, 1 2 3: typed, not pressed']]"
    box.get_by_role("button", name="Clear").click()
    expect(found).to_have_text("120 conversations", timeout=20_000)
    # What was cleared does not come back.
    page.wait_for_function("() => !JSON.stringify({...sessionStorage}).includes('its WAY')")
    assert notebook.problems() == []
