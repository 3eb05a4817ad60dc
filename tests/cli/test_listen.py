"""``promptlift listen`` and ``promptlift webhooks``, run as a user runs them."""

from __future__ import annotations

import http.client
import json
import os
import signal
import ssl
import subprocess
import sys
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from promptlift.events import HEADER, VECTORS, sign
from promptlift.service.store.database import Database
from support.command_line import invoke
from support.service_process import clean_environment, free_port, wait_until
from support.tls_receiver import make_certificate, receiving
from support.wire import Wire

VECTOR = VECTORS[0]


class Listening:
    """One ``promptlift listen``."""

    def __init__(self, process, log):
        self.process = process
        self.log = log

    @property
    def lines(self):
        return self.log.read_text().splitlines()

    @property
    def address(self):
        wait_until(lambda: self.lines, what="it listens")
        return urlsplit(self.lines[0].removeprefix("promptlift listens at "))

    def post(self, body, headers=None, *, tls=None):
        address = self.address
        if tls is None:
            connection = http.client.HTTPConnection(address.hostname, address.port, timeout=30)
        else:
            connection = http.client.HTTPSConnection(address.hostname, address.port, timeout=30, context=tls)
        try:
            connection.request("POST", "/any", body, headers or {})
            return connection.getresponse().status
        finally:
            connection.close()


@pytest.fixture
def listen(tmp_path):
    @contextmanager
    def run(*options, **env):
        log = tmp_path / "listen.log"
        command = [sys.executable, "-m", "promptlift", "listen", "--port", "0", *map(str, options)]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=clean_environment(env)
            )
        try:
            yield Listening(process, log)
        finally:
            process.send_signal(signal.SIGINT)
            assert process.wait(timeout=30) == 130

    return run


def test_deliveries_are_verified_and_printed(listen):
    with listen(PROMPTLIFT_WEBHOOK_SECRET=VECTOR.secret) as listening:
        headers = {HEADER: VECTOR.signature}
        assert listening.post(VECTOR.body, headers) == 200
        assert listening.post(VECTOR.body, headers) == 200
        assert listening.post(VECTOR.body + b" ", headers) == 401
        assert listening.post(VECTOR.body) == 401
        assert listening.post(b"{}", {HEADER: sign(b"{}", VECTOR.secret)}) == 400
        event = "2026-01-31T09:30:00Z  conversation.created  evt_1  signature valid"
        assert listening.lines[1:] == [
            event,
            f"{event}, received before",
            "refused: The signature does not match the body: check the secret, and pass the raw body",
            f"refused: The request has no signature: a delivery has the header {HEADER}",
            "refused: the body is not an event of the API",
        ]
        hostile = json.dumps(json.loads(VECTOR.text) | {"id": "evt\x1b[2J\r\nforged"}).encode()
        assert listening.post(hostile, {HEADER: sign(hostile, VECTOR.secret)}) == 200
        assert listening.lines[-1].endswith("evt�[2J��forged  signature valid")


