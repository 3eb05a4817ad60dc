"""Webhook events: all thirteen kinds, signed."""

from __future__ import annotations

import hmac
import json
import math
import re
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest

from promptlift import events
from promptlift.errors import ConfigError, EventError, InvalidSignature, ReplayedEvent
from promptlift.frames import events_table
from promptlift.schema.webhooks import SAMPLES, sign, verify
from support.source_tree import ROOT

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


def delivery(kind, **changes):
    event = {"id": "evt_1", "type": kind, "timestamp": WHEN, "data": SAMPLES.get(kind, {}), **changes}
    return json.dumps(event, ensure_ascii=False).encode()


def test_there_are_the_twelve_kinds_of_the_specification_and_one_of_ours():
    assert set(SAMPLES) == set(events.EVENT_KINDS)
    assert len(events.EVENT_KINDS) == 13
    assert events.EVENT_KINDS[-1] == "quality.dropped"


@pytest.mark.parametrize("kind", sorted(SAMPLES))
def test_every_kind_is_read_with_all_its_fields_and_those_that_nobody_knows(kind):
    body = delivery(kind)
    event = events.parse(body, sign(body, SECRET), SECRET)
    assert event.type == kind
    assert event.to_wire() == json.loads(body)
    assert not event.data.model_extra
    event = events.read(delivery(kind, data={**SAMPLES[kind], "novel": 1}, attempt=2))
    assert event.data.model_extra == {"novel": 1}
    assert event.model_extra == {"attempt": 2}


def test_a_body_that_was_changed_is_refused():
    body = delivery("prompt.deleted")
    with pytest.raises(
        InvalidSignature, match="does not match the body: check the secret, and pass the raw body"
    ):
        events.parse(body + b" ", sign(body, SECRET), SECRET)


def test_a_signed_body_that_is_no_event_is_refused():
    for body in (
        delivery("prompt.created"),
        delivery("deployment.verified", data={}),
        delivery("prompt.deleted", data=None),
        delivery("prompt.deleted", timestamp="yesterday"),
        *(b'{"type": "prompt.deleted"}', b"[]", b"null", b"", b"{", b"\xff", b"[" * 100_000),
    ):
        with pytest.raises(EventError, match="not an event of the API"):
            events.parse(body, sign(body, SECRET), SECRET)


@pytest.mark.parametrize("vector", events.VECTORS, ids=lambda one: one.shows[:20])
@pytest.mark.slow
def test_the_test_vectors_are_signed_as_another_implementation_signs(vector):
    key = f"hexkey:{vector.secret.encode().hex()}"
    command = ["openssl", "dgst", "-sha256", "-mac", "HMAC", "-macopt", key, "-hex"]
    done = subprocess.run(command, input=vector.body, capture_output=True, check=True, timeout=60)
    assert done.stdout.decode().split()[-1] == vector.signature
    event = events.parse(vector.body, vector.signature, vector.secret)
    assert event.id in vector.text


def test_the_documented_test_vectors_are_these():
    page = (ROOT / "notebooks" / "docs" / "webhooks.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert json.loads(block) == [
        {"shows": one.shows, "secret": one.secret, "body": one.text, "signature": one.signature}
        for one in events.VECTORS
    ]


def signed(**changes):
    body = delivery("prompt.deleted", **changes)
    return body, sign(body, SECRET)


NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)


@pytest.mark.parametrize("seconds", [-601, 601])
def test_an_event_outside_the_tolerance_is_refused(seconds):
    seen = events.SeenIds()
    almost = NOW + timedelta(seconds=math.copysign(600, seconds))
    for tolerance in (600, timedelta(minutes=10)):
        assert events.parse(*signed(), SECRET, tolerance=tolerance, now=almost).id == "evt_1"
    with pytest.raises(ReplayedEvent, match=r"more than the tolerance away from now") as refused:
        events.parse(*signed(), SECRET, tolerance=600, now=NOW + timedelta(seconds=seconds), seen=seen)
    assert refused.value.event_id == "evt_1"
    assert "evt_1" not in seen
    assert events.parse(*signed(), SECRET, now=NOW + timedelta(seconds=seconds)).id == "evt_1"


