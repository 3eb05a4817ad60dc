"""``kill -9`` and a stop in the middle of GEPA."""

from __future__ import annotations

import threading
from collections import Counter

import pytest

from benchmarks.prompt_world.world import draw_world
from support.kills import KILLS
from support.searching import SMALL, SlowModel, kill_at_random, search, world_prompt
from support.service_process import wait_until

pytest.importorskip("gepa", reason="needs the extra gepa")

AT_A_TIME = 4
ENV = {"PROMPTLIFT_LEASE_SECONDS": "1.5", "PROMPTLIFT_LLM_CONCURRENCY": str(AT_A_TIME)}


class HoldingModel(SlowModel):
    """Answers after a delay, or not at all at one purpose, so that there is something to interrupt."""

    held = None

    def __init__(self, world):
        super().__init__(world)
        self.free = threading.Event()
        self.mine = Counter()

    def __call__(self, asked):
        say = super().__call__(asked)
        purpose = asked.headers.get("x-promptlift-purpose")
        said = "\n".join(one["content"] for one in (asked.body or {"messages": []})["messages"])
        if purpose == "rewrite" or self.world.seed_prompt in said:
            self.mine[purpose] += 1
            if purpose == self.held:
                say.hang = self.free
        return say


def optimized(tmp_path, name, meanwhile):
    """Optimize with GEPA; gives what it leaves behind, and the model."""
    model = HoldingModel(draw_world("additive", 3))

    def act(service, _caller, _optimization_id):
        meanwhile(model, service)

    state, plan = search(tmp_path / name, model, act, env=ENV, engine="gepa")
    return state, plan, model


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_leave_the_same_final_state_and_nothing_kept_is_done_again(tmp_path):
    expected, plan, calm = optimized(tmp_path, "calm", lambda *_: None)

    def kill(model, service):
        kill_at_random(service, model, kills=KILLS, asked=calm.asked.total())

    state, spent, killed = optimized(tmp_path, "killed", kill)
    assert (state, spent) == (expected, plan)
    # Only what was under way at a kill is begun again.
    under_way = KILLS * (AT_A_TIME + AT_A_TIME // 2)
    assert killed.conversations - calm.conversations <= under_way
    assert killed.asked["rewrite"] - calm.asked["rewrite"] <= KILLS


@pytest.mark.parametrize("purpose", ["rewrite", "agent"])
def test_after_a_stop_no_call_begins(begin, purpose):
    world = draw_world("additive", 3)
    model = HoldingModel(world)
    caller = begin(model, PROMPTLIFT_LLM_CONCURRENCY="1")
    caller.settings(**SMALL)
    prompt_id = world_prompt(caller, world)
    model.mine.clear()
    model.held = purpose
    optimization_id = caller.start(prompt_id, engine="gepa")["id"]
    wait_until(lambda: model.mine[purpose], what="a call is under way", seconds=60)
    assert caller.ask("POST", f"/optimizations/{optimization_id}/stop")["status"] == "stopped"
    asked, held = model.mine.copy(), len(caller.simulations(optimization_id))
    # There is one place for calls. The next optimization gets it only when the call that waits was cancelled.
    other = caller.prompt(content="You sell shoes.", objective=None)
    assert caller.ended(caller.start(other, search="off")["id"])["status"] == "completed"
    model.free.set()
    assert model.mine == asked
    assert len(caller.simulations(optimization_id)) == held
    found = caller.get(optimization_id)
    assert found["results"]["reason"] == "stopped"
    assert found["searchPlan"]["search"]["spent"] == held
