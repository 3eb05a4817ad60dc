"""A model endpoint in trouble: requests that name models nobody knows hold up nobody."""

from __future__ import annotations

import json
import select
import socket
from contextlib import ExitStack, closing
from functools import partial

import httpx
import pytest

from support.raw_endpoint import RawEndpoint, left, read_request

pytestmark = pytest.mark.slow

REQUESTS = 100
# Generous: it is measured in milliseconds. Held up it would be for as long as the endpoint is waited for.
DEADLINE = 1.0


def hang(line, _number):
    read_request(line)
    left(line)


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


def ask_all(running):
    """Name unknown models in many requests, and list prompts all the while; gives the refusals and how often.

    The requests are on their way before the first list is asked for, so only the service can be late.
    """
    place = httpx.URL(running.base_url)
    head = f"Host: {place.netloc.decode()}\r\nAuthorization: Bearer {running.key}\r\nConnection: close\r\n"
    with ExitStack() as open_lines:
        waiting = set()
        for number in range(REQUESTS):
            body = json.dumps({"name": "p", "content": "Help.", "llmModel": f"nobody-knows-{number}"})
            line = open_lines.enter_context(socket.create_connection((place.host, place.port), timeout=60))
            request = f"POST {place.path}/prompts HTTP/1.1\r\n{head}Content-Type: application/json\r\n"
            line.sendall(f"{request}Content-Length: {len(body)}\r\n\r\n{body}".encode())
            waiting.add(line)
        one = open_lines.enter_context(
            httpx.Client(base_url=place, headers={"Authorization": f"Bearer {running.key}"}, trust_env=False)
        )
        refused, lists = [], 0
        while waiting:
            assert one.get("/prompts", timeout=DEADLINE).status_code == 200
            lists += 1
            for line in select.select(waiting, [], [], 0)[0]:
                waiting.remove(line)
                refused.append(b"".join(iter(partial(line.recv, 65536), b"")))
        return refused, lists


@pytest.mark.parametrize("endpoint", [hang, None], ids=["hangs", "refuses"], indirect=True)
def test_a_hundred_unknown_models_hold_up_nobody(endpoint, start_service):
    base_url, connections = endpoint
    running = start_service(env={"PROMPTLIFT_LLM_BASE_URL": base_url, "PROMPTLIFT_LLM_MODEL": "stub"})
    refused, lists = ask_all(running)
    assert lists >= 1
    for answer in refused:
        assert answer.startswith(b"HTTP/1.1 400 ")
        body = json.loads(answer.partition(b"\r\n\r\n")[2])
        assert "could not be read just now" in body["error"]["details"]["llmModel"]
    # At the start of the service, and perhaps once more since.
    assert connections() <= 2
