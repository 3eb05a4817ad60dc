"""``kill -9`` at any moment of an optimization: the same final state as a run that nobody disturbed."""

from __future__ import annotations

import random
import sqlite3
import time
from collections import Counter
from contextlib import closing

import pytest

from support.answering_model import AnsweringModel, serving
from support.held_model import HeldModel
from support.kills import KILLS
from support.optimizing_caller import Caller
from support.service_process import ServiceProcess, wait_until

# A start takes many seconds where other tests have the processors.
pytestmark = [pytest.mark.crash, pytest.mark.timeout(1_800)]

SEED = 20261121
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
def test_kills_leave_the_same_final_state_and_repeat_nothing_that_was_finished(tmp_path):
    calm = AnsweringModel(better=0.12)
    with serving(calm) as env:
        service = ServiceProcess(tmp_path / "calm", env=env).start()
        caller = Caller(service)
        try:
            optimization_id = ask(caller)
            caller.ended(optimization_id, seconds=600)
            expected = caller.final_state(optimization_id)
        finally:
            caller.close()
            service.stop()

    chance = random.Random(SEED)
    # A share of the run for each kill, and some of it for after the last one.
    share = calm.asked.total() // (KILLS + 5)
    model = HeldModel(better=0.12, delay=0.15)
    with serving(model) as env:
        service = ServiceProcess(tmp_path / "killed", env=env).start()
        caller = Caller(service)
        try:
            optimization_id = ask(caller)
            for _ in range(KILLS):
                model.allow(share)
                enough = model.asked.total() + chance.randint(1, share)
                wait_until(lambda enough=enough: model.asked.total() >= enough, what="it runs", seconds=300)
                time.sleep(chance.random() * 0.2)
                service.kill()
                finished = {place: model.conversations[place] for place in kept(service.data)}
                service.start()
                again = Counter({place: model.conversations[place] for place in finished})
                assert again == Counter(finished)
            assert caller.get(optimization_id)["status"] == "running"
            model.delay = 0.0
            model.allow()
            caller.ended(optimization_id, seconds=600)
            assert caller.final_state(optimization_id) == expected
            # Once for each, and once more for those that a kill cut off: at most one for each place at a time.
            repeated = sum(model.conversations.values()) - len(model.conversations)
            assert 0 < repeated <= KILLS * 12
            kinds = _events(service.data)
            assert kinds == {"optimization.started": 1, "optimization.completed": 1}
        finally:
            caller.close()
            service.stop()


@pytest.mark.slow
def test_kills_during_the_verification_leave_the_same_final_state(tmp_path):
    def ask_for_a_winner(caller):
        caller.settings(personaCount=4, scenariosPerSimulation=2, maxTurns=1, confidenceMode="low")
        return caller.start(caller.prompt(), mode="exploratory", variantCount=1, seed=11)["id"]

    with serving(AnsweringModel(better=0.4)) as env:
        service = ServiceProcess(tmp_path / "calm", env=env).start()
        caller = Caller(service)
        try:
            optimization_id = ask_for_a_winner(caller)
            caller.ended(optimization_id, seconds=600)
            expected = caller.final_state(optimization_id)
        finally:
            caller.close()
            service.stop()
    assert expected["results"]["verifiedPairs"]["n"] == 4 * 8

    model = HeldModel(better=0.4)
    with serving(model) as env:
        service = ServiceProcess(tmp_path / "killed", env=env).start()
        caller = Caller(service)
        try:
            optimization_id = ask_for_a_winner(caller)

            def stage():
                found = caller.get(optimization_id)
                assert found["status"] == "running"
                return found["results"]["progress"]["stage"]

            def verifying():
                model.allow(5)
                return stage() == "verify"

            wait_until(verifying, what="it verifies the winner", seconds=300)
            model.hold()
            for _ in range(5):
                before = model.asked.total()
                model.allow(3)
                wait_until(lambda before=before: model.asked.total() > before, what="it goes on", seconds=300)
                service.kill()
                model.hold()
                service.start()
                assert stage() == "verify"
            model.allow()
            caller.ended(optimization_id, seconds=600)
            assert caller.final_state(optimization_id) == expected
        finally:
            caller.close()
            service.stop()


def _events(data):
    with closing(sqlite3.connect(data / "promptlift.db")) as connection:
        return Counter(kind for (kind,) in connection.execute("SELECT type FROM events"))


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
            ids = [callers[at % 2].start(callers[0].prompt(), **BODY)["id"] for at in range(4)]
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
