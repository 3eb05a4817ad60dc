"""What goes over the wire of one connection: headers, proxies, TLS, packed bodies, connections that were closed."""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from base64 import b64encode

import pytest

from promptlift.client import Client, configure
from promptlift.errors import ConnectionFailed
from support.foreign_service import KEY, ForeignService
from support.service_process import wait_until
from support.tls_receiver import make_certificate

ELSEWHERE = "service.example"


@pytest.fixture
def service():
    with ForeignService() as running:
        running.fill(3)
        yield running


@pytest.fixture
def heads(service):
    """The requests that came: method, target and headers; they are answered as usual."""
    came = []

    def note(method, path, _count):
        def answer(handler):
            came.append((handler.command, handler.path, {k.lower(): v for k, v in handler.headers.items()}))
            service.send(handler, *service.answer(method, path, {}, None))

        return answer

    service.fault = note
    return came


def open_client(base_url):
    return Client(configure(base_url, KEY))


def test_a_request_has_the_headers_it_needs_and_no_others(service, heads):
    with open_client(service.base_url) as client:
        client.conversations.list(limit=2)
    ((method, target, headers),) = heads
    assert (method, target) == ("GET", "/api/v1/conversations?limit=2")
    assert headers["host"] == service.base_url.split("/")[2]
    assert headers["authorization"] == f"Bearer {KEY}"
    assert set(headers) == {"host", "authorization", "accept", "accept-encoding", "user-agent"}


def test_a_proxy_of_the_environment_carries_plain_requests_with_its_own_key(service, heads, monkeypatch):
    port = service.base_url.split(":")[2].split("/")[0]
    monkeypatch.setenv("http_proxy", f"http://reader:secret@127.0.0.1:{port}")
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.warns(UserWarning, match="unencrypted"):
        client = open_client(f"http://{ELSEWHERE}")
    with client:
        with contextlib.suppress(Exception):  # the stand-in does not know the whole address as a path
            client.conversations.list()
        ((_, target, headers),) = heads
        assert target == f"http://{ELSEWHERE}/api/v1/conversations"
        assert headers["proxy-authorization"] == f"Basic {b64encode(b'reader:secret').decode()}"
        assert (headers["host"], headers["authorization"]) == (ELSEWHERE, f"Bearer {KEY}")


@pytest.fixture
def encrypted(service, tmp_path, monkeypatch):
    """The service over TLS, trusted; gives its port."""
    certificate = make_certificate(tmp_path, hosts=f"DNS:{ELSEWHERE},IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file)
    service.server.tls = context
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    return service.server.port


@pytest.mark.slow
def test_a_certificate_that_nobody_trusts_is_told(service, encrypted, monkeypatch):
    monkeypatch.delenv("SSL_CERT_FILE")
    with (
        open_client(f"https://127.0.0.1:{encrypted}") as client,
        pytest.raises(ConnectionFailed, match="certificate"),
    ):
        client.account.get()


def test_a_connection_that_the_service_closed_is_not_used_again(service):
    """What may be sent only once must not go to a socket that is closed already."""
    with open_client(service.base_url) as client:
        client.account.get()
        (accepted,) = service.server.accepted
        connection = client.transport.acquire()
        client.transport.release(connection)
        accepted.shutdown(socket.SHUT_RDWR)
        wait_until(
            lambda: select.select([connection._socket], [], [], 0)[0], what="the end of the connection"
        )
        assert client.conversations.create(prompt_id="p1", content="User: hi").id
    assert len(service.server.accepted) == 2
