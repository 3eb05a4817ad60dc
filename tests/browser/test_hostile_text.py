"""Hostile text in a real browser: nothing of it runs, and nothing of it moves what belongs to us."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

import promptlift
from promptlift.widgets import ConversationBrowser, VariantReview
from support.deployed import ORIGINAL
from support.hostile import CHARACTERS, ENCODABLE, LONG, ONE_OF_EACH, PAYLOADS
from support.service_process import wait_until

pytestmark = pytest.mark.timeout(280)

TESTS = Path(__file__).parents[1]
# Of these each is a conversation of its own, with it wherever a text can be: what moves a page is characters and length.
WALKED = len(ONE_OF_EACH + CHARACTERS + LONG)
# The first conversation has every payload as a message, an issue and a topic.
CODE = f"""
import sys
sys.path.insert(0, {str(TESTS)!r})
import json
import pandas as pd
from support.hostile import CHARACTERS, ENCODABLE, LONG, ONE_OF_EACH, PAYLOADS
from promptlift import widgets
ROWS = ["all", *ONE_OF_EACH, *CHARACTERS, *LONG]

def content(texts):
    return json.dumps({{"messages": [{{"role": "user", "content": one, "model": one}} for one in texts]}})

def column(values):
    return pd.Series(values, dtype=object)

n = len(ROWS) - 1
df = pd.DataFrame({{
    "conversation_id": column([one[:5000] + str(i) for i, one in enumerate(ROWS)]),
    "started_at": pd.date_range("2026-03-01", periods=n + 1, tz="UTC"),
    "llm_model": column(ROWS),
    "sentiment": pd.Categorical(["negative"] * (n + 1), categories=["negative", "positive"]),
    "task_completed": pd.array([False] * (n + 1), dtype="boolean"),
    "summary": column(ROWS),
    "issues": column([[{{"title": one, "severity": "low"}} for one in PAYLOADS]] + [[{{"title": one}}] * 2 for one in ROWS[1:]]),
    "topics": column([PAYLOADS] + [[one] for one in ROWS[1:]]),
    "content": column([content(ENCODABLE)] + [content([one, one]) for one in ROWS[1:]]),
}})
df.attrs["promptlift"] = {{"analyser": PAYLOADS[0]}}
"""
TEXTS = [one for one in ENCODABLE if "\x00" not in one and one.strip()]
OWN_TAGS = {
    *("DIV", "SPAN", "SECTION", "P", "B", "SMALL", "CODE", "KBD", "MARK", "INS", "DEL", "DL", "DT", "DD", "DETAILS", "SUMMARY"),
    *("INPUT", "SELECT", "OPTION", "BUTTON", "TEXTAREA", "LABEL", "TABLE", "THEAD", "TBODY", "TR", "TH", "TD"),
}  # fmt: skip
MEASURE = """
root => {
    const box = root.getBoundingClientRect();
    const parent = root.parentElement.getBoundingClientRect();
    const rows = [...root.querySelectorAll('.plw-row')].map(row => row.getBoundingClientRect().height);
    const outside = [...root.querySelectorAll('.plw-bar :is(button, select, input), .plw-panes')].filter(one => {
        const own = one.getBoundingClientRect();
        return own.width > 0 && (own.left < box.left - 1 || own.right > box.right + 1);
    }).length;
    const button = root.querySelector('[data-value=yes], .plw-confirm').getBoundingClientRect();
    const top = document.elementFromPoint(button.left + 4, button.top + button.height / 2);
    return {
        wide: box.width <= parent.width + 1, height: box.height, row: Math.max(0, ...rows), outside,
        covered: top !== null && !root.contains(top),
        tags: [...new Set([...root.querySelectorAll('*')].map(one => one.tagName))],
        handlers: [...root.querySelectorAll('*')].filter(one => [...one.attributes].some(a => a.name.startsWith('on'))).length,
        scrolls: document.documentElement.scrollWidth > document.documentElement.clientWidth,
    };
}
"""


def requested(page):
    """Return a list that has the address of every request from now on."""
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    return asked


def measured(box):
    found = box.evaluate(MEASURE)
    assert set(found["tags"]) <= OWN_TAGS
    assert (found["handlers"], found["outside"]) == (0, 0)
    assert found["wide"]
    assert not found["scrolls"]
    assert not found["covered"]
    return found


def test_nothing_runs_and_nothing_moves_in_the_interactive_browser(lab):
    notebook = lab.open(
        [CODE, "browser = widgets.ConversationBrowser(df)\nbrowser"], name="hostile.ipynb", anew=True
    )
    page = notebook.page
    asked = requested(page)
    notebook.run_all()
    box = page.locator(".plw-browser")
    box.locator(".plw-row").first.wait_for()
    box.scroll_into_view_if_needed()
    title = page.title()
    page.wait_for_function("() => document.querySelectorAll('.plw-turn').length > 90")
    notebook.screenshot("hostile-all")
    # The page lays its panels out once more.
    wait_until(lambda: not box.evaluate(MEASURE)["outside"], what="everything is inside", seconds=20)
    box.locator(".plw-list").focus()
    heights = []
    for place in range(WALKED):
        found = measured(box)
        assert found["row"] < 80, place
        heights.append(found["height"])
        page.keyboard.press("ArrowDown")
        page.wait_for_function(
            "place => document.querySelector('.plw-row[aria-selected=true]')?.dataset.place === String(place)"
            " && !document.querySelector('.plw-shown').classList.contains('plw-stale')",
            arg=place + 1,
        )
    assert max(heights) - min(heights) < 2
    # Clicks in the texts, and the longest one in the eye of the camera.
    for turn in box.locator(".plw-shown .plw-foreign").all():
        turn.click(position={"x": 3, "y": 3}, force=True)
    notebook.screenshot("hostile-last")
    assert page.title() == title
    assert not [url for url in asked if "evil" in url]
    assert notebook.problems() == []


def hostile_optimization(world, lift):
    """Every payload is a variant's name, text and note, a persona, a scenario and a transcript."""
    made = world.optimization(texts=("You help.", *TEXTS))
    world.rename(made, [TEXTS[0], *TEXTS])
    world.talk(made, TEXTS)
    for number, text in enumerate(TEXTS[::3]):
        lift.optimizations[made].mark(world.variant(made, number + 1), verdict="keep", note=text[:10_000])
    return made


