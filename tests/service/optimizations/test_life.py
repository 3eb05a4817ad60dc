"""The life of an optimization over real sockets: a real service, and a model that answers, fails, hangs and dies."""

from __future__ import annotations

import sqlite3
import threading
from collections import Counter

import orjson
import pytest

from support.answering_model import PROMPT, AnsweringModel, share
from support.service_process import wait_until
from support.stub_endpoint import FAULTS, Say

pytestmark = pytest.mark.slow

SMALL = {"maxIterations": 3, "personaCount": 2, "scenariosPerSimulation": 2, "maxTurns": 2}


def events(caller):
    with sqlite3.connect(caller.service.data / "promptlift.db") as connection:
        rows = connection.execute("SELECT type, data FROM events ORDER BY seq").fetchall()
    return [(kind, orjson.loads(data)) for kind, data in rows]


def test_an_optimization_runs_to_its_result_and_every_number_can_be_counted_again(begin):
    model = AnsweringModel(better=0.35)
    caller = begin(model)
    prompt_id = caller.prompt()
    made = caller.start(prompt_id, mode="exploratory", variantCount=2)
    assert made["status"] == "running"
    assert (made["mode"], made["variantCount"], made["rehearsal"]) == ("exploratory", 2, False)
    found = caller.ended(made["id"])
    assert found["status"] == "completed", found["failure"]
    results = found["results"]
    assert results["winnerSelected"] is True
    assert results["reason"] == "threshold"
    assert results["confidence"] >= 0.9 == results["confidenceNeeded"]
    original, first, second = caller.variants(made["id"])
    assert original["isOriginal"]
    assert original["content"] == PROMPT
    assert "lift" not in original
    assert first["isWinner"]
    assert "isWinner" not in second
    assert first["id"] == results["winningVariantId"]

    # The printed rates are those of the kept conversations, and their ratio is the lift.
    held = caller.simulations(made["id"], stage="confirm")
    by_cell: dict[int, dict[int, bool]] = {}
    for one in held:
        by_cell.setdefault(one["cell"], {})[one["variantNumber"]] = one["taskCompleted"]
    assert all(set(cell) == {0, 1} for cell in by_cell.values())
    table = Counter((cell[1], cell[0]) for cell in by_cell.values())
    pairs = results["pairs"]
    assert pairs["n11"] == table[True, True]
    assert pairs["n10"] == table[True, False]
    assert pairs["n01"] == table[False, True]
    assert pairs["n00"] == table[False, False]
    assert pairs["n"] == len(by_cell) == first["n"]
    p1, p0 = first["metrics"]["taskCompletion"], original["metrics"]["taskCompletion"]
    assert p1 == pytest.approx(100 * (pairs["n11"] + pairs["n10"]) / pairs["n"])
    assert results["lift"] == pytest.approx(100 * (p1 / p0 - 1)) == first["lift"]
    assert results["liftLow"] < results["liftExpected"] < results["lift"] < results["liftHigh"]

    # A cell is used once, and screening never judges.
    screened = {one["cell"] for one in caller.simulations(made["id"], stage="screen")}
    assert screened.isdisjoint(by_cell)
    assert len(screened) == 15
    openings = Counter(
        one["scenario"]["opening"] for one in caller.simulations(made["id"], variantId=original["id"])
    )
    assert max(openings.values()) == 1
    assert found["usage"]["conversations"] == len(caller.simulations(made["id"]))
    # Scenarios of a pass that was not needed may have been on their way when it ended.
    calls = found["usage"]["modelCalls"]
    assert 0 <= sum(model.asked.values()) - calls <= 1
    assert caller.usage()["tokens"]["used"] == found["usage"]["tokens"]
    assert 0 <= 15 * calls - found["usage"]["tokens"] <= 15

    kinds = Counter(kind for kind, _ in events(caller))
    assert kinds == {"optimization.started": 1, "optimization.completed": 1}
    ended = dict(events(caller))["optimization.completed"]
    assert ended["results"]["winner"] == first["id"]
    assert ended["results"]["improvementPercentage"] == results["lift"]
    status = caller.ask("GET", f"/prompts/{prompt_id}/status")
    assert (status["optimizationState"], status["lastOptimized"]) == ("idle", found["completedAt"])
    assert (
        caller.ask("GET", f"/prompts/{prompt_id}")["content"] == PROMPT
    )  # manual: nothing is applied by itself


