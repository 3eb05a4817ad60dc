"""Optimizations beyond their own endpoints: events, usage, the prompt's status, and what other accounts see."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

from agreement.covered import same
from agreement.test_outbox import outbox
from support import shapes
from support.answering_model import PROMPT
from support.optimizing import ended, make_tiny, start, tiny, win
from support.shapes import differences
from support.shapes.account import USAGE
from support.shapes.deployments import DEPLOYMENT, REGRESSION_TEST
from support.shapes.optimizations import OPTIMIZATION, SIMULATION
from support.shapes.prompts import STATUS_VIEW

# Beyond the specification, in events about a variant.
EXPECTED = ("expectedPercentage", "expectedPercentageLow", "expectedPercentageHigh")
# "settings" and "results" are objects of our own making; the other fields are the specification's, no more and no less.
STARTED = {
    **dict.fromkeys(("optimizationId", "promptId"), shapes.text),
    "status": shapes.one_of("running"),
    "settings": lambda value: isinstance(value, dict),
    "startedAt": shapes.time,
}
COMPLETED = {
    **dict.fromkeys(("optimizationId", "promptId"), shapes.text),
    "results": {
        "winner": shapes.maybe(shapes.text),
        "improvementPercentage": shapes.maybe(shapes.number),
        # Beyond the specification, as what follows:
        **dict.fromkeys(EXPECTED, shapes.maybe(shapes.number)),
        "winnerSelected": shapes.flag,
        "confidence": shapes.maybe(shapes.number),
        "reason": shapes.text,
        "rehearsal": shapes.flag,
    },
    "duration": shapes.number,
    "completedAt": shapes.time,
}
STOPPED = {
    **dict.fromkeys(("optimizationId", "promptId"), shapes.text),
    "reason": shapes.maybe(shapes.text),
    "stoppedAt": shapes.time,
}
TESTED = {
    **dict.fromkeys(("optimizationId", "promptId", "variantId"), shapes.text),
    "passed": shapes.flag,
    "summary": {"total": shapes.count, "passed": shapes.count, "regressed": shapes.count},
    "scenarios": shapes.listed(
        {"name": shapes.text, "passed": shapes.flag, "delta": shapes.maybe(shapes.number)}
    ),
    **dict.fromkeys(EXPECTED, shapes.number),
}


def seconds_between(first, last):
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()


def test_a_run_to_its_end_is_told_twice(wire, database):
    found = tiny(wire)
    (started, completed) = outbox(database, wire)
    assert [started[:2], completed[:2]] == [
        ("optimization.started", found["id"]),
        ("optimization.completed", found["id"]),
    ]
    assert differences(started[2], STARTED) == []
    assert differences(completed[2], COMPLETED) == []
    assert started[2]["startedAt"] == found["startedAt"]
    settings = started[2]["settings"]
    # Nothing of the account's general settings: this leaves the house.
    assert settings == {"mode": "exploratory", "variantCount": 1, **found["settings"]}
    assert completed[2]["completedAt"] == found["completedAt"]
    assert completed[2]["duration"] == pytest.approx(
        seconds_between(found["startedAt"], found["completedAt"]), abs=0.002
    )
    results = completed[2]["results"]
    assert (results["winner"], results["improvementPercentage"], results["winnerSelected"]) == (
        None,
        None,
        False,
    )


def test_a_winner_is_told_with_its_improvement(won, answering):
    (completed,) = [
        data
        for kind, subject, data in outbox(answering.database, won.wire)
        if (kind, subject) == ("optimization.completed", won.id)
    ]
    assert differences(completed, COMPLETED) == []
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
        assert differences(data, STOPPED) == []
        assert data == {
            "optimizationId": one,
            "promptId": prompt_id,
            "reason": reason,
            "stoppedAt": wire.get(f"/optimizations/{one}")["completedAt"],
        }


def test_a_queued_one_that_is_stopped_never_started(answering, held_model):
    wire = answering.account()
    prompt_id = wire.add_prompt()
    ids = [start(wire, prompt_id)["id"] for _ in range(11)]
    wire.ask("POST", f"/optimizations/{ids[10]}/stop")
    told = outbox(answering.database, wire)
    assert [kind for kind, subject, _ in told if subject == ids[10]] == ["optimization.stopped"]
    for one in ids[:10]:
        wire.ask("POST", f"/optimizations/{one}/stop")
    kinds = Counter(kind for kind, _, _ in outbox(answering.database, wire))
    assert kinds == {"optimization.started": 10, "optimization.stopped": 11}


def test_an_applied_text_is_told_as_applied_once(won, answering):
    wire = won.wire
    path = f"/{wire.scheme.segment}/{won.prompt_id}"
    wire.ask("PATCH", path, {"content": PROMPT})
    before = len(outbox(answering.database, wire))
    for _ in range(2):
        assert wire.ask("POST", f"{won.path}/apply").status == 200
    told = [one for one in outbox(answering.database, wire)[before:] if one[0] == "prompt.updated"]
    results = wire.get(won.path)["results"]
    expected = (results[f"liftExpected{end}"] for end in ("", "Low", "High"))
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
                **dict(zip(EXPECTED, expected, strict=True)),
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
    assert differences(whole["deployment"], DEPLOYMENT) == []
    assert differences(whole["deployment"]["regressionTest"], REGRESSION_TEST) == []
    assert differences(whole, OPTIMIZATION) == []
    (tested,) = [
        data for kind, _, data in outbox(answering.database, wire) if kind == "regression_test.completed"
    ]
    assert differences(tested, TESTED) == []
    shown = whole["deployment"]["regressionTest"]
    assert (tested["passed"], tested["summary"]) == (shown["passed"], shown["summary"])
    assert tested["variantId"] == whole["deployment"]["variantId"] == found.winner["id"]
    assert sum(tested["summary"][name] for name in ("passed", "regressed")) <= tested["summary"]["total"]
    held = wire.get(f"{found.path}/simulations?stage=regression&limit=100")["data"]
    assert held
    for item in held:
        assert differences(item, SIMULATION) == []


def test_usage_counts_what_was_asked_for_and_what_runs(answering, held_model):
    wire = answering.account(plan="pro")
    prompt_id = wire.add_prompt()
    assert wire.get("/usage")["optimizations"] == {"used": 0, "limit": 50, "running": 0}
    ids = [start(wire, prompt_id)["id"] for _ in range(11)]
    assert wire.get("/usage")["optimizations"] == {"used": 11, "limit": 50, "running": 10}
    for one in ids[::-1]:
        wire.ask("POST", f"/optimizations/{one}/stop")
    # What was stopped was used.
    assert wire.get("/usage")["optimizations"] == {"used": 11, "limit": 50, "running": 0}
    assert differences(wire.get("/usage"), USAGE) == []


def test_tokens_of_a_run_are_in_the_usage_of_its_account(answering):
    wire = answering.account()
    make_tiny(wire)
    found = ended(wire, start(wire, wire.add_prompt(), variantCount=1)["id"])
    assert found["usage"]["tokens"] > 0
    assert wire.get("/usage")["tokens"]["used"] == found["usage"]["tokens"]


def test_the_status_of_a_prompt_says_what_its_optimizations_do(answering, held_model, connect):
    wire = answering.account()
    busy, waiting, idle = wire.add_prompt(), wire.add_prompt(), wire.add_prompt()
    ids = [start(wire, busy)["id"] for _ in range(10)]
    ids.append(start(wire, waiting)["id"])
    for prompt_id, state in ((busy, "running"), (waiting, "queued"), (idle, "idle")):
        for segment in ("prompts", "agents"):
            body = wire.get(f"/{segment}/{prompt_id}/status")
            assert differences(body, STATUS_VIEW) == []
            assert (body["optimizationState"], body["lastOptimized"]) == (state, None)
        assert same(connect(wire).prompts.status(prompt_id), body)
    for one in ids[::-1]:
        wire.ask("POST", f"/optimizations/{one}/stop")
    # What was stopped has optimized nothing.
    for prompt_id in (busy, waiting):
        body = wire.get(f"/prompts/{prompt_id}/status")
        assert (body["optimizationState"], body["lastOptimized"]) == ("idle", None)


def test_the_last_optimization_is_the_last_that_completed(wire):
    prompt_id = wire.add_prompt()
    tiny(wire, prompt_id)
    last = tiny(wire, prompt_id)
    body = wire.get(f"/{wire.scheme.segment}/{prompt_id}/status")
    assert (body["optimizationState"], body["lastOptimized"]) == ("idle", last["completedAt"])
