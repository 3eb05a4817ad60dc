"""Optimizations whose service is stopped, or dies."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing

import pytest

from support.answering_model import AnsweringModel, serving
from support.held_model import HeldModel
from support.optimizing_caller import Caller
from support.service_process import ServiceProcess, wait_until

# A start takes many seconds where other tests have the processors.
pytestmark = [pytest.mark.crash, pytest.mark.slow, pytest.mark.timeout(1_800)]

# A dead worker is noticed when its lease has run out.
LEASE = {"PROMPTLIFT_LEASE_SECONDS": "1.5"}
BODY = {"mode": "validation", "variantCount": 3, "seed": 11}


def ask(caller):
    """Ask for the optimization of this module."""
    caller.settings(
        maxIterations=7, personaCount=4, scenariosPerSimulation=2, maxTurns=2, confidenceMode="high"
    )
    return caller.start(caller.prompt(), **BODY)["id"]


def kept(data):
    """Conversations that are kept: text of the assistant, and opening."""
    with closing(sqlite3.connect(f"file:{data / 'promptlift.db'}?mode=ro", uri=True)) as connection:
        return connection.execute(
            "SELECT v.content, json_extract(c.scenario, '$.opening') FROM simulations s"
            " JOIN optimization_variants v ON v.optimization_id = s.optimization_id AND v.number = s.arm"
            " JOIN optimization_cells c ON c.optimization_id = s.optimization_id AND c.number = s.cell"
        ).fetchall()


@pytest.mark.slow
def test_a_stop_in_order_is_gone_on_with_too(tmp_path):
    model = HeldModel(better=0.12)
    with serving(model) as env:
        service = ServiceProcess(tmp_path / "data", env=env).start()
        caller = Caller(service)
        try:
            optimization_id = ask(caller)

            def some_conversations():
                found = caller.get(optimization_id)["results"]["progress"]["conversationsDone"] > 20
                if not found:
                    model.allow(10)
                return found

            wait_until(some_conversations, what="some conversations", seconds=300)
            done = len(kept(service.data))
            # The model answers nothing more: whoever waited for the calls under way would never end.
            assert service.stop() == 0
            assert done <= len(kept(service.data)) < done + 20
            service.start()
            assert caller.get(optimization_id)["status"] == "running"
            model.allow()
            assert caller.ended(optimization_id, seconds=600)["status"] == "completed"
        finally:
            caller.close()
            service.kill()


def test_another_process_takes_over_from_one_that_died(tmp_path, postgres_url):
    model = AnsweringModel(better=0.12, delay=0.05)
    with serving(model) as env:
        services = [
            ServiceProcess(tmp_path / name, env={**env, **LEASE}, database=postgres_url, key="k" * 40).start()
            for name in ("one", "two")
        ]
        callers = [Caller(service) for service in services]
        try:
            callers[0].settings(maxIterations=4, personaCount=3, scenariosPerSimulation=2, maxTurns=1)
            ids = [callers[at % 2].start(callers[0].prompt(), **BODY)["id"] for at in range(2)]
            wait_until(
                lambda: all(
                    callers[0].get(one)["results"]["progress"]["conversationsDone"] > 5 for one in ids
                ),
                what="all of them run",
                seconds=300,
            )
            services[0].kill()
            model.delay = 0.0
            for one in ids:
                assert callers[1].ended(one, seconds=600)["status"] == "completed"
                cells = Counter((held["cell"], held["variantNumber"]) for held in callers[1].simulations(one))
                assert set(cells.values()) == {1}
        finally:
            for caller in callers:
                caller.close()
            for service in services:
                service.kill()
