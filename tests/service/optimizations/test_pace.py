"""A rehearsal that is slow enough to watch: it moves in small steps, can be stopped, and gives the same result."""

from __future__ import annotations

import pytest

import promptlift
from support.service_process import wait_until

PROMPT = {"name": "Slow", "content": "You help with orders. Be kind.", "llm_model": "gpt-4o"}


@pytest.fixture
def prompt(lift):
    return lift.client.prompts.create(**PROMPT)


def test_a_slow_rehearsal_moves_in_small_steps_until_it_is_stopped(lift, prompt):
    made = lift.optimize(prompt.id, variants=2, seed=7, rehearsal_seconds=60, wait=False)
    seen = set()

    def moved():
        seen.add(lift.optimizations[made.id].results.progress.conversations_done)
        return len(seen - {0}) >= 4

    wait_until(moved, what="the rehearsal has moved four times", seconds=60)
    found = lift.optimizations[made.id]
    # Without its pace a pass is over before anybody can look.
    assert found.status == "running"
    assert found.settings.rehearsal_seconds == 60
    assert max(seen) < found.results.progress.conversations_max / 2
    made.stop("seen enough")
    stopped = lift.optimizations[made.id]
    assert (stopped.status, stopped.stop_reason) == ("stopped", "seen enough")
    held = stopped.usage.conversations
    # The next rehearsal of this account runs while the stopped one has ended for good.
    lift.optimize(prompt.id, variants=1, seed=7, rehearsal_seconds=0, wait=False).wait(timeout=120)
    assert lift.optimizations[made.id].usage.conversations == held


def test_the_pace_changes_nothing_but_the_time(lift, prompt):
    slow, fast = (
        lift.optimize(
            prompt.id, mode="exploratory", variants=1, seed=3, rehearsal_seconds=seconds, wait=False
        ).wait(timeout=120)
        for seconds in (3, None)
    )
    assert slow.results.trace == fast.results.trace
    assert slow.results.lift_trace == fast.results.lift_trace
    assert slow.results.lift_trace[-1] == slow.results.lift
    assert fast.settings.rehearsal_seconds is None
    taken = (slow.completed_at - slow.started_at).total_seconds()
    done, most = (
        getattr(slow.results.progress, name) for name in ("conversations_done", "conversations_max")
    )
    # Not how fast the machine is: the time that a pace asks for at least.
    assert taken >= 3 * done / most - 0.01


def test_a_service_paces_all_its_rehearsals(start_service):
    service = start_service(env={"PROMPTLIFT_REHEARSAL_SECONDS": "120"})
    with promptlift.connect(service.base_url, service.key, progress=False) as lift:
        made = lift.optimize(lift.client.prompts.create(**PROMPT).id, wait=False)
        assert lift.optimizations[made.id].settings.rehearsal_seconds == 120
    with pytest.raises(AssertionError, match="PROMPTLIFT_REHEARSAL_SECONDS must be a number of seconds"):
        start_service(env={"PROMPTLIFT_REHEARSAL_SECONDS": "slow"})
