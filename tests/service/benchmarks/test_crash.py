"""``kill -9`` at any moment of a benchmark: it goes on by itself, to the results of one that nobody disturbed."""

from __future__ import annotations

import itertools
import random
import time

import pytest

from support.answering_model import AnsweringModel, serving
from support.held_model import HeldModel
from support.kills import KILLS
from support.plain_client import PlainClient
from support.service_process import ServiceProcess, free_port, wait_until
from support.worker_process import WorkerProcess

pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(1_800)]

SEED = 20261122
SCENARIOS = 40


def begin(wire):
    """Start a benchmark of two prompts on two models."""
    prompts = []
    for name in ("Manner 0:", "Manner 1:"):
        status, prompt = wire.send(
            "POST", "/prompts", {"name": name, "content": f"{name} You help.", "llmModel": "gpt-4o"}
        )
        assert status == 201, prompt
        prompts.append(prompt["id"])
    status, made = wire.send(
        "POST",
        "/benchmarks",
        {
            "arms": [{"promptId": one, "llmModel": m} for one in prompts for m in ("gpt-4o", "gpt-4o-mini")],
            "scenarioSet": {"count": SCENARIOS, "source": "model"},
            "maxTurns": 3,
            "seed": 5,
        },
    )
    assert status == 200, made
    return made["id"]


def state(wire, benchmark_id):
    status, found = wire.send("GET", f"/benchmarks/{benchmark_id}")
    assert status == 200, found
    return found


def outcomes(wire, benchmark_id):
    """What came of every cell and arm."""
    found = []
    for offset in itertools.count(0, 100):
        _, page = wire.send(
            "GET", f"/benchmarks/{benchmark_id}/conversations?limit=100&offset={offset}&includeContent=true"
        )
        found += page["data"]
        if not page["data"] or len(found) >= page["pagination"]["total"]:
            break
    assert len({one["id"] for one in found}) == len(found)
    return {
        (one["cell"], one["arm"]): (one["status"], one["taskCompleted"], one["quality"], one["content"])
        for one in found
    }


def finished(wire, benchmark_id):
    def is_over():
        return state(wire, benchmark_id)["status"] not in ("queued", "running")

    wait_until(is_over, what="the benchmark ends", seconds=600)
    found = state(wire, benchmark_id)
    assert found["status"] == "completed", found
    return found


def undisturbed(folder, env):
    """Results and outcomes of the same benchmark, when nobody disturbs it."""
    service = ServiceProcess(folder, port=free_port(), env=env).start()
    try:
        wire = PlainClient(service)
        benchmark_id = begin(wire)
        return finished(wire, benchmark_id)["results"], outcomes(wire, benchmark_id)
    finally:
        service.stop()


def kill_at_random(wire, benchmark_id, kill, model):
    """Kill while it runs, each time after at least one more conversation was kept."""
    moments, done = random.Random(SEED), 0

    def conversations():
        return state(wire, benchmark_id)["progress"]["conversationsDone"]

    def made_progress():
        if conversations() > done:
            model.hold()
            return True
        model.allow(10)
        return False

    for number in range(KILLS):
        wait_until(made_progress, what="it makes progress", seconds=300)
        time.sleep(moments.uniform(0.0, 0.15))
        done = conversations()
        kill(number)
    assert state(wire, benchmark_id)["status"] == "running"
    model.allow()


def test_a_killed_service_goes_on_where_it_was(tmp_path):
    model = HeldModel(better=0.2, delay=0.01)
    model.allow()
    with serving(model) as env:
        expected, rows = undisturbed(tmp_path / "calm", env)
        model.hold()
        model.conversations.clear()
        service = ServiceProcess(tmp_path / "killed", port=free_port(), env=env).start()
        try:
            wire = PlainClient(service)
            benchmark_id = begin(wire)

            def kill(_):
                service.kill()
                service.start()

            kill_at_random(wire, benchmark_id, kill, model)
            assert finished(wire, benchmark_id)["results"] == expected
            assert outcomes(wire, benchmark_id) == rows
            assert len(rows) == 4 * SCENARIOS
        finally:
            service.stop()
        # Once for each, and once more for those that a kill cut off: at most one for each place at a time.
        begun = sum(model.conversations.values())
        assert begun <= 4 * SCENARIOS + KILLS * 12


def test_another_worker_goes_on_where_one_was_killed(tmp_path, postgres_url):
    model = HeldModel(better=0.2, delay=0.01)
    model.allow()
    with serving(model) as env:
        expected, rows = undisturbed(tmp_path / "calm", env)
        model.hold()
        short = {**env, "PROMPTLIFT_LEASE_SECONDS": "1.5"}
        service = ServiceProcess(
            tmp_path / "data", port=free_port(), env=short, database=postgres_url, options=["--no-worker"]
        ).start()
        workers = [WorkerProcess(postgres_url, tmp_path / f"worker-{n}.log", short).start() for n in range(2)]
        try:
            wire = PlainClient(service)
            benchmark_id = begin(wire)

            def kill(number):
                workers[number % 2].kill()
                workers[number % 2].start(wait=False)

            kill_at_random(wire, benchmark_id, kill, model)
            assert finished(wire, benchmark_id)["results"] == expected
            assert outcomes(wire, benchmark_id) == rows
        finally:
            for worker in workers:
                worker.kill()
            service.stop()


def test_a_stopped_benchmark_begins_nothing_more_and_resumes_to_the_same_results(tmp_path):
    model = AnsweringModel(better=0.2, delay=0.01)
    with serving(model) as env:
        expected, rows = undisturbed(tmp_path / "calm", env)
        service = ServiceProcess(tmp_path / "stopped", port=free_port(), env=env).start()
        try:
            wire = PlainClient(service)
            benchmark_id = begin(wire)
            wait_until(
                lambda: state(wire, benchmark_id)["progress"]["conversationsDone"] >= 10,
                what="it makes progress",
                seconds=300,
            )
            status, stopped = wire.send("POST", f"/benchmarks/{benchmark_id}/stop", {"reason": "enough"})
            assert (status, stopped["status"]) == (200, "stopped")
            done = stopped["progress"]["conversationsDone"]
            assert 10 <= done < 4 * SCENARIOS
            assert not stopped["results"]["final"]
            asked = model.asked.total()
            # Another benchmark of its own comes to its end meanwhile, so there was time for more.
            finished(wire, begin_small(wire))
            assert state(wire, benchmark_id)["progress"]["conversationsDone"] == done
            assert model.asked.total() > asked
            status, resumed = wire.send("POST", f"/benchmarks/{benchmark_id}/resume")
            assert (status, resumed["status"]) == (200, "queued")
            assert finished(wire, benchmark_id)["results"] == expected
            assert outcomes(wire, benchmark_id) == rows
        finally:
            service.stop()


def begin_small(wire):
    _, prompts = wire.send("GET", "/prompts")
    body = {"arms": [{"promptId": prompts["data"][0]["id"]}], "scenarioSet": {"count": 3}, "maxTurns": 1}
    status, made = wire.send("POST", "/benchmarks", body)
    assert status == 200, made
    return made["id"]
