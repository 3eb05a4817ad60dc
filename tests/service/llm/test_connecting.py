"""The way to an endpoint and what comes back on it: names, proxies, TLS, and the wire byte by byte."""

from __future__ import annotations

import socket
import ssl
import threading
from typing import Any

import pytest

from promptlift.service.llm.calls import RetryPolicy
from promptlift.service.llm.client import ChatClient
from promptlift.service.llm.port import LlmUnavailable
from promptlift.service.llm.settings import LlmSettings
from service.llm.test_client import ASK
from support.raw_endpoint import read_request, whole_answer, whole_body
from support.tls_receiver import Certificate, make_certificate

ONCE = RetryPolicy(attempts=1)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> Certificate:
    return make_certificate(tmp_path_factory.mktemp("tls"), hosts="DNS:models.test,IP:127.0.0.1")


def secured(line: socket.socket, certificate: Certificate) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate.file)
    return context.wrap_socket(line, server_side=True)


def ask(address: str, **settings: Any) -> str:
    with ChatClient(LlmSettings(address, "m", "sk-secret", **settings), policy=ONCE, timeout=10) as client:
        return client.chat(ASK, purpose="agent").text


def answering(line: socket.socket, _: int) -> None:
    while read_request(line):
        line.sendall(whole_answer())


def resolving_to_this_machine(_: Any, port: int, **__: Any) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


def test_this_machine_and_what_no_proxy_names_are_reached_without_the_proxy(raw, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert ask(f"http://127.0.0.1:{raw(answering)[0].port}/v1") == "ok"
    monkeypatch.setenv("no_proxy", "models.test")
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to_this_machine)
    assert ask(f"http://models.test:{raw(answering)[0].port}/v1") == "ok"


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://127.0.0.1:99999"])
def test_a_proxy_that_cannot_be_used_is_named(monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(LlmUnavailable, match="the proxy set in the environment"):
        ask("http://models.test/v1")


def test_tls_is_checked_and_the_connection_kept(raw, monkeypatch, certificate):
    def serve(line: socket.socket, _: int) -> None:
        with secured(line, certificate) as secure:
            while read_request(secure):
                secure.sendall(whole_answer())

    server, _ = raw(serve)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    settings = LlmSettings(f"https://127.0.0.1:{server.port}/v1", "m", "sk-secret")
    with ChatClient(settings, policy=ONCE) as client:
        assert [client.chat(ASK, purpose="agent").text for _ in range(3)] == ["ok"] * 3
    assert server.connections == 1


def test_a_certificate_that_nobody_vouches_for_is_refused(raw, certificate):
    def serve(line: socket.socket, _: int) -> None:
        with secured(line, certificate):
            pass

    with pytest.raises(LlmUnavailable, match="its certificate is not trusted") as error:
        ask(f"https://127.0.0.1:{raw(serve)[0].port}/v1")
    assert "sk-secret" not in str(error.value)


def test_a_secure_request_goes_through_a_tunnel(raw, monkeypatch, certificate):
    seen: list[bytes] = []

    def serve(line: socket.socket, _: int) -> None:
        seen.append(read_request(line))
        line.sendall(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
        with secured(line, certificate) as secure:
            while request := read_request(secure):
                seen.append(request)
                secure.sendall(whole_answer())

    monkeypatch.setenv("https_proxy", f"http://me:secret@127.0.0.1:{raw(serve)[0].port}")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.file))
    assert ask("https://models.test/v1") == "ok"
    assert seen[0].startswith(b"CONNECT models.test:443 HTTP/1.1\r\n")
    assert b"Proxy-Authorization: Basic " in seen[0]
    assert b"sk-secret" not in seen[0]
    assert seen[1].startswith(b"POST /v1/chat/completions HTTP/1.1\r\nHost: models.test\r\n")
    assert b"Proxy-Authorization" not in seen[1]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "the proxy refused the connection with 407"),
        (b"", "closed the connection without an answer, through the proxy"),
    ],
)
def test_a_tunnel_that_is_refused_says_so(raw, monkeypatch, answer, reason):
    def serve(line: socket.socket, _: int) -> None:
        read_request(line)
        line.sendall(answer)

    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{raw(serve)[0].port}")
    with pytest.raises(LlmUnavailable, match=reason):
        ask("https://models.test/v1")


def head(*lines: str, status: str = "200 OK", version: str = "1.1") -> bytes:
    return "\r\n".join((f"HTTP/{version} {status}", *lines, "", "")).encode()


BODY = whole_body()
LENGTH = f"Content-Length: {len(BODY)}"
BAD: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "closed the connection without an answer"),
    "half a body": (head(LENGTH) + BODY[:9], "closed the connection within its answer"),
    "two lengths": (head("Content-Length: 5", "Content-Length: 9") + b"hello", "not HTTP"),
    "endless chunks": (
        head("Transfer-Encoding: chunked") + (b"10000\r\n" + b" " * 65_536 + b"\r\n") * 70,
        "larger than 4 MB",
    ),
}


@pytest.mark.parametrize(("answer", "reason"), BAD.values(), ids=BAD)
def test_a_wrong_answer_is_none_and_says_why(raw, answer, reason):
    def handler(line: socket.socket, _: int) -> None:
        assert read_request(line)
        line.sendall(answer)

    _, client = raw(handler)
    with pytest.raises(LlmUnavailable, match=reason):
        client.chat(ASK, purpose="agent")


@pytest.mark.slow
def test_one_deadline_holds_for_the_whole_request(raw):
    """A byte now and then, in head or body, does not stretch it."""
    stop = threading.Event()

    def handler(line: socket.socket, _: int) -> None:
        assert read_request(line)
        for byte in head(LENGTH, f"X-Long: {'y' * 5_000}"):
            if stop.wait(0.02):
                return
            line.sendall(bytes([byte]))

    _, client = raw(handler, timeout=0.4)
    try:
        with pytest.raises(LlmUnavailable, match=r"did not answer within 0\.4 seconds"):
            client.chat(ASK, purpose="agent")
    finally:
        stop.set()
