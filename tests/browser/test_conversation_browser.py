"""The conversation browser as a person uses it: in JupyterLab, with a mouse and keys, also over a restart of the kernel."""

from __future__ import annotations

import json
import re

import pytest

from support.shared_data import load, needs_shared

pytestmark = pytest.mark.timeout(280)

TABLE = """
import json
import numpy as np
import pandas as pd
from promptlift import widgets

N = {rows}
def content(i):
    asked = {{"role": "user", "content": f"Where is parcel number {{i}}? It was due yesterday."}}
    said = {{"role": "assistant", "content": "It is on its way. " + "Please wait a little longer. " * 30}}
    more = [{{"role": "user", "content": "Grüße aus Köln, \\"danke\\"."}}] if i % 1000 == 7 else []
    return json.dumps({{"messages": [asked, said, *more]}})
df = pd.DataFrame({{
    "conversation_id": [f"conv_{{i:05}}" for i in range(N)],
    "started_at": pd.date_range("2026-03-01", periods=N, freq="7min", tz="UTC"),
    "tokens": [(7 * i) % N for i in range(N)],
    "task_completed": pd.array([i % 2 == 0 for i in range(N)], dtype="boolean"),
    "sentiment": pd.Categorical([["positive", "neutral", "negative"][i % 3] for i in range(N)]),
    "summary": "The user asks for a parcel.",
    "issues": [[{{"title": "Had to ask twice", "severity": "low"}}] if i % 3 == 0 else [] for i in range(N)],
    "content": [content(i) for i in range(N)],
}})
"""
HEIGHT = "one => one.getBoundingClientRect().height"
LABELS = "print(browser.labels.drop(columns='labelled_at').sort_values('conversation_id').to_json(orient='values'))"


def opened(lab, name, rows, options=""):
    cell = f"browser = widgets.ConversationBrowser(df, {options})\nbrowser"
    notebook = lab.open([TABLE.format(rows=rows), cell], name=name)
    notebook.run_all()
    box = notebook.page.locator(".plw-browser")
    box.locator(".plw-row").first.wait_for()
    box.scroll_into_view_if_needed()
    return notebook, box


def says(locator, words):
    from playwright.sync_api import expect

    expect(locator).to_contain_text(words, timeout=20_000)


def unfold_filters(box):
    box.locator(".plw-filters summary").first.click()


def opens(box, number):
    """Wait until a transcript is shown that is what the widget labels, not one that the next answer replaces."""
    says(box.locator(".plw-shown:not(.plw-stale)"), f"Where is parcel number {number}?")


LOGS = """
import json
import pandas as pd
from promptlift import widgets

df = pd.DataFrame(json.load(open("agents.json"))).assign(started_at=pd.Timestamp("2026-03-01", tz="UTC"))
df["task_completed"] = df["task_completed"].astype("boolean")
browser = widgets.ConversationBrowser(df)
browser
"""


@needs_shared
@pytest.mark.parametrize(
    ("name", "theme", "width"), [("tau2-retail", "Light", 1280), ("taubench-airline", "Dark", 1000)]
)
def test_logs_of_agents_are_read_on_one_screen_with_what_tools_answer_in_a_line(lab, name, theme, width):
    rows = [
        {
            "conversation_id": one["sourceId"],
            "content": json.dumps({"messages": one["messages"]}),
            "task_completed": one["truth"]["taskCompleted"],
        }
        for one in load(name)
    ]
    (lab.folder / "agents.json").write_text(json.dumps(rows))
    notebook = lab.open([LOGS], name=f"{name}.ipynb")
    notebook.run_all()
    box = notebook.page.locator(".plw-browser")
    box.locator(".plw-row").first.wait_for()
    notebook.page.set_viewport_size({"width": width, "height": 900})
    notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
    notebook.page.locator("#jupyterlab-splash").wait_for(state="detached")
    box.scroll_into_view_if_needed()
    assert box.evaluate(HEIGHT) < 660
    results = box.locator(".plw-from-tool summary")
    assert results.count() > 0
    assert max(results.nth(place).evaluate(HEIGHT) for place in range(results.count())) < 26
    assert max(one.evaluate(HEIGHT) for one in box.locator(".plw-pages > *").all()) < 30
    assert box.evaluate("one => one.scrollWidth - one.clientWidth") <= 0
    notebook.screenshot(f"{name}-{width}-{theme.lower()}")
    notebook.command("apputils:change-theme", theme="JupyterLab Light")


