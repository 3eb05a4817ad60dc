"""Agents of real conversations: failing steps with quotations, a ranking, shared issues, and what failures cost."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

import promptlift
from promptlift.errors import ConfigError
from promptlift.workspace import NothingMatchesWarning
from support.shapes import differences
from support.shapes.prompts import AGENT_INSIGHTS_VIEW
from support.shared_data import load, needs_shared

AGENTS = ("tau2-airline", "tau2-retail")
EACH = 60


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


@pytest.fixture(scope="module")
def real(service):
    """An account with the conversations of two real agents, half of them in each of two months."""
    from promptlift.service.store.database import Database
    from support.wire import open_account

    database = Database(f"sqlite:///{service.data / 'promptlift.db'}")
    wire = open_account(service.base_url, database, plan="enterprise", scheme="agent")
    agents = {}
    for name in AGENTS:
        agents[name] = wire.add_prompt(name=name, outcome="score.reward >= 1")
        rows = load(name)
        # Some of every model that was recorded.
        for place, row in enumerate(rows[:: len(rows) // EACH][:EACH]):
            started = datetime.now(UTC) - timedelta(days=2 if place % 2 else 40)
            wire.log(
                agents[name],
                structured(row["messages"], started),
                status=row["status"],
                metadata={"score.reward": row["truth"]["reward"]},
            )
    for agent in agents.values():
        wire.wait_for_insights(agent)
    yield wire, agents
    database.close()


@needs_shared
def test_failing_steps_of_two_real_agents_with_what_was_said(real):
    wire, agents = real
    located = 0
    for name, agent in agents.items():
        view = wire.get(f"/agents/{agent}/step-failures")
        assert view["conversations"] == view["analysed"] == EACH // 2
        # The log says of more conversations that they failed than the judge sees failing at a step.
        failures = sum(step["failures"] for step in view["steps"])
        assert view["totalFailures"] >= failures
        located += failures
        tools = {step["step"] for step in view["steps"] if step["step"].startswith("tool:")}
        assert (
            "tool:get_reservation_details" if name == "tau2-airline" else "tool:get_order_details"
        ) in tools
        for step in view["steps"]:
            assert step["failures"] == sum(step["kinds"].values())
            shown = step["failures"] - step["kinds"].get("no_sign", 0)
            assert len(step["quotes"]) == min(3, shown)
            for quote in step["quotes"]:
                content = wire.get(f"/conversations/{quote['conversationId']}")["content"]
                said = " ".join(json.loads(content)["messages"][quote["turn"]]["content"].split())
                assert all(part in said for part in quote["quote"].split(" … "))
    assert located


@needs_shared
def test_insights_of_real_agents_rank_them_and_share_their_issues(real):
    wire, agents = real
    views = {name: wire.get(f"/agents/{agent}/insights") for name, agent in agents.items()}
    for name, view in views.items():
        assert differences(view, AGENT_INSIGHTS_VIEW) == []
        metrics = view["metrics"]
        completion = metrics["taskCompletion"]
        assert completion["trend"] == f"{completion['trendPoints']:+.1f}%"
        assert completion["trendPointsLow"] <= completion["trendPoints"] <= completion["trendPointsHigh"]
        # The log says how they ended; sentiment is what a word list scores.
        assert (view["basis"], view["analyser"]) == ("outcome", "lexicon")
        assert metrics["sentiment"]["trendScore"] is None
        fleet = view["fleetIntelligence"]
        assert fleet["agents"] == 2
        assert fleet["rankLow"] <= fleet["rank"] <= fleet["rankHigh"]
        assert {one["agents"] for one in fleet["sharedIssues"]} == {2}
        lost = view["businessImpact"]["firstIssue"]
        assert lost["completionWithout"] == pytest.approx(completion["rate"] + lost["points"])
        for line in view["recommendations"]:
            assert "Next: " in line
            assert "%" in line or "judged conversations" in line
        for issue in view["topIssues"]:
            for one in issue["conversationIds"]:
                titles = {found["title"] for found in wire.get(f"/conversations/{one}/insights")["issues"]}
                assert titles & set(issue["titles"]), name
    assert sum(view["fleetIntelligence"]["conversationShare"] for view in views.values()) == pytest.approx(
        100.0
    )
    assert sum(view["fleetIntelligence"]["failureShare"] for view in views.values()) == pytest.approx(100.0)
    whole = wire.get(f"/agents/{agents['tau2-airline']}/insights?days=all")["metrics"]
    assert whole["taskCompletion"]["trend"] == "+0.0%"
    assert whole["sentiment"]["trend"] == "+0.00"
    assert whole["taskCompletion"]["trendPoints"] is whole["taskCompletion"]["previousRate"] is None


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
            match="1 of 2 prompts with judged conversations have any in the last 30 days",
        ) as warned:
            fleet = lift.fleet()
        assert f"({datetime.now(UTC) - timedelta(days=30):%Y-%m-%d} to" in str(warned[0].message)
        assert warned[0].filename == __file__
        assert fleet["name"].tolist() == ["new"]
        assert fleet.attrs["promptlift"]["period"]["outside"] == 1
        assert set(lift.fleet(days="all")["name"]) == {"new", "old"}
        with pytest.raises(ConfigError, match='days must be 7, 30, 90 or "all", not 365'):
            lift.fleet(days=365)
