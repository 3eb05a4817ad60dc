"""An endpoint on which 15% of the calls fail in any way does not fail a conversation."""

from __future__ import annotations

import asyncio
import random
import socket
import struct
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from promptlift.service.llm.calls import OPTIMIZATION_POLICY, Calls
from promptlift.service.llm.client import ChatClient
from service.llm.test_client import ASK, Fruit
from support.raw_endpoint import RawEndpoint, left, read_request, whole_answer, whole_body

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

CALLS = 600
SHARE = 0.15
RIGHT = '{"name": "apple", "count": 2}'


def reset(line: socket.socket) -> None:
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    raise ConnectionResetError


def hang(line: socket.socket) -> None:
    left(line)
    raise ConnectionResetError


def cut_short(line: socket.socket) -> None:
    line.sendall(whole_answer(RIGHT)[:-20])
    raise ConnectionResetError


def sends(answer: bytes) -> Callable[[socket.socket], None]:
    return lambda line: line.sendall(answer)


def body(raw: bytes, type_: str = "application/json") -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {type_}\r\nContent-Length: {len(raw)}\r\n\r\n"
    return head.encode() + raw


# Every way, and whether a plain text answer of that kind can be told from a good one.
WAYS: dict[str, Callable[[socket.socket], None]] = {
    "connection reset": reset,
    "connection cut within the answer": cut_short,
    "hang": hang,
    "500": sends(b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"),
    "502 page": sends(
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>"
    ),
    "429": sends(b"HTTP/1.1 429 Slow down\r\nRetry-After: 0.05\r\nContent-Length: 2\r\n\r\n{}"),
    "empty body": sends(body(b"")),
    "truncated JSON": sends(body(whole_body(RIGHT)[:40])),
    "garbage": sends(body(b"\x00\xff\x1b nothing")),
    "wrong content type": sends(body(b"<html><body>Please log in</body></html>", "text/html")),
    "no choices": sends(body(b'{"choices": []}')),
    "error with status 200": sends(body(b'{"error": {"message": "overloaded"}}')),
    "empty text": sends(whole_answer("")),
    "not HTTP": sends(b"SSH-2.0-OpenSSH_9.2\r\n"),
    "misfit": sends(whole_answer('{"name": "apple"}')),
    "prose": sends(whole_answer("Sure! Here is your answer.")),
}
# What a plain text answer cannot be told from.
ONLY_STRUCTURED = {"misfit", "prose"}


class Flaky:
    """Fails a share of the requests, chosen by a seed, in any way."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self.requests = 0
        self.failed: Counter[str] = Counter()

    def __call__(self, line: socket.socket, _: int) -> None:
        while request := read_request(line):
            structured = b"response_format" in request
            with self._lock:
                self.requests += 1
                way = self._random.choice([*WAYS]) if self._random.random() < SHARE else None
                if way in ONLY_STRUCTURED and not structured:
                    way = None
                if way is not None:
                    self.failed[way] += 1
            if way is None:
                line.sendall(whole_answer(RIGHT))
            else:
                WAYS[way](line)


def ask(flaky: Flaky, count: int) -> tuple[int, Calls]:
    """Give how many of the calls finally failed; half of them ask for a structured answer."""
    endpoint = RawEndpoint(flaky)
    with ChatClient(endpoint.settings, timeout=0.5) as client:
        # The real policy, with pauses a tenth as long.
        policy = replace(OPTIMIZATION_POLICY, first=OPTIMIZATION_POLICY.first / 10)
        calls = Calls(client, asyncio.Semaphore(16), policy=policy)

        def one(number: int) -> bool:
            wanted: dict[str, Any] = {"purpose": "agent"}
            if number % 2:
                wanted = {"purpose": "judge", "schema": Fruit}
            try:
                answer = calls.chat(ASK, **wanted)
            except Exception:  # noqa: BLE001 - whatever it is, it is counted
                return True
            assert answer.text == RIGHT
            return False

        with ThreadPoolExecutor(16) as pool:
            failed = sum(pool.map(one, range(count)))
    endpoint.close()
    return failed, calls


def test_no_call_finally_fails_when_15_percent_fail_in_any_way():
    flaky = Flaky(7)
    failed, calls = ask(flaky, CALLS)
    assert set(flaky.failed) == set(WAYS)  # every way was met
    assert flaky.failed.total() > 0.1 * CALLS
    assert calls.calls >= flaky.requests
    assert failed == 0
