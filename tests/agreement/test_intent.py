"""What an optimization is asked for, measured: targets and hypothesis in its results."""

from __future__ import annotations

import pytest

from support.answering_model import PROMPT
from support.optimizing import ended, start

INTENT = {
    "targetImprovements": ["Say when the parcel comes", "Be polite"],
    "hypothesis": "Another manner solves more requests.",
}


def test_targets_and_hypothesis_are_measured_on_the_pairs(answering, connect):
    wire = answering.account()
    prompt_id = wire.add_prompt(name="Parcels", content=PROMPT)
    made = start(wire, prompt_id, mode="exploratory", variantCount=2, intent=INTENT, seed=1)
    whole = ended(wire, made["id"])
    results = whole["results"]
    solved, polite = results["targets"]
    assert [solved["target"], polite["target"]] == INTENT["targetImprovements"]
    # The first target is met exactly where the task is completed, the second by chance.
    assert solved["change"] == "improved"
    assert solved["points"] == pytest.approx(results["liftPoints"])
    assert solved["n"] == polite["n"] == results["pairs"]["n"]
    assert solved["pointsLow"] < results["liftPointsLow"]
    assert solved["intervalLevel"] == pytest.approx(0.95)
    assert polite["change"] == "unclear"
    assert results["hypothesis"] == {"text": INTENT["hypothesis"], "held": None, "measuredBy": "targets"}
    typed = connect(wire).optimizations.get(made["id"]).results
    assert [one.to_wire() for one in typed.targets] == results["targets"]
    assert typed.hypothesis.held is None
    held = wire.get(f"/optimizations/{made['id']}/simulations?limit=100")["data"]
    # Every conversation says what the targets were measured by.
    judged = [one for one in held if one["taskCompleted"] is not None]
    assert {tuple(target["target"] for target in one["criteria"]) for one in judged} == {
        tuple(INTENT["targetImprovements"])
    }
    assert all(one["criteria"][0]["met"] == one["taskCompleted"] for one in judged)


def test_settings_reach_the_judge_and_the_recommendations(answering):
    seen = []

    def note(asked):
        if asked.body is not None and asked.headers["x-promptlift-purpose"] == "judge":
            seen.append(asked.body["messages"])

    wire = answering.account()
    wire.ask(
        "PATCH",
        "/settings",
        {
            "general": {
                "industry": "Parcels",
                "insightRequirements": "Where no answer is given",
                "kpis": "on time",
                "objectives": "Keep small shops shipping",
            }
        },
    )
    answering.model.fault = note
    try:
        prompt_id = wire.add_prompt()
        wire.log(prompt_id)
        wire.wait_for_insights(prompt_id)
    finally:
        answering.model.fault = None
    (system, user) = seen[-1]
    assert "Where no answer is given" in system["content"]
    for background in (
        '"industry": "Parcels"',
        '"kpis": "on time"',
        '"objectives": "Keep small shops shipping"',
    ):
        assert background in user["content"]
    view = wire.get(f"/prompts/{prompt_id}/insights")
    assert [one["issue"] for one in view["topIssues"]] == ["No answer"]
    assert "It concerns what you want to learn." in view["recommendations"][0]
    # Insights that are there already are not shown with what is excluded from now on.
    wire.ask("PATCH", "/settings", {"general": {"excludedDataAndTopics": "answers"}})
    assert wire.get(f"/prompts/{prompt_id}/insights")["topIssues"] == []


def test_words_that_are_excluded_later_are_not_in_older_insights(answering):
    wire = answering.account()
    prompt_id = wire.add_prompt()
    conversation = wire.log(prompt_id, "User: Where is my parcel?\nAssistant: I cannot say.")
    wire.wait_for_insights(prompt_id)

    def seen():
        listed = wire.get("/conversations?includeInsights=true")["data"][0]["insights"]
        assert listed == wire.get(f"/conversations/{conversation}")["insights"]
        assert listed == wire.get(f"/conversations/{conversation}/insights")
        return listed

    before = seen()
    assert (before["topics"], before["summary"]) == (["parcel"], "They asked for a parcel.")
    assert [one["title"] for one in before["issues"]] == ["No answer"]
    wire.ask("PATCH", "/settings", {"general": {"excludedDataAndTopics": "parcels, answers"}})
    after = seen()
    assert (after["topics"], after["summary"]) == ([], "They asked for a [excluded].")
    assert after["issues"] == []
    assert "parcel" not in str({**after, "failedStep": None, "steps": []}).lower()
    assert "parcel" not in str(after["failedStep"]["quote"]).lower()
    assert {name: after[name] for name in ("taskCompleted", "sentiment", "quality")} == {
        name: before[name] for name in ("taskCompleted", "sentiment", "quality")
    }
    wire.ask("PATCH", "/settings", {"general": {"excludedDataAndTopics": ""}})
    assert seen() == before
