"""Events reach a real TLS receiver, signed; a receiver that misbehaves holds up no other."""

from __future__ import annotations

import subprocess

from support.wire import Wire


def openssl_hmac(body: bytes, secret: str) -> str:
    """The signature by another implementation."""
    command = ["openssl", "dgst", "-sha256", "-hmac", secret, "-hex"]
    done = subprocess.run(command, input=body, capture_output=True, check=True, timeout=60)
    return done.stdout.decode().split()[-1]


def subscribe(wire, url, *kinds):
    answer = wire.ask("POST", "/webhooks", {"url": url, "events": list(kinds) or ["conversation.created"]})
    assert answer.status == 201, answer
    return answer.body


def test_a_logged_conversation_reaches_the_receiver_signed(start_service, certificate, receiver):
    running = start_service(env=certificate.trusted)
    wire = Wire(running.base_url, running.key)
    webhook = subscribe(wire, receiver.url, "conversation.created", "insights.generated")
    conversation = wire.log(wire.add_prompt())
    created, generated = receiver.wait_for(2)
    assert [created.event["type"], generated.event["type"]] == ["conversation.created", "insights.generated"]
    assert created.event["data"]["conversationId"] == conversation
    for request in (created, generated):
        assert request.headers["x-service-signature"] == openssl_hmac(request.body, webhook["secret"])
        assert request.headers["content-type"] == "application/json"
    listed = wire.get("/events")["data"]
    assert [one for one in reversed(listed)] == [created.event, generated.event]
