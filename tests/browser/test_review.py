"""Reviews as a person reads and uses them: narrow and wide, in light and dark, with mouse and keyboard, from apply to undo."""

from __future__ import annotations

import pytest

import promptlift
from support.foreign_service import KEY
from support.searched_service import TEXTS, SearchedService

pytestmark = pytest.mark.timeout(280)

PROMPT = {
    "name": "Help desk",
    "content": "You are the help desk of an invented shop.\nAnswer in {language}.\nNever promise a date.",
    "llm_model": "gpt-4o",
}
# What a person would have to scroll sideways to read: the widget or any part of it, and the page.
SIDEWAYS = """
root => [root, ...root.querySelectorAll('*'), document.documentElement]
    .filter(one => one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && !['TEXTAREA', 'SELECT', 'OPTION', 'INPUT'].includes(one.tagName)
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
ZEROS = "all => all.map(one => one.getBoundingClientRect().x)"
HEIGHT = "one => one.getBoundingClientRect().height"
SCREEN = {"width": 1280, "height": 900}


def opened(lab, name, connection, optimization_id):
    code = (
        f"import promptlift\nfrom promptlift import widgets\nlift = promptlift.connect({connection}progress=False)\n"
        f"review = widgets.VariantReview(lift, {optimization_id!r})\nreview"
    )
    notebook = lab.open([code], name=f"{name}.ipynb")
    notebook.run_all()
    box = notebook.page.locator(".plw-review")
    box.locator(".plw-card").wait_for()
    box.scroll_into_view_if_needed()
    return notebook, box


def read_everywhere(notebook, box, parts):
    """Look at a review on a narrow light page and a wide dark one."""
    for theme, width in (("Light", 1000), ("Dark", 1280)):
        notebook.page.set_viewport_size({"width": width, "height": 1000})
        notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
        notebook.page.locator("#jupyterlab-splash").wait_for(state="detached")
        assert box.evaluate(SIDEWAYS) == []
        assert box.evaluate(BROKEN_WORDS) == []
        for part in parts:
            box.locator(f".plw-{part}").first.evaluate("one => one.scrollIntoView()")
            notebook.screenshot(f"review-{notebook.path.stem}-{part}-{width}-{theme.lower()}")
    notebook.command("apputils:change-theme", theme="JupyterLab Light")


def unfold(box, words):
    box.locator("summary", has_text=words).click()


def decided_on_one_screen(notebook, box):
    """What was asked for first is on one screen: the original, the finalist, both texts and the decision."""
    from playwright.sync_api import expect

    notebook.page.set_viewport_size(SCREEN)
    box.evaluate("one => one.scrollIntoView()")
    for part in (".plw-top", ".plw-variants", ".plw-texts .plw-diff", ".plw-review-of", ".plw-apply"):
        expect(box.locator(part).first).to_be_in_viewport(ratio=1)
    assert box.evaluate(HEIGHT) < SCREEN["height"]
    notebook.screenshot(f"review-{notebook.path.stem}-decision")


def one_axis(lines, count):
    """All dots are on one axis: the lines of the original stand above each other."""
    zeros = lines.evaluate_all(ZEROS)
    assert len(zeros) == count
    assert max(zeros) - min(zeros) < 1.5


def confirm(notebook, box):
    # A button that has just appeared takes no click, so that a double click hits nothing.
    notebook.page.wait_for_timeout(800)
    box.locator(".plw-confirm").dblclick()


@pytest.fixture(scope="module")
def five(lab, service):
    """A rehearsal of five variants, of which one is confirmed and the others only screened, for both tests."""
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = lift.client.prompts.create(**PROMPT)
        begun = lift.optimize(prompt.id, mode="exploratory", variants=5, seed=3, wait=False)
        return opened(lab, "five", "", begun.wait(timeout=240).id)


def test_a_row_chooses_its_card_with_the_mouse_and_the_keyboard(five):
    from playwright.sync_api import expect

    notebook, box = five
    assert box.locator(".plw-variant").count() == 6
    decided_on_one_screen(notebook, box)
    unfold(box, "4 more variants, screened only")
    unfold(box, "Simulated conversations of")
    read_everywhere(notebook, box, ["top", "examples"])
    one_axis(box.locator(".plw-variants .plw-piece-zero"), 6)
    assert box.evaluate(OTHERWISE_NAMED) == []
    screened = box.locator("tbody[data-stage=screen]")
    expect(screened.locator(".plw-screened")).to_have_count(4)
    expect(box.locator(".plw-table")).to_contain_text("a larger lift here does not mean a better variant")
    for words in ("not measured", "expected"):
        expect(box).not_to_contain_text(words)
    row = screened.locator(".plw-variant").nth(1)
    name = row.locator(".plw-choose").inner_text()
    row.locator("td").last.click()
    card = box.locator(".plw-card")
    expect(card.locator(".plw-name")).to_have_text(name)
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


def test_a_winner_is_applied_once_and_the_undo_is_in_sight(five):
    from playwright.sync_api import expect

    notebook, box = five
    notebook.page.set_viewport_size({"width": 1000, "height": 620})
    box.locator("tbody[data-stage=confirm] .plw-variant td").last.click()
    card, dialog, notice = box.locator(".plw-card"), box.locator(".plw-dialog"), box.locator(".plw-notice")
    expect(card).to_contain_text("tested on new conversations")
    card.locator("[data-verdict=keep]").click()
    expect(card.locator("[data-verdict=keep]")).to_have_attribute("aria-pressed", "true")
    card.get_by_label("Note").fill("Clear steps.")
    # Cancelling does nothing; confirming does it once, also with a double click.
    apply = box.locator(".plw-apply")
    apply.click()
    expect(dialog).to_contain_text("Rehearsal")
    expect(dialog.locator("textarea")).to_have_value("Clear steps.")
    dialog.locator("summary").first.click()
    expect(dialog.locator(".plw-whole").first).to_contain_text("You are the help desk")
    notebook.screenshot("review-confirm")
    dialog.get_by_role("button", name="Cancel").click()
    expect(dialog).to_be_hidden()
    # The button is below the fold of a small window, and the head of the review above it.
    apply.scroll_into_view_if_needed()
    apply.click()
    dialog.wait_for()
    confirm(notebook, box)
    expect(notice).to_contain_text("is now the current version", timeout=30_000)
    undo = notice.get_by_role("button", name="Undo …")
    for one in (notice, undo):
        expect(one).to_be_in_viewport(ratio=0.9, timeout=20_000)
    notebook.screenshot("review-undo-in-sight")
    undo.click()
    confirm(notebook, box)
    expect(notice).to_contain_text("is the current version again", timeout=30_000)
    expect(notice).to_be_in_viewport(ratio=0.9, timeout=20_000)
    assert notebook.evaluate('print(*lift.actions()["kind"].head(3))').split()[:2] == ["undo", "apply"]
    assert notebook.evaluate('print(lift.actions()["note"].iloc[1])') == "Clear steps."
    assert notebook.problems() == []


def test_an_edit_of_a_search_is_switched_off_and_the_text_tested(lab):
    from playwright.sync_api import expect

    with SearchedService() as searched:
        notebook, box = opened(lab, "search", f"{searched.base_url!r}, {KEY!r}, ", "o00001")
        decided_on_one_screen(notebook, box)
        unfold(box, "4 edits, and why they were made")
        unfold(box, "The search")
        assert box.locator(".plw-edit").count() == 4
        read_everywhere(notebook, box, ["card", "edits", "search"])
        one_axis(box.locator(".plw-member .plw-piece-zero"), 6)
        # The tree chooses the card, with the mouse and the keyboard.
        tree, name = box.locator(".plw-family"), box.locator(".plw-card .plw-name")
        tree.locator("[data-member=v1] .plw-choose").click()
        expect(name).to_have_text("Generation 1, from logged failures")
        tree.locator("[data-member=v6] .plw-choose").focus()
        notebook.page.keyboard.press("Enter")
        expect(name).to_have_text("Generation 3, pruned")
        # Switched off with the keyboard: untested, and said so.
        edit, made = box.locator(".plw-edit[data-edit=edt_e4]"), box.locator(".plw-made")
        edit.get_by_label("switched on").focus()
        notebook.page.keyboard.press("Space")
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
        made.get_by_role("button", name="Test this text …").click()
        box.locator(".plw-dialog").get_by_label("Name of the variant").fill("Without the fourth")
        notebook.screenshot("review-search-test-dialog")
        confirm(notebook, box)
        expect(box.locator(".plw-notice")).to_contain_text("is being tested", timeout=30_000)
        (body,) = searched.asked
        assert [one["name"] for one in body["candidates"]] == ["Without the fourth"]
        assert TEXTS["e4"] not in body["candidates"][0]["content"]
        assert notebook.problems() == []
