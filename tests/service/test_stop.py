"""A service that is stopped while requests are under way: each is answered as the API answers, or its connection ends."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from support.plain_client import PlainClient
from support.service_process import wait_until
from support.tls_receiver import make_certificate, receiving
from support.website import a_website

pytestmark = pytest.mark.slow


@pytest.fixture
def hanging(tmp_path):
    """A receiver that answers nothing."""
    certificate = make_certificate(tmp_path)
    with receiving(certificate) as receiver:
        receiver.answer = receiver.hang
        yield receiver, certificate.trusted


@pytest.fixture
def silent_website():
    """A website that takes a request and answers nothing."""
    with a_website({}) as website:
        website.pages["/robots.txt"] = website.hang
        yield website


def begin_upload(service):
    """Send the beginning of a request, and of its body."""
    address = urlsplit(service.base_url)
    connection = socket.create_connection((address.hostname, address.port), timeout=30)
    connection.sendall(
        f"POST {address.path}/conversations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {service.key}\r\n"
        'Content-Type: application/json\r\nContent-Length: 500\r\n\r\n{"promptId": '.encode()
    )
    return connection


def test_requests_that_are_under_way_at_the_stop_are_answered_as_the_api_answers(
    start_service, hanging, silent_website
):
    receiver, env = hanging
    service = start_service(env={**env, "PROMPTLIFT_SECRET_KEY": "s" * 40})
    client = PlainClient(service)
    webhook = client.send_until_answered(
        "POST", "/webhooks", {"url": receiver.url, "events": ["prompt.updated"]}
    )
    before = client.send("GET", "/settings")
    with ThreadPoolExecutor(2) as threads, begin_upload(service) as upload:
        website = threads.submit(client.send, "POST", "/settings/sync-context", {"url": silent_website.url})
        tested = threads.submit(client.send, "POST", f"/webhooks/{webhook['id']}/test")
        wait_until(lambda: silent_website.asked and receiver.received, what="both requests are under way")
        assert service.stop() == 0
        status, answer = website.result()
        assert (status, answer["error"]["code"]) == (503, "SERVICE_UNAVAILABLE")
        assert "send it again" in answer["error"]["message"]
        # Its attempt may have had its time.
        status, answer = tested.result()
        assert status == 503 or (status, answer["success"]) == (200, False)
        head, _, body = upload.recv(65536).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 503 ")
        assert b"content-type: application/json" in head
        assert json.loads(body)["error"]["code"] == "SERVICE_UNAVAILABLE"
    assert "Traceback" not in service.log.read_text()
    service.start()
    assert client.send("GET", "/settings") == before
