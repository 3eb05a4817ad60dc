"""A running experiment in a review as a person sees it: read, applied after a question, and undone."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.schema.experiments import ASSIGNMENT, Assignment
from promptlift.service import clock
from support.deployed import ORIGINAL, TEXTS, Logged

pytestmark = pytest.mark.timeout(240)


def test_an_experiment_is_read_applied_and_stopped_after_a_question(shown, service, world):
    from playwright.sync_api import expect

    done = world.optimization()
    with promptlift.connect(service.base_url, world.key, progress=False) as lift:
        variant = world.variant(done, 1)
        live = lift.live(world.prompt_id, {variant: 0.5})
        world.log_each(
            [
                Logged(completed=unit % 5 < 2 + 2 * arm, basis="outcome", metadata={ASSIGNMENT: Assignment(live.id, arm, f"{unit:016x}").id})
                for arm in (0, 1)
                for unit in range(200)
            ],
            at=clock.now() - clock.DAY,
        )  # fmt: skip
        notebook, box = shown("review-live", f"widgets.VariantReview(lift, {done!r})")
        part = box.locator(".plw-experiment")
        expect(part).to_contain_text("Variant 1 completes 40 points more than v1")
        part.scroll_into_view_if_needed()
        notebook.screenshot("review-live")
        part.locator(".plw-apply-live").click()
        expect(box.locator(".plw-dialog")).to_contain_text("All users get it from now on")
        notebook.screenshot("review-live-apply")
        assert world.text == ORIGINAL
        notebook.page.wait_for_timeout(800)
        box.locator(".plw-confirm").click()
        expect(box.locator(".plw-notice")).to_contain_text("is now the current version", timeout=20_000)
        expect(part).to_have_count(0)
        assert world.text == TEXTS[1]
        assert live.refresh().state.status == "applied"

        again = lift.live(world.prompt_id, {world.variant(done, 2): 0.1})
        box.locator(".plw-refresh").click()
        box.locator(".plw-stop-live").click()
        box.locator(".plw-dialog textarea").fill("seen enough")
        notebook.page.wait_for_timeout(800)
        box.locator(".plw-confirm").click()
        expect(box.locator(".plw-notice")).to_contain_text("The experiment was stopped", timeout=20_000)
        assert again.refresh().state.reason == "seen enough"
    assert notebook.problems() == []
