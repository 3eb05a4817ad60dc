"""A search over an endpoint that fails now and then, and one that is dead for a while or for good."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.prompt_world.model import PURPOSE, WorldModel
from benchmarks.prompt_world.world import draw_world
from support.answering_model import share
from support.searching import SMALL, without_ids, world_prompt
from support.stub_endpoint import FAULTS, Say

pytestmark = pytest.mark.slow

DEAD = Say({"error": {"message": "out of memory"}}, status=503, headers={"Retry-After": "0"})
# Requests of each purpose that nobody answers, in a row.
OUTAGE = {"reflection": 4, "agent": 30}


class FaultyModel(WorldModel):
    """Answers as its world has it, unless ``fault`` answers first."""

    fault = None

    def __call__(self, asked):
        if self.fault is not None and (say := self.fault(asked)) is not None:
            return say
        return super().__call__(asked)


@pytest.fixture
def world():
    return draw_world("additive", 3)


@pytest.fixture
def prepared(begin, world):
    """A service over a faulty model, with a prompt whose logged conversations are judged."""

    def prepare(**env):
        model = FaultyModel(world)
        caller = begin(model, **env)
        caller.settings(**SMALL, verificationPasses=0)
        prompt_id = world_prompt(caller, world)
        model.forget()
        return model, caller, prompt_id

    return prepare


def test_a_search_ends_the_same_when_calls_fail_or_the_endpoint_is_away_for_a_while(prepared):
    model, caller, prompt_id = prepared(PROMPTLIFT_LLM_PATIENCE="60")

    def outcome():
        found = caller.ended(caller.start(prompt_id, variantCount=3)["id"], seconds=300)
        return without_ids(caller.final_state(found["id"])), found["searchPlan"]

    calm = outcome()
    calls = Counter()

    def flaky(_asked):
        calls["all"] += 1
        if share("flaky", calls["all"]) >= 0.15:
            return None
        calls["failed"] += 1
        return FAULTS[calls["failed"] % len(FAULTS)]

    away = Counter()

    def absent(asked):
        # Nobody answers the writer of the second candidate at first, nor the conversations after it.
        purpose = asked.headers.get(PURPOSE)
        away["reflection"] += purpose == "reflection"
        if away["reflection"] < 2 or away["unanswered", purpose] >= OUTAGE.get(purpose, 0):
            return None
        away["unanswered", purpose] += 1
        return DEAD

    model.fault = lambda asked: absent(asked) or flaky(asked)
    assert outcome() == calm
    assert calls["failed"] > 25
    assert {purpose: away["unanswered", purpose] for purpose in OUTAGE} == OUTAGE
