"""Clients that keep the service waiting are let go, and do not keep others from being served."""

from __future__ import annotations

import asyncio
import http.client
import json
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import promptlift
from promptlift.service.settings import ConnectionLimits, ServiceSettings, most_connections
from support.service_process import wait_until

from .silent_clients import KINDS, Crowd, connected, sends_half_a_header, sends_headers_and_no_body

OPEN_FILES = 256
QUICK = {"PROMPTLIFT_CONNECTION_LIMITS": "headers=1,body=1,idle=1"}
TRANSCRIPT = "User: hi\nAssistant: " + "x" * 90_000


def add_large_conversations(lift, count=60):
    """An answer that lists them all is larger than what the network keeps for a client that does not read."""
    prompt = lift.client.prompts.create(name="A", content="Be kind.", llm_model="gpt-4o-mini")
    for _ in range(count):
        lift.client.conversations.create(prompt_id=prompt.id, content=TRANSCRIPT)
    return prompt


@pytest.fixture(scope="module")
def quick_service(tmp_path_factory):
    from support.service_process import ServiceProcess

    service = ServiceProcess(tmp_path_factory.mktemp("quick"), env=QUICK).start()
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        add_large_conversations(lift)
    yield service
    service.stop()


def open_connections(service):
    """Sockets of the process, its listener included."""
    links = [path.readlink() for path in Path(f"/proc/{service.pid}/fd").iterdir() if path.is_symlink()]
    return sum(str(link).startswith("socket:") for link in links)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_client_that_keeps_the_service_waiting_is_let_go(quick_service, kind):
    async def run():
        async with connected(quick_service.base_url, quick_service.key, small=True) as client:
            try:
                return await asyncio.wait_for(kind(client), 30)
            except ConnectionError:  # unlike a timeout
                return b""

    received = asyncio.run(run())
    if received:
        assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["code"] == "REQUEST_TIMEOUT"
    assert account_over_a_new_connection(quick_service) == 200


def account_over_a_new_connection(service):
    address = urlsplit(service.base_url)
    connection = http.client.HTTPConnection(address.netloc, timeout=20)
    connection.request("GET", f"{address.path}/account", headers={"Authorization": f"Bearer {service.key}"})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.slow
@pytest.mark.parametrize("kind", [sends_half_a_header, sends_headers_and_no_body])
def test_a_request_that_came_in_part_is_told_that_it_took_too_long(quick_service, kind):
    async def run():
        async with connected(quick_service.base_url, quick_service.key) as client:
            return await asyncio.wait_for(kind(client), 30)

    received = asyncio.run(run())
    assert received.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in received
    assert json.loads(received.partition(b"\r\n\r\n")[2])["error"]["code"] == "REQUEST_TIMEOUT"


@pytest.mark.slow
def test_a_body_that_comes_slowly_but_at_the_rate_is_taken(quick_service):
    """At 20 KB a second a transcript of 90 KB takes several times as long as a silent body may."""
    with promptlift.connect(quick_service.base_url, quick_service.key, progress=False) as lift:
        prompt_id = lift.prompts()["prompt_id"].iloc[0]
    body = json.dumps({"promptId": prompt_id, "content": TRANSCRIPT})

    async def run():
        async with connected(quick_service.base_url, quick_service.key) as client:
            await client.send(client.head("POST", "/conversations", length=len(body)))
            for start in range(0, len(body), 4_096):
                await client.send(body[start : start + 4_096])
                await asyncio.sleep(0.2)
            return await client.read_answer()

    assert asyncio.run(run()).startswith(b"HTTP/1.1 201 ")


def test_a_client_is_served_among_a_thousand_that_keep_the_service_waiting(start_service):
    service = start_service(
        env={"PROMPTLIFT_CONNECTION_LIMITS": "headers=2,body=2,idle=3"}, open_files=OPEN_FILES
    )
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        prompt = add_large_conversations(lift, 5)
        crowd = Crowd(service.base_url, service.key)
        statuses, logged = [], set()
        with crowd.around(1_000):
            wait_until(lambda: crowd.connected >= 1_000, what="everybody was connected once")
            deadline = time.monotonic() + 60
            while len(logged) < 10 or len(crowd.let_go) < len(KINDS):
                assert time.monotonic() < deadline, (len(logged), crowd.let_go)
                statuses.append(account_over_a_new_connection(service))
                made = lift.client.conversations.create(
                    prompt_id=prompt.id,
                    content="User: hi\nAssistant: hello",
                    idempotency_key=f"among them {len(logged)}",
                )
                logged.add(made.id)
                assert lift.client.prompts.get(prompt.id).name == "A"
                assert len(list(Path(f"/proc/{service.pid}/fd").iterdir())) < OPEN_FILES
        assert set(statuses) == {200}
        assert lift.client.conversations.list(prompt_id=prompt.id, limit=1).pagination.total == 5 + len(
            logged
        )
    log = service.log.read_text()
    assert "Too many open files" not in log
    assert "Traceback" not in log
    assert "128 connections are open" in log
    assert service.stop() == 0


@pytest.mark.slow
def test_silent_clients_leave_nothing_open(quick_service):
    before = open_connections(quick_service)

    async def run():
        return await asyncio.gather(*(one() for _ in range(40)))

    async def one():
        async with connected(quick_service.base_url, quick_service.key) as client:
            return await client.read_to_the_end()

    for received in asyncio.run(run()):
        assert not received or received.startswith(b"HTTP/1.1 408 ")
    wait_until(lambda: open_connections(quick_service) <= before, what="all connections are closed")
    assert account_over_a_new_connection(quick_service) == 200


def test_the_limits_are_these_unless_an_operator_says_otherwise():
    limits = ServiceSettings.from_env({}).connections
    assert (limits.headers, limits.body, limits.rate, limits.idle) == (10.0, 60.0, 1024.0, 75.0)
    assert limits == ConnectionLimits()
    assert [most_connections(files) for files in (256, 1_024, 1_048_576)] == [128, 512, 4_096]