def test_limits_of_the_settings_hold_exactly(begin):
    model = AnsweringModel()
    caller = begin(model)
    caller.settings(maxIterations=3, personaCount=3, scenariosPerSimulation=2, maxTurns=3)
    made = caller.start(caller.prompt(), mode="validation", variantCount=4)
    found = caller.ended(made["id"])
    assert found["status"] == "completed", found["failure"]
    held = caller.simulations(made["id"], includeContent="true")
    passes = Counter(one["pass"] for one in held if one["isOriginal"])
    assert set(passes.values()) == {3 * 2}
    assert max(passes) <= 2 * 3
    for number in passes:
        inside = [one for one in held if one["pass"] == number]
        assert len({one["persona"]["id"] for one in inside}) == 3
        assert len({one["cell"] for one in inside}) == 6
    assert max(one["turns"] for one in held) == 3
    for one in held:
        roles = [message["role"] for message in orjson.loads(one["content"])["messages"]]
        assert roles.count("assistant") == one["turns"] <= 3
        assert "system" not in roles  # the judge cannot see whose text it was
    assert len(caller.variants(made["id"])) == 5


def test_real_openings_come_first_and_failures_more_often(begin):
    model = AnsweringModel()
    caller = begin(model)
    # Eight cells a pass: variants that are alike may be given up after the first one.
    caller.settings(**{**SMALL, "personaCount": 4})
    prompt_id = caller.prompt()
    for number in range(6):
        content = f"User: Real question {number}, please?\nAssistant: I cannot say."
        caller.ask("POST", "/conversations", {"promptId": prompt_id, "content": content}, expect=201)
    made = caller.start(prompt_id, mode="exploratory", variantCount=1)
    caller.ended(made["id"])
    scenarios = {one["cell"]: one["scenario"] for one in caller.simulations(made["id"])}
    first = [scenarios[cell] for cell in sorted(scenarios)][:6]
    assert sorted(one["opening"] for one in first) == [
        f"Real question {number}, please?" for number in range(6)
    ]
    assert {one["source"] for one in first} == {"conversation"}
    assert all(scenarios[cell]["source"] == "model" for cell in sorted(scenarios)[6:])


def test_the_eleventh_waits_and_comes_in_its_turn(begin):
    gate = threading.Event()
    model = AnsweringModel(fault=lambda _asked: Say({}, status=500, hang=gate) if not gate.is_set() else None)
    caller = begin(model, PROMPTLIFT_LLM_PATIENCE="600", PROMPTLIFT_LLM_CONCURRENCY="16")
    caller.settings(**SMALL)
    prompt_id = caller.prompt()
    made = [caller.start(prompt_id, mode="exploratory", variantCount=1, seed=seed) for seed in range(12)]
    assert [one["status"] for one in made] == ["running"] * 10 + ["queued"] * 2
    assert caller.usage()["optimizations"] == {"used": 12, "limit": None, "running": 10}
    assert caller.ask("GET", f"/prompts/{prompt_id}/status")["optimizationState"] == "running"
    listed = caller.ask("GET", "/optimizations", status="queued")
    assert [one["id"] for one in listed["data"]] == [made[11]["id"], made[10]["id"]]
    stopped = caller.ask("POST", f"/optimizations/{made[0]['id']}/stop", {"reason": "room"})
    assert (stopped["success"], stopped["status"]) == (True, "stopped")
    assert caller.get(made[10]["id"])["status"] == "running"
    assert caller.get(made[11]["id"])["status"] == "queued"
    gate.set()
    for one in made[1:]:
        assert caller.ended(one["id"])["status"] == "completed"
    assert caller.get(made[11]["id"])["startedAt"] > made[11]["createdAt"]
    kinds = Counter(kind for kind, _ in events(caller))
    assert kinds == {"optimization.started": 12, "optimization.completed": 11, "optimization.stopped": 1}


