"""A service that is stopped while requests are under way: each is answered as the API answers, or its connection ends."""

from __future__ import annotations

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest

from support.answering_model import AnsweringModel, serving
from support.plain_client import PlainClient
from support.service_process import wait_until
from support.stub_endpoint import Say
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


@pytest.fixture(params=["website", "model"])
def silent(request):
    """A website that answers nothing, or a model that does not when it is asked what a website says.

    Gives the URL of the website, the environment of the service, and whether the silent one was asked.
    """
    with ExitStack() as ends:
        website = ends.enter_context(a_website())
        if request.param == "website":
            website.pages["/robots.txt"] = website.hang
            yield website.url, {}, lambda: bool(website.asked)
        else:
            ending = threading.Event()
            model = AnsweringModel(fault=lambda _asked: Say({}, hang=ending))
            env = ends.enter_context(serving(model))
            ends.callback(ending.set)
            yield website.url, env, lambda: model.asked["context"] > 0


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
    start_service, hanging, silent
):
    receiver, env = hanging
    url, model, is_asked = silent
    service = start_service(env={**env, **model, "PROMPTLIFT_SECRET_KEY": "s" * 40})
    client = PlainClient(service)
    webhook = client.send_until_answered(
        "POST", "/webhooks", {"url": receiver.url, "events": ["prompt.updated"]}
    )
    before = client.send("GET", "/settings")
    with ThreadPoolExecutor(2) as threads, begin_upload(service) as upload:
        website = threads.submit(client.send, "POST", "/settings/sync-context", {"url": url})
        tested = threads.submit(client.send, "POST", f"/webhooks/{webhook['id']}/test")
        wait_until(lambda: is_asked() and receiver.received, what="both requests are under way")
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
