"""A weighted goal in a search: it decides who is accepted, makes up for no loss of completion, and survives ``kill -9``."""

from __future__ import annotations

import json
import re

import pytest

from support.answering_model import AnsweringModel, serving, share
from support.data_blocks import read_records
from support.kills import KILLS
from support.optimizing_caller import Caller
from support.searching import SMALL, kill_at_random, without_ids
from support.service_process import ServiceProcess, wait_until

pytestmark = pytest.mark.slow

TARGET = "Name the day of delivery"
INTENT = {"targetImprovements": [TARGET]}
GOAL = [{"measure": "taskCompletion", "weight": 1}, {"measure": TARGET, "weight": 3}]
LOGGED = 8
NEW_MANNER = "\nManner 1: name the day."


class NamesTheDay(AnsweringModel):
    """Every text completes the same tasks, but for ``worse`` with the new manner, which alone names the day."""

    def __init__(self, *, worse=0.0, **options):
        super().__init__(**options)
        self.worse = worse

    def _agent(self, messages):
        text, opening = messages[0]["content"], messages[1]["content"]
        rate = 0.7 - (self.worse if "Manner 1:" in text else 0.0)
        solved = "It is solved." if share(opening) < rate else "I cannot say."
        return f"{solved} On Tuesday." if "Manner 1:" in text else solved

    def _persona(self, _messages):
        return "Thank you. [END]"

    def _judge(self, messages):
        found = super()._judge(messages)
        for one in found.get("criteria", []):
            one["met"] = "On Tuesday" in json.dumps(messages)
        return found


class LearnsFromWhatWasMissed(NamesTheDay):
    """Writes that the day is to be named only where a conversation is shown that missed it, though its task was completed."""

    def __init__(self):
        super().__init__()
        self.missed = []

    def _reflection(self, messages):
        found = super()._reflection(messages)
        records = read_records(messages)
        missed = [one for one in records if one.get("outcome") == "succeeded" and one.get("missed")]
        self.missed += [one["missed"] for one in records if "missed" in one]
        (edit,) = found["edits"]
        if not missed:
            edit["text"] = edit["text"].replace("Manner ", "Habit ")
            return found
        edit["evidence"] = [{"conversation": missed[0]["id"], "quote": missed[0]["turns"][0]["content"]}]
        edit["text"] = NEW_MANNER.strip()
        return found


def optimized(caller, *, goal=True):
    """Log failures, optimize, and give the ended optimization with its candidates."""
    prompt_id = caller.prompt()
    for at in range(LOGGED):
        turns = [("user", f"My parcel {at} is late."), ("assistant", "I cannot say.")]
        content = json.dumps({"messages": [{"role": role, "content": text} for role, text in turns]})
        caller.ask("POST", "/conversations", {"promptId": prompt_id, "content": content}, expect=201)
    wait_until(
        lambda: caller.ask("GET", f"/prompts/{prompt_id}/status")["insights"]["ready"] == LOGGED,
        what="all conversations have insights",
    )
    body = {"intent": INTENT, "mode": "exploratory", "variantCount": 2}
    if goal:
        body["goal"] = GOAL
    return caller.start(prompt_id, **body)["id"]


def states(caller, optimization_id):
    """What became of the candidates that talked."""
    found = caller.ended(optimization_id, seconds=120)
    assert found["status"] == "completed", found["failure"]
    candidates = [one for one in caller.variants(optimization_id)[1:] if one["search"]["pairs"]]
    assert candidates
    return {one["number"]: one["search"] for one in candidates}


def test_only_with_a_goal_is_accepted_who_completes_as_much_and_meets_a_target(begin):
    caller = begin(NamesTheDay())
    caller.settings(**SMALL)
    without = states(caller, optimized(caller, goal=False))
    assert {(one["won"], one["lost"]) for one in without.values()} == {(0, 0)}
    assert "pool" not in {one["state"] for one in without.values()}
    # It is confirmed as the best of those that were rejected.
    assert all("goal" not in one["reason"] for one in without.values())

    optimization_id = optimized(caller)
    found = states(caller, optimization_id)
    assert found[1]["reason"].endswith("By the goal that is +75.0 points.")
    (finalist,) = [one for one in caller.variants(optimization_id) if one.get("isFinalist")]
    assert "Manner 1:" in finalist["content"]
    # Points of completion, as ever.
    assert abs(found[finalist["number"]]["points"]) < 5
    assert finalist["goalPoints"] == pytest.approx(75, abs=1)
    assert caller.get(optimization_id)["results"]["winnerSelected"] is False


def test_with_a_goal_the_writer_learns_from_targets_that_were_missed(begin):
    model = LearnsFromWhatWasMissed()
    caller = begin(model)
    # A second generation, after conversations that were judged by the targets.
    caller.settings(**SMALL | {"personaCount": 4})
    states(caller, optimized(caller, goal=False))
    assert model.missed == []

    optimization_id = optimized(caller)
    states(caller, optimization_id)
    assert model.missed
    assert all(one == [TARGET] for one in model.missed)
    (finalist,) = [one for one in caller.variants(optimization_id) if one.get("isFinalist")]
    assert NEW_MANNER.strip() in finalist["content"]


def test_whoever_completes_less_is_not_accepted_though_the_goal_likes_it(begin):
    caller = begin(NamesTheDay(worse=0.6))
    caller.settings(**SMALL)
    optimization_id = optimized(caller)
    found = states(caller, optimization_id)
    loser = found[1]
    assert loser["lost"] > loser["won"]
    assert re.search(r"By the goal that is \+\d", loser["reason"])
    assert loser["state"] in ("rejected", "finalist")
    assert "pool" not in {one["state"] for one in found.values()}
    assert caller.get(optimization_id)["results"]["winnerSelected"] is False


@pytest.mark.crash
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_leave_the_same_final_state(tmp_path):
    def final_state(name, meanwhile):
        model = NamesTheDay()
        with serving(model) as env:
            env |= {"PROMPTLIFT_LEASE_SECONDS": "1.5"}
            service = ServiceProcess(tmp_path / name, env=env).start()
            caller = Caller(service)
            try:
                caller.settings(**SMALL)
                optimization_id = optimized(caller)
                meanwhile(service, model)
                caller.ended(optimization_id, seconds=200)
                state = without_ids(caller.final_state(optimization_id))
                return (state, caller.get(optimization_id)["searchPlan"]), model.asked.total()
            finally:
                caller.close()
                service.stop()

    expected, asked = final_state("calm", lambda *_: None)
    killed, _ = final_state(
        "killed", lambda service, model: kill_at_random(service, model, kills=KILLS, asked=asked)
    )
    assert killed == expected
