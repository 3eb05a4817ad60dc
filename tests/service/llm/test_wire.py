"""The wire, byte by byte: what an endpoint may send, and what becomes of the connection."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from promptlift.service.llm.calls import RetryPolicy
from promptlift.service.llm.client import ChatClient
from promptlift.service.llm.failures import LlmUnavailable
from service.llm.test_client import ASK
from support.raw_endpoint import RawEndpoint, read_request, whole_answer, whole_body

if TYPE_CHECKING:
    import socket
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


def text_of(client: ChatClient) -> str:
    return client.chat(ASK, purpose="agent").text


def head(*lines: str, status: str = "200 OK", version: str = "1.1") -> bytes:
    return "\r\n".join((f"HTTP/{version} {status}", *lines, "", "")).encode()


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
def test_a_wrong_answer_is_none_and_says_why(serve, answer, reason):
    def handler(line: socket.socket, _: int) -> None:
        assert read_request(line)
        line.sendall(answer)

    _, client = serve(handler)
    with pytest.raises(LlmUnavailable, match=reason):
        text_of(client)


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
