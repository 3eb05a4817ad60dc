"""Webhook events: all twelve kinds, signed."""

from __future__ import annotations

import json

import pytest

from promptlift import events
from promptlift.errors import TranscriptError
from promptlift.schema.signature import sign

SECRET = "whsec_0123456789"
WHEN = "2026-01-31T09:30:00.000Z"
DEPLOYMENT = {
    "agentId": "a1",
    "agentName": "Support",
    "verificationStatus": "verified",
    "reductionPercent": 62.5,
    "postFixConversationCount": 40,
    "issues": [{"issueId": "i1", "title": "No refund", "beforeFailCount": 8, "afterFailCount": 3}],
    "answerComparison": {"before": "No.", "after": "Yes."},
}
PAYLOADS = {
    "prompt.updated": {
        "promptId": "p1",
        "promptName": "Support",
        "updateType": "manual",
        "variantId": "v1",
        "appliedAt": WHEN,
    },
    "prompt.deleted": {"promptId": "p1", "deletedAt": WHEN},
    "optimization.started": {
        "optimizationId": "o1",
        "promptId": "p1",
        "status": "running",
        "settings": {"variantCount": 3},
        "startedAt": WHEN,
    },
    "optimization.completed": {
        "optimizationId": "o1",
        "promptId": "p1",
        "results": {"winner": "v1", "improvementPercentage": 12.5},
        "duration": 61.5,
        "completedAt": WHEN,
    },
    "optimization.stopped": {"optimizationId": "o1", "promptId": "p1", "reason": "enough", "stoppedAt": WHEN},
    "regression_test.completed": {
        "optimizationId": "o1",
        "promptId": "p1",
        "variantId": "v1",
        "passed": False,
        "summary": {"total": 2, "passed": 1, "regressed": 1},
        "scenarios": [{"name": "refund", "passed": False, "delta": -0.5}],
    },
    "insights.generated": {
        "conversationId": "c1",
        "promptId": "p1",
        "insightsId": "i1",
        "summary": "Asked for a refund.",
        "sentiment": "negative",
    },
    "conversation.created": {
        "conversationId": "c1",
        "promptId": "p1",
        "status": "completed",
        "createdAt": WHEN,
    },
    "deployment.verified": DEPLOYMENT,
    "deployment.not_fixed": DEPLOYMENT,
    "deployment.regressed": DEPLOYMENT,
    "deployment.confounded": {name: v for name, v in DEPLOYMENT.items() if name != "reductionPercent"},
}


def delivery(kind, **changes):
    event = {"id": "evt_1", "type": kind, "timestamp": WHEN, "data": PAYLOADS.get(kind, {}), **changes}
    return json.dumps(event, ensure_ascii=False).encode()


def test_there_are_exactly_the_twelve_kinds_of_the_specification():
    assert set(PAYLOADS) == set(events.EVENT_KINDS)
    assert len(events.EVENT_KINDS) == 12


@pytest.mark.parametrize("kind", sorted(PAYLOADS))
def test_every_kind_is_read_with_all_its_fields(kind):
    body = delivery(kind)
    event = events.parse(body, sign(body, SECRET), SECRET)
    assert event.type == kind
    assert event.to_wire() == json.loads(body)
    assert not event.data.model_extra


@pytest.mark.parametrize("kind", sorted(PAYLOADS))
def test_fields_that_nobody_knows_are_kept(kind):
    event = events.read(delivery(kind, data={**PAYLOADS[kind], "novel": 1}, attempt=2))
    assert event.data.model_extra == {"novel": 1}
    assert event.model_extra == {"attempt": 2}


def test_a_confounded_deployment_has_no_reduction():
    assert events.read(delivery("deployment.confounded")).data.reduction_percent is None


def test_a_body_that_was_changed_is_refused():
    body = delivery("prompt.deleted")
    with pytest.raises(
        TranscriptError, match="does not match the body: check the secret, and pass the raw body"
    ):
        events.parse(body + b" ", sign(body, SECRET), SECRET)


def test_another_secret_is_refused():
    body = delivery("prompt.deleted")
    with pytest.raises(TranscriptError, match="signature"):
        events.parse(body, sign(body, "another"), SECRET)


@pytest.mark.parametrize(
    "body",
    [
        delivery("prompt.created"),
        delivery("deployment.verified", data={}),
        delivery("prompt.deleted", data=None),
        delivery("prompt.deleted", timestamp="yesterday"),
        b'{"type": "prompt.deleted"}',
        b"[]",
        b"null",
        b"",
        b"{",
        b"\xff",
        b"[" * 100_000,
    ],
)
def test_a_signed_body_that_is_no_event_is_refused(body):
    with pytest.raises(TranscriptError, match="not an event of the API"):
        events.parse(body, sign(body, SECRET), SECRET)
