"""The review of a search of three generations as a person uses it: tree, edits, evidence, a text put together by hand."""

from __future__ import annotations

import pytest

from support.foreign_service import KEY
from support.searched_service import TEXTS, SearchedService

pytestmark = pytest.mark.timeout(280)

# What a person would have to scroll sideways to read.
SIDEWAYS = """
root => [root, ...root.querySelectorAll('*')]
    .filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && !['TEXTAREA', 'SELECT', 'OPTION', 'INPUT'].includes(one.tagName)
        && getComputedStyle(one).display !== 'inline' && !one.closest('.plw-interval, .plw-pair'))
    .map(one => `${one.tagName}.${one.className} ${one.scrollWidth} > ${one.clientWidth}`)
"""


@pytest.fixture(scope="module")
def searched():
    with SearchedService() as running:
        yield running


@pytest.fixture(scope="module")
def review(lab, searched):
    """A notebook with the review, for all tests of this file."""
    code = f"""
import promptlift
from promptlift import widgets
lift = promptlift.connect({searched.base_url!r}, {KEY!r}, progress=False)
review = widgets.VariantReview(lift, "o00001")
review
"""
    notebook = lab.open([code], name="search.ipynb")
    notebook.run_all()
    box = notebook.page.locator(".plw-review")
    box.locator(".plw-card").wait_for()
    return notebook, box


def test_tree_and_edits_are_read_without_scrolling_sideways(review):
    notebook, box = review
    for theme, width in (("Light", 1000), ("Dark", 1280)):
        notebook.page.set_viewport_size({"width": width, "height": 1000})
        notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        notebook.page.locator("#jupyterlab-splash").wait_for(state="detached")
        assert box.locator(".plw-member").count() == 7
        assert box.locator(".plw-edit").count() == 4
        assert box.evaluate(SIDEWAYS) == []
        # All candidates are on one axis: the lines of the original stand above each other.
        zeros = box.locator(".plw-member .plw-piece-zero").evaluate_all(
            "all => all.map(one => one.getBoundingClientRect().x)"
        )
        assert len(zeros) == 6
        assert max(zeros) - min(zeros) < 1.5
        for place in ("card", "edits", "search"):
            box.locator(f".plw-{place}").first.evaluate("one => one.scrollIntoView()")
            notebook.screenshot(f"review-search-{place}-{width}-{theme.lower()}")
    notebook.command("apputils:change-theme", theme="JupyterLab Light")
    assert notebook.problems() == []


def test_an_edit_is_switched_off_and_the_text_tested(review, searched):
    from playwright.sync_api import expect

    notebook, box = review
    page = notebook.page
    # The tree chooses the card, with the mouse and the keyboard.
    tree = box.locator(".plw-family")
    tree.locator("[data-member=v1] .plw-choose").click()
    expect(box.locator(".plw-card .plw-name")).to_have_text("Generation 1, from logged failures")
    expect(box.locator(".plw-edit[data-edit=edt_e5]")).to_contain_text("refused")
    expect(box.locator(".plw-edit[data-edit=edt_e5] .plw-switch")).to_have_count(0)
    tree.locator("[data-member=v6] .plw-choose").focus()
    page.keyboard.press("Enter")
    expect(box.locator(".plw-card .plw-name")).to_have_text("Generation 3, pruned")
    expect(tree.locator("[data-member=v6] .plw-choose")).to_have_attribute("aria-pressed", "true")
    # An edit with its reasons.
    edit = box.locator(".plw-edit[data-edit=edt_e4]")
    expect(edit).to_contain_text("People are asked for what they said already")
    expect(edit.locator("blockquote").first).to_contain_text("I am afraid that this is not possible.")
    expect(edit).to_contain_text("8 won, 1 lost, 15 alike")
    # Switched off with the keyboard: untested, and said so.
    switch = edit.get_by_label("switched on")
    switch.focus()
    page.keyboard.press("Space")
    made = box.locator(".plw-made")
    expect(made).to_contain_text("untested")
    expect(edit.locator(".plw-switch")).to_be_focused()
    expect(edit.get_by_label("switched off")).not_to_be_checked()
    assert box.evaluate(SIDEWAYS) == []
    made.scroll_into_view_if_needed()
    notebook.screenshot("review-search-by-hand")
    # On and off again with the mouse.
    edit.locator(".plw-switch").click()
    expect(made).to_be_hidden()
    edit.locator(".plw-switch").click()
    expect(made).to_be_visible()
    # Tested.
    made.get_by_role("button", name="Test this text …").click()
    dialog = box.locator(".plw-dialog")
    dialog.get_by_label("Name of the variant").fill("Without the fourth")
    notebook.screenshot("review-search-test-dialog")
    page.wait_for_timeout(800)
    box.locator(".plw-confirm").click()
    notice = box.locator(".plw-notice")
    expect(notice).to_contain_text("is being tested", timeout=30_000)
    (body,) = searched.asked
    assert body["search"] == "off"
    assert [one["name"] for one in body["candidates"]] == ["Without the fourth"]
    assert TEXTS["e4"] not in body["candidates"][0]["content"]
    # To apply it has a warning; this service knows no text in place of a variant, and would apply the winner.
    made.get_by_role("button", name="Apply untested …").click()
    expect(dialog).to_contain_text("untested")
    page.wait_for_timeout(800)
    box.locator(".plw-confirm").click()
    expect(notice).to_contain_text("keeps no reviews", timeout=30_000)
    assert TEXTS["e1"] not in searched.texts["p1"]
    assert notebook.problems() == []
