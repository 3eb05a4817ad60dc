"""The button of a review that has both arms labelled: with keys, left and continued, blind in page, DOM and messages."""

from __future__ import annotations

import re

import pytest

import promptlift

pytestmark = pytest.mark.timeout(280)

CELLS = 24
SECRET = "SECRET-"  # in the names and texts of all that must not be seen


@pytest.fixture
def optimization(service, world):
    made = world.optimization(texts=(f"{SECRET}OLD helps.", f"{SECRET}NEW helps.", f"{SECRET}OTHER helps."))
    world.rename(made, [f"{SECRET}PROMPT", f"{SECRET}WINNER", f"{SECRET}LOSER"])
    world.talk(made, [f"Where is parcel number {number}?" for number in range(CELLS)])
    with promptlift.connect(service.base_url, world.key, progress=False) as lift:
        lift.optimizations[made].mark(world.variant(made, 1), verdict="keep", note=f"{SECRET}NOTE")
    return made


def says(locator, words):
    from playwright.sync_api import expect

    expect(locator).to_contain_text(words, timeout=30_000)


def seen(page):
    """All that the page has: what is shown, the DOM, and what the tab keeps."""
    kept = page.evaluate("() => JSON.stringify({...sessionStorage}) + JSON.stringify({...localStorage})")
    return page.content() + page.locator("body").inner_text() + kept


def test_both_arms_are_labelled_blind_in_the_place_of_the_review(shown, world, optimization):
    notebook, box = shown("label-draw", f"widgets.VariantReview(lift, {optimization!r})")
    page = notebook.page
    button, back = box.locator(".plw-label"), box.locator(".plw-leave")
    button.wait_for()
    assert SECRET in seen(page)
    secrets = [SECRET, *(world.variant(optimization, number) for number in range(3))]
    says(box.locator(".plw-card"), "Nobody has checked these conversations yet")
    notebook.screenshot("label-offer")
    for numbers, words in (
        (range(1, 4), "Label both arms, blind"),
        (range(4, 7), "Continue labelling, blind"),
    ):
        begun = len(notebook.frames)
        says(button, words)
        button.click()
        # The keys go to the browser at once.
        page.wait_for_selector(".plw-drawn .plw-list:focus")
        for number in numbers:
            says(box.locator(".plw-row[aria-selected=true]"), re.compile(rf"^Conversation {number}(?!\d)"))
            says(box.locator(".plw-shown:not(.plw-stale)"), "Where is parcel number")
            page.keyboard.press("y" if number % 2 else "n")
            says(box.locator(".plw-progress"), f"{number} of {2 * CELLS} labelled")
            page.keyboard.press("Enter")
        notebook.screenshot(f"label-{numbers[0]}")
        for where in (seen(page).encode("utf-8", "replace"), *notebook.frames[begun:]):
            assert not [one for one in secrets if one.encode() in where]
        assert any(b"Where is parcel number" in frame for frame in notebook.frames[begun:])
        says(back, "Back to the review")
        back.click()
        says(box.locator(".plw-card"), "Not corrected by labels.")
        assert SECRET in seen(page)
    kept = f'print(lift.labels(optimization_id={optimization!r})["value"].eq("yes").sum())'
    assert notebook.evaluate(kept) == "3"
    assert notebook.problems() == []