def test_old_events_are_refused_and_not_sent_again(listen, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(f"{VECTOR.secret}\n", encoding="utf-8")
    forward = ("--forward", "http://127.0.0.1:1/")
    with listen("--secret-file", secret, *forward) as listening:
        assert listening.post(VECTOR.body, {HEADER: VECTOR.signature}) == 502
        assert "could not be forwarded" in listening.lines[-1]
    with listen("--secret-file", secret, "--tolerance", 60) as listening:
        assert listening.post(VECTOR.body, {HEADER: VECTOR.signature}) == 200
        assert listening.lines[-1].startswith("refused: The event evt_1 is dated 2026-01-31T09:30:00+00:00")


def test_deliveries_are_forwarded_byte_for_byte_with_the_answer(listen):
    with receiving(None) as target:
        forward = f"http://127.0.0.1:{target.port}/hooks?x=1"
        with listen("--forward", forward, PROMPTLIFT_WEBHOOK_SECRET=VECTORS[1].secret) as listening:
            headers = {HEADER: VECTORS[1].signature}
            assert listening.post(VECTORS[1].body, headers) == 204
            target.answer = lambda _request, _connection: 503
            assert listening.post(VECTORS[1].body, headers) == 503
            assert listening.post(b"forged", headers) == 401
            assert listening.lines[2].endswith("received before, forwarded: 503")
        assert [(one.path, one.body) for one in target.received] == [("/hooks?x=1", VECTORS[1].body)] * 2
        assert target.received[0].headers["x-service-signature"] == VECTORS[1].signature


def test_it_receives_from_the_service_over_tls(listen, start_service, tmp_path):
    certificate = make_certificate(tmp_path)
    running = start_service(env=certificate.trusted)
    wire = Wire(running.base_url, running.key)
    port = free_port()
    body = {"url": f"https://127.0.0.1:{port}/", "events": ["conversation.created"]}
    webhook = wire.ask("POST", "/webhooks", body).body
    options = ("--port", port, "--certificate", certificate.file)
    with listen(*options, PROMPTLIFT_WEBHOOK_SECRET=webhook["secret"]) as listening:
        assert listening.address.geturl() == body["url"]
        assert wire.ask("POST", f"/webhooks/{webhook['id']}/test").body["success"] is True
        context = ssl.create_default_context(cafile=certificate.file)
        assert listening.post(VECTOR.body, {HEADER: VECTOR.signature}, tls=context) == 401


def test_what_cannot_work_and_a_missing_secret_are_said_in_one_line(monkeypatch):
    monkeypatch.setattr("promptlift.cli.listening.EventServer.run", None)
    for secret in ("", " \t"):
        monkeypatch.setenv("PROMPTLIFT_WEBHOOK_SECRET", secret)
        code, said = invoke("listen")
        assert (code, "secret is empty" in said, "--secret-file" in said) == (1, True, True)
    monkeypatch.setenv("PROMPTLIFT_WEBHOOK_SECRET", VECTOR.secret)
    for option, value, message in (
        ("--forward", "ftp://x/", "--forward must be an http:// or https:// address"),
        ("--secret-file", os.devnull, "secret is empty"),
        ("--secret-file", sys.executable, "is not UTF-8 text"),
    ):
        code, said = invoke("listen", option, value)
        assert (code, message in said, said.count("\n")) == (1, True, 1)


def test_a_failing_webhook_is_listed_and_resumed(start_service, tmp_path, monkeypatch):
    certificate = make_certificate(tmp_path)
    running = start_service(env=certificate.trusted)
    wire = Wire(running.base_url, running.key)
    monkeypatch.setenv("PROMPTLIFT_BASE_URL", running.base_url)
    monkeypatch.setenv("PROMPTLIFT_API_KEY", running.key)
    assert invoke("webhooks", "list") == (0, "There are no webhooks.\n")
    with receiving(certificate) as receiver:
        body = {"url": receiver.url, "events": ["conversation.created", "prompt.deleted"]}
        webhook = wire.ask("POST", "/webhooks", body).body["id"]
        database = Database(f"sqlite:///{running.data / 'promptlift.db'}")
        with database.write() as connection:
            connection.exec_driver_sql("UPDATE webhooks SET status = 'failing'")
        database.close()
        conversation = wire.log(wire.add_prompt())
        assert (
            invoke("webhooks", "list")[1]
            == f"{webhook}  failing  {receiver.url}  conversation.created, prompt.deleted\n"
        )
        assert receiver.received == []
        said = f"The webhook {webhook} is active: waiting events are delivered now.\n"
        assert invoke("webhooks", "resume", webhook) == (0, said)
        assert receiver.wait_for(1)[0].event["data"]["conversationId"] == conversation
    code, said = invoke("webhooks", "resume", "whk_none")
    assert (code, "Webhook not found" in said) == (1, True)
