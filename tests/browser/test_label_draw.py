"""The button of a review that has both arms labelled: with keys, left and gone on with, blind in page, DOM and messages."""

from __future__ import annotations

import re

import pytest

import promptlift
from support.reviewed_world import ReviewedWorld

pytestmark = pytest.mark.timeout(280)

CELLS = 24
LABELS = 2 * CELLS
SECRET = "SECRET-"  # in the names and texts of all that must not be seen
CODE = """
import promptlift
from promptlift import widgets
lift = promptlift.connect({address!r}, {key!r}, progress=False)
review = widgets.VariantReview(lift, {optimization!r})
review
"""


@pytest.fixture
def world(service):
    made = ReviewedWorld.beside(service.data)
    yield made
    made.database.close()


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


def label(page, box, numbers):
    """Label with keys, as the parcel says: so both arms are alike for people, and unlike for the judge."""
    progress, shown = box.locator(".plw-progress"), box.locator(".plw-shown:not(.plw-stale)")
    for number in numbers:
        says(box.locator(".plw-row[aria-selected=true]"), re.compile(rf"^Conversation {number}(?!\d)"))
        says(shown, "Where is parcel number")
        parcel = int(re.search(r"parcel number (\d+)", shown.inner_text())[1])
        page.keyboard.press("y" if parcel % 2 else "n")
        says(progress, f"{number} of {LABELS} labelled")
        if number < LABELS:
            page.keyboard.press("Enter")


def test_both_arms_are_labelled_blind_in_the_place_of_the_review(lab, service, world, optimization):
    code = CODE.format(address=service.base_url, key=world.key, optimization=optimization)
    notebook = lab.open([code], name="label-draw.ipynb")
    page = notebook.page
    notebook.run_all()
    box = page.locator(".plw-review")
    button = box.locator(".plw-label")
    button.wait_for()
    box.scroll_into_view_if_needed()
    assert SECRET in seen(page)
    secrets = [SECRET, *(world.variant(optimization, number) for number in range(3))]
    says(box.locator(".plw-card"), "Nobody has checked these conversations yet")
    notebook.screenshot("label-offer")

    def labelled(numbers, picture):
        """Press the button, label, and return the way back; nothing of the review is seen meanwhile."""
        begun = len(notebook.frames)
        button.click()
        back = box.locator(".plw-leave")
        back.wait_for()
        # The keys go to the browser at once.
        page.wait_for_selector(".plw-drawn .plw-list:focus")
        label(page, box, numbers)
        notebook.screenshot(picture)
        for where in (seen(page), *notebook.frames[begun:]):
            found = where if isinstance(where, str) else where.decode("utf-8", "replace")
            assert not [one for one in secrets if one in found]
        assert any(b"Where is parcel number" in frame for frame in notebook.frames[begun:])
        return back

    back = labelled(range(1, 6), "label-begun")
    says(back, "Back to the review")
    back.click()
    says(box.locator(".plw-card"), "Not corrected by labels.")
    says(button, "Continue labelling, blind")
    assert SECRET in seen(page)

    back = labelled(range(6, LABELS + 1), "label-done")
    says(back, "All labelled: see what the labels say")
    back.click()
    card = box.locator(".plw-card")
    says(card, f"Corrected by {LABELS} labels of people: +0.0 points")
    says(card, "not confirmed by labels")
    says(card, "The judge errs differently on the two arms (p < 0.001)")
    assert box.locator(".plw-drawn").is_hidden()
    notebook.screenshot("label-said")
    kept = f'found = lift.labels(optimization_id={optimization!r}); print(len(found), found["value"].eq("yes").sum())'
    assert notebook.evaluate(kept).split() == [str(LABELS), str(LABELS // 2)]
    assert notebook.problems() == []
