"""A weighted goal in a search: the writer learns from targets that were missed, and who meets them is accepted."""

from __future__ import annotations

import json

import pytest

from support.answering_model import AnsweringModel, share
from support.data_blocks import read_records
from support.searching import SMALL

pytestmark = pytest.mark.slow

TARGET = "Name the day of delivery"
GOAL = [{"measure": "taskCompletion", "weight": 1}, {"measure": TARGET, "weight": 3}]
LOGGED = 8
NEW_MANNER = "Manner 1: name the day."
WORDY = "And thank them once more for their patience."


class LearnsFromWhatWasMissed(AnsweringModel):
    """Every text completes the same tasks; only the new manner names the day.

    It is written where a conversation is shown that missed the day, though its task was completed.
    """

    def __init__(self):
        super().__init__()
        self.missed = []

    def _agent(self, messages):
        text, opening = messages[0]["content"], messages[1]["content"]
        solved = "It is solved." if share(opening) < 0.7 else "I cannot say."
        return f"{solved} On Tuesday." if NEW_MANNER in text else solved

    def _persona(self, _messages):
        return "Thank you. [END]"

    def _judge(self, messages):
        found = super()._judge(messages)
        for one in found.get("criteria", []):
            one["met"] = "On Tuesday" in json.dumps(messages)
        return found

    def _reflection(self, messages):
        found = super()._reflection(messages)
        records = read_records(messages)
        missed = [one for one in records if one.get("outcome") == "succeeded" and one.get("missed")]
        self.missed += [one["missed"] for one in records if "missed" in one]
        (edit,) = found["edits"]
        if not missed:
            edit["text"] = f"{edit['text'].replace('Manner ', 'Habit ')} {WORDY}"
            return found
        edit["evidence"] = [{"conversation": missed[0]["id"], "quote": missed[0]["turns"][0]["content"]}]
        edit["text"] = NEW_MANNER
        return found


def searched(caller, **goal):
    """Log failures, optimize, and give the candidates."""
    prompt_id = caller.prompt()
    caller.log(
        prompt_id, [f"User: My parcel {at} is late.\nAssistant: I cannot say." for at in range(LOGGED)]
    )
    body = {"intent": {"targetImprovements": [TARGET]}, "mode": "exploratory", "variantCount": 2, **goal}
    found = caller.ended(caller.start(prompt_id, **body)["id"], seconds=120)
    assert found["status"] == "completed", found["failure"]
    assert found["results"]["winnerSelected"] is False
    return caller.variants(found["id"])[1:]


def test_only_with_a_goal_targets_that_were_missed_are_learnt_from_and_who_meets_them_is_accepted(begin):
    model = LearnsFromWhatWasMissed()
    caller = begin(model)
    # A second generation, after conversations that were judged by the targets.
    caller.settings(**SMALL | {"personaCount": 6, "scenariosPerSimulation": 2})
    without = [one["search"] for one in searched(caller) if one["search"]["pairs"]]
    assert without
    assert model.missed == []
    assert {(one["won"], one["lost"]) for one in without} == {(0, 0)}
    assert "pool" not in {one["state"] for one in without}
    # It is confirmed as the best of those that were rejected.
    assert all("goal" not in one["reason"] for one in without)

    candidates = searched(caller, goal=GOAL)
    assert model.missed
    assert all(one == [TARGET] for one in model.missed)
    (accepted,) = [one for one in candidates if one["search"]["state"] == "pool"]
    assert NEW_MANNER in accepted["content"]
    assert "By the goal that is +75.0 points." in accepted["search"]["reason"]
    # Without an old habit that the goal has nothing of.
    (finalist,) = [one for one in candidates if one.get("isFinalist")]
    assert NEW_MANNER in finalist["content"]
    assert len(finalist["content"]) < len(accepted["content"])
    # Points of completion, as ever.
    assert abs(finalist["search"]["points"]) < 5
    assert finalist["goalPoints"] == pytest.approx(75, abs=1)