def test_ten_thousand_conversations_are_browsed_filtered_and_labelled(lab):
    notebook, box = opened(lab, "browse.ipynb", 10_000)
    page, found, progress = notebook.page, box.locator(".plw-found"), box.locator(".plw-progress")
    # Two megabytes would be there if the table were: the browser gets its code, a page of rows, one transcript and the fallback.
    assert notebook.received < 150_000
    says(found, re.compile(r"^10,000 conversations"))
    assert box.locator(".plw-row").count() == 50
    opens(box, 0)
    # The transcript comes first, and neither filters nor what is known of it take its place.
    assert box.locator(".plw-conversation > *").first.inner_text().startswith("user")
    assert box.locator("details[open]").count() == 0
    # Filters are one row, which opens.
    assert box.locator(".plw-filters").evaluate(HEIGHT) < 50
    assert box.evaluate(HEIGHT) < 640
    for theme, width in (("Light", 1000), ("Dark", 1280)):
        page.set_viewport_size({"width": width, "height": 900})
        notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        notebook.screenshot(f"browser-open-{width}-{theme.lower()}")
    notebook.command("apputils:change-theme", theme="JupyterLab Light")
    unfold_filters(box)
    notebook.screenshot("browser-open")
    box.get_by_label("Text in the conversation").fill('danke "GRÜSSE aus"')
    says(found, "10 of 10,000")
    says(box.locator(".plw-turn mark").last, "danke")
    box.get_by_label("issue", exact=True).select_option("0")
    says(found, "3 of 10,000")
    notebook.screenshot("browser-filtered")
    box.get_by_role("button", name="Clear").click()
    says(found, re.compile(r"^10,000 conversations"))

    page.keyboard.press("?")
    box.locator(".plw-help").get_by_text("next unlabelled").wait_for()
    page.keyboard.press("?")
    box.locator(".plw-help").wait_for(state="hidden")
    # Keys: down two, say no and negative, next without a label, the next page, the end, take a label back.
    page.keyboard.press("ArrowDown")
    page.keyboard.press("j")
    opens(box, 2)
    page.keyboard.press("n")
    page.keyboard.press("1")
    says(progress, "1 labelled")
    says(box.locator(".plw-row[aria-selected=true]"), "you: not completed")
    says(box.locator(".plw-row[aria-selected=true]"), "you: negative")
    page.keyboard.press("Home")
    opens(box, 0)
    for key in "y3":
        page.keyboard.press(key)
    for number in (1, 3):  # the third has a label: Enter goes on to the fourth
        page.keyboard.press("Enter")
        opens(box, number)
    page.keyboard.press("y")
    says(progress, "3 labelled")
    page.keyboard.press("PageDown")
    opens(box, 50)
    page.keyboard.press("ArrowUp")
    opens(box, 49)
    page.keyboard.press("End")
    opens(box, 9999)
    page.keyboard.press("y")
    page.keyboard.press("Backspace")
    says(progress, "3 labelled")
    box.get_by_label("Labelled or not").select_option("yes")
    says(found, "3 of 10,000")
    notebook.screenshot("browser-labelled")
    assert json.loads(notebook.evaluate(LABELS)) == [
        ["conv_00000", True, "positive"],
        ["conv_00002", False, "negative"],
        ["conv_00003", True, None],
    ]
    assert notebook.problems() == []


def test_filters_and_sorting_are_there_after_a_restart(lab):
    from playwright.sync_api import expect

    options = 'label_sets={"reason": ["refund", "bug"]}'
    notebook, box = opened(lab, "restart.ipynb", 300, options)
    found, first = box.locator(".plw-found"), box.locator(".plw-row").first
    unfold_filters(box)
    box.get_by_label("completion", exact=True).select_option("0")
    says(found, "150 of 300")
    box.get_by_label("From", exact=True).fill("2026-03-02")
    says(found, "47 of 300")
    box.get_by_label("Text in the conversation").fill('parcel "its WAY"')
    expect(box.locator(".plw-turn mark")).to_have_text(["parcel", "its way"], timeout=20_000)
    box.get_by_label("Sort", exact=True).select_option("Most tokens first")
    says(first, "Where is parcel number 214?")
    box.get_by_role("button", name="bug", exact=True).click()
    note = box.get_by_label("Note", exact=True)
    note.fill("yes, no, 1 2 3: typed, not pressed")
    note.blur()
    says(first, "reason: bug")
    says(first, "note")
    notebook.screenshot("browser-facets")

    notebook.restart()
    notebook.run_all()
    says(found, "47 of 300")
    expect(box.get_by_label("Text in the conversation")).to_have_value('parcel "its WAY"')
    expect(box.get_by_label("From", exact=True)).to_have_value("2026-03-02")
    says(first, "Where is parcel number 214?")
    box.get_by_role("button", name="Clear").click()
    says(found, re.compile(r"^300 conversations"))
    # What was cleared does not come back.
    notebook.page.wait_for_function("() => !JSON.stringify({...sessionStorage}).includes('its WAY')")
    assert notebook.problems() == []


def test_keys_of_the_notebook_are_not_set_off(lab):
    """In command mode "x" cuts a cell and "d d" deletes it, wherever the focus is: not in the widget."""
    notebook, box = opened(lab, "keys.ipynb", 60)
    page = notebook.page
    unfold_filters(box)
    for part in (
        *(".plw-list", ".plw-shown", ".plw-bar button", ".plw-pages button:enabled"),
        # Keys change the filters of these two, and then there may be no second page.
        *(".plw-bar select", ".plw-bar input"),
    ):
        page.locator(".jp-Notebook .jp-InputPrompt").first.click()
        page.keyboard.press("Escape")
        page.wait_for_selector(".jp-Notebook.jp-mod-commandMode")
        box.locator(part).first.focus()
        for key in ("x", "d", "d", "a", "b", "m", "Shift+L", "c", "v", "i", "i"):
            page.keyboard.press(key)
        assert page.locator(".jp-Notebook .jp-Cell").count() == 2, part
        assert page.locator(".jp-Notebook .jp-CodeCell").count() == 2, part
    says(box.locator(".plw-found"), "0 of 60 conversations")  # what was typed went into the text filter
    assert notebook.problems() == []


def test_labels_given_while_the_kernel_is_busy_are_kept_and_only_what_is_shown_is_labelled(lab):
    notebook, box = opened(lab, "busy.ipynb", 200)
    page = notebook.page
    opens(box, 0)
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
    opens(box, 1)
    page.keyboard.press("y")
    says(box.locator(".plw-progress"), "2 labelled")
    assert json.loads(notebook.evaluate(LABELS)) == [
        ["conv_00000", False, "neutral"],
        ["conv_00001", True, None],
    ]
    assert not box.locator(".plw-notice").is_visible()
    assert notebook.problems() == []
