"""A review of an optimization of a service without our own endpoints: no intervals, simulations, notes or actions."""

from __future__ import annotations

import pytest

import promptlift
from promptlift.widgets import OptimizationMonitor, VariantReview
from support.foreign_service import KEY
from support.front_end import ReviewFrontEnd, TreeFrontEnd
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
    review = ReviewFrontEnd(VariantReview(lift, "o00001"))
    card = review.card("va")
    assert "lift +12.5%, interval unavailable: the service reports no sample size" in card.text
    row = review.root.one(".plw-variant", variant="va")
    assert row.all(".plw-piece-hollow")
    assert not row.all(".plw-piece-line")
    assert "This service has no simulated conversations." in review.root.text
    assert "This service keeps no notes, verdicts and actions." in review.root.text
    assert not card.all(action="note")
    assert "no sample size" in review.html
    review.click("apply", "va")
    assert review.texts()[0] == ["Current version: Support", "old"]
    review.confirm()
    assert foreign.texts["p1"] == "new"
    assert KEY not in review.everything()


def test_a_text_that_changed_between_opening_and_confirming_is_not_overwritten(foreign, lift):
    review = ReviewFrontEnd(VariantReview(lift, "o00001"))
    review.click("apply", "vb")
    foreign.texts["p1"] = "theirs"
    review.confirm()
    assert review.texts()[1] == ["Current version", "theirs"]
    assert foreign.texts["p1"] == "theirs"
    assert foreign.bodies == []


def test_a_monitor_of_a_service_that_says_little_invents_nothing(foreign, lift):
    foreign.add(1, status="running")
    monitor = TreeFrontEnd(OptimizationMonitor(lift, "o00002"))
    shown = monitor.root.text
    assert "running" in shown
    assert "validation" in shown
    assert not monitor.root.all(role="progressbar")
    assert "lift" not in shown
