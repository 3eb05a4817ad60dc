"""The wire, byte by byte: what an endpoint may send, and what becomes of the connection."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest

from promptlift.service.llm import endpoint as endpoint_module
from promptlift.service.llm.calls import RetryPolicy
from promptlift.service.llm.client import ChatClient
from promptlift.service.llm.failures import LlmUnavailable
from service.llm.test_client import ASK
from support.raw_endpoint import RawEndpoint, left, read_request, whole_answer, whole_body

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ONCE = RetryPolicy(attempts=1)
BODY = whole_body()


@pytest.fixture
def serve() -> Iterator[Callable[..., tuple[RawEndpoint, ChatClient]]]:
    opened: list[Any] = []

    def start(
        handler: Any, *, policy: RetryPolicy = ONCE, timeout: float = 10
    ) -> tuple[RawEndpoint, ChatClient]:
        endpoint = RawEndpoint(handler)
        client = ChatClient(endpoint.settings, policy=policy, timeout=timeout)
        opened.extend((client, endpoint))
        return endpoint, client

    yield start
    for one in opened:
        one.close()


def sends(*pieces: bytes, close: bool = False) -> Callable[[socket.socket, int], None]:
    """Answer every request with these pieces, each in a packet of its own."""

    def handler(line: socket.socket, _: int) -> None:
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while read_request(line):
            for piece in pieces:
                line.sendall(piece)
            if close:
                return

    return handler


def text_of(client: ChatClient) -> str:
    return client.chat(ASK, purpose="agent").text


def head(*lines: str, status: str = "200 OK", version: str = "1.1") -> bytes:
    return "\r\n".join((f"HTTP/{version} {status}", *lines, "", "")).encode()


def chunked(body: bytes, *, trailer: bytes = b"") -> list[bytes]:
    parts = [body[:1], body[1:20], body[20:]]
    return [*(b"%x;x=y\r\n%s\r\n" % (len(part), part) for part in parts), b"0\r\n" + trailer + b"\r\n"]


LENGTH = f"Content-Length: {len(BODY)}"
GOOD: dict[str, tuple[bytes, ...]] = {
    "byte by byte": tuple(bytes([byte]) for byte in head(LENGTH) + BODY),
    "chunked with a trailer": (head("Transfer-Encoding: chunked"), *chunked(BODY, trailer=b"X-Sum: 1\r\n")),
    "after early hints": (head("Link: </a>", status="103 Early Hints") + head(LENGTH) + BODY,),
}


@pytest.mark.parametrize("pieces", GOOD.values(), ids=GOOD)
def test_a_right_answer_is_read_and_its_connection_kept(serve, pieces):
    endpoint, client = serve(sends(*pieces))
    assert [text_of(client) for _ in range(3)] == ["ok"] * 3
    assert endpoint.connections == 1


def test_an_idle_connection_that_the_endpoint_closed_costs_no_try(serve):
    closed = threading.Event()

    def handler(line: socket.socket, number: int) -> None:
        assert read_request(line)
        line.sendall(whole_answer())
        if number == 0:
            line.shutdown(socket.SHUT_RDWR)
            closed.set()
        else:
            left(line)

    endpoint, client = serve(handler)
    assert text_of(client) == "ok"
    assert closed.wait(10)
    assert text_of(client) == "ok"
    assert endpoint.connections == 2


def test_a_connection_that_was_idle_too_long_is_not_used(serve, monkeypatch):
    monkeypatch.setattr(endpoint_module, "IDLE_SECONDS", 0.0)
    endpoint, client = serve(sends(whole_answer()))
    assert [text_of(client) for _ in range(2)] == ["ok"] * 2
    assert endpoint.connections == 2


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
def test_a_wrong_answer_is_none_and_says_why(serve, answer, reason):
    _, client = serve(sends(answer, close=True))
    with pytest.raises(LlmUnavailable, match=reason):
        text_of(client)


def test_a_refusal_that_comes_before_the_request_is_read_is_seen(serve):
    """Servers answer 413 to a long request and close, without reading it."""

    def handler(line: socket.socket, _: int) -> None:
        line.recv(1)
        line.sendall(head("Content-Length: 0", "Connection: close", status="413 Too Large"))
        line.shutdown(socket.SHUT_WR)
        while line.recv(1 << 20):
            pass

    _, client = serve(handler)
    with pytest.raises(Exception, match="refused the request with 413"):
        client.chat([{"role": "user", "content": "x" * 8_000_000}], purpose="agent")


@pytest.mark.slow
def test_one_deadline_holds_for_the_whole_request(serve):
    """A byte now and then, in head or body, does not stretch it."""
    stop = threading.Event()

    def handler(line: socket.socket, _: int) -> None:
        assert read_request(line)
        for byte in head(LENGTH, f"X-Long: {'y' * 5_000}"):
            if stop.wait(0.02):
                return
            line.sendall(bytes([byte]))

    _, client = serve(handler, timeout=0.4)
    try:
        with pytest.raises(LlmUnavailable, match=r"did not answer within 0\.4 seconds"):
            text_of(client)
    finally:
        stop.set()


def test_what_is_sent_is_one_plain_request(serve):
    seen: list[bytes] = []

    def handler(line: socket.socket, _: int) -> None:
        while request := read_request(line):
            seen.append(request)
            line.sendall(whole_answer())

    endpoint, client = serve(handler)
    text_of(client)
    names, _, body = seen[0].partition(b"\r\n\r\n")
    lines = names.decode().split("\r\n")
    assert lines[0] == "POST /v1/chat/completions HTTP/1.1"
    assert dict(line.split(": ", 1) for line in lines[1:]) == {
        "Host": f"127.0.0.1:{endpoint.port}",
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Connection": "keep-alive",
        "User-Agent": "promptlift",
        "X-Promptlift-Purpose": "agent",
        "Authorization": f"Bearer {endpoint.settings.api_key}",
        "Content-Type": "application/json",
        "Content-Length": str(len(body)),
    }
