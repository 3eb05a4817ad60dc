"""The life of an optimization over real sockets: a real service, and a model that answers, fails, hangs and dies."""

from __future__ import annotations

import json
import re
import sqlite3
import threading
from collections import Counter

import pytest

from promptlift.stats import expected_lift, lift_interval
from support.answering_model import AnsweringModel
from support.optimizing_caller import calling
from support.service_process import wait_until
from support.stub_endpoint import Say

pytestmark = pytest.mark.slow

SMALL = {"maxIterations": 3, "personaCount": 2, "scenariosPerSimulation": 2, "maxTurns": 1}
QUICK = {"maxTurns": 1, "confidenceMode": "low"}


def database(caller):
    return sqlite3.connect(caller.service.data / "promptlift.db", timeout=30)


def events(caller):
    with database(caller) as connection:
        rows = connection.execute("SELECT type, data FROM events ORDER BY seq").fetchall()
    return [(kind, json.loads(data)) for kind, data in rows]


@pytest.fixture(scope="module")
def won(tmp_path_factory):
    """A model, who asks, and an optimization that found its winner and verified it."""
    model = AnsweringModel(better=0.35)
    with calling(model, tmp_path_factory.mktemp("won")) as caller:
        caller.settings(**QUICK)
        prompt_id = caller.prompt()
        made = caller.start(prompt_id, mode="exploratory", variantCount=2)
        found = caller.ended(made["id"])
        assert found["status"] == "completed", found["failure"]
        yield model, caller, found


def pairs_in(simulations, winner):
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


def test_every_number_of_a_winner_can_be_counted_again(won):
    _, caller, found = won
    results = found["results"]
    assert (results["winnerSelected"], results["reason"]) == (True, "threshold")
    assert (results["confidenceMethod"], results["theta"]) == ("sequential-likelihood-ratio", 0.62)
    original, first, second = caller.variants(found["id"])
    assert "lift" not in original
    assert "isWinner" not in second
    assert first["id"] == results["winningVariantId"]
    assert [one["source"] for one in (original, first, second)] == ["prompt", "model", "model"]

    # The printed rates are those of the kept conversations, and their ratio is the lift.
    pairs = results["pairs"]
    assert pairs == pairs_in(caller.simulations(found["id"], stage="confirm"), 1)
    assert len(results["trace"]) * 15 == pairs["n"] == first["n"]
    p1, p0 = first["metrics"]["taskCompletion"], original["metrics"]["taskCompletion"]
    assert p1 == pytest.approx(100 * (pairs["n11"] + pairs["n10"]) / pairs["n"])
    assert results["lift"] == pytest.approx(100 * (p1 / p0 - 1)) == first["lift"]
    assert results["liftLow"] < results["liftExpected"] < results["liftHigh"]
    assert results["liftLow"] < results["lift"] < results["liftHigh"]

    # It is verified on fresh pairs, and what to expect comes from them.
    assert results["verifiedPairs"] == pairs_in(caller.simulations(found["id"], stage="verify"), 1)
    assert results["verifiedPairs"]["n"] == 60
    points = 100 * (results["verifiedPairs"]["n10"] - results["verifiedPairs"]["n01"]) / 60
    assert results["liftPointsVerified"] == first["liftPointsVerified"] == pytest.approx(points)
    table = (pairs[name] for name in ("n11", "n10", "n01", "n00"))
    after = lift_interval(*(results["verifiedPairs"][name] for name in ("n11", "n10", "n01", "n00")))
    shrunk = expected_lift(
        *table,
        prior_sd_points=max(10.0, points - after.standard_error_points),
        standard_error_points=results["standardErrorPoints"],
    )
    assert results["liftPointsExpected"] == pytest.approx(0.7 * points + 0.3 * shrunk.points)

    # Scenarios of a model have one lift.
    assert results["loggedMix"] is None
    assert {one["scenario"]["weight"] for one in caller.simulations(found["id"])} == {None}


