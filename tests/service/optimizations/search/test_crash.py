"""``kill -9`` in the middle of a search: the same final state as a run that nobody disturbed."""

from __future__ import annotations

import os
import random

import pytest

from benchmarks.prompt_world.model import WorldModel
from benchmarks.prompt_world.world import draw_world
from support.answering_model import serving
from support.optimizing_caller import Caller
from support.searching import SMALL, without_ids, world_prompt
from support.service_process import ServiceProcess, wait_until

# Set KILLS in the environment to kill less or more often.
KILLS = int(os.environ.get("KILLS", "30"))
LEASE = {"PROMPTLIFT_LEASE_SECONDS": "1.5"}


class SlowModel(WorldModel):
    """Answers after a delay, so that there is something to interrupt."""

    delay = 0.0

    def __call__(self, asked):
        say = super().__call__(asked)
        say.delay = self.delay
        return say


def searched(tmp_path, name, meanwhile):
    """Run a search; gives what it leaves behind."""
    world = draw_world("additive", 3)
    model = SlowModel(world)
    with serving(model) as env:
        service = ServiceProcess(tmp_path / name, env={**env, **LEASE}).start()
        caller = Caller(service)
        try:
            caller.settings(**SMALL)
            prompt_id = world_prompt(caller, world)
            model.forget()
            optimization_id = caller.start(prompt_id, mode="exploratory", variantCount=3)["id"]
            meanwhile(model, service, caller, optimization_id)
            caller.ended(optimization_id, seconds=300)
            state = without_ids(caller.final_state(optimization_id))
            plan = caller.get(optimization_id)["searchPlan"]
        finally:
            caller.close()
            service.stop()
    return state, plan


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_leave_the_same_final_state(tmp_path):
    steps = []

    def calm(model, _service, caller, optimization_id):
        caller.ended(optimization_id, seconds=300)
        steps.append(model.asked.total())

    expected = searched(tmp_path, "calm", calm)
    chance = random.Random(20261122)
    share = steps[0] // (KILLS + 2)

    def kill(model, service, _caller, _optimization_id):
        model.delay = 0.05
        for _ in range(KILLS):
            enough = model.asked.total() + chance.randint(1, share)
            wait_until(lambda enough=enough: model.asked.total() >= enough, what="it runs", seconds=120)
            service.kill()
            service.start()
        model.delay = 0.0

    assert searched(tmp_path, "killed", kill) == expected