def test_stop_ends_model_calls_that_hang_and_keeps_what_was_measured(begin):
    hanging, gate = threading.Event(), threading.Event()

    def fault(asked):
        if asked.headers["x-promptlift-purpose"] == "agent" and model.asked["judge"] >= 40:
            hanging.set()
            return Say({}, status=500, hang=gate)
        return None

    model = AnsweringModel(fault=fault)
    caller = begin(model, PROMPTLIFT_LLM_CONCURRENCY="1")
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    assert hanging.wait(60)

    # The judge's last answer may still be on its way into the store when the call that hangs arrives.
    def judged():
        return caller.get(made["id"])["results"]["progress"]["conversationsDone"]

    wait_until(lambda: judged() >= 40, what="forty judged conversations are kept")
    before = judged()
    model.fault = None
    written = model.asked["variants"]
    caller.ask("POST", f"/optimizations/{made['id']}/stop", {"reason": "Enough seen"})
    # The one place for model calls is held by the call that hangs: another run has it when that call has ended.
    second = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    wait_until(lambda: model.asked["variants"] > written, what="the hanging call ends", seconds=10)
    assert not gate.is_set()
    caller.ask("POST", f"/optimizations/{second['id']}/stop")
    gate.set()
    found = caller.get(made["id"])
    assert (found["status"], found["stopReason"]) == ("stopped", "Enough seen")
    assert found["results"]["winnerSelected"] is False
    assert found["results"]["reason"] == "stopped"
    assert found["results"]["pairs"]["n"] == 15 * found["results"]["progress"]["passesDone"] >= 15
    kept = caller.simulations(made["id"])
    assert len(kept) >= before
    told = [data for kind, data in events(caller) if kind == "optimization.stopped"]
    assert [one["reason"] for one in told] == ["Enough seen", None]
    refused = caller.ask("POST", f"/optimizations/{made['id']}/stop", expect=409)
    assert refused["error"]["code"] == "INVALID_STATE"
    refused = caller.ask("POST", f"/optimizations/{made['id']}/apply", expect=409)
    assert refused["error"]["code"] == "INVALID_STATE"


def test_a_flaky_model_completes_all_the_same(begin):
    counter = Counter()

    def fault(asked):
        counter["all"] += 1
        if share(counter["all"]) < 0.15:
            counter["failed"] += 1
            return FAULTS[counter["failed"] % len(FAULTS)]
        return None

    model = AnsweringModel(better=0.3, fault=fault)
    caller = begin(model, PROMPTLIFT_LLM_PATIENCE="60")
    caller.settings(maxIterations=4, personaCount=3, scenariosPerSimulation=3, maxTurns=2)
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=2)
    found = caller.ended(made["id"], seconds=120)
    assert found["status"] == "completed", found["failure"]
    assert counter["failed"] > 40
    assert all(one["status"] == "completed" for one in caller.simulations(made["id"]))
    assert 0 <= sum(model.asked.values()) - found["usage"]["modelCalls"] <= 1


