"""When a model counts as away, what is sent to it meanwhile, and when work goes on."""

from __future__ import annotations

import pytest

from promptlift.service.insights.judge_watch import (
    PAUSE_SECONDS,
    TRIAL_ANYWAY_SECONDS,
    TRIAL_SECONDS,
    JudgeWatch,
)


class World:
    """A watch with a clock, an endpoint and jobs that only note what they were asked for."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.up = True
        self.probed = 0
        self.trials: list[str | None] = []
        self.went_on: list[list[str]] = []
        self.watch = JudgeWatch(
            self,
            make_trial=self.trials.append,
            go_on=lambda ids: self.went_on.append(list(ids)),
            clock=lambda: self.now,
        )

    def reachable(self) -> bool:
        self.probed += 1
        return self.up

    def later(self, seconds: float) -> None:
        self.now += seconds
        self.watch.look()

    def lose(self, *ids: str) -> None:
        for one in ids:
            assert self.watch.begin(one)
        for one in ids:
            self.watch.unanswered(one, "it is down")


@pytest.fixture
def world() -> World:
    return World()


def test_a_model_that_is_away_is_probed_and_tried_with_one_conversation(world):
    world.lose("a", "b")
    assert (world.watch.away, world.watch.reason) == (True, "it is down")
    assert world.watch.places(200) == 0
    assert not world.watch.begin("c")
    world.later(PAUSE_SECONDS)
    assert world.trials == ["a"]
    assert [world.watch.places(200) for _ in range(3)] == [1, 0, 0]
    world.watch.claimed(["a"])
    assert world.watch.begin("a")
    assert world.watch.is_trial("a")
    assert not world.watch.begin("b")
    # It fails, and another one is the next trial.
    world.watch.unanswered("a", "still down")
    world.later(PAUSE_SECONDS)
    assert world.trials == ["a", "b"]
    world.watch.places(200)
    world.watch.claimed(["b"])
    assert world.watch.begin("b")
    world.watch.answered("b")
    assert world.went_on == [["a", "b"]]
    assert world.watch.places(200) == 200


def test_an_endpoint_that_does_not_answer_the_probe_gets_no_trial_for_a_while(world):
    world.lose("a")
    world.up = False
    while world.now < 1_000 + TRIAL_ANYWAY_SECONDS - PAUSE_SECONDS:
        world.later(PAUSE_SECONDS)
    assert world.trials == []
    assert world.probed >= 3
    world.later(PAUSE_SECONDS)
    assert world.trials == ["a"]


def test_the_pause_that_an_endpoint_asks_for_is_kept(world):
    assert world.watch.begin("a")
    world.watch.unanswered("a", "slow down", retry_after=60)
    world.later(59)
    assert world.probed == 0
    world.later(1)
    assert world.trials == ["a"]


def test_a_trial_whose_job_died_is_made_again(world):
    world.lose("a")
    world.later(PAUSE_SECONDS)
    assert world.watch.places(200) == 1
    world.watch.claimed(["a"])
    world.later(TRIAL_SECONDS - 1)
    assert len(world.trials) == 1
    world.later(1)
    assert len(world.trials) == 2
    assert world.watch.places(200) == 1


def test_one_conversation_that_the_model_fails_on_stops_no_other(world):
    assert world.watch.begin("poison")
    assert world.watch.begin("other")
    world.later(1)
    world.watch.answered("other")
    assert world.watch.alone("poison")
    world.watch.unanswered("poison", "500")
    assert not world.watch.away
