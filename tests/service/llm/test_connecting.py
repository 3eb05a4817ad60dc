"""The way to an endpoint: names, proxies, TLS."""

from __future__ import annotations

import base64
import shutil
import socket
import ssl
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from promptlift.service.llm.calls import RetryPolicy
from promptlift.service.llm.client import ChatClient
from promptlift.service.llm.failures import LlmUnavailable
from promptlift.service.llm.settings import LlmSettings
from service.llm.test_client import ASK
from support.raw_endpoint import RawEndpoint, read_request, whole_answer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ONCE = RetryPolicy(attempts=1)
needs_openssl = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="makes its certificate with openssl"
)


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def endpoint() -> Iterator[Any]:
    opened: list[RawEndpoint] = []

    def start(serve: Any, host: str = "127.0.0.1") -> RawEndpoint:
        opened.append(RawEndpoint(serve, host))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    key, found = folder / "key.pem", folder / "cert.pem"
    command = "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=models.test"
    command += f" -addext subjectAltName=DNS:models.test,IP:127.0.0.1 -keyout {key} -out {found}"
    subprocess.run(command.split(), check=True, capture_output=True)
    return key, found


def secured(line: socket.socket, certificate: tuple[Path, Path]) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate[1], certificate[0])
    return context.wrap_socket(line, server_side=True)


def ask(address: str, **settings: Any) -> str:
    with ChatClient(LlmSettings(address, "m", "sk-secret", **settings), policy=ONCE, timeout=10) as client:
        return client.chat(ASK, purpose="agent").text


def answering(line: socket.socket, _: int) -> None:
    while read_request(line):
        line.sendall(whole_answer())


def resolving_to_this_machine(_: Any, port: int, **__: Any) -> list[Any]:
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]


def test_a_plain_request_goes_through_the_proxy_as_it_stands(endpoint, monkeypatch):
    seen: list[bytes] = []

    def serve(line: socket.socket, _: int) -> None:
        while request := read_request(line):
            seen.append(request)
            line.sendall(whole_answer())

    port = endpoint(serve).port
    monkeypatch.setenv("http_proxy", f"http://me:p%40ss@127.0.0.1:{port}")
    assert ask("http://models.test:8080/v 1") == "ok"
    lines = seen[0].split(b"\r\n")
    assert lines[0] == b"POST http://models.test:8080/v%201/chat/completions HTTP/1.1"
    assert b"Host: models.test:8080" in lines
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"me:p@ss") in lines


def test_this_machine_and_what_no_proxy_names_are_reached_without_the_proxy(endpoint, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert ask(f"http://127.0.0.1:{endpoint(answering).port}/v1") == "ok"
    monkeypatch.setenv("no_proxy", "models.test")
    monkeypatch.setattr(socket, "getaddrinfo", resolving_to_this_machine)
    assert ask(f"http://models.test:{endpoint(answering).port}/v1") == "ok"


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:9", "http://127.0.0.1:99999"])
def test_a_proxy_that_cannot_be_used_is_named(monkeypatch, proxy):
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(LlmUnavailable, match="the proxy set in the environment"):
        ask("http://models.test/v1")


@needs_openssl
def test_tls_is_checked_and_the_connection_kept(endpoint, monkeypatch, certificate):
    def serve(line: socket.socket, _: int) -> None:
        with secured(line, certificate) as secure:
            while read_request(secure):
                secure.sendall(whole_answer())

    server = endpoint(serve)
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
    settings = LlmSettings(f"https://127.0.0.1:{server.port}/v1", "m", "sk-secret")
    with ChatClient(settings, policy=ONCE) as client:
        assert [client.chat(ASK, purpose="agent").text for _ in range(3)] == ["ok"] * 3
    assert server.connections == 1


@needs_openssl
def test_a_certificate_that_nobody_vouches_for_is_refused(endpoint, certificate):
    def serve(line: socket.socket, _: int) -> None:
        with secured(line, certificate):
            pass

    with pytest.raises(LlmUnavailable, match="its certificate is not trusted") as error:
        ask(f"https://127.0.0.1:{endpoint(serve).port}/v1")
    assert "sk-secret" not in str(error.value)


@needs_openssl
def test_a_secure_request_goes_through_a_tunnel(endpoint, monkeypatch, certificate):
    seen: list[bytes] = []

    def serve(line: socket.socket, _: int) -> None:
        seen.append(read_request(line))
        line.sendall(b"HTTP/1.1 200 Connection established\r\nVia: test\r\n\r\n")
        with secured(line, certificate) as secure:
            while request := read_request(secure):
                seen.append(request)
                secure.sendall(whole_answer())

    monkeypatch.setenv("https_proxy", f"http://me:secret@127.0.0.1:{endpoint(serve).port}")
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate[1]))
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
def test_a_tunnel_that_is_refused_says_so(endpoint, monkeypatch, answer, reason):
    def serve(line: socket.socket, _: int) -> None:
        read_request(line)
        line.sendall(answer)

    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{endpoint(serve).port}")
    with pytest.raises(LlmUnavailable, match=reason):
        ask("https://models.test/v1")
