"""The conversation browser as a person uses it: in JupyterLab, with a mouse and keys."""

from __future__ import annotations

import json
import re

import pytest

pytestmark = pytest.mark.timeout(240)

TABLE = """
import json
import numpy as np
import pandas as pd
from promptlift import widgets

rng = np.random.default_rng(1)
N = {rows}
def content(i):
    messages = [
        {{"role": "system", "content": "You help with orders."}},
        {{"role": "user", "content": f"Where is parcel number {{i}}? It was due yesterday.", "timestamp": "2026-03-01T10:00:00Z"}},
        {{"role": "assistant", "content": "It is on its way. " + "Please wait a little longer. " * 30, "tokens": 1234,
          "model": "gpt-4o", "timestamp": "2026-03-01T10:00:07Z"}},
    ] + ([{{"role": "user", "content": "Grüße aus Köln, \\"danke\\"."}}] if i % 1000 == 7 else [])
    return json.dumps({{"messages": messages}})
df = pd.DataFrame({{
    "conversation_id": [f"conv_{{i:05}}" for i in range(N)],
    "started_at": pd.date_range("2026-03-01", periods=N, freq="7min", tz="UTC"),
    "llm_model": "gpt-4o",
    "sentiment": pd.Categorical(rng.choice(["positive", "neutral", "negative"], N)),
    "sentiment_score": rng.normal(0, 0.4, N).clip(-1, 1),
    "task_completed": pd.array(rng.random(N) < 0.7, dtype="boolean"),
    "summary": "The user asks for a parcel.",
    "issues": [[{{"title": "Had to ask twice", "severity": "low"}}] if i % 3 == 0 else [] for i in range(N)],
    "topics": [["delivery"]] * N,
    "content": [content(i) for i in range(N)],
}})
df.attrs["promptlift"] = {{"analyser": "llm:gpt-4o"}}
"""
ROWS = 10_000


def opened(lab, name, rows=ROWS, table="df", options='labels="labels.csv"'):
    labels = lab.folder / "labels.csv"
    labels.unlink(missing_ok=True)
    cell = f"browser = widgets.ConversationBrowser({table}, {options})\nbrowser"
    notebook = lab.open([TABLE.format(rows=rows), cell], name=name)
    notebook.run_all()
    notebook.page.locator(".plw-browser .plw-row").first.wait_for()
    notebook.page.locator(".plw-browser").scroll_into_view_if_needed()
    return notebook


def found(notebook):
    return notebook.page.locator(".plw-found")


def says(locator, words):
    from playwright.sync_api import expect

    expect(locator).to_contain_text(words, timeout=20_000)


def opens(box, words):
    """Wait until a transcript is shown that is what the widget labels, not one that the next answer replaces."""
    says(box.locator(".plw-shown:not(.plw-stale)"), words)


def test_ten_thousand_conversations_are_browsed_filtered_and_labelled(lab):
    notebook = opened(lab, "browse.ipynb")
    page = notebook.page
    box = page.locator(".plw-browser")
    # Two megabytes would be there if the table were: the browser gets its code, a page of rows, one transcript and the fallback.
    assert notebook.received < 150_000
    says(found(notebook), re.compile(r"^10,000 conversations"))
    assert box.locator(".plw-row").count() == 50
    opens(box, "Where is parcel number 0?")
    opens(box, "2026-03-01 10:00:07 · 1,234 tokens · gpt-4o")
    notebook.screenshot("browser-open")

    # Filters.
    box.get_by_label("Text in the conversation").fill('danke "GRÜSSE aus"')
    says(found(notebook), "10 of 10,000")
    box.get_by_label("Any completion").select_option("yes")
    page.wait_for_function("() => /^[1-9] of 10,000/.test(document.querySelector('.plw-found').textContent)")
    says(box.locator(".plw-small").first, "completed")
    notebook.screenshot("browser-filtered")
    box.get_by_role("button", name="Clear").click()
    says(found(notebook), re.compile(r"^10,000 conversations"))
    box.get_by_label("Any issue").select_option("0")
    says(found(notebook), "3,334 of 10,000")
    box.get_by_label("Any sentiment").select_option("negative")
    page.wait_for_function("() => /^1,[01]\\d\\d of/.test(document.querySelector('.plw-found').textContent)")
    box.get_by_role("button", name="Clear").click()
    says(found(notebook), re.compile(r"^10,000 conversations"))

    # Keys: down two, say no and negative, down over the end of the page, next without a label.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    opens(box, "Where is parcel number 2?")
    page.keyboard.press("n")
    page.keyboard.press("1")
    says(box.locator(".plw-progress"), "1 labelled, saved in labels.csv")
    says(box.locator(".plw-row[aria-selected=true]"), "you: not completed")
    says(box.locator(".plw-row[aria-selected=true]"), "you: negative")
    page.keyboard.press("Home")
    opens(box, "Where is parcel number 0?")
    for key in "y3":
        page.keyboard.press(key)
    for number in (1, 3):  # the third has a label: Enter goes on to the fourth
        page.keyboard.press("Enter")
        opens(box, f"Where is parcel number {number}?")
    page.keyboard.press("y")
    says(box.locator(".plw-progress"), "3 labelled")
    page.keyboard.press("PageDown")
    opens(box, "Where is parcel number 50?")
    page.keyboard.press("ArrowUp")
    opens(box, "Where is parcel number 49?")
    page.keyboard.press("End")
    opens(box, "Where is parcel number 9999?")
    page.keyboard.press("y")
    page.keyboard.press("Backspace")
    says(box.locator(".plw-progress"), "3 labelled")
    box.get_by_label("Labelled or not").select_option("yes")
    says(found(notebook), "3 of 10,000")
    page.keyboard.press("Escape")
    notebook.screenshot("browser-labelled")

    table = json.loads(
        notebook.evaluate(
            "print(browser.labels.drop(columns='labelled_at').sort_values('conversation_id').to_json(orient='values'))"
        )
    )
    assert table == [
        ["conv_00000", True, "positive"],
        ["conv_00002", False, "negative"],
        ["conv_00003", True, None],
    ]
    assert notebook.problems() == []


