"""The calls of one job: what they count, the budget that jobs share, and the end of a dead endpoint."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from promptlift.service.llm.calls import Calls, RetryPolicy
from promptlift.service.llm.port import Availability, EndpointDown, LlmBadAnswer, LlmUnavailable
from service.llm.test_client import ASK, Fruit
from support.stub_endpoint import Say, completion

QUICK = RetryPolicy(attempts=3, first=0.01, longest=0.02)


def test_calls_and_tokens_are_counted_with_retries_and_second_asks(talk):
    _, client = talk(
        [
            Say({}, status=503),
            completion("nothing", prompt=1, completed=2),
            completion('{"name": "a", "count": 1}', prompt=10, completed=20),
        ]
    )
    calls = Calls(client, asyncio.Semaphore(2), policy=QUICK)
    answer = calls.chat(ASK, purpose="judge", schema=Fruit)
    assert (calls.calls, calls.tokens, answer.tokens) == (3, 33, 33)
    assert calls.chat(ASK, purpose="agent").text.startswith("{")
    assert (calls.calls, calls.tokens) == (4, 63)


def test_tokens_of_a_call_that_fails_are_counted(talk):
    _, client = talk([completion("nothing", prompt=4, completed=1)])
    calls = Calls(client, asyncio.Semaphore(1), policy=QUICK)
    with pytest.raises(LlmBadAnswer, match="did not fit twice") as error:
        calls.chat(ASK, purpose="judge", schema=Fruit)
    assert (calls.calls, calls.tokens, error.value.tokens) == (2, 10, 10)


@pytest.mark.slow
def test_no_more_requests_than_the_budget_are_under_way(talk):
    seen = {"now": 0, "most": 0}
    lock = threading.Lock()

    def answer(_):
        with lock:
            seen["now"] += 1
            seen["most"] = max(seen["most"], seen["now"])
        threading.Event().wait(0.005)
        with lock:
            seen["now"] -= 1
        return completion("x")

    _, model = talk(answer)
    budget = asyncio.Semaphore(3)
    jobs = [Calls(model, budget) for _ in range(4)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda n: jobs[n % 4].chat(ASK, purpose="agent"), range(80)))
    assert sum(calls.calls for calls in jobs) == 80
    assert seen["most"] <= 3
    assert not budget.locked()  # every place came back


def test_a_dead_endpoint_is_noticed_and_says_why(talk):
    stub, client = talk([Say({"error": {"message": "out of memory"}}, status=500)])
    client.availability = Availability(after=10)
    calls = Calls(
        client,
        asyncio.Semaphore(4),
        policy=RetryPolicy(attempts=4, first=0.001),
        patience=0,
    )
    for _ in range(2):
        with pytest.raises(LlmUnavailable) as error:
            calls.chat(ASK, purpose="agent")
        assert not isinstance(error.value, EndpointDown)
    with pytest.raises(
        EndpointDown, match=r"answered nothing for 0 seconds or more.*it answered 500 out of memory"
    ):
        calls.chat(ASK, purpose="agent")
    with pytest.raises(EndpointDown):
        calls.chat(ASK, purpose="agent")
    assert len(stub.asked) == calls.calls == 10
    # Another job asks for as long as its own patience: the endpoint may be back.
    with pytest.raises(LlmUnavailable) as error:
        Calls(client, asyncio.Semaphore(1), policy=QUICK, patience=60).chat(ASK, purpose="agent")
    assert not isinstance(error.value, EndpointDown)
    assert len(stub.asked) == 13
