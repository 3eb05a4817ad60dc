"""The verdict of an optimization in a sentence, and what a cell shows of it."""

from __future__ import annotations

import pytest

from promptlift.schema.optimizations import Optimization
from support.cases import slow_except
from support.hostile import ONE_OF_EACH, PAYLOADS, name_of
from support.report_page import Page

WON = {"winnerSelected": True, "winningVariantId": "v", "confidence": 0.97}
PROGRESS = {"stage": "confirm", "conversationsDone": 1200, "conversationsMax": 4000}
SAID = [
    ({"status": "queued"}, "It is queued."),
    ({"status": "running"}, "It is running."),
    (
        {"status": "running", "results": {"progress": PROGRESS, "confidence": 0.62}},
        "It is running (confirming), 1,200 of at most 4,000 conversations, confidence so far 0.62.",
    ),
    ({"status": "failed"}, "It failed: the service does not say why."),
    ({"status": "failed", "failure": "The endpoint is down."}, "It failed: The endpoint is down."),
    (
        {"status": "stopped", "stopReason": "too slow"},
        "It was stopped: too slow. No winner was found until then.",
    ),
    (
        {
            "status": "completed",
            "results": {**WON, "lift": 24.04, "liftLow": 8.25, "liftHigh": 41.0, "liftExpected": 18},
        },
        (
            "A winner was found: it completes 24% more tasks than the original (8% to 41%); confidence 0.97. "
            "Expect +18% in production."
        ),
    ),
    (
        {"status": "completed", "results": {**WON, "lift": 24.0, "liftLow": 8.0, "liftHigh": None}},
        "A winner was found: it completes 24% more tasks than the original (8% or more); confidence 0.97.",
    ),
    (  # a winner whose interval holds 0 does not complete "more"
        {"status": "completed", "results": {**WON, "lift": 5.0, "liftLow": -0.04, "liftHigh": 9.0}},
        "A winner was found; the measured lift is +5.00% (−0.04% to +9.00%); confidence 0.97.",
    ),
    (
        {"status": "completed", "results": {**WON, "lift": 12.5}},
        "A winner was found; the measured lift is +12%, without an interval; confidence 0.97.",
    ),
    ({"status": "completed", "results": {"winnerSelected": True}}, "A winner was found."),
    (
        {
            "status": "stopped",
            "results": {**WON, "lift": 30, "liftLow": 9, "liftHigh": 50, "liftExpected": 20},
            "rehearsal": True,
        },
        (
            "Rehearsal, which says nothing about a real prompt: a winner was found: it completes 30% more tasks than the "
            "original (9% to 50%); confidence 0.97."
        ),
    ),
    (
        {
            "status": "completed",
            "results": {"winnerSelected": False, "explanation": "The budget was used up."},
        },
        "No winner was found. The budget was used up.",
    ),
    (
        {
            "status": "completed",
            "results": {"winnerSelected": False, "lift": 0, "liftLow": -4, "liftHigh": 5},
        },
        "No winner was found. The measured lift is 0% (−4% to +5%).",
    ),
    ({"status": "completed"}, "No winner was found."),
    ({"status": "a new one"}, "Its status is a new one."),
]


def optimization(fields):
    return Optimization.from_wire({"id": "opt_1", "promptId": "prm_1", **fields})


@pytest.mark.parametrize(("fields", "sentence"), SAID)
def test_an_optimization_says_its_verdict(fields, sentence):
    found = optimization(fields)
    assert found.sentence == sentence
    words = Page(found._repr_html_()).text
    assert sentence in words
    call = {"queued": "OptimizationMonitor", "running": "OptimizationMonitor", "completed": "VariantReview"}
    assert call.get(found.status, "lift.variants") in words


@pytest.mark.parametrize("payload", slow_except(ONE_OF_EACH, PAYLOADS), ids=name_of)
def test_a_hostile_reason_is_text_in_a_cell(payload):
    page = Page(optimization({"status": "failed", "failure": payload, "id": payload or "o"})._repr_html_())
    assert page.names <= {"div", "p", "b", "small", "code", "span", "br"}
    assert page.misnested == []
