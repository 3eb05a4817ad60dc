"""What the settings want of a winner, in every combination."""

from __future__ import annotations

from itertools import product

from promptlift.service.deployments.transitions import after_completion


def test_nothing_goes_live_by_itself_unless_it_may():
    """Whatever else is set: a rehearsal, a changed prompt, or autoDeploy off never ends in ``live`` or ``testing``."""
    for mode, enabled, required, rehearsal, unchanged in product(
        ("manual", "semi-automatic"), *[(True, False)] * 4
    ):
        settings = {
            "deploymentMode": mode,
            "autoDeploy": {"enabled": enabled, "requireRegressionPass": required},
        }
        plan = after_completion(settings, rehearsal=rehearsal, unchanged=unchanged)
        if enabled and not rehearsal and unchanged:
            assert plan is not None
            assert (plan.state, plan.origin) == ("testing" if required else "live", "auto")
        elif mode == "semi-automatic":
            assert plan is not None
            assert (plan.state, plan.origin) == ("staged", "approval")
        elif enabled:
            assert plan is not None
            assert plan.state == "rejected"
            assert plan.reason
        else:
            assert plan is None


def test_the_regression_test_is_required_unless_it_was_waived():
    plan = after_completion({"autoDeploy": {"enabled": True}}, rehearsal=False, unchanged=True)
    assert plan is not None
    assert plan.state == "testing"
