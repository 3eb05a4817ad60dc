"""Optimizations beyond their own endpoints: events, usage, the prompt's status, and what other accounts see."""

from __future__ import annotations

from collections import Counter

from agreement.test_outbox import outbox
from support.answering_model import PROMPT
from support.optimizing import ended, make_tiny, start, tiny, win
from support.shapes import differences
from support.shapes.optimizations import OPTIMIZATION


def test_a_winner_is_told_with_its_improvement(won, answering):
    (completed,) = [
        data
        for kind, subject, data in outbox(answering.database, won.wire)
        if (kind, subject) == ("optimization.completed", won.id)
    ]
    results = won.wire.get(won.path)["results"]
    assert completed["results"] == {
        "winner": won.winner["id"],
        "improvementPercentage": results["lift"],
        # Less than was measured, because the winner was picked for it.
        "expectedPercentage": results["liftExpected"],
        "expectedPercentageLow": results["liftExpectedLow"],
        "expectedPercentageHigh": results["liftExpectedHigh"],
        "winnerSelected": True,
        "confidence": results["confidence"],
        "reason": "threshold",
        "rehearsal": False,
    }
    assert results["liftExpectedLow"] < results["liftExpected"] < results["liftExpectedHigh"]


def test_a_stop_is_told_with_its_reason_and_a_refused_one_is_not(wire, database):
    prompt_id = wire.add_prompt()
    ids = [start(wire, prompt_id, mode="validation", variantCount=5)["id"] for _ in range(2)]
    assert wire.ask("POST", f"/optimizations/{ids[0]}/stop", {"reason": "Enough"}).status == 200
    assert wire.ask("POST", f"/optimizations/{ids[1]}/stop").status == 200
    assert wire.ask("POST", f"/optimizations/{ids[0]}/stop", {"reason": "Again"}).status == 409
    assert wire.ask("POST", f"/optimizations/{ids[0]}/apply").status == 409
    told = outbox(database, wire)
    assert Counter(kind for kind, _, _ in told) == {"optimization.started": 2, "optimization.stopped": 2}
    stopped = [data for kind, _, data in told if kind == "optimization.stopped"]
    for one, data, reason in zip(ids, stopped, ("Enough", None), strict=True):
        assert data == {
            "optimizationId": one,
            "promptId": prompt_id,
            "reason": reason,
            "stoppedAt": wire.get(f"/optimizations/{one}")["completedAt"],
        }


def test_an_applied_text_is_told_as_applied_once(won, answering):
    wire = won.wire
    path = f"/{wire.scheme.segment}/{won.prompt_id}"
    wire.ask("PATCH", path, {"content": PROMPT})
    before = len(outbox(answering.database, wire))
    for _ in range(2):
        assert wire.ask("POST", f"{won.path}/apply").status == 200
    told = [one for one in outbox(answering.database, wire)[before:] if one[0] == "prompt.updated"]
    results = wire.get(won.path)["results"]
    expected = {f"expectedPercentage{end}": results[f"liftExpected{end}"] for end in ("", "Low", "High")}
    assert told == [
        (
            "prompt.updated",
            won.prompt_id,
            {
                "promptId": won.prompt_id,
                "promptName": "Parcels",
                "updateType": "applied",
                "variantId": won.winner["id"],
                "appliedAt": wire.get(path)["updatedAt"],
                **expected,
            },
        )
    ]


def test_a_regression_test_is_told_with_its_scenarios(answering):
    from support.service_process import wait_until

    wire = answering.account()
    automatic = {"autoDeploy": {"enabled": True, "requireRegressionPass": True}}
    assert wire.ask("PATCH", "/settings", {"optimization": automatic}).status == 200
    found = win(wire)
    wait_until(
        lambda: wire.get(found.path)["deployment"]["state"] != "testing", what="the regression test ends"
    )
    whole = wire.get(found.path)
    assert differences(whole, OPTIMIZATION) == []
    (tested,) = [
        data for kind, _, data in outbox(answering.database, wire) if kind == "regression_test.completed"
    ]
    assert set(tested) == {
        *("optimizationId", "promptId", "variantId", "passed", "summary", "scenarios"),
        *("expectedPercentage", "expectedPercentageLow", "expectedPercentageHigh"),
    }
    assert {frozenset(one) for one in tested["scenarios"]} == {frozenset(("name", "passed", "delta"))}
    shown = whole["deployment"]["regressionTest"]
    assert (tested["passed"], tested["summary"]) == (shown["passed"], shown["summary"])
    assert tested["variantId"] == whole["deployment"]["variantId"] == found.winner["id"]
    assert sum(tested["summary"][name] for name in ("passed", "regressed")) <= tested["summary"]["total"]
    held = wire.get(f"{found.path}/simulations?stage=regression&limit=100")["data"]
    assert held


def test_tokens_of_a_run_are_in_the_usage_of_its_account(answering):
    wire = answering.account()
    make_tiny(wire)
    found = ended(wire, start(wire, wire.add_prompt(), variantCount=1)["id"])
    assert found["usage"]["tokens"] > 0
    assert wire.get("/usage")["tokens"]["used"] == found["usage"]["tokens"]


def test_the_last_optimization_is_the_last_that_completed(wire):
    prompt_id = wire.add_prompt()
    tiny(wire, prompt_id)
    last = tiny(wire, prompt_id)
    body = wire.get(f"/{wire.scheme.segment}/{prompt_id}/status")
    assert (body["optimizationState"], body["lastOptimized"]) == ("idle", last["completedAt"])
