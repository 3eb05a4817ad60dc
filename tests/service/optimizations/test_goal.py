"""A weighted goal over real sockets: it chooses the finalist, is stored and shown, and never names who loses completion."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pytest

import promptlift
from promptlift.service.optimizations.goal import Goal
from promptlift.stats.experiment import Experiment
from promptlift.stats.passes import Outcome
from promptlift.widgets.review.cards import head, make_cards
from promptlift.widgets.review.reading import read_review
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
    (number,) = [one["number"] for one in caller.variants(found["id"]) if one.get("isFinalist")]
    return number


def test_the_finalist_is_who_meets_the_goal_best(begin):
    caller = begin(Names())
    caller.settings(maxTurns=1, maxIterations=3, personaCount=4, scenariosPerSimulation=2)
    plain = run(caller)
    assert finalist(caller, plain) == 1
    assert "goal" not in plain["settings"]
    assert {one.get("goalPoints") for one in caller.variants(plain["id"])} == {None}

    found = run(caller, {"taskCompletion": 1, TARGET: 3})
    assert finalist(caller, found) == 2
    assert found["settings"]["goal"] == [
        {"measure": "taskCompletion", "weight": 1},
        {"measure": TARGET, "weight": 3},
    ]
    # Completion weighs a quarter, and the target, which the original never meets, the rest.
    (chosen,) = [one for one in caller.variants(found["id"]) if one.get("isFinalist")]
    assert chosen["goalPoints"] == pytest.approx(75 + chosen["liftPoints"] / 4)
    with promptlift.connect(base_url=caller.service.base_url, api_key=caller.service.key) as lift:
        assert lift.variants(found["id"])["goal_points"].notna().sum() == 2
        review = read_review(lift, found["id"])
        assert fact("finalist chosen by", f"taskCompletion × 1, {TARGET} × 3") in head(review)
        facts = {name for card in make_cards(review) for name, _ in card.facts}
        assert "goal, beside the original" in facts


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
    assert caller.ask("GET", "/optimizations", promptId=prompt_id)["data"] == []


def test_whoever_loses_completion_is_not_named_whatever_the_goal(begin):
    caller = begin(Names(worse=0.3))
    caller.settings(maxTurns=1, maxIterations=6, personaCount=4, scenariosPerSimulation=2)
    assert_a_goal_that_cannot_be_measured_is_refused(caller)
    found = run(caller, {TARGET: 1})
    assert finalist(caller, found) == 2
    assert found["results"]["winnerSelected"] is False
    assert found["results"]["targets"][0]["change"] == "improved"


def test_a_screening_with_a_goal_resumes_as_it_would_go_on():
    def outcomes(step):
        for cell in step.cells:
            for arm in step.arms:
                yield Outcome(cell.number, arm, arm == 1, goal=float(arm == 2))

    whole = Experiment(3, "validation", "moderate", seed=5)
    parts = Experiment(3, "validation", "moderate", seed=5)
    for _ in range(6):
        whole.record(outcomes(whole.next_pass()))
        parts.record(outcomes(parts.next_pass()))
        parts = Experiment.from_state(json.loads(json.dumps(parts.to_state())))
    assert whole.verdict() == parts.verdict()
    assert whole.verdict().finalist == 2


@pytest.mark.parametrize(
    ("completed", "criteria", "expected"),
    [
        (True, [True], 1.0),
        (True, [False], 0.25),
        (False, [True], 0.75),
        (None, [True], None),
        (True, None, None),
        (True, [True, True], None),
    ],
)
def test_a_conversation_meets_a_goal_by_its_weights(completed, criteria, expected):
    row = SimpleNamespace(task_completed=completed, criteria=criteria)
    goal = Goal.of([{"measure": TARGET, "weight": 3}, {"measure": "taskCompletion", "weight": 1}], (TARGET,))
    assert goal.score(row) == expected
    assert goal.unmet(row, (TARGET,)) == ((TARGET,) if expected == 0.25 else ())
    without = Goal.of(None, (TARGET,))
    assert (without.score(row), without.unmet(row, (TARGET,))) == (None, ())
