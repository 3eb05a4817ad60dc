"""A model endpoint in trouble: requests that name models nobody knows hold up nobody."""

from __future__ import annotations

import asyncio
import socket
import threading
from contextlib import closing

import httpx
import pytest

import promptlift
from promptlift.errors import ValidationError
from service.llm.raw_endpoint import RawEndpoint, left, read_request
from service.llm.stub_endpoint import Say, StubEndpoint

REQUESTS = 100
# Generous: it is measured in milliseconds. Held up it would be for as long as the endpoint is waited for.
DEADLINE = 5.0


def hang(line, _number):
    read_request(line)
    left(line)


def drip(line, _number):
    read_request(line)
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    never = threading.Event()
    while not never.wait(0.1):
        line.sendall(b" ")


def redirect(line, _number):
    while read_request(line):
        line.sendall(b"HTTP/1.1 302 Found\r\nLocation: /v1/elsewhere\r\nContent-Length: 0\r\n\r\n")


def closed_port():
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return listener.getsockname()[1]


@pytest.fixture
def endpoint(request):
    """Address of an endpoint in trouble, and how many connections it has had."""
    if request.param is None:
        yield f"http://127.0.0.1:{closed_port()}/v1", lambda: 0
        return
    made = RawEndpoint(request.param)
    yield made.settings.base_url, lambda: made.connections
    made.close()


async def ask_all(running, deadline):
    """Name unknown models in many requests, and list prompts all the while; gives the refusals and how often."""
    headers = {"Authorization": f"Bearer {running.key}"}
    limits = httpx.Limits(max_connections=None)
    options = {"base_url": running.base_url, "headers": headers, "limits": limits, "trust_env": False}
    async with (
        httpx.AsyncClient(timeout=60, **options) as many,
        httpx.AsyncClient(timeout=60, **options) as one,
    ):

        async def create(number):
            body = {"name": "p", "content": "Help.", "llmModel": f"nobody-knows-{number}"}
            return await many.post("/prompts", json=body)

        waiting = [asyncio.create_task(create(number)) for number in range(REQUESTS)]
        lists = 0
        while not all(task.done() for task in waiting):
            answer = await asyncio.wait_for(one.get("/prompts"), deadline)
            assert answer.status_code == 200
            lists += 1
        return [task.result() for task in waiting], lists


@pytest.mark.parametrize(
    "endpoint", [hang, drip, redirect, None], ids=["hangs", "drips", "redirects", "refuses"], indirect=True
)
def test_a_hundred_unknown_models_hold_up_nobody(endpoint, start_service):
    base_url, connections = endpoint
    running = start_service(env={"PROMPTLIFT_LLM_BASE_URL": base_url, "PROMPTLIFT_LLM_MODEL": "stub"})
    refused, lists = asyncio.run(ask_all(running, DEADLINE))
    assert lists >= 1
    assert {one.status_code for one in refused} == {400}
    for one in refused:
        assert "could not be read just now" in one.json()["error"]["details"]["llmModel"]
    # At the start of the service, and perhaps once more since.
    assert connections() <= 2


def test_the_first_request_may_name_what_the_endpoint_serves(start_service):
    stub = StubEndpoint(lambda _asked: Say({"data": [{"id": "pulled-just-now"}]}, delay=0.2))
    try:
        env = {"PROMPTLIFT_LLM_BASE_URL": stub.settings.base_url, "PROMPTLIFT_LLM_MODEL": "stub"}
        running = start_service(env=env)
        with promptlift.connect(running.base_url, running.key, progress=False) as lift:
            made = lift.client.prompts.create(name="p", content="Help.", llm_model="pulled-just-now")
            assert lift.client.prompts.get(made.id).llm_model == "pulled-just-now"
            with pytest.raises(ValidationError) as refused:
                lift.client.prompts.update(made.id, llm_model="pulled-just-n0w")
            assert "did you mean pulled-just-now?" in str(refused.value.details)
    finally:
        stub.close()