def test_a_dead_model_fails_the_optimization_with_a_reason_and_keeps_what_was_measured(begin):
    def fault(_asked):
        return (
            Say({"error": {"message": "out of memory"}}, status=503) if model.asked["judge"] >= 35 else None
        )

    model = AnsweringModel(fault=fault)
    caller = begin(model)
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    found = caller.ended(made["id"])
    assert found["status"] == "failed"
    assert "503" in found["failure"] or "did not answer" in found["failure"]
    assert found["results"]["reason"] == "failed"
    assert found["results"]["explanation"] == found["failure"]
    assert found["results"]["pairs"]["n"] >= 15
    assert len([one for one in caller.simulations(made["id"]) if one["status"] == "completed"]) >= 30
    # It does not come back by itself, and the next one is not held up.
    model.fault = None
    second = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    assert caller.ended(second["id"])["status"] == "completed"
    assert caller.get(made["id"])["status"] == "failed"


def test_a_wrong_key_fails_at_once(begin):
    model = AnsweringModel(fault=lambda _asked: Say({"error": {"message": "bad key"}}, status=401))
    caller = begin(model, PROMPTLIFT_LLM_PATIENCE="600")
    made = caller.start(caller.prompt())
    found = caller.ended(made["id"])
    assert found["status"] == "failed"
    assert "PROMPTLIFT_LLM_API_KEY" in found["failure"]
    assert found["usage"]["modelCalls"] == sum(model.asked.values()) >= 1


def test_conversations_under_way_when_a_run_fails_are_kept(begin):
    def fault(asked):
        refused = asked.headers["x-promptlift-purpose"] == "agent" and model.asked["agent"] >= 40
        return Say({"error": {"message": "bad key"}}, status=401) if refused else None

    model = AnsweringModel(fault=fault)
    caller = begin(model)
    made = caller.start(caller.prompt(), mode="exploratory", variantCount=1)
    assert caller.ended(made["id"])["status"] == "failed"
    kept = [one["status"] for one in caller.simulations(made["id"])]
    assert kept.count("completed") == model.asked["judge"] > 0
    assert kept.count("dropped") >= 1


def test_the_monthly_quota_is_kept(begin):
    caller = begin(AnsweringModel(), plan="free")
    caller.settings(maxIterations=1, personaCount=1, scenariosPerSimulation=1, maxTurns=1)
    prompt_id = caller.prompt()
    for seed in range(10):
        caller.start(prompt_id, variantCount=1, seed=seed)
    refused = caller.start(prompt_id, expect=429)["error"]
    assert refused["code"] == "LIMIT_EXCEEDED"
    assert refused["details"]["limit"] == refused["details"]["used"] == 10
    assert refused["details"]["resetAt"] > "2026"
    assert caller.usage()["optimizations"]["used"] == 10


def test_deleting_a_prompt_stops_its_optimization(begin):
    gate = threading.Event()
    model = AnsweringModel(fault=lambda _asked: Say({}, status=500, hang=gate))
    caller = begin(model, PROMPTLIFT_LLM_PATIENCE="600")
    prompt_id = caller.prompt()
    made = caller.start(prompt_id)
    caller.ask("DELETE", f"/prompts/{prompt_id}")
    gate.set()
    found = caller.get(made["id"])
    assert (found["status"], found["stopReason"]) == ("stopped", "The prompt was deleted")


def test_named_personas_are_a_panel_and_everybody_of_it_talks(begin):
    caller = begin(AnsweringModel())
    caller.settings(**SMALL)
    ids = ["per_lib_engineer", "per_lib_in_a_hurry"]
    made = caller.start(caller.prompt(), variantCount=1, personaIds=ids)
    found = caller.ended(made["id"])
    assert found["results"]["estimand"] == "panel"
    assert {one["persona"]["id"] for one in caller.simulations(made["id"])} == set(ids)
    problem = caller.start(caller.prompt(), expect=400, personaIds=["nobody"])["error"]["details"]
    assert problem == {"personaIds[0]": "no such persona"}
    many = caller.start(caller.prompt(), expect=400, personaIds=[*ids, "per_lib_expert"])["error"]["details"]
    assert "at most 2" in many["personaIds"]


def test_the_same_seed_and_answers_give_the_same_result_and_another_seed_another(begin):
    caller = begin(AnsweringModel(better=0.15))
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
