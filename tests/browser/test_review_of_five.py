"""A review of five variants as a person reads it: on a narrow and a wide page, in light and dark, with the keyboard."""

from __future__ import annotations

import pytest

import promptlift

pytestmark = pytest.mark.timeout(280)

PROMPT = {
    "name": "Help desk",
    "content": "You are the help desk of an invented shop.\nAnswer in {language}.\nNever promise a date.",
    "llm_model": "gpt-4o",
}
# What a person would have to scroll sideways to read: the widget or any part of it, and the page.
SIDEWAYS = """
root => [root, ...root.querySelectorAll('*'), document.documentElement]
    .filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && !['TEXTAREA', 'SELECT', 'OPTION'].includes(one.tagName)
        && getComputedStyle(one).display !== 'inline' && !one.closest('.plw-interval, .plw-pair'))
    .map(one => `${one.tagName}.${one.className} ${one.scrollWidth} > ${one.clientWidth}`)
"""
# Words of the table that are broken over two lines.
BROKEN_WORDS = r"""
root => [...root.querySelectorAll('.plw-variants th, .plw-variants td')].flatMap(cell => {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), broken = [];
    while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/[^\s:]+:?/g)) {
        const range = document.createRange();
        range.setStart(texts.currentNode, word.index); range.setEnd(texts.currentNode, word.index + word[0].length);
        if (new Set([...range.getClientRects()].map(one => one.top)).size > 1) broken.push(word[0]);
    }
    return broken;
})
"""
# Buttons whose name for a screen reader is not what is to be read on them.
OTHERWISE_NAMED = """
root => [...root.querySelectorAll('button, select, textarea, input')].filter(one => {
    const said = one.getAttribute('aria-label') || one.title;
    const seen = one.tagName === 'BUTTON' ? one.textContent : one.labels.length ? one.labels[0].textContent : '';
    return said || !seen.trim();
}).map(one => one.outerHTML.slice(0, 200))
"""


@pytest.fixture(scope="module")
def five(service):
    """A rehearsal of five variants: one or two are confirmed, the others only screened."""
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.client.prompts.create(**PROMPT)
        return (
            lift.optimize(prompt.id, mode="exploratory", variants=5, seed=3, wait=False).wait(timeout=240).id
        )


@pytest.fixture(scope="module")
def review(lab, five):
    """A notebook with the review, for all tests of this file."""
    code = f"""
import promptlift
from promptlift import widgets
lift = promptlift.connect(progress=False)
review = widgets.VariantReview(lift, {five!r})
review
"""
    notebook = lab.open([code], name="five.ipynb")
    notebook.run_all()
    box = notebook.page.locator(".plw-review")
    box.locator(".plw-card").wait_for()
    box.scroll_into_view_if_needed()
    return notebook, box


def in_sight(locator):
    from playwright.sync_api import expect

    expect(locator).to_be_in_viewport(ratio=0.9, timeout=20_000)


def test_five_variants_are_read_without_scrolling_sideways(review):
    notebook, box = review
    for theme, width in (("Light", 1000), ("Dark", 1280)):
        notebook.page.set_viewport_size({"width": width, "height": 1000})
        notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        notebook.page.locator("#jupyterlab-splash").wait_for(state="detached")
        assert box.locator(".plw-variant").count() == 6
        assert box.evaluate(SIDEWAYS) == []
        assert box.evaluate(BROKEN_WORDS) == []
        box.locator(".plw-top").evaluate("one => one.scrollIntoView()")
        notebook.screenshot(f"review-five-{width}-{theme.lower()}")
    notebook.command("apputils:change-theme", theme="JupyterLab Light")
    # All dots are on one axis: the lines of the original stand above each other.
    zeros = box.locator(".plw-variants .plw-piece-zero").evaluate_all(
        "all => all.map(one => one.getBoundingClientRect().x)"
    )
    assert len(zeros) == 6
    assert max(zeros) - min(zeros) < 1.5
    assert box.evaluate(OTHERWISE_NAMED) == []
    assert notebook.problems() == []


def test_a_row_chooses_its_card_with_the_mouse_and_the_keyboard(review):
    from playwright.sync_api import expect

    notebook, box = review
    confirmed, screened = (box.locator(f"tbody[data-stage={stage}]") for stage in ("confirm", "screen"))
    expect(confirmed.locator(".plw-variant:not(.plw-screened)")).to_have_count(1)
    expect(screened.locator(".plw-screened")).to_have_count(4)
    expect(screened).to_contain_text("a larger lift here does not mean a better variant")
    row = screened.locator(".plw-variant").nth(1)
    name = row.locator(".plw-choose").inner_text()
    row.locator("td").last.click()
    card = box.locator(".plw-card")
    expect(card.locator(".plw-name")).to_have_text(name)
    expect(card).to_contain_text("a larger lift here does not mean a better variant")
    # The conversations below are those of the chosen row, and of its screening only.
    expect(box.locator(".plw-examples .plw-heading")).to_have_text(f"Simulated conversations of {name}")
    expect(box.get_by_label("Stage").locator("option")).to_have_text(["screening"])
    row.locator(".plw-choose").focus()
    notebook.page.keyboard.press("ArrowDown")
    below = screened.locator(".plw-variant").nth(2).locator(".plw-choose")
    expect(below).to_be_focused()
    expect(below).to_have_attribute("aria-pressed", "true")
    expect(card.locator(".plw-name")).to_have_text(below.inner_text())
    notebook.page.keyboard.press("Home")
    expect(card.locator(".plw-name")).to_have_text("Original")
    assert notebook.problems() == []


def test_the_notice_and_undo_are_in_sight_after_apply(review):
    from playwright.sync_api import expect

    notebook, box = review
    page = notebook.page
    page.set_viewport_size({"width": 1000, "height": 620})
    # The winner is the only row that was confirmed.
    won = box.locator("tbody[data-stage=confirm] .plw-variant:not(.plw-screened)")
    won.locator("td").last.click()
    expect(box.locator(".plw-card .plw-name")).to_have_text(won.locator(".plw-choose").inner_text())
    apply = box.locator(".plw-apply")
    # The button is below the fold of a small window, and the head of the review above it.
    apply.scroll_into_view_if_needed()
    apply.click()
    box.locator(".plw-confirm").wait_for()
    page.wait_for_timeout(800)
    box.locator(".plw-confirm").click()
    notice = box.locator(".plw-notice")
    expect(notice).to_contain_text("is now the current version", timeout=30_000)
    in_sight(notice)
    undo = notice.get_by_role("button", name="Undo …")
    in_sight(undo)
    assert box.evaluate(BROKEN_WORDS) == []
    notebook.screenshot("review-five-undo-in-sight")
    undo.click()
    page.wait_for_timeout(800)
    box.locator(".plw-confirm").click()
    expect(notice).to_contain_text("is the current version again", timeout=30_000)
    in_sight(notice)
    assert notebook.evaluate('print(*lift.actions()["kind"].head(2))') == "undo apply"
    assert notebook.problems() == []
