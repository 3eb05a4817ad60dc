"""A plot as a person uses it in JupyterLab: hover over its marks, click them, or go from mark to mark with the keys."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(300)

TESTS = Path(__file__).parents[1]
TABLE = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import json
from support.every_plot import table
from promptlift import plots, widgets
df = table(400, ("Support v1", "Support v2"))
df["content"] = [json.dumps({{"messages": [{{"role": "user", "content": f"Question {{one}}"}}]}}) for one in df["conversation_id"]]
"""
PLOTS = {
    "issues": 'plots.issues(df, by="prompt_id")',
    "overview": "plots.prompt_overview(df)",
}


def marks(notebook):
    """What each mark says, where it is drawn in the picture, and the ids of its conversations as the plot returns them."""
    code = (
        "print(json.dumps([[*place, one.mark.words, list(one.drill_down(*one.mark.key)['conversation_id'])]"
        " for one, place in zip(plot._marks, plot._places)]))"
    )
    return json.loads(notebook.evaluate(code))


def at_mark(plot, x, y):
    """Where a mark is on the page."""
    picture = plot.locator(".plw-picture img:visible")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    return box["x"] + x * box["width"] / 100, box["y"] + y * box["height"] / 100


def shows(notebook, box, ids, words):
    """Wait until the browser of a mark is open, on exactly these conversations."""
    from playwright.sync_api import expect

    said = re.compile(f"^{len(ids)} conversations? · {re.escape(words)}$")
    expect(box.locator(".plw-opened b")).to_have_text(said, timeout=20_000)
    expect(box.locator(".plw-browser .plw-found")).to_have_text(f"{len(ids)} conversations", timeout=20_000)
    expect(box.locator(".plw-browser .plw-title")).to_have_text([f"Question {one}" for one in ids[:50]])
    inside = notebook.evaluate("import json; print(json.dumps(plot.browser._catalogue.ids))")
    assert json.loads(inside) == ids


@pytest.fixture(scope="module")
def drawn(lab):
    """A notebook with a cell of each plot."""
    cells = [f"{name} = widgets.InteractivePlot({code})\n{name}" for name, code in PLOTS.items()]
    notebook = lab.open([TABLE, *cells], name="plot-each.ipynb")
    notebook.run_all()

    def show(name):
        notebook.evaluate(f"plot = {name}")
        box = notebook.cell(1 + [*PLOTS].index(name)).locator(".plw-plot")
        box.locator(".plw-mark").first.wait_for(state="attached")
        box.scroll_into_view_if_needed()
        return notebook, box

    return show


@pytest.mark.parametrize("name", ["issues", "overview"])
def test_a_click_on_a_mark_opens_exactly_its_conversations(drawn, name):
    from playwright.sync_api import expect

    notebook, box = drawn(name)
    page = notebook.page
    assert box.locator("xpath=ancestor::*[contains(@class, 'jp-OutputArea-output')]//img").count() == 1
    every = [one for one in marks(notebook) if one[3]]
    # Where two marks are drawn at the same place, the pointer cannot choose.
    chosen = [
        one
        for one in every
        if sum(abs(one[0] - other[0]) < 2 and abs(one[1] - other[1]) < 2 for other in every) == 1
    ]
    assert len(chosen) >= 3
    for x, y, words, ids in (chosen[0], chosen[-1]):
        page.mouse.move(*at_mark(box, x, y))
        expect(box.locator(".plw-tip")).to_have_text(words)
        assert re.search(r"95% interval .* to .*, n = \d", words)
        notebook.screenshot(f"plot-{name}-hover")
        page.mouse.click(*at_mark(box, x, y))
        shows(notebook, box, ids, words)
    notebook.screenshot(f"plot-{name}-opened")
    assert notebook.problems() == []


def test_the_marks_are_reached_with_the_keys_and_labels_stay(drawn):
    from playwright.sync_api import expect

    notebook, box = drawn("issues")
    page, every, here = notebook.page, marks(notebook), box.locator(".plw-mark[tabindex='0']")
    assert here.count() == 1
    here.focus()
    page.keyboard.press("Home")
    expect(box.locator(".plw-tip")).to_have_text(every[0][2])
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    expect(box.locator(".plw-tip")).to_have_text(every[2][2])
    expect(box.locator(".plw-mark:focus")).to_have_attribute("aria-label", every[2][2])
    notebook.screenshot("plot-keys")
    page.keyboard.press("Enter")
    shows(notebook, box, every[2][3], every[2][2])
    box.locator(".plw-browser .plw-list").focus()
    page.keyboard.press("n")
    expect(box.locator(".plw-browser .plw-progress")).to_contain_text("1 labelled", timeout=20_000)
    here.focus()
    page.keyboard.press("End")
    page.keyboard.press(" ")
    shows(notebook, box, every[-1][3], every[-1][2])
    expect(box.locator(".plw-browser .plw-progress")).to_contain_text("1 labelled")
    assert notebook.evaluate("print(plot.labels['conversation_id'].tolist())") == f"[{every[2][3][0]!r}]"
    box.locator(".plw-mark:focus").press("Escape")
    expect(box.locator(".plw-below")).to_be_hidden(timeout=20_000)
    # "d d" in command mode deletes the cell; not while a mark has the focus.
    cells = page.locator(".jp-Notebook .jp-CodeCell").count()
    page.keyboard.press("d")
    page.keyboard.press("d")
    assert page.locator(".jp-Notebook .jp-CodeCell").count() == cells
    assert notebook.problems() == []


def test_a_dark_page_shows_the_dark_picture_and_its_browser(lab):
    code = "plots.follow_notebook_theme()\nplot = widgets.InteractivePlot(plots.completion_trend(df, freq='W'))\nplot"
    notebook = lab.open([TABLE, code], name="plot-dark.ipynb")
    notebook.run_all()
    page, box = notebook.page, notebook.page.locator(".plw-plot")
    assert box.locator(".plw-picture img:visible").get_attribute("class") == "plw-on-light"
    notebook.command("apputils:change-theme", theme="JupyterLab Dark")
    page.wait_for_function(
        "() => { const [r] = getComputedStyle(document.querySelector('.plw')).backgroundColor.match(/\\d+/g).map(Number); return r < 60; }"
    )
    page.locator("#jupyterlab-splash").wait_for(state="detached")
    text = box.evaluate("one => getComputedStyle(one).color.match(/\\d+/g).slice(0, 3)")
    assert min(map(int, text)) > 180, "the text is light on the dark ground"
    assert box.locator(".plw-picture img:visible").get_attribute("class") == "plw-on-dark"
    x, y, words, ids = next(one for one in marks(notebook) if one[3])
    page.mouse.click(*at_mark(box, x, y))
    shows(notebook, box, ids, words)
    notebook.screenshot("plot-dark")
    notebook.command("apputils:change-theme", theme="JupyterLab Light")
    assert notebook.problems() == []
