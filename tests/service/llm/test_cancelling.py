"""What ends a request before its time: a cancelled job, a closed client, an endpoint that is gone; and at once."""

from __future__ import annotations

import asyncio
import socket
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

import pytest

from promptlift.errors import PromptliftError
from promptlift.service.llm.calls import Calls
from promptlift.service.llm.client import ChatClient
from promptlift.service.llm.port import Cancelled, LlmError, LlmUnavailable
from promptlift.service.llm.settings import LlmSettings
from support.raw_endpoint import left, read_request, whole_answer
from support.service_process import wait_until

# Shorter than what a call waits for by itself, a connection's ten seconds; the machine may stand still for a few of them.
LIMIT = 8.0


class Hanging:
    """Answers every request but those that say "hang", and tells when the client of such a one is gone."""

    def __init__(self) -> None:
        self.hung = threading.Semaphore(0)
        self.gone = threading.Semaphore(0)
        self.release = threading.Event()

    def __call__(self, line: socket.socket, _: int) -> None:
        while request := read_request(line):
            if b"hang" in request:
                self.hung.release()
                if left(line):
                    self.gone.release()
                return
            if b"slow" in request:
                self.hung.release()
                assert self.release.wait(20)
            line.sendall(whole_answer())


def say(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_cancel_ends_requests_under_way_and_the_endpoint_sees_it(raw):
    hanging = Hanging()
    _, client = raw(hanging)
    budget = asyncio.Semaphore(8)
    one, two = Calls(client, budget), Calls(client, budget)
    with ThreadPoolExecutor(8) as pool:
        ended = [pool.submit(one.chat, say("hang"), purpose="agent") for _ in range(3)]
        kept = [pool.submit(two.chat, say("slow"), purpose="agent") for _ in range(3)]
        for _ in range(6):
            assert hanging.hung.acquire(timeout=10)
        one.cancel()
        assert not wait(ended, LIMIT).not_done
        assert all(isinstance(call.exception(), Cancelled) for call in ended)
        for _ in range(3):
            assert hanging.gone.acquire(timeout=10)
        assert not any(call.done() for call in kept)
        hanging.release.set()
        assert [call.result(10).text for call in kept] == ["ok"] * 3
    assert isinstance(ended[0].exception(), PromptliftError)
    assert not isinstance(ended[0].exception(), LlmError)
    assert (one.calls, two.calls) == (3, 3)
    with pytest.raises(Cancelled):  # nor is a later one made
        one.chat(say("a"), purpose="agent")
    assert "3 calls, 0 tokens, cancelled" in repr(one)


def test_calls_that_wait_for_the_budget_end(raw):
    hanging = Hanging()
    _, client = raw(hanging)
    budget = asyncio.Semaphore(1)
    holder, waiter = Calls(client, budget), Calls(client, budget)
    with ThreadPoolExecutor(4) as pool:
        held = pool.submit(holder.chat, say("slow"), purpose="agent")
        assert hanging.hung.acquire(timeout=10)
        line = [pool.submit(waiter.chat, say("a"), purpose="agent") for _ in range(2)]
        wait_until(budget.locked, what="a call waits for its place")
        waiter.cancel()
        assert not wait(line, LIMIT).not_done
        assert all(isinstance(call.exception(), Cancelled) for call in line)
        assert waiter.calls == 0
        hanging.release.set()
        assert held.result(10).text == "ok"
    assert holder.chat(say("b"), purpose="agent").text == "ok"


def test_a_name_server_that_hangs_is_not_waited_for(monkeypatch):
    asked, release, threads = threading.Event(), threading.Event(), []

    def hang(*_: Any, **__: Any) -> Any:
        threads.append(threading.current_thread())
        asked.set()
        assert release.wait(20)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", hang)
    with ChatClient(LlmSettings("http://models.test/v1", "m")) as client, ThreadPoolExecutor(1) as pool:
        calls = Calls(client, asyncio.Semaphore(1))
        waiting = pool.submit(calls.chat, say("a"), purpose="agent")
        wait_until(asked.is_set, what="it connects")
        calls.cancel()
        assert isinstance(waiting.exception(LIMIT), Cancelled)
    assert threads[0].daemon  # nor does the end of the process wait for it
    release.set()
    threads[0].join(10)


def test_nothing_is_left_running_when_the_client_is_closed(raw):
    hanging = Hanging()
    before = set(threading.enumerate())
    endpoint, client = raw(hanging)
    calls = Calls(client, asyncio.Semaphore(4))
    assert calls.chat(say("a"), purpose="agent").text == "ok"
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(calls.chat, say("hang"), purpose="agent") for _ in range(2)]
        for _ in waiting:
            assert hanging.hung.acquire(timeout=10)
        client.close()
        client.close()
        assert not wait(waiting, LIMIT).not_done
    assert all(isinstance(call.exception(), LlmUnavailable) for call in waiting)
    for _ in waiting:
        assert hanging.gone.acquire(timeout=10)
    with pytest.raises(LlmUnavailable, match="closed"):
        client.chat(say("a"), purpose="agent")
    endpoint.close()
    assert set(threading.enumerate()) <= before
