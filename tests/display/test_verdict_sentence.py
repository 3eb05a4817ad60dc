"""The verdict of an optimization in a sentence, and what a cell shows of it."""

from __future__ import annotations

import pytest

from promptlift.schema.optimizations import Optimization
from support.hostile import PAYLOADS
from support.report_page import Page


def won(status="completed", confidence=0.97, *, rehearsal=False, **results):
    found = {"winnerSelected": True, "winningVariantId": "v", "confidence": confidence, **results}
    return {"status": status, "rehearsal": rehearsal, "results": found}


def lost(**results):
    return {"status": "completed", "results": {"winnerSelected": False, **results}}


PROGRESS = {"stage": "confirm", "conversationsDone": 1200, "conversationsMax": 4000}
SAID = {
    "It is queued.": {"status": "queued"},
    "It is running (confirming), 1,200 of at most 4,000 conversations, confidence so far 0.62.": {
        "status": "running",
        "results": {"progress": PROGRESS, "confidence": 0.62},
    },
    "It failed: the service does not say why.": {"status": "failed"},
    "It failed: The endpoint is down.": {"status": "failed", "failure": "The endpoint is down."},
    "It was stopped: too slow. No winner was found until then.": {
        "status": "stopped",
        "stopReason": "too slow",
    },
    "A winner was found: it completes 24% more tasks than the original (8% to 41%); confidence 0.97. "
    "Expect +18% in production.": won(lift=24.04, liftLow=8.25, liftHigh=41.0, liftExpected=18),
    "A winner was found: it completes 24% more tasks than the original (8% or more); confidence 0.97.": won(
        lift=24.0, liftLow=8.0
    ),
    # A winner whose interval contains 0 does not complete "more".
    "A winner was found; the measured lift is +5% (−0.04% to +9%); confidence 0.97.": won(
        lift=5.0, liftLow=-0.04, liftHigh=9.0
    ),
    "A winner was found; the measured lift is +12%, without an interval; confidence 0.97.": won(lift=12.5),
    "A winner was found.": won(confidence=None),
    "Rehearsal, which says nothing about a real prompt: a winner was found: it completes 30% more tasks than the "
    "original (9% to 50%); confidence 0.97.": won(
        "stopped", rehearsal=True, lift=30, liftLow=9, liftHigh=50, liftExpected=20
    ),
    "No winner was found. The budget was used up.": lost(explanation="The budget was used up."),
    "No winner was found. The measured lift is 0% (−4% to +5%).": lost(lift=0, liftLow=-4, liftHigh=5),
    "Its status is a new one.": {"status": "a new one"},
}


@pytest.mark.parametrize("sentence", SAID)
def test_an_optimization_says_its_verdict_and_the_next_call(sentence):
    found = Optimization.from_wire({"id": "opt_1", "promptId": "prm_1", **SAID[sentence]})
    assert found.sentence == sentence
    words = Page(found._repr_html_()).text
    assert sentence in words
    call = {"queued": "OptimizationMonitor", "running": "OptimizationMonitor", "completed": "VariantReview"}
    assert call.get(found.status, "lift.variants") in words


def test_a_hostile_reason_is_text_in_a_cell():
    for payload in PAYLOADS:
        fields = {"id": payload or "o", "promptId": "p", "status": "failed", "failure": payload}
        page = Page(Optimization.from_wire(fields)._repr_html_())
        assert page.names <= {"div", "p", "b", "small", "code", "span", "br"}, payload
        assert page.misnested == [], payload
