"""The endpoint's list of models: read in the background by one thread at a time, remembered, failures too."""

from __future__ import annotations

import asyncio
import threading

import pytest

from promptlift.service.llm.failures import LlmBadAnswer, LlmError, LlmRefused
from promptlift.service.llm.served import GRACE_SECONDS, REMEMBERED_SECONDS, ServedModels
from support.raw_endpoint import RawEndpoint, read_request
from support.stub_endpoint import Say


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Endpoint:
    """Lists what it is told to; a list can be held back."""

    def __init__(self, *names: str) -> None:
        self.names: tuple[str, ...] = names
        self.problem: Exception | None = None
        self.open = threading.Event()
        self.open.set()
        self.asked = 0

    def __call__(self) -> tuple[str, ...]:
        self.asked += 1
        assert self.open.wait(30)
        if self.problem is not None:
            raise self.problem
        return self.names


def find(served, name):
    return asyncio.run(served.find(name))


def test_a_known_name_is_answered_without_a_look_however_old_the_list_is():
    clock, endpoint = Clock(), Endpoint("a")
    served = ServedModels(endpoint, clock=clock)
    assert find(served, "a").doubt is None  # the first request waits a moment for the list
    clock.now += 1_000_000
    assert find(served, "a").names == {"a"}
    assert endpoint.asked == 1


def test_a_name_that_is_not_on_the_list_is_looked_for_again_when_the_list_is_older_than_a_moment():
    clock, endpoint = Clock(), Endpoint("a")
    served = ServedModels(endpoint, clock=clock)
    assert find(served, "b").names == {"a"}
    endpoint.names = ("a", "b")
    assert find(served, "b").names == {"a"}
    clock.now += REMEMBERED_SECONDS
    assert find(served, "b").names == {"a", "b"}
    assert endpoint.asked == 2


def test_a_failure_is_remembered_and_the_last_list_stays_valid(caplog):
    clock, endpoint = Clock(), Endpoint("a")
    served = ServedModels(endpoint, clock=clock)
    find(served, "a")
    clock.now += REMEMBERED_SECONDS
    endpoint.problem = ConnectionError("nobody there")
    for _ in range(5):
        known = find(served, "b")
        assert (known.names, known.doubt) == ({"a"}, "nobody there")
    assert endpoint.asked == 2
    assert caplog.text.count("does not list its models: nobody there") == 1
    clock.now += REMEMBERED_SECONDS
    endpoint.problem = None
    assert find(served, "b").doubt is None


@pytest.mark.slow
def test_many_who_ask_at_once_share_one_look_and_are_answered_before_it_ends():
    endpoint = Endpoint("a")
    endpoint.open.clear()
    served = ServedModels(endpoint)

    async def all_of_them():
        return await asyncio.wait_for(
            asyncio.gather(*(served.find(f"unknown {number}") for number in range(200))), GRACE_SECONDS + 10
        )

    found = asyncio.run(all_of_them())
    assert {one.doubt for one in found} == {"it has not answered yet"}
    assert endpoint.asked == 1
    reading = served.refresh()
    endpoint.open.set()
    reading.result(30)
    assert served.known().names == {"a"}


def drip(line, _number):
    read_request(line)
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    stopped = threading.Event()
    while not stopped.wait(0.05):
        line.sendall(b" ")


@pytest.mark.slow
def test_the_list_is_asked_for_once_and_within_its_time(monkeypatch):
    from promptlift.service.llm import client as module

    monkeypatch.setattr(module, "MODELS_SECONDS", 0.3)
    endpoint = RawEndpoint(drip)
    client = module.ChatClient(endpoint.settings)
    try:
        with pytest.raises(LlmError, match=r"asked once: it did not answer within 0\.3 seconds"):
            client.models()
        assert endpoint.connections == 1
    finally:
        client.close()
        endpoint.close()


def test_names_that_prompts_could_have_are_listed_and_an_overloaded_endpoint_is_asked_once(talk):
    entries = [{"id": name} for name in ("good", "", "x" * 201, "a\ud800b", "a\nb")]
    stub, client = talk([Say({"data": [*entries, {"name": "c"}, 4]}), Say({}, status=503)])
    assert client.models() == ["good"]
    assert (stub.asked[0].method, stub.asked[0].path) == ("GET", "/v1/models")
    with pytest.raises(LlmError, match="asked once"):
        client.models()
    assert len(stub.asked) == 2
    for say, error in ((Say({"models": []}), LlmBadAnswer), (Say({}, status=404), LlmRefused)):
        with pytest.raises(error):
            talk([say])[1].models()
