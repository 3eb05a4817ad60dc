"""What becomes of winners over real sockets: tested, live, rolled back, and a kill in between."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from datetime import UTC, datetime, timedelta
from statistics import NormalDist

import pytest

from promptlift.stats import expected_lift
from support import fork_server
from support.answering_model import PROMPT, AnsweringModel
from support.service_process import wait_until

pytestmark = pytest.mark.slow

# Outcomes of the model depend on the opening alone, so a text that is not always better would lose whole scenarios.
ALWAYS = 0.4
QUICK = {"maxTurns": 1, "confidenceMode": "low", "personaCount": 4, "scenariosPerSimulation": 2}
AUTO = {"autoDeploy": {"enabled": True}}
# Four pairs for each of the twelve scenarios of a regression test, in the place of fifteen.
PAIRS = 48
FEW_PAIRS = {fork_server.SHORTER: json.dumps({"promptlift.service.deployments.regression_test.PAIRS": PAIRS})}


def kinds(caller):
    """Kinds of the events about the prompt and its optimization, oldest first."""
    with sqlite3.connect(caller.service.data / "promptlift.db") as connection:
        rows = connection.execute(
            "SELECT type FROM events WHERE type NOT IN ('conversation.created', 'insights.generated') ORDER BY seq"
        ).fetchall()
    return [kind for (kind,) in rows]


def log(caller, prompt_id, count, *, what, solved, at):
    """Log conversations that started at a time, as an import does, and wait until they are judged.

    Their openings do not depend on the time: the model's answers follow from the opening, and so does the number of
    passes, which decides how many logged scenarios are left for the regression test.
    """
    answer = "It is solved: tomorrow." if solved else "I cannot say."
    contents = []
    for number in range(count):
        moment = (at + timedelta(seconds=number)).isoformat()
        said = (("user", f"{what} parcel {number} is late"), ("assistant", answer))
        messages = [{"role": role, "content": text, "timestamp": moment} for role, text in said]
        contents.append(json.dumps({"messages": messages}))
    caller.log(prompt_id, contents)


def deployment(caller, optimization_id):
    return caller.get(optimization_id)["deployment"]


def reach(caller, optimization_id, *states):
    wait_until(
        lambda: deployment(caller, optimization_id)["state"] in states, what=f"it is {states}", seconds=120
    )
    return deployment(caller, optimization_id)


def test_a_winner_passes_its_test_goes_live_and_is_taken_back_when_it_harms(begin):
    caller = begin(AnsweringModel(better=ALWAYS), **FEW_PAIRS)
    caller.settings(**QUICK, **AUTO)
    prompt_id = caller.prompt()
    old = datetime.now(UTC) - timedelta(days=3)
    log(caller, prompt_id, 30, what="My", solved=True, at=old)
    log(caller, prompt_id, 10, what="His", solved=False, at=old + timedelta(hours=1))
    made = caller.start(prompt_id, mode="exploratory", variantCount=1)
    found = caller.ended(made["id"])
    assert found["results"]["winnerSelected"] is True, found["results"]["explanation"]
    assert found["deployment"]["state"] in ("testing", "live")

    live = reach(caller, made["id"], "live", "rejected")
    winner = caller.variants(made["id"])[1]
    assert (live["state"], live["origin"], live["variantId"]) == ("live", "auto", winner["id"])
    test = live["regressionTest"]
    assert (test["verdict"], test["pairs"]["n"] + test["pairs"]["dropped"]) == ("passed", PAIRS)
    assert caller.ask("GET", f"/prompts/{prompt_id}")["content"] == winner["content"] != PROMPT
    tested = caller.simulations(made["id"], stage="regression")
    assert len(tested) == 2 * PAIRS
    assert {one["variantNumber"] for one in tested} == {0, 1}
    assert {one["scenario"]["source"] for one in tested} == {"conversation"}
    # Model calls of the test are counted; its conversations are not those of the search.
    view = caller.get(made["id"])
    assert view["usage"]["conversations"] == found["usage"]["conversations"]
    assert view["usage"]["modelCalls"] > found["usage"]["modelCalls"]

    # Its pairs take the place of the verification.
    results = view["results"]
    assert caller.simulations(made["id"], stage="verify") == []
    assert (results["verifiedBy"], results["verifiedPairs"]) == ("regression-test", test["pairs"])
    assert results["liftPointsVerified"] == winner["liftPointsVerified"] == test["liftPoints"]
    table = [results["pairs"][name] for name in ("n11", "n10", "n01", "n00")]
    # The standard error of these pairs, from the 90% interval of one look.
    error = (results["liftPointsVerifiedHigh"] - results["liftPointsVerifiedLow"]) / (
        2 * NormalDist().inv_cdf(0.95)
    )
    shrunk = expected_lift(
        *table,
        prior_sd_points=max(10.0, test["liftPoints"] - error),
        standard_error_points=results["standardErrorPoints"],
    )
    assert results["liftPointsExpected"] == pytest.approx(0.7 * test["liftPoints"] + 0.3 * shrunk.points)
    assert winner["liftExpected"] == results["liftExpected"]

    # An import of old conversations says nothing about the new text.
    log(caller, prompt_id, 20, what="Her", solved=False, at=old + timedelta(hours=2))
    assert deployment(caller, made["id"])["state"] == "live"
    log(caller, prompt_id, 30, what="Our", solved=False, at=datetime.now(UTC))
    back = reach(caller, made["id"], "rolled_back")
    assert (back["verification"], back["versionId"]) == ("pending", live["versionId"])
    assert "task completion fell from 50.0% to 0.0%" in back["reason"]
    assert caller.ask("GET", f"/prompts/{prompt_id}")["content"] == PROMPT
    versions = caller.ask("GET", f"/prompts/{prompt_id}/versions")["data"]
    assert [one["origin"] for one in versions] == ["rolled_back", "auto_deployed", "created"]
    assert kinds(caller) == [
        *("optimization.started", "optimization.completed", "regression_test.completed"),
        *("prompt.updated", "prompt.updated"),
    ]
    harmed = [one["metric"] for one in back["production"]["metrics"] if one["regressed"]]
    assert "task_completion" in harmed


def test_a_kill_during_the_regression_test_repeats_no_conversation(begin):
    model = AnsweringModel(better=ALWAYS)
    caller = begin(model, **FEW_PAIRS)
    caller.settings(**QUICK, **AUTO)
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    assert caller.ended(made["id"])["results"]["winnerSelected"] is True
    kills = 3
    for number in range(kills):
        enough = 15 * (number + 1)
        wait_until(
            lambda enough=enough: len(caller.simulations(made["id"], stage="regression")) >= enough,
            what="the test is under way",
        )
        before = {one["id"]: one for one in caller.simulations(made["id"], stage="regression")}
        caller.service.kill()
        caller.service.start()
        after = {one["id"]: one for one in caller.simulations(made["id"], stage="regression")}
        assert before.items() <= after.items()
    live = reach(caller, made["id"], "live", "rejected")
    assert live["state"] == "live"
    held = caller.simulations(made["id"], stage="regression")
    assert len(held) == 2 * PAIRS
    openings = {one["scenario"]["opening"] for one in held}
    begun = sum(count for (_, opening), count in model.conversations.items() if opening in openings)
    # Those under way at a kill begin again; nothing else does.
    assert begun <= 2 * PAIRS + kills * 12
    told = Counter(kinds(caller))
    assert told["regression_test.completed"] == told["prompt.updated"] == 1
