"""``kill -9`` at random moments under load: every event reaches the receiver, each under one id."""

from __future__ import annotations

import random
import socket
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest

from service.test_crash import Wire
from support.service_process import ServiceProcess, wait_until
from support.tls_receiver import receiving
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(600)]

KILLS = 20
EVENTS_A_KILL = 20
SEED = 20261122
KINDS = ["conversation.created", "insights.generated"]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def flaky(certificate):
    """A receiver that accepts all; what it received counts, however often."""
    with receiving(certificate) as running:
        yield running


def log_while_killing(wire, kill):
    """Log conversations, and kill something at random moments meanwhile; gives the ids that were acknowledged."""
    moments = random.Random(SEED)
    status, prompt = wire.send("POST", "/prompts", {"name": "p", "content": "c", "llmModel": "gpt-4o"})
    assert status == 201, prompt
    deadline = time.monotonic() + 500
    allowed = threading.Semaphore(0)

    def write(number):
        allowed.acquire()
        return wire.log_until_acknowledged(prompt["id"], number, deadline)

    with ThreadPoolExecutor(4) as writers:
        acknowledged = [writers.submit(write, number) for number in range(KILLS * EVENTS_A_KILL)]
        try:
            for number in range(KILLS):
                allowed.release(EVENTS_A_KILL)
                time.sleep(moments.uniform(0.0, 0.6))
                kill(number)
        finally:  # a failure must not leave the writers waiting
            allowed.release(KILLS * EVENTS_A_KILL)
        return [future.result() for future in acknowledged]


def assert_every_event_arrived_under_one_id(wire, receiver, ids):
    def arrived():
        return {(one["type"], one["data"]["conversationId"]) for one in receiver.events}

    wanted = {(kind, one) for kind in KINDS for one in ids}
    wait_until(lambda: len(arrived()) >= len(wanted), what="every event arrived", seconds=240)
    assert arrived() == wanted
    names = defaultdict(set)
    for one in receiver.events:
        names[one["type"], one["data"]["conversationId"]].add(one["id"])
    assert {len(found) for found in names.values()} == {1}
    total = wire.send("GET", "/events?limit=1")[1]["pagination"]["total"]
    assert total == len(wanted)
    bodies = defaultdict(set)
    for one in receiver.received:
        bodies[one.event["id"]].add((one.body, one.headers["x-service-signature"]))
    assert {len(found) for found in bodies.values()} == {1}


def subscribe(wire, receiver):
    status, webhook = wire.send("POST", "/webhooks", {"url": receiver.url, "events": KINDS})
    assert status == 201, webhook


def test_a_killed_service_delivers_every_event(tmp_path, certificate, flaky):
    service = ServiceProcess(tmp_path / "data", port=free_port(), env=certificate.trusted).start()
    wire = Wire(service)
    try:
        subscribe(wire, flaky)

        def kill(_number):
            service.kill()
            service.start()

        ids = log_while_killing(wire, kill)
        assert_every_event_arrived_under_one_id(wire, flaky, ids)
    finally:
        service.stop()


def test_two_workers_of_which_one_is_always_being_killed_deliver_every_event(
    tmp_path, certificate, flaky, postgres_url
):
    env = {**certificate.trusted, "PROMPTLIFT_SECRET_KEY": "s" * 40, "PROMPTLIFT_LEASE_SECONDS": "4"}
    service = ServiceProcess(
        tmp_path / "data", port=free_port(), env=env, database=postgres_url, options=["--no-worker"]
    ).start()
    workers = [WorkerProcess(postgres_url, tmp_path / f"worker-{n}.log", env).start() for n in range(2)]
    wire = Wire(service)
    try:
        subscribe(wire, flaky)

        def kill(number):
            workers[number % 2].kill()
            workers[number % 2].start(wait=False)

        ids = log_while_killing(wire, kill)
        assert_every_event_arrived_under_one_id(wire, flaky, ids)
    finally:
        for worker in workers:
            worker.kill()
        service.stop()