def test_nothing_runs_in_the_interactive_review_or_its_dialog(shown, service, world):
    with promptlift.connect(service.base_url, world.key, progress=False) as lift:
        made = hostile_optimization(world, lift)
    notebook, box = shown("hostile-review", f"widgets.VariantReview(lift, {made!r})")
    page = notebook.page
    asked = requested(page)
    box.locator(".plw-variant").nth(len(TEXTS)).wait_for(state="attached")
    box.locator(".plw-examples summary").first.click()
    box.locator(".plw-pair").first.click()
    box.locator(".plw-opened-pair").wait_for()
    assert box.locator(".plw-variant").count() == len(TEXTS) + 1
    for place in (3, 40, len(TEXTS) - 1):
        box.locator(".plw-variant .plw-verdict").nth(place).click()
        box.locator(".plw-apply").click()
        box.locator(".plw-dialog").wait_for()
        measured(box)
        notebook.screenshot(f"hostile-review-{place}")
        box.get_by_role("button", name="Cancel").click()
        box.locator(".plw-dialog").wait_for(state="hidden")
    assert "owned" not in page.title()
    assert not [url for url in asked if "evil" in url]
    assert notebook.problems() == []
    assert world.text == ORIGINAL


def test_nothing_is_typeset_in_the_fallback(lab):
    """JupyterLab typesets mathematics in HTML outputs, where a formula can carry a link that runs a script."""
    cells = [
        CODE,
        "from IPython.display import HTML\nHTML(widgets.ConversationBrowser(df)._repr_html_())",
        "HTML('<p>one formula: $x^2$</p>')",
    ]
    notebook = lab.open(cells, name="hostile-fallback.ipynb")
    page = notebook.page
    asked = requested(page)
    notebook.run_all()
    page.wait_for_selector("mjx-container")
    fallback = page.locator(".promptlift-static")
    assert page.locator("mjx-container").count() == 1  # ours has none, the control has one
    assert fallback.evaluate(
        "root => root.getBoundingClientRect().width <= root.parentElement.getBoundingClientRect().width + 1"
    )
    notebook.screenshot("hostile-fallback")
    assert "owned" not in page.title()
    assert not [url for url in asked if "evil" in url]


def test_nothing_runs_in_an_exported_page_with_scripts_on(chromium, service, world, tmp_path):
    safe = [one.encode("utf-8", "replace").decode() for one in PAYLOADS]
    content = json.dumps({"messages": [{"role": "user", "content": one} for one in safe]})
    ids = [f"{one[:500]}{place}" for place, one in enumerate(safe)]
    issues = [[{"title": one}] for one in safe]
    table = pd.DataFrame({"conversation_id": ids, "summary": safe, "issues": issues, "content": content})
    labels = pd.DataFrame({"conversation_id": [*safe[:90], "x"], "task_completed": True})
    browser = ConversationBrowser(table, labels=labels.drop_duplicates("conversation_id"))
    with promptlift.connect(service.base_url, world.key, progress=False) as lift:
        review = VariantReview(lift, hostile_optimization(world, lift))
    target = tmp_path / "page.html"
    head = "<!doctype html><meta charset=utf-8><title>honest</title><body>"
    target.write_text(f"{head}{browser._repr_html_()}{review._repr_html_()}<p id=after>after</p>")
    page = chromium.new_page(viewport={"width": 1000, "height": 900})
    asked = requested(page)
    page.goto(target.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
    assert page.title() == "honest"
    assert len(asked) == 1
    fallbacks = page.locator("body > .promptlift-static")
    assert fallbacks.count() == 2
    assert fallbacks.locator("a, script, img, iframe, svg, math, style, input, form").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    # What comes after stands after, and nothing of a fallback reaches out of it.
    bottom = fallbacks.last.evaluate("one => one.getBoundingClientRect().bottom")
    assert page.locator("body > #after").evaluate("one => one.getBoundingClientRect().top") >= bottom
    page.close()
