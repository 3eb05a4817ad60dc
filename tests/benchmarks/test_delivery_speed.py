"""How many events a second a service delivers to a webhook that answers at once.

``python -m pytest -m benchmark tests/benchmarks/test_delivery_speed.py -s`` prints the rate. No test asserts a time.
"""

from __future__ import annotations

import time

import pytest

import promptlift
from promptlift.events import EVENT_KINDS
from support.tls_receiver import make_certificate, receiving

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(1800)]

CONVERSATIONS = 10_000
EVENTS = 2 * CONVERSATIONS


def test_events_are_delivered_while_conversations_are_judged(tmp_path, start_service):
    certificate = make_certificate(tmp_path)
    service = start_service(env=certificate.trusted)
    with (
        receiving(certificate) as receiver,
        promptlift.connect(service.base_url, service.key, progress=False) as lift,
    ):
        lift.client.webhooks.create(url=receiver.url, events=EVENT_KINDS)
        prompt_id = lift.create_prompt("Parcels", "Help.", llm_model="gpt-4o").id
        records = [{"content": f"User: Parcel {n}?\nAssistant: It is late."} for n in range(CONVERSATIONS)]
        begun = time.perf_counter()
        assert lift.log(records, prompt_id=prompt_id).logged == CONVERSATIONS
        receiver.wait_for(EVENTS, seconds=1200)
        taken = time.perf_counter() - begun
        assert len({event["id"] for event in receiver.events}) == len(receiver.received) == EVENTS
    print(f"\n{EVENTS:,} events in {taken:.1f} s, {EVENTS / taken:,.0f} a second")
