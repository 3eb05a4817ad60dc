from __future__ import annotations

from functools import partial

import pandas as pd
import pytest

from promptlift import analysis
from promptlift.errors import ConfigError, NotFound
from promptlift.schema.search import CIRCULAR
from promptlift.schema.settings import Settings
from support.request_log import requests_of

PROMPT = {"name": "Planned", "content": "You help customers.", "llm_model": "gpt-4o"}


@pytest.fixture
def planned(lift):
    prompt = lift.create_prompt(**PROMPT)
    yield prompt
    lift.client.prompts.delete(prompt.id)


def judged(lift, prompt, failed, done):
    """Log conversations that the built-in analyser judges, and wait for it."""
    from promptlift.local import wait_for_insights

    complaint = [
        {"role": "user", "content": "Where is my parcel? It is late."},
        {"role": "assistant", "content": "I am sorry, I cannot help you with that."},
        {"role": "user", "content": "This is useless. That does not help me at all. Terrible."},
    ]
    thanks = [
        {"role": "user", "content": "Where is my parcel?"},
        {"role": "assistant", "content": "It arrives tomorrow. I have sent you the link."},
        {"role": "user", "content": "Great, thank you, that solved it!"},
    ]
    lift.log(
        [{"messages": complaint, "source_id": f"f{n}"} for n in range(failed)]
        + [{"messages": thanks, "source_id": f"d{n}"} for n in range(done)],
        prompt_id=prompt.id,
    )
    wait_for_insights(lift, [prompt.id], progress=False)


def test_the_mode_and_the_search_change_the_cost(lift, planned, monkeypatch):
    # Without a failed conversation there is nothing to learn from.
    plan = lift.plan_optimization("Planned", search="on")
    assert (plan.search, plan.points, plan.enough) == ("off", None, None)
    assert "at most 345 conversations" in str(plan)
    assert "No logged conversations were judged" in plan.sentence
    assert "345" in plan._repr_html_()
    # Without conversations nobody knows how often it is sent.
    assert plan.sentence.endswith(" The prompt has 3 words.")
    judged(lift, planned, 2, 1)
    whole = lift.plan_optimization("Planned", mode="validation", variants=3, search="off")
    assert (whole.spending.most, whole.spending.verification) == (690, 120)
    # One and a half answers a conversation, 19 characters each.
    assert whole.sentence.endswith(" The prompt has 3 words, 7 tokens a conversation.")
    searched = lift.plan_optimization("Planned", mode="validation")
    assert (searched.search, searched.spending.search) == ("on", 345)
    assert searched.points_findable > whole.points_findable
    assert "for the search" in searched.sentence
    assert lift.plan_optimization("Planned", variants=1, search="on").search == "off"

    optimization = lift.client.settings.get().optimization
    lift.client.settings.update(optimization={"maxIterations": 1})
    try:
        plan = lift.plan_optimization("Planned", mode="exploratory", search="on")
    finally:
        lift.client.settings.update(optimization={"maxIterations": optimization.max_iterations})
    assert plan.search == "off"
    assert plan.spending.pairs > 0
    monkeypatch.setattr(lift.client.settings, "get", lambda: Settings.from_wire({"optimization": {}}))
    assert lift.plan_optimization(planned.id).search == "off"
    assert lift.plan_optimization(planned.id, search="on").search == "on"


@pytest.mark.slow
def test_the_headroom_is_that_of_the_analysis_and_no_model_is_called(lift, planned):
    judged(lift, planned, 12, 12)
    for one in lift.conversations(planned.id, insights=True).itertuples():
        solved = {"solved": bool(one.task_completed)}
        lift.client.conversations.update(one.conversation_id, metadata=solved)
    lift.update_prompt(planned.id, outcome="solved")
    with requests_of(lift) as seen:
        plan = lift.plan_optimization(planned.id, confidence_mode="high")
    assert not [one for one in seen if not one.startswith("GET ")]
    table = analysis.headroom(
        lift.conversations(planned.id, insights=True), confidence_mode="high", pairs=plan.spending.pairs
    )
    assert plan.points == table["points"].iloc[0]
    assert plan.enough == bool(table["enough"].iloc[0])
    assert "By 24 judged conversations" in plan.sentence
    assert CIRCULAR not in plan.sentence
    assert not lift.optimizations(planned.id)["optimization_id"].tolist()


def test_the_service_says_so_too_when_an_optimization_is_asked_for(lift, planned):
    judged(lift, planned, 12, 12)
    texts = ["You help.", "You serve."]
    for wanted in ({}, {"candidates": texts}):
        plan = lift.plan_optimization(planned.id, mode="exploratory", **wanted)
        made = lift.optimize(planned.id, mode="exploratory", wait=False, **wanted)
        assert made.headroom.text.endswith(CIRCULAR)
        for name in ("points_findable", "enough", "points", "points_low", "points_high"):
            assert getattr(made.headroom, name) == getattr(plan, name)
        assert (plan.variants, plan.search) == ((2, "off") if wanted else (plan.variants, "on"))
        if not wanted:
            made.stop()
    found = made.wait()
    assert found.results.progress.conversations_max == plan.spending.most + plan.spending.verification
    assert found.search_plan is None


def test_what_cannot_be_planned_is_refused(lift, planned):
    refused = (
        {"variants": 9},
        {"search": "maybe"},
        {"mode": "fast"},
        {"candidates": []},
        {"candidates": [None]},
    )
    texts = ["You help.", "You serve."]
    wrong = ({"variants": 3}, {"search": "on"}, {"candidates": 3 * texts})
    for arguments in (*refused, *({"candidates": texts, **one} for one in wrong)):
        with pytest.raises(ConfigError):
            lift.plan_optimization(planned.id, **arguments)
    with pytest.raises(NotFound):
        lift.plan_optimization("No such prompt at all")


def test_a_gain_below_what_the_budget_finds_is_said():
    from promptlift.stats.budget import planned_spending
    from promptlift.workspace.optimizing.planning import sentence_of

    tell = partial(sentence_of, planned_spending(3, "exploratory"), mode="exploratory", judged=200)
    said = tell(findable=12.0, gain=(1.5, -0.5, 3.5), enough=False)
    assert (
        "those in which nothing went wrong complete 1.5 points (−0.5 to 3.5) more often than all, and more is not to be expected: "
        "most likely below what this budget can find, so a run will hardly" in said
    )
    enough = tell(findable=12.0, gain=(21.0, 10.0, 32.0), enough=True)
    assert "below what this budget can find" not in enough
    assert CIRCULAR not in enough
    nothing = tell(findable=None, gain=(21.0, 10.0, 32.0), enough=False)
    assert "Whatever the gain, this is too little to find it" in nothing


def test_headroom_is_not_told_where_one_judge_named_issues_and_failures(lift, planned, monkeypatch):
    for analyser in (("lexicon", "llm:gpt-4o"), "llm:gpt-4o", None):
        issues = [[], [{"title": "Conversation was handed over"}]]
        known = {"issues": issues, "task_completed": [True, False], "n_turns": [4, 2], "analyser": analyser}
        table = pd.DataFrame({"conversation_id": ["1", "2"], **known})
        monkeypatch.setattr(lift, "conversations", lambda *_, table=table, **__: table)
        assert (CIRCULAR in lift.plan_optimization(planned.id).sentence) is (analyser is not None)
