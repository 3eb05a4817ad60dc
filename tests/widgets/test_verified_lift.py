"""The lift of a winner on new pairs after the decision, in the monitor and in the review."""

from __future__ import annotations

import pytest

from promptlift.widgets import OptimizationMonitor, VariantReview
from support.front_end import TreeFrontEnd

pytestmark = pytest.mark.slow


@pytest.mark.slow
def test_the_monitor_and_the_review_show_what_was_verified(lift, world):
    done = lift.optimize(world.prompt_id, mode="validation", variants=2, seed=4, wait=False).wait(timeout=120)
    results = done.results
    assert (results.winner_selected, results.verified_pairs.n) == (True, 60)
    monitor = TreeFrontEnd(OptimizationMonitor(lift, done.id))
    assert "on 60 new pairs after the decision" in monitor.root.text
    review = VariantReview(lift, done.id)._repr_html_()
    assert "on new pairs after the decision" in review
    row = lift.variants(done.id).set_index("is_winner").loc[True]
    assert row["lift_verified"] == results.lift_verified
    assert lift.optimizations()["lift_verified"].iloc[0] == results.lift_verified
