"""Which model names are valid: the catalogue, and the endpoint's list, read in the background by one thread at a time and remembered, failures too."""

from __future__ import annotations

import asyncio

import pytest

from promptlift.service.llm.port import LlmBadAnswer, LlmError, LlmRefused
from promptlift.service.llm.served import CATALOGUE, REMEMBERED_SECONDS, ServedModels, is_known, problem_of
from support.stub_endpoint import Say


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Endpoint:
    """Lists what it is told to."""

    def __init__(self, *names: str) -> None:
        self.names: tuple[str, ...] = names
        self.problem: Exception | None = None
        self.asked = 0

    def __call__(self) -> tuple[str, ...]:
        self.asked += 1
        if self.problem is not None:
            raise self.problem
        return self.names


def find(served, name):
    return asyncio.run(served.find(name))


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


def test_every_name_of_the_catalogue_of_the_endpoint_and_of_a_dated_snapshot_is_valid():
    assert not [name for name in CATALOGUE if problem_of(name) is not None]
    assert problem_of("our-model-7b") is not None
    assert problem_of("our-model-7b", ["our-model-7b"]) is None
    dated = "gpt-4o-2024-11-20 claude-sonnet-4-5-20250929 claude-3-5-sonnet@20240620 gpt-4-0613 gemini-2.0-flash-001"
    assert all(is_known(name) for name in dated.split())
    assert not any(map(is_known, ("gpt-4o-2024", "gpt-9-2024-11-20", "gpt-4o-9999", "gpt-4o-2024-11-20-x")))
