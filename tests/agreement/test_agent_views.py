"""Views of agents: who judged, what failures cost, and which prompts a ranking leaves out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

import promptlift
from promptlift.errors import ConfigError
from promptlift.workspace import NothingMatchesWarning


def structured(messages, started):
    timed = [
        {
            "role": one["role"],
            "content": one["content"],
            "timestamp": (started + timedelta(seconds=place)).isoformat(),
        }
        for place, one in enumerate(messages)
    ]
    return json.dumps({"messages": timed})


def test_issues_and_steps_say_who_judged_and_failures_what_they_cost(new_account):
    wire = new_account()
    prompt = wire.add_prompt(outcome="solved")
    said = "User: cancel it\nAssistant: I cannot do that.\nUser: This is useless, forget it."
    for solved in (False, True):
        wire.log(prompt, said, metadata={"solved": solved})
    wire.wait_for_insights(prompt)
    with promptlift.connect(wire.base_url, wire.key, progress=False) as lift:
        # The owner says what a conversation is worth.
        lift.client.settings.update(business={"valuePerConversation": 4, "currency": "EUR"})
        view, steps = lift.client.agents.insights(prompt), lift.client.agents.step_failures(prompt)
        fleet = lift.fleet()
    assert (view.analyser, view.basis) == (steps.analyser, steps.basis) == ("lexicon", "outcome")
    impact = view.business_impact
    assert (impact.failed_conversations, impact.cost, impact.currency) == (1, 4.0, "EUR")
    # Both look failed, and one of them was not.
    assert (max(one.reached for one in steps.steps), sum(one.failures for one in steps.steps)) == (2, 1)
    assert fleet["prompt_id"].tolist() == [prompt]
    assert fleet.attrs["promptlift"]["complete"] is True


def test_a_ranking_says_which_prompts_are_outside_of_its_days(new_account):
    wire = new_account()
    new, old = (wire.add_prompt(name=name, outcome="solved") for name in ("new", "old"))
    said = [{"role": "user", "content": "Cancel it."}, {"role": "assistant", "content": "No."}]
    for prompt, days in ((new, 1), (old, 60)):
        started = datetime.now(UTC) - timedelta(days=days)
        wire.log(prompt, structured(said, started), metadata={"solved": True})
        wire.wait_for_insights(prompt)
    with promptlift.connect(wire.base_url, wire.key, progress=False) as lift:
        with pytest.warns(
            NothingMatchesWarning,
            match="Left out: 1 of 2 prompts, without a judged conversation in the last 30 days",
        ) as warned:
            fleet = lift.fleet()
        assert f"({datetime.now(UTC) - timedelta(days=30):%Y-%m-%d} to" in str(warned[0].message)
        assert warned[0].filename == __file__
        assert fleet["name"].tolist() == ["new"]
        assert fleet.attrs["promptlift"]["period"]["outside"] == 1
        assert set(lift.fleet(days="all")["name"]) == {"new", "old"}
        with pytest.raises(ConfigError, match='days must be 7, 30, 90 or "all", not 365'):
            lift.fleet(days=365)
