"""Notebook 03 as a person uses it: look, apply, undo, and be refused."""

from __future__ import annotations

import nbformat
import pytest

from support.source_tree import ROOT

pytestmark = pytest.mark.timeout(280)

BOOK = ROOT / "notebooks" / "03-variant-review.ipynb"
LIVE = "print(lift.client.prompts.get(prompt.id).content == {})"
WINNER = 'winner["content"]'
COUNT = 'print(len(lift.actions()), *lift.actions()["kind"])'


@pytest.fixture(scope="module")
def opened(lab):
    """The notebook and its review, for both tests."""
    book = nbformat.read(BOOK, as_version=4)
    for cell in book.cells:
        if cell.cell_type == "code":
            cell.update(outputs=[], execution_count=None)
    nbformat.write(book, lab.folder / "review.ipynb")
    notebook = lab.open(name="review.ipynb")
    notebook.run_all()
    box = notebook.page.locator(".plw-review")
    box.locator(".plw-card").wait_for()
    box.scroll_into_view_if_needed()
    return notebook, box


def says(locator, words):
    from playwright.sync_api import expect

    expect(locator).to_contain_text(words, timeout=30_000)


def gone(locator):
    from playwright.sync_api import expect

    expect(locator).to_be_hidden(timeout=30_000)


def ask_to_apply(notebook, box):
    box.get_by_role("button", name="Apply ").and_(box.locator(".plw-won .plw-apply")).click()
    box.locator(".plw-dialog").wait_for()
    # A button that has just appeared takes no click, so that a double click hits nothing.
    notebook.page.wait_for_timeout(800)


def test_a_winner_is_reviewed_applied_and_taken_back(opened):
    notebook, box = opened
    page = notebook.page
    assert box.locator(".plw-variant").count() == 4
    row = box.locator(".plw-variant.plw-won")
    says(row, "★ winner")
    says(row, "90% interval")
    assert row.locator(".plw-interval").count() == 1
    won = box.locator(".plw-card.plw-won")
    says(won, "★ winner")
    says(won, "rehearsal")
    says(won, "90% interval")
    assert won.locator(".plw-interval").count() == 1
    assert box.locator(".plw-texts ins").count() > 0
    assert box.locator(".plw-texts .plw-sign").filter(has_text="+").count() > 0
    says(won.get_by_label("Note"), "")
    box.locator(".plw-top").evaluate("one => one.scrollIntoView()")
    notebook.screenshot("review-open")

    # Situations in which only one of them completed the task, with both transcripts.
    box.get_by_label("Outcome").select_option("lost")
    says(box.locator(".plw-pairs"), "only the original completed")
    box.locator(".plw-pair").first.click()
    says(box.locator(".plw-opened-pair"), "not completed")
    assert box.locator(".plw-side").count() == 2
    assert box.locator(".plw-side .plw-turn").count() > 2
    box.locator(".plw-examples").scroll_into_view_if_needed()
    notebook.screenshot("review-examples")

    # The note that the notebook wrote is there after Refresh; another verdict is kept.
    box.get_by_role("button", name="Refresh").click()
    page.wait_for_function(
        "() => document.querySelector('.plw-won textarea').value.startsWith('Clear steps')"
    )
    won.locator("[data-verdict=reject]").click()
    page.wait_for_selector(".plw-won [data-verdict=reject][aria-pressed=true]")
    assert (
        notebook.evaluate('print(lift.optimizations[optimization.id].review()["verdict"].iloc[0])')
        == "reject"
    )

    # Cancelling does nothing; confirming does it once, also with a double click.
    ask_to_apply(notebook, box)
    dialog = box.locator(".plw-dialog")
    says(dialog, "Help desk")
    says(dialog, "Rehearsal")
    assert dialog.locator("ins").count() > 0
    dialog.locator("summary").first.click()
    says(dialog.locator(".plw-whole").first, "You are the customer care assistant of Larkfield")
    notebook.screenshot("review-confirm")
    dialog.get_by_role("button", name="Cancel").click()
    gone(dialog)
    assert notebook.evaluate(COUNT) == "0"
    ask_to_apply(notebook, box)
    dialog.locator("textarea").fill("looked at by a person")
    dialog.locator(".plw-confirm").dblclick()
    says(box.locator(".plw-notice"), "is now the current version")
    assert notebook.evaluate(LIVE.format(WINNER)) == "True"
    assert notebook.evaluate(COUNT) == "1 apply"
    assert notebook.evaluate('print(lift.actions()["note"].iloc[0])') == "looked at by a person"
    says(won, "current version")
    notebook.screenshot("review-applied")

    box.locator(".plw-notice .plw-undo").click()
    dialog.wait_for()
    page.wait_for_timeout(800)
    notebook.screenshot("review-undo")
    dialog.locator(".plw-confirm").click()
    says(box.locator(".plw-notice"), "is the current version again")
    assert notebook.evaluate(LIVE.format("TEXT")) == "True"
    assert notebook.evaluate(COUNT) == "2 undo apply"
    assert notebook.problems() == []


def test_what_cannot_be_applied_says_why_and_the_widget_goes_on(opened):
    notebook, box = opened
    done = notebook.evaluate(COUNT)
    dialog = box.locator(".plw-dialog")

    # Somebody else changed the prompt: before the dialog, and while it is open.
    notebook.evaluate('lift.client.prompts.update(prompt.id, content="Somebody was here.")')
    box.locator(".plw-won .plw-apply").click()
    says(dialog, "changed after this review was opened")
    says(dialog, "Somebody was here.")
    says(dialog, "You are the customer care assistant of Larkfield")
    assert dialog.locator(".plw-confirm").count() == 0
    notebook.screenshot("review-conflict")
    dialog.get_by_role("button", name="Refresh").click()
    gone(dialog)
    ask_to_apply(notebook, box)
    notebook.evaluate('lift.client.prompts.update(prompt.id, content="And again.")')
    dialog.locator(".plw-confirm").click()
    says(dialog, "And again.")
    assert notebook.evaluate(COUNT) == done
    dialog.get_by_role("button", name="Refresh").click()
    gone(dialog)

    # The key is revoked; the network is gone; and then all is well again.
    ask_to_apply(notebook, box)
    notebook.evaluate(
        "mine, run = review._lift, review._review.optimization\n"
        "review._lift = promptlift.connect(lift.client.config.base_url, 'revoked_0123456789abcdef')\n"
        "run.client = review._lift.client"
    )
    dialog.locator(".plw-confirm").click()
    says(box.locator(".plw-notice"), "does not accept the API key")
    notebook.screenshot("review-key-revoked")
    notebook.evaluate("review._lift = promptlift.connect('http://127.0.0.1:9', 'nobody_0123456789abcdef')")
    box.locator(".plw-won .plw-apply").click()
    says(box.locator(".plw-notice"), "cannot be reached")
    notebook.screenshot("review-no-network")
    assert notebook.evaluate(COUNT) == done
    notebook.evaluate("review._lift = mine")
    box.get_by_role("button", name="Refresh").click()
    gone(box.locator(".plw-notice"))
    ask_to_apply(notebook, box)
    dialog.locator(".plw-confirm").click()
    says(box.locator(".plw-notice"), "is now the current version")
    assert notebook.evaluate(LIVE.format(WINNER)) == "True"
    assert notebook.problems() == []