def test_an_event_that_was_received_before_is_refused_until_it_is_forgotten():
    seen = events.SeenIds()
    assert events.parse(*signed(), SECRET, seen=seen).id == "evt_1"
    with pytest.raises(ReplayedEvent, match="was received before"):
        events.parse(*signed(), SECRET, seen=seen)
    seen.forget("evt_1")
    assert events.parse(*signed(), SECRET, seen=seen).id == "evt_1"
    assert events.parse(*signed(id="evt_2"), SECRET, seen=seen).id == "evt_2"


def test_a_forged_body_is_not_remembered():
    seen = events.SeenIds()
    body, signature = signed()
    with pytest.raises(InvalidSignature):
        events.parse(body, signature, "another", seen=seen)
    assert "evt_1" not in seen


def test_the_memory_of_ids_is_bounded_and_forgets_the_oldest():
    seen = events.SeenIds(limit=3)
    assert all(seen.add(f"evt_{n}") for n in range(5))
    assert [f"evt_{n}" in seen for n in range(5)] == [False, False, True, True, True]


def test_threads_share_a_memory_and_one_of_them_has_the_event():
    seen = events.SeenIds()
    start = threading.Barrier(8)

    def take(_):
        start.wait(timeout=30)
        return [seen.add(f"evt_{n}") for n in range(500)]

    with ThreadPoolExecutor(8) as pool:
        taken = list(pool.map(take, range(8)))
    assert [sum(column) for column in zip(*taken, strict=True)] == [1] * 500


@pytest.mark.parametrize("secret", ["", "\ufeff\n", None, SECRET.encode()])
def test_a_secret_that_anybody_could_have_is_refused(secret):
    body = delivery("prompt.deleted")
    forged = hmac.new(b"", body, "sha256").hexdigest()
    for call in (
        lambda: sign(body, secret),
        lambda: verify(body, forged, secret),
        lambda: events.parse(body, forged, secret),
        lambda: events.parse(body, None, secret),
    ):
        with pytest.raises(ConfigError, match="secret is empty or not text: pass the one"):
            call()


def test_a_missing_or_wrong_signature_is_told_apart_from_a_bad_body():
    body = delivery("prompt.deleted")
    for signature in (None, "", "x", "0" * 64, sign(b"x", SECRET).encode(), 7, sign(body, "another")):
        with pytest.raises(InvalidSignature):
            events.parse(body, signature, SECRET)
    with pytest.raises(EventError, match="Pass the raw body of the request as bytes"):
        events.parse("{}", "0" * 64, SECRET)


def test_the_comparison_takes_no_shortcut(monkeypatch):
    """Every signature goes through the constant-time comparison, whole."""
    compared = []
    real = hmac.compare_digest

    def compare(one, other):
        compared.append((len(one), len(other)))
        return real(one, other)

    monkeypatch.setattr("promptlift.schema.webhooks.hmac.compare_digest", compare)
    for signature in ("0", "0" * 64, sign(b"x", SECRET)):
        with pytest.raises(InvalidSignature):
            events.parse(b"y", signature, SECRET)
    assert compared == [(64, 1), (64, 64), (64, 64)]


@pytest.mark.parametrize(
    ("changes", "flagged"),
    [
        ({}, True),  # 8 before, 3 after: 62.5% whatever the exposure
        ({"reductionPercent": 61.0}, False),
        ({"reductionPercent": 63}, True),  # rounded
        ({"reductionPercent": 40.0}, False),
        ({"preFixConversationCount": 200}, True),
        ({"preFixConversationCount": 40}, False),  # as many before as after: the ratio is right
        ({"issues": []}, False),
        ({"issues": [{"issueId": "i", "beforeFailCount": 0, "afterFailCount": 3}]}, False),
        ({"reductionPercent": None}, False),
    ],
)
def test_a_reduction_that_is_only_the_ratio_of_counts_is_flagged(changes, flagged):
    found = events.read(delivery("deployment.verified", data={**DEPLOYMENT, **changes})).data
    assert ("only the ratio" in found.warning) is flagged
    record = {"id": "e1", "type": "deployment.verified", "timestamp": WHEN, "data": {**DEPLOYMENT, **changes}}
    frame, _ = events_table([record])
    assert frame["warnings"].tolist() == [found.warning]
