"""A review of an optimization of a service without our own endpoints: no intervals, simulations, notes or actions."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.widgets import OptimizationMonitor, VariantReview
from support.foreign_service import KEY
from support.front_end import CommandFrontEnd
from support.reviewed_service import ReviewedService

pytestmark = pytest.mark.slow


@pytest.fixture
def foreign():
    with ReviewedService() as running:
        running.add(1)
        yield running


@pytest.fixture
def lift(foreign):
    with promptlift.connect(foreign.base_url, KEY, progress=False) as opened:
        yield opened


def test_no_interval_is_invented_and_the_rest_works(foreign, lift):
    review = CommandFrontEnd(VariantReview(lift, "o00001"))
    won = next(card for card in review.view["cards"] if card["id"] == "va")
    assert won["effect"] == "lift +12.5 %, interval unavailable: the service reports no sample size"
    kinds = [kind for kind, _ in won["effect_pieces"]]
    assert "hollow" in kinds
    assert "line" not in kinds
    assert review.examples == {"available": False}
    assert not review.view["keeps_notes"]
    assert "no sample size" in review.html
    dialog = review.click("apply", "va")
    assert dialog["texts"][0] == ["Current version: Support", "old"]
    review.confirm()
    assert foreign.texts["p1"] == "new"
    assert KEY not in review.everything()


def test_a_text_that_changed_between_opening_and_confirming_is_not_overwritten(foreign, lift):
    review = CommandFrontEnd(VariantReview(lift, "o00001"))
    review.click("apply", "vb")
    foreign.texts["p1"] = "theirs"
    assert review.confirm()["texts"][1] == ["Current version", "theirs"]
    assert foreign.texts["p1"] == "theirs"
    assert foreign.bodies == []


def test_a_monitor_of_a_service_that_says_little_invents_nothing(foreign, lift):
    foreign.add(1, status="running")
    monitor = CommandFrontEnd(OptimizationMonitor(lift, "o00002"))
    assert monitor.view["facts"] == [["status", "running"], ["mode", "validation"]]
    assert monitor.view["fraction"] is None
    assert monitor.view["effect"] == ""