def test_a_cell_is_used_once_and_every_call_is_counted(won):
    model, caller, found = won
    held = caller.simulations(found["id"])
    cells = {}
    for one in held:
        cells.setdefault(one["stage"], set()).add(one["cell"])
    assert len(cells["screen"]) == 15
    assert len(set().union(*cells.values())) == sum(map(len, cells.values()))
    openings = Counter(one["scenario"]["opening"] for one in held if one["isOriginal"])
    assert max(openings.values()) == 1
    assert found["usage"]["conversations"] == len(held)
    # Scenarios of a pass that was not needed may have been on their way when it ended.
    calls = found["usage"]["modelCalls"]
    assert 0 <= sum(model.asked.values()) - calls <= 1
    assert caller.usage()["tokens"]["used"] == found["usage"]["tokens"]
    assert 0 <= 15 * calls - found["usage"]["tokens"] <= 15


def test_limits_of_the_settings_hold_exactly_and_real_openings_come_first(begin):
    caller = begin(AnsweringModel(better=0.15))
    caller.settings(maxIterations=2, personaCount=3, scenariosPerSimulation=2, maxTurns=2)
    prompt_id = caller.prompt()
    questions = [f"Real question {number}, please?" for number in range(6)]
    for question in questions:
        body = {"promptId": prompt_id, "content": f"User: {question}\nAssistant: I cannot say."}
        caller.ask("POST", "/conversations", body, expect=201)
    made = caller.start(prompt_id, mode="validation", variantCount=3, search="off")
    found = caller.ended(made["id"])
    assert found["status"] == "completed", found["failure"]
    held = caller.simulations(made["id"], includeContent="true")
    passes = Counter(one["pass"] for one in held if one["isOriginal"])
    assert set(passes.values()) == {3 * 2}
    assert max(passes) <= 2 * 2
    for number in passes:
        inside = [one for one in held if one["pass"] == number]
        assert len({one["persona"]["id"] for one in inside}) == 3
        assert len({one["cell"] for one in inside}) == 6
    assert max(one["turns"] for one in held) == 2
    for one in held:
        roles = [message["role"] for message in json.loads(one["content"])["messages"]]
        assert roles.count("assistant") == one["turns"] <= 2
        assert "system" not in roles  # the judge cannot see whose text it was
    scenarios = {one["cell"]: one["scenario"] for one in held}
    of_cells = [scenarios[cell] for cell in sorted(scenarios)]
    assert sorted(one["opening"] for one in of_cells[:6]) == questions
    assert {one["source"] for one in of_cells[:6]} == {"conversation"}
    assert {one["source"] for one in of_cells[6:]} == {"model"}


def test_stop_ends_model_calls_that_hang_and_keeps_what_was_measured(begin):
    hanging, gate = threading.Event(), threading.Event()

    def fault(asked):
        if asked.headers["x-promptlift-purpose"] == "agent" and model.asked["judge"] >= 14:
            hanging.set()
            return Say({}, status=500, hang=gate)
        return None

    model = AnsweringModel(fault=fault)
    caller = begin(model, PROMPTLIFT_LLM_CONCURRENCY="1")
    caller.settings(maxIterations=10, personaCount=2, scenariosPerSimulation=2, maxTurns=1)
    prompt_id = caller.prompt()
    made = caller.start(prompt_id, mode="exploratory", variantCount=1)
    assert hanging.wait(60)

    # The judge's last answer may still be on its way into the store when the call that hangs arrives.
    def judged():
        return caller.get(made["id"])["results"]["progress"]["conversationsDone"]

    wait_until(lambda: judged() >= 14, what="fourteen judged conversations are kept")
    model.fault = None
    written = model.asked["variants"]
    caller.ask("POST", f"/optimizations/{made['id']}/stop", {"reason": "Enough seen"})
    # The one place for model calls is held by the call that hangs: another run has it when that call has ended.
    second = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    wait_until(lambda: model.asked["variants"] > written, what="the hanging call ends", seconds=10)
    assert not gate.is_set()
    caller.ask("DELETE", f"/prompts/{second['promptId']}")
    gate.set()
    found = caller.get(made["id"])
    assert (found["status"], found["stopReason"]) == ("stopped", "Enough seen")
    assert (found["results"]["winnerSelected"], found["results"]["reason"]) == (False, "stopped")
    assert found["results"]["pairs"]["n"] == 4 * found["results"]["progress"]["passesDone"] >= 4
    assert len(caller.simulations(made["id"])) >= 14
    deleted = caller.get(second["id"])
    assert (deleted["status"], deleted["stopReason"]) == ("stopped", "The prompt was deleted")