def test_keys_of_the_notebook_are_not_set_off(lab):
    """In command mode "x" cuts a cell and "d d" deletes it, wherever the focus is: not in the widget."""
    notebook = opened(lab, "keys.ipynb", rows=60, options="")
    page = notebook.page
    box = page.locator(".plw-browser")
    for part in (
        ".plw-list",
        ".plw-shown",
        ".plw-bar button",
        ".plw-pages button:enabled",
        # Keys change the filters of these two, and then there may be no second page.
        ".plw-bar select",
        ".plw-bar input",
    ):
        page.locator(".jp-Notebook .jp-InputPrompt").first.click()
        page.keyboard.press("Escape")
        page.wait_for_selector(".jp-Notebook.jp-mod-commandMode")
        box.locator(part).first.focus()
        for key in ("x", "d", "d", "a", "b", "m", "Shift+L", "c", "v", "i", "i"):
            page.keyboard.press(key)
        assert page.locator(".jp-Notebook .jp-Cell").count() == 2, part
        assert page.locator(".jp-Notebook .jp-CodeCell").count() == 2, part
    box.locator(".plw-list").focus()
    page.keyboard.press("Home")
    says(box.locator(".plw-found"), "0 of 60 conversations")  # what was typed went into the text filter
    box.get_by_role("button", name="Clear").click()
    opens(box, "parcel number 0?")
    page.keyboard.press("y")
    page.keyboard.press("ArrowDown")
    opens(box, "parcel number 1?")
    says(box.locator(".plw-progress"), "1 labelled")
    assert notebook.problems() == []


def test_labels_given_while_the_kernel_is_busy_are_kept_and_only_what_is_shown_is_labelled(lab):
    notebook = opened(lab, "busy.ipynb", rows=200, options="")
    page = notebook.page
    box = page.locator(".plw-browser")
    opens(box, "parcel number 0?")
    notebook.evaluate("import time; time.sleep(6)", wait=False)
    box.locator(".plw-list").focus()
    for key in "yn2":
        page.keyboard.press(key)
    says(box.locator(".plw-row[aria-selected=true]"), "you: not completed")
    says(box.locator(".plw-notice"), "3 labels are not saved yet")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("y")
    says(box.locator(".plw-notice"), "Not labelled: this conversation is still loading")
    notebook.screenshot("browser-busy")
    says(box.locator(".plw-progress"), "1 labelled")
    opens(box, "parcel number 1?")
    page.keyboard.press("y")
    says(box.locator(".plw-progress"), "2 labelled")
    code = "print(browser.labels.drop(columns='labelled_at').to_json(orient='values'))"
    assert json.loads(notebook.evaluate(code)) == [
        ["conv_00000", False, "neutral"],
        ["conv_00001", True, None],
    ]
    assert not box.locator(".plw-notice").is_visible()
    assert notebook.problems() == []
