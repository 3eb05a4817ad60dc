"""``kill -9`` in the middle of a search: the same final state as a run that nobody disturbed."""

from __future__ import annotations

import pytest

from benchmarks.prompt_world.world import draw_world
from support.kills import KILLS
from support.searching import SlowModel, kill_at_random, search

LEASE = {"PROMPTLIFT_LEASE_SECONDS": "1.5"}


def searched(tmp_path, name, meanwhile):
    """Run a search; gives what it leaves behind."""
    model = SlowModel(draw_world("additive", 3))

    def act(service, caller, optimization_id):
        meanwhile(model, service, caller, optimization_id)

    return search(tmp_path / name, model, act, env=LEASE, variantCount=3)


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kills_leave_the_same_final_state(tmp_path):
    steps = []

    def calm(model, _service, caller, optimization_id):
        caller.ended(optimization_id, seconds=300)
        steps.append(model.asked.total())

    expected = searched(tmp_path, "calm", calm)

    def kill(model, service, _caller, _optimization_id):
        kill_at_random(service, model, kills=KILLS, asked=steps[0])

    assert searched(tmp_path, "killed", kill) == expected
