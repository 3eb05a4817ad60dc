"""Events reach a real TLS receiver, signed; a receiver that misbehaves holds up no other."""

from __future__ import annotations

import json
import subprocess

import pytest

from promptlift import events
from promptlift.service.store.database import Database
from support import fork_server
from support.service_process import wait_until
from support.tls_receiver import make_certificate
from support.wire import Wire

pytestmark = pytest.mark.slow


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
    read = [
        events.parse(one.body, one.headers["x-service-signature"], webhook["secret"])
        for one in (created, generated)
    ]
    assert [one.sequence for one in read] == [1, 2]
    listed = wire.get("/events")["data"]
    assert [one | {"sequence": n} for n, one in enumerate(listed[::-1], 1)] == [
        created.event,
        generated.event,
    ]


def test_receivers_that_misbehave_hold_up_no_other(start_service, certificate, new_receiver, tmp_path):
    """Thirty that hang or drip, and one each that fails otherwise; all at once. An attempt has four seconds, not ten."""
    shorter = {fork_server.SHORTER: json.dumps({"promptlift.service.webhooks.ATTEMPT_SECONDS": 4.0})}
    running = start_service(env=certificate.trusted | shorter)
    wire = Wire(running.base_url, running.key)
    healthy, hanging, dripping, failing, redirecting, stranger = (new_receiver() for _ in range(6))
    hanging.answer, dripping.answer = hanging.hang, dripping.drip
    failing.answer = lambda _request, _connection: 500
    redirecting.answer = lambda _request, _connection: (307, {"Location": healthy.url})
    stranger.use(make_certificate(tmp_path, "stranger"))
    others = [hanging] * 20 + [dripping] * 10
    hooks = {id(one): subscribe(wire, one.url) for one in (*others, failing, redirecting, stranger)}
    prompt_id = wire.add_prompt()
    # Those that hang are found out by their first delivery.
    first = wire.log(prompt_id)
    hanging.wait_for(20), dripping.wait_for(10)
    good = subscribe(wire, healthy.url)
    ids = [wire.log(prompt_id) for _ in range(20)]
    received = healthy.wait_for(20, seconds=20)
    assert [one.event["data"]["conversationId"] for one in received] == ids
    # What came of them is kept together, a moment after the last.
    deliveries = f"/webhooks/{good['id']}/deliveries"
    wait_until(lambda: wire.get(deliveries)["data"][0]["status"] == "delivered", what="the last one is kept")
    kept = wire.get(deliveries)["data"]
    assert [(one["status"], one["attempts"]) for one in kept] == [("delivered", 1)] * 20

    def problem_of(receiver):
        rows = wire.get(f"/webhooks/{hooks[id(receiver)]['id']}/deliveries?limit=100")["data"]
        return rows[-1]["problem"]

    expected = {
        id(hanging): "No answer: it did not answer within 4 seconds",
        id(dripping): "No answer: it did not answer within 4 seconds",
        id(failing): "The receiver answered 500",
        id(redirecting): "The receiver answered 307: redirects are not followed",
        id(stranger): "No answer: its certificate is not trusted: self-signed certificate",
    }
    for receiver in (failing, redirecting, stranger, hanging, dripping):
        wait_until(lambda one=receiver: problem_of(one), what="the first attempt ended", seconds=40)
        assert problem_of(receiver) == expected[id(receiver)]
    assert first not in {one.event["data"]["conversationId"] for one in healthy.received}
    assert stranger.received == []
    assert len(failing.received) == 21


def test_a_test_event_arrives_marked_and_verifiable(start_service, certificate, receiver):
    running = start_service(env=certificate.trusted)
    wire = Wire(running.base_url, running.key)
    for kind in events.EVENT_KINDS:
        webhook = subscribe(wire, receiver.url, kind)
        answer = wire.ask("POST", f"/webhooks/{webhook['id']}/test").body
        assert (answer["success"], answer["statusCode"], answer["problem"]) == (True, 204, None)
        request = receiver.received[-1]
        event = events.parse(request.body, request.headers["x-service-signature"], webhook["secret"])
        assert (event.id, event.type, event.model_extra) == (answer["eventId"], kind, {"test": True})
        assert not event.data.model_extra
    receiver.answer = lambda _request, _connection: 418
    answer = wire.ask("POST", f"/webhooks/{webhook['id']}/test").body
    assert (answer["success"], answer["statusCode"], answer["problem"]) == (
        False,
        418,
        "The receiver answered 418",
    )


def test_private_targets_are_refused_without_the_setting(start_service, certificate, receiver):
    running = start_service(env={"SSL_CERT_FILE": str(certificate.file)})
    wire = Wire(running.base_url, running.key)
    for url in (receiver.url, f"https://localhost:{receiver.port}/", f"https://2130706433:{receiver.port}/"):
        answer = wire.ask("POST", "/webhooks", {"url": url, "events": ["prompt.deleted"]})
        assert (answer.status, set(answer.error["details"])) == (400, {"url"})
    # A webhook that was created while it was allowed.
    webhook = subscribe(wire, "https://hooks.invalid/", "conversation.created")
    database = Database(f"sqlite:///{running.data / 'promptlift.db'}")
    with database.write() as connection:
        connection.exec_driver_sql("UPDATE webhooks SET url = ?", (receiver.url,))
    database.close()
    wire.log(wire.add_prompt())
    path = f"/webhooks/{webhook['id']}/deliveries"
    wait_until(lambda: wire.get(path)["data"][0]["attempts"], what="an attempt was made")
    assert wire.get(path)["data"][0]["problem"] == (
        "No answer: its address is private, loopback, link-local or reserved"
    )
    assert receiver.received == []