@pytest.mark.parametrize(
    ("status", "purpose", "after", "why"),
    [(503, "judge", 35, "503|did not answer"), (401, "agent", 20, "PROMPTLIFT_LLM_API_KEY")],
)
def test_a_model_that_is_gone_fails_the_optimization_and_what_was_measured_stays(
    begin, status, purpose, after, why
):
    def fault(asked):
        meant = status == 503 or asked.headers["x-promptlift-purpose"] == purpose
        gone = meant and model.asked[purpose] >= after
        return Say({"error": {"message": "gone"}}, status=status) if gone else None

    model = AnsweringModel(fault=fault)
    # A wrong key fails at once, however patient the service is.
    caller = begin(model, PROMPTLIFT_LLM_PATIENCE="0" if status == 503 else "600")
    caller.settings(maxTurns=1)
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    found = caller.ended(made["id"])
    assert found["status"] == "failed"
    assert re.search(why, found["failure"])
    assert found["results"]["reason"] == "failed"
    assert found["results"]["explanation"] == found["failure"]
    kept = Counter(one["status"] for one in caller.simulations(made["id"]))
    if status == 401:
        # Conversations under way are judged.
        assert kept["completed"] == model.asked["judge"] > 0
        assert kept["dropped"] >= 1
        return
    assert found["results"]["pairs"]["n"] >= 15
    assert kept["completed"] >= 30
    # It does not come back by itself, and the next one is not held up.
    model.fault = None
    caller.settings(**SMALL)
    second = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    assert caller.ended(second["id"])["status"] == "completed"
    assert caller.get(made["id"])["status"] == "failed"


@pytest.mark.parametrize("end", ["stopped", "dead"])
def test_the_end_of_a_verification_before_its_time_does_not_cost_the_winner(begin, end):
    hanging, gate = threading.Event(), threading.Event()

    def fault(_asked):
        with database(caller) as connection:
            query = "SELECT count(*) FROM optimization_cells WHERE stage = 'verify'"
            if not connection.execute(query).fetchone()[0]:
                return None
        hanging.set()
        return Say(
            {"error": {"message": "out of memory"}}, status=503, hang=gate if end == "stopped" else None
        )

    caller = begin(
        AnsweringModel(better=0.4, fault=fault), PROMPTLIFT_LLM_PATIENCE="600" if end == "stopped" else "0"
    )
    caller.settings(personaCount=4, scenariosPerSimulation=2, **QUICK)
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    if end == "stopped":
        assert hanging.wait(60)
        running = caller.get(made["id"])
        assert (running["status"], running["results"]["progress"]["stage"]) == ("running", "verify")
        assert running["results"]["winningVariantId"] is not None
        answer = caller.ask("POST", f"/optimizations/{made['id']}/stop", {"reason": "Good enough"})
        assert (answer["success"], answer["status"]) == (True, "completed")
        gate.set()
    found = caller.ended(made["id"])
    assert found["status"] == "completed", found["failure"]
    results = found["results"]
    assert (results["winnerSelected"], results["reason"], results["liftVerified"]) == (
        True,
        "threshold",
        None,
    )
    said = {"stopped": "The verification was stopped: Good enough", "dead": "The verification ended early: "}
    assert any(one.startswith(said[end]) for one in results["warnings"])
    applied = caller.ask("POST", f"/optimizations/{made['id']}/apply")
    assert applied["appliedVariantId"] == results["winningVariantId"]


def test_the_same_seed_and_answers_give_the_same_result_and_another_seed_another(begin):
    caller = begin(AnsweringModel())
    caller.settings(**SMALL)
    prompt_id = caller.prompt()
    runs = [caller.ended(caller.start(prompt_id, variantCount=2, seed=seed)["id"]) for seed in (3, 3, 4)]
    told = [
        [
            (one["cell"], one["variantNumber"], one["persona"], one["scenario"], one["taskCompleted"])
            for one in caller.simulations(run["id"])
        ]
        for run in runs
    ]
    assert told[0] == told[1]
    assert told[0] != told[2]
    assert runs[0]["results"]["trace"] == runs[1]["results"]["trace"]
    assert runs[0]["results"]["pairs"] == runs[1]["results"]["pairs"]
