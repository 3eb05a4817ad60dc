"""A weighted goal over real sockets: it chooses the finalist, is stored and shown, and never names who loses completion."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

import promptlift
from promptlift.service.optimizations.goal import Goal
from promptlift.widgets.review.reading import read_review
from promptlift.widgets.review.variants import head, make_cards
from promptlift.widgets.tree import fact
from support.answering_model import AnsweringModel, share

TARGET = "Name the day of delivery"


class Names(AnsweringModel):
    """Variants 1 and 2: the first completes more tasks, the second names the day, and completes ``worse`` fewer."""

    def __init__(self, *, worse=0.0):
        super().__init__()
        self.worse = worse

    def _agent(self, messages):
        text, opening = messages[0]["content"], messages[1]["content"]
        rate = 0.6 + (0.35 if "Manner 1:" in text else 0.0) - (self.worse if "Manner 2:" in text else 0.0)
        solved = "It is solved." if share(opening) < rate else "I cannot say."
        return f"{solved} On Tuesday." if "Manner 2:" in text else solved

    def _judge(self, messages):
        found = super()._judge(messages)
        named = "On Tuesday" in json.dumps(messages)
        for one in found.get("criteria", []):
            one["met"] = named
        return found


def run(caller, goal=None, **body):
    body = {"mode": "exploratory", "variantCount": 2, "search": "off", **body}
    if goal is not None:
        body["goal"] = [{"measure": measure, "weight": weight} for measure, weight in goal.items()]
    made = caller.start(caller.prompt(), intent={"targetImprovements": [TARGET]}, **body)
    return caller.ended(made["id"])


def finalist(caller, found):
    (one,) = [one for one in caller.variants(found["id"]) if one.get("isFinalist")]
    return one


def test_the_finalist_is_who_meets_the_goal_best(begin):
    caller = begin(Names())
    caller.settings(maxTurns=1, maxIterations=3, personaCount=4, scenariosPerSimulation=2)
    plain = run(caller)
    assert finalist(caller, plain)["number"] == 1
    assert "goal" not in plain["settings"]
    assert {one.get("goalPoints") for one in caller.variants(plain["id"])} == {None}

    found = run(caller, {"taskCompletion": 1, TARGET: 3})
    chosen = finalist(caller, found)
    assert chosen["number"] == 2
    # Completion weighs a quarter, and the target, which the original never meets, the rest.
    assert chosen["goalPoints"] == pytest.approx(75 + chosen["liftPoints"] / 4)
    with promptlift.connect(base_url=caller.service.base_url, api_key=caller.service.key) as lift:
        assert lift.variants(found["id"])["goal_points"].notna().sum() == 2
        review = read_review(lift, found["id"])
        assert fact("finalist chosen by", f"taskCompletion × 1, {TARGET} × 3") in head(review)
        facts = {name for card in make_cards(review) for name, _ in card.facts}
        assert "goal, relative to the original" in facts


def assert_a_goal_that_cannot_be_measured_is_refused(caller):
    prompt_id = caller.prompt()
    intent = {"targetImprovements": [TARGET]}
    wrong = {
        "goal[0].measure": [{"measure": "Be kind", "weight": 1}],
        "goal[1].measure": [{"measure": TARGET, "weight": 1}, {"measure": TARGET, "weight": 2}],
        "goal[0].weight": [{"measure": TARGET, "weight": 0}],
        "goal": [],
    }
    for path, goal in wrong.items():
        refused = caller.start(prompt_id, intent=intent, goal=goal, expect=400)
        assert re.sub(r"\.(\d+)", r"[\1]", next(iter(refused["error"]["details"]))) == path
    # With a language model there is nothing to pace.
    refused = caller.start(prompt_id, rehearsalSeconds=30, expect=400)
    assert set(refused["error"]["details"]) == {"rehearsalSeconds"}
    assert caller.ask("GET", "/optimizations", promptId=prompt_id)["data"] == []


def test_whoever_loses_completion_is_not_named_whatever_the_goal(begin):
    caller = begin(Names(worse=0.3))
    caller.settings(maxTurns=1, maxIterations=6, personaCount=4, scenariosPerSimulation=2)
    assert_a_goal_that_cannot_be_measured_is_refused(caller)
    found = run(caller, {TARGET: 1})
    assert finalist(caller, found)["number"] == 2
    assert found["results"]["winnerSelected"] is False
    assert found["results"]["targets"][0]["change"] == "improved"


def test_a_conversation_meets_a_goal_by_its_weights():
    goal = Goal.of([{"measure": TARGET, "weight": 3}, {"measure": "taskCompletion", "weight": 1}], (TARGET,))
    without = Goal.of(None, (TARGET,))
    for completed, criteria, expected in (
        (True, [True], 1.0),
        (True, [False], 0.25),
        (False, [True], 0.75),
        (None, [True], None),
        (True, None, None),
        (True, [True, True], None),
    ):
        row = SimpleNamespace(task_completed=completed, criteria=criteria)
        assert goal.score(row) == expected
        assert goal.unmet(row, (TARGET,)) == ((TARGET,) if expected == 0.25 else ())
        assert (without.score(row), without.unmet(row, (TARGET,))) == (None, ())
