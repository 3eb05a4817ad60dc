"""What follows a win over real sockets: fresh pairs that decide nothing, a stop, a model that dies, and old results."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter

import pytest

from promptlift.stats import expected_lift
from support.answering_model import AnsweringModel
from support.service_process import wait_until
from support.stub_endpoint import Say

pytestmark = pytest.mark.slow

QUICK = {"maxTurns": 1, "confidenceMode": "low"}


def database(caller):
    return sqlite3.connect(caller.service.data / "promptlift.db", timeout=30)


def verifying(caller):
    """Whether a cell of the verification was drawn."""
    with database(caller) as connection:
        (found,) = connection.execute(
            "SELECT count(*) FROM optimization_cells WHERE stage = 'verify'"
        ).fetchone()
    return found > 0


def counts(simulations, winner):
    """Pairs of the winner and the original, counted from the conversations themselves."""
    cells = {}
    for one in simulations:
        cells.setdefault(one["cell"], {})[one["variantNumber"]] = one["taskCompleted"]
    table = Counter((cell[winner], cell[0]) for cell in cells.values())
    return {
        "n": len(cells),
        "n11": table[True, True],
        "n10": table[True, False],
        "n01": table[False, True],
        "n00": table[False, False],
        "dropped": 0,
    }


def test_a_winner_is_verified_on_fresh_pairs_and_its_expected_lift_comes_from_them(begin):
    caller = begin(AnsweringModel(better=0.35))
    caller.settings(**QUICK)
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=2)
    found = caller.ended(made["id"])
    results = found["results"]
    assert results["winnerSelected"] is True
    assert (results["confidenceMethod"], results["theta"]) == ("sequential-likelihood-ratio", 0.62)
    assert found["settings"]["verificationPasses"] == 4
    variants = caller.variants(made["id"])
    (winner,) = [one for one in variants if one.get("isWinner")]
    fresh = caller.simulations(made["id"], stage="verify")
    assert results["verifiedPairs"] == counts(fresh, winner["number"])
    assert results["verifiedPairs"]["n"] == 60
    confirmed = caller.simulations(made["id"], stage="confirm")
    assert results["pairs"] == counts(confirmed, winner["number"])
    assert {one["cell"] for one in fresh}.isdisjoint(one["cell"] for one in confirmed)
    table = [results["verifiedPairs"][name] for name in ("n11", "n10", "n01", "n00")]
    points = 100 * (table[1] - table[2]) / 60
    assert results["liftPointsVerified"] == pytest.approx(points)
    shrunk = expected_lift(
        *(results["pairs"][name] for name in ("n11", "n10", "n01", "n00")),
        standard_error_points=results["standardErrorPoints"],
    )
    assert results["liftPointsExpected"] == pytest.approx(0.7 * points + 0.3 * shrunk.points)
    assert winner["liftPointsVerified"] == results["liftPointsVerified"]
    assert len(results["trace"]) * 15 == results["pairs"]["n"]


def test_without_passes_of_verification_nothing_follows_a_win(begin):
    caller = begin(AnsweringModel(better=0.35))
    caller.settings(**QUICK)
    answer = caller.ask("PATCH", "/settings", {"optimization": {"verificationPasses": 0}})
    assert answer["settings"]["optimization"]["verificationPasses"] == 0
    for wrong in (-1, 13, 2.5):
        refused = caller.ask(
            "PATCH", "/settings", {"optimization": {"verificationPasses": wrong}}, expect=400
        )
        assert "optimization.verificationPasses" in refused["error"]["details"]
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    results = caller.ended(made["id"])["results"]
    assert (results["winnerSelected"], results["liftVerified"], results["verifiedPairs"]) == (
        True,
        None,
        None,
    )
    assert 0 < results["liftPointsExpected"] < results["liftPoints"]
    assert caller.simulations(made["id"], stage="verify") == []


def test_a_stop_during_the_verification_completes_with_the_winner(begin):
    hanging, gate = threading.Event(), threading.Event()

    def fault(_asked):
        if not verifying(caller):
            return None
        hanging.set()
        return Say({}, status=500, hang=gate)

    model = AnsweringModel(better=0.35, fault=fault)
    caller = begin(model, PROMPTLIFT_LLM_PATIENCE="600")
    caller.settings(**QUICK)
    prompt_id = caller.prompt()
    made = caller.start(prompt_id, mode="exploratory", variantCount=1)
    assert hanging.wait(60)
    running = caller.get(made["id"])
    assert (running["status"], running["results"]["progress"]["stage"]) == ("running", "verify")
    winner = running["results"]["winningVariantId"]
    assert winner is not None
    answer = caller.ask("POST", f"/optimizations/{made['id']}/stop", {"reason": "Good enough"})
    gate.set()
    assert (answer["success"], answer["status"]) == (True, "completed")
    found = caller.get(made["id"])
    assert (found["status"], found["results"]["winningVariantId"]) == ("completed", winner)
    assert found["results"]["reason"] == "threshold"
    assert "The verification was stopped: Good enough" in found["results"]["warnings"]
    applied = caller.ask("POST", f"/optimizations/{made['id']}/apply")
    assert applied["appliedVariantId"] == winner


def test_a_model_that_dies_during_the_verification_does_not_cost_the_winner(begin):
    def fault(_asked):
        return Say({"error": {"message": "out of memory"}}, status=503) if verifying(caller) else None

    caller = begin(AnsweringModel(better=0.35, fault=fault))
    caller.settings(**QUICK)
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    found = caller.ended(made["id"])
    assert found["status"] == "completed", found["failure"]
    assert (found["results"]["winnerSelected"], found["results"]["liftVerified"]) == (True, None)
    assert any(said.startswith("The verification ended early: ") for said in found["results"]["warnings"])


def test_the_pairs_of_a_regression_test_take_the_place_of_the_verification(begin):
    # Outcomes depend on the opening alone, so a text that is not always better would lose whole scenarios.
    caller = begin(AnsweringModel(better=0.4))
    caller.settings(**QUICK, autoDeploy={"enabled": True})
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    caller.ended(made["id"])
    wait_until(
        lambda: caller.get(made["id"])["deployment"]["state"] != "testing", what="the test ends", seconds=120
    )
    found = caller.get(made["id"])
    results, test = found["results"], found["deployment"]["regressionTest"]
    assert caller.simulations(made["id"], stage="verify") == []
    assert (results["verifiedBy"], results["verifiedPairs"]) == ("regression-test", test["pairs"])
    assert results["liftPointsVerified"] == test["liftPoints"]
    shrunk = expected_lift(
        *(results["pairs"][name] for name in ("n11", "n10", "n01", "n00")),
        standard_error_points=results["standardErrorPoints"],
    )
    assert results["liftPointsExpected"] == pytest.approx(0.7 * test["liftPoints"] + 0.3 * shrunk.points)
    winner = caller.variants(made["id"])[1]
    assert (winner["liftPointsVerified"], winner["liftExpected"]) == (
        results["liftPointsVerified"],
        results["liftExpected"],
    )
