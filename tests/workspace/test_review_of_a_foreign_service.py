"""A review of an optimization of a service that has nothing of ours: no intervals, no talks, no notes, no actions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import promptlift
from promptlift.widgets import OptimizationMonitor, VariantReview
from support.foreign_service import KEY
from support.reviewed_service import ReviewedService


@pytest.fixture
def foreign():
    with ReviewedService() as running:
        running.add(1)
        yield running


@pytest.fixture
def lift(foreign):
    with promptlift.connect(foreign.base_url, KEY, progress=False) as opened:
        yield opened


def wish(review, number, kind, target="", text=""):
    review._wishes = [{"client": "t", "number": number, "kind": kind, "target": target, "text": text}]
    return review._dialog


def test_no_interval_is_invented_and_the_rest_works(foreign, lift):
    review = VariantReview(lift, "o00001")
    won = next(card for card in review._view["cards"] if card["id"] == "va")
    assert won["effect"] == "lift +12.5 %, interval unavailable: the service reports no sample size"
    kinds = [kind for kind, _ in won["effect_pieces"]]
    assert "hollow" in kinds
    assert "line" not in kinds
    assert review._examples == {"offered": False, "variants": []}
    assert review._view["kept"] == "promptlift-review.json"
    assert "no sample size" in review._repr_html_()
    assert not Path("promptlift-review.json").exists()

    wish(review, 1, "note", "va", "short")
    dialog = wish(review, 2, "apply", "va")
    assert dialog["texts"][0] == ["Live now: Support", "old"]
    wish(review, 3, "confirm", dialog["token"], "it won")
    assert foreign.texts["p1"] == "new"
    assert foreign.bodies == [("/optimizations/o00001/apply", {"variantId": "va"})]
    (action,) = review._view["actions"]
    dialog = wish(review, 4, "undo", action["id"])
    wish(review, 5, "confirm", dialog["token"])
    assert foreign.texts["p1"] == "old"
    assert VariantReview(lift, "o00001")._said["va"] == ["", "short"]
    assert KEY not in json.dumps([review._view, review._said, review._notice])


def test_a_text_that_changed_between_the_look_and_the_click_is_not_written_over(foreign, lift):
    review = VariantReview(lift, "o00001")
    dialog = wish(review, 1, "apply", "vb")
    foreign.texts["p1"] = "theirs"
    assert wish(review, 2, "confirm", dialog["token"])["texts"][1] == ["Live now", "theirs"]
    assert foreign.texts["p1"] == "theirs"
    assert foreign.bodies == []


def test_a_monitor_of_a_service_that_says_little_invents_nothing(foreign, lift):
    foreign.add(1, status="running")
    monitor = OptimizationMonitor(lift, "o00002")
    assert monitor._view["facts"] == [["status", "running"], ["mode", "validation"]]
    assert monitor._view["fraction"] is None
    assert monitor._view["effect"] == ""
