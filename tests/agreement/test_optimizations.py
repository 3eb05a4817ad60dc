"""Every endpoint of optimizations: exactly the fields of the specification and ours, the same through the client."""

from __future__ import annotations

import json
from collections import Counter
from datetime import datetime

import pytest

from agreement.covered import both_schemes, covers, same
from agreement.test_errors import same as is_told
from agreement.test_outbox import outbox
from promptlift import errors
from promptlift.service.simulations.personas import library
from support import shapes
from support.answering_model import PROMPT
from support.optimizing import brief, ended, make_tiny, start, tiny
from support.service_process import wait_until
from support.shapes import differences
from support.shapes.account import USAGE
from support.shapes.optimizations import (
    APPLIED,
    OPTIMIZATION,
    OPTIMIZATION_CREATED,
    OPTIMIZATION_LISTED,
    ORIGINAL,
    RESULTS_MEASURED,
    STOPPED,
    VARIANT,
    WINNER,
)
from support.shapes.prompts import STATUS_VIEW, VERSION
from support.stub_endpoint import Say

INTENT = {"targetImprovements": ["Ask less ☎", "Be brief."], "hypothesis": "Short answers help."}


def text_of(wire, prompt_id):
    return wire.get(f"/{wire.scheme.segment}/{prompt_id}")["content"]


@both_schemes
@covers("POST /optimizations")
def test_create_optimization(wire, client):
    make_tiny(wire)
    prompt_id, link = wire.add_prompt(), wire.scheme.link
    personas = [library()[3].id]
    sent = {
        link: prompt_id,
        "mode": "validation",
        "variantCount": 2,
        "intent": INTENT,
        "personaIds": personas,
        "seed": 2**53 - 1,
    }
    answer = wire.ask("POST", "/optimizations", sent)
    assert answer.status == 201
    assert differences(answer.body, {**OPTIMIZATION_CREATED, link: shapes.text}) == []
    assert {name: answer.body[name] for name in (link, "status", "mode", "variantCount", "rehearsal")} == {
        link: prompt_id,
        "status": "running",
        "mode": "validation",
        "variantCount": 2,
        "rehearsal": True,
    }
    kept = wire.get(f"/optimizations/{answer.body['id']}")
    assert {**kept, "intent": INTENT, "personaIds": personas, "seed": 2**53 - 1} == kept
    created = client.optimizations.create(
        prompt_id=prompt_id,
        mode="validation",
        variant_count=2,
        intent={"target_improvements": INTENT["targetImprovements"], "hypothesis": INTENT["hypothesis"]},
        persona_ids=personas,
        seed=2**53 - 1,
    )
    assert set(created.to_wire()) == {"promptId", *answer.body} - {"agentId"}
    again = ended(wire, created.id)
    kept = ended(wire, answer.body["id"])
    for name in ("mode", "variantCount", "intent", "personaIds", "seed", "settings", "promptId"):
        assert again[name] == kept[name]
    assert again["results"]["estimand"] == "panel"


def test_what_is_left_out_comes_from_the_settings(wire):
    prompt_id = wire.add_prompt()
    make_tiny(wire)
    # Both links may be given when they are the same.
    body = {"promptId": prompt_id, "agentId": prompt_id}
    made = [wire.ask("POST", "/optimizations", body | extra) for extra in ({}, {"variantCount": None})]
    assert [one.status for one in made] == [201, 201]
    for one in made:
        assert "agentId" not in one.body
        assert (one.body["promptId"], one.body["mode"], one.body["variantCount"]) == (
            prompt_id,
            "exploratory",
            3,
        )
    seeds = {wire.get(f"/optimizations/{one.body['id']}")["seed"] for one in made}
    assert len(seeds) == 2
    assert all(0 <= seed < 2**53 for seed in seeds)
    change = {"optimizationStrategy": "validation", "variantsPerGeneration": 5}
    assert wire.ask("PATCH", "/settings", {"optimization": change}).status == 200
    for body in ({}, {"mode": None, "variantCount": None, "intent": None, "personaIds": None}):
        made = start(wire, prompt_id, **body)
        assert (made["mode"], made["variantCount"]) == ("validation", 5)
    made = start(wire, prompt_id, mode="exploratory", variantCount=1)
    assert (made["mode"], made["variantCount"]) == ("exploratory", 1)
    before = ended(wire, made["id"])["settings"]
    wire.ask("PATCH", "/settings", {"optimization": {"simulation": {"maxTurns": 9}}})
    assert wire.get(f"/optimizations/{made['id']}")["settings"] == before
    assert before["maxTurns"] == 1


@both_schemes
@covers("GET /optimizations")
def test_list_optimizations(wire, client):
    make_tiny(wire)
    first, second = wire.add_prompt(), wire.add_prompt()
    ids = [start(wire, prompt_id, variantCount=1)["id"] for prompt_id in (first, second, first)]
    for one in ids:
        ended(wire, one)
    body = wire.get("/optimizations")
    assert set(body) == {"data", "pagination"}
    assert body["pagination"] == {"total": 3, "limit": 10, "offset": 0}
    assert [item["id"] for item in body["data"]] == ids[::-1]
    for item in body["data"]:
        assert differences(item, OPTIMIZATION_LISTED) == []
        assert item == brief(wire.get(f"/optimizations/{item['id']}"))
    assert same(client.optimizations.list(), body)
    wanted = wire.get(f"/optimizations?{wire.scheme.link}={first}&status=completed&limit=1&offset=1")
    assert [item["id"] for item in wanted["data"]] == [ids[0]]
    assert wanted["pagination"] == {"total": 2, "limit": 1, "offset": 1}
    assert same(client.optimizations.list(prompt_id=first, status="completed", limit=1, offset=1), wanted)
    for status in ("queued", "running", "failed", "stopped"):
        assert wire.get(f"/optimizations?status={status}")["pagination"]["total"] == 0
    assert wire.get("/optimizations?promptId=none")["data"] == []


@covers("GET /optimizations/{id}")
def test_get_an_optimization_with_a_winner(won, connect):
    body = won.wire.get(won.path)
    assert differences(body, OPTIMIZATION) == []
    assert (body["promptId"], body["agentId"]) == (won.prompt_id, won.prompt_id)
    assert body["createdAt"] <= body["startedAt"] < body["completedAt"]
    results = body["results"]
    assert (results["winnerSelected"], results["winningVariantId"]) == (True, won.winner["id"])
    assert 0 <= results["confidence"] <= 1
    assert results["trace"][-1] == results["confidence"] >= results["confidenceNeeded"]
    assert (results["explanation"], body["failure"], body["stopReason"]) == (None, None, None)
    assert results["progress"]["fraction"] == 1
    typed = connect(won.wire).optimizations.get(won.id)
    assert same(typed, body)
    assert typed.results.winner_selected is True
    assert typed.completed_at > typed.started_at


def test_get_one_that_has_measured_something(answering, connect):
    wire = answering.account()
    prompt_id = wire.add_prompt(content=PROMPT)
    try:
        answering.model.delay = 0.02
        made = start(wire, prompt_id, mode="validation", variantCount=2)
        path = f"/optimizations/{made['id']}"
        wait_until(lambda: wire.get(path)["results"].get("variantsTested"), what="one pass is measured")
        body = wire.get(path)
        assert body["status"] == "running"
        assert differences(body, {**OPTIMIZATION, "results": RESULTS_MEASURED}) == []
        assert 0 < body["results"]["progress"]["fraction"] < 1
        (listed,) = wire.get("/optimizations?status=running")["data"]
        assert differences(listed, {**OPTIMIZATION_LISTED, "results": RESULTS_MEASURED}) == []
        assert "winnerSelected" not in body["results"]
        original, *others = wire.get(f"{path}/variants")["data"]
        assert differences(original, ORIGINAL) == []
        for one in others:
            assert differences(one, VARIANT) == []
    finally:
        answering.model.delay = 0.0
    client = connect(wire)
    assert client.optimizations.stop(made["id"]).status == "stopped"
    stopped = wire.get(path)
    assert differences(stopped, OPTIMIZATION) == []
    assert (stopped["results"]["winnerSelected"], stopped["results"]["reason"]) == (False, "stopped")
    assert stopped["stopReason"] is None
    assert same(client.optimizations.get(made["id"]), stopped)


@covers("GET /optimizations/{id}/variants")
def test_list_variants(won, connect):
    body = won.wire.get(f"{won.path}/variants")
    assert set(body) == {"data"}
    original, winner, other = body["data"]
    assert differences(original, ORIGINAL) == []
    assert differences(winner, WINNER) == []
    assert differences(other, VARIANT) == []
    assert ("lift" in original, "isWinner" in other) == (False, False)
    assert [one["number"] for one in body["data"]] == [0, 1, 2]
    assert [one["isOriginal"] for one in body["data"]] == [True, False, False]
    assert original["content"] == PROMPT
    assert (winner["isWinner"], winner["lift"]) == (True, won.wire.get(won.path)["results"]["lift"])
    for one in body["data"]:
        assert 0 <= one["metrics"]["taskCompletion"] <= 100
        assert -1 <= one["metrics"]["sentiment"] <= 1
        assert 0 <= one["metrics"]["quality"] <= 100
    typed = connect(won.wire).optimizations.variants(won.id)
    assert same(typed, body)
    assert [one.is_winner for one in typed.data] == [False, True, False]


@covers("GET /optimizations/{id}/simulations")
def test_list_simulations(won, connect):
    wire, path, client = won.wire, f"{won.path}/simulations", connect(won.wire)
    body = wire.get(path)
    assert set(body) == {"data", "pagination"}
    total = wire.get(won.path)["usage"]["conversations"]
    assert body["pagination"] == {"total": total, "limit": 20, "offset": 0}
    assert len(body["data"]) == 20
    assert same(client.optimizations.simulations(won.id), body)
    whole = [
        one for at in range(0, total + 100, 100) for one in wire.get(f"{path}?limit=100&offset={at}")["data"]
    ]
    assert len({one["id"] for one in whole}) == total
    assert [(one["cell"], one["variantNumber"]) for one in whole] == sorted(
        (one["cell"], one["variantNumber"]) for one in whole
    )
    completed = {one["taskCompleted"] for one in whole}
    assert completed == {True, False}
    for query, holds, arguments in (
        (
            f"variantId={won.winner['id']}",
            lambda one: one["variantNumber"] == 1,
            {"variant_id": won.winner["id"]},
        ),
        ("stage=screen", lambda one: one["stage"] == "screen", {"stage": "screen"}),
        ("stage=regression", lambda _: False, {"stage": "regression"}),
        ("taskCompleted=false", lambda one: one["taskCompleted"] is False, {"task_completed": False}),
        (
            "taskCompleted=true&stage=confirm",
            lambda one: one["taskCompleted"] and one["stage"] == "confirm",
            {"task_completed": True, "stage": "confirm"},
        ),
    ):
        wanted = [one for one in whole if holds(one)]
        found = wire.get(f"{path}?{query}&limit=7&offset=1")
        assert found["pagination"] == {"total": len(wanted), "limit": 7, "offset": 1}
        assert found["data"] == wanted[1:8]
        assert same(client.optimizations.simulations(won.id, limit=7, offset=1, **arguments), found)
    body = wire.get(f"{path}?includeContent=true&limit=3")
    for item in body["data"]:
        messages = json.loads(item["content"])["messages"]
        assert messages[0] == {"role": "user", "content": item["scenario"]["opening"]}
    assert same(client.optimizations.simulations(won.id, include_content=True, limit=3), body)
    assert "content" not in wire.get(f"{path}?includeContent=false")["data"][0]


@pytest.mark.parametrize("won", ["prompt", "agent"], indirect=True)
@covers("POST /optimizations/{id}/apply")
def test_apply_the_winner_and_a_named_variant(won, connect):
    wire = won.wire
    original, winner, other = won.variants
    wire.ask("PATCH", f"/{wire.scheme.segment}/{won.prompt_id}", {"content": PROMPT})
    before = wire.get(f"/prompts/{won.prompt_id}/versions")["data"][0]["id"]
    answer = wire.ask("POST", f"{won.path}/apply")
    assert answer.status == 200
    assert differences(answer.body, APPLIED) == []
    assert (answer.body["success"], answer.body["appliedVariantId"]) == (True, winner["id"])
    assert answer.body["promptId"] == answer.body["agentId"] == won.prompt_id
    assert (answer.body["previousVersionId"], answer.body["changed"]) == (before, True)
    assert text_of(wire, won.prompt_id) == winner["content"]
    body = wire.get(won.path)
    assert differences(body, OPTIMIZATION) == []
    # "status unchanged"
    assert (body["status"], body["deployment"]["state"]) == ("completed", "live")
    assert (body["deployment"]["variantId"], body["deployment"]["origin"]) == (winner["id"], "manual")
    assert body["deployment"]["versionId"] == answer.body["versionId"]

    applied = connect(wire).optimizations.apply(won.id, variant_id=other["id"])
    assert set(applied.to_wire()) == set(answer.body)
    assert (applied.applied_variant_id, applied.changed) == (other["id"], True)
    assert text_of(wire, won.prompt_id) == other["content"]
    again = wire.ask("POST", f"{won.path}/apply", {"variantId": other["id"]})
    assert (again.body["changed"], again.body["versionId"]) == (False, applied.version_id)
    back = connect(wire).optimizations.apply(
        won.id, variant_id=original["id"], if_version_id=applied.version_id
    )
    assert (back.changed, text_of(wire, won.prompt_id)) == (True, PROMPT)
    versions = wire.get(f"/prompts/{won.prompt_id}/versions")["data"]
    assert [one["variantId"] for one in versions[:3]] == [original["id"], other["id"], winner["id"]]
    for one in versions:
        assert differences(one, VERSION) == []


def test_every_form_of_no_body_applies_the_winner(won):
    for raw in (None, b"", b" \n", b"{}", b'{"variantId": null}'):
        answer = won.wire.ask("POST", f"{won.path}/apply", raw=raw)
        assert (answer.status, answer.body["appliedVariantId"]) == (200, won.winner["id"])


@covers("POST /optimizations/{id}/stop")
def test_stop(wire, client):
    prompt_id = wire.add_prompt()
    made = [start(wire, prompt_id, mode="validation", variantCount=5) for _ in range(3)]
    answer = wire.ask("POST", f"/optimizations/{made[0]['id']}/stop", {"reason": "Enough\r\nseen ☎ "})
    assert answer.status == 200
    assert differences(answer.body, STOPPED) == []
    assert (answer.body["success"], answer.body["status"]) == (True, "stopped")
    found = wire.get(f"/optimizations/{made[0]['id']}")
    assert (found["status"], found["stopReason"]) == ("stopped", "Enough\r\nseen ☎ ")
    assert client.optimizations.stop(made[1]["id"], reason="r").to_wire().keys() == answer.body.keys()
    assert wire.get(f"/optimizations/{made[1]['id']}")["stopReason"] == "r"
    assert wire.ask("POST", f"/optimizations/{made[2]['id']}/stop").body["status"] == "stopped"
    assert wire.get(f"/optimizations/{made[2]['id']}")["stopReason"] is None


def refused(wire, path, error, call, body=None):
    """Check that a request is refused as the exception of the client says; returns the error."""
    answer = wire.ask("POST", path, body)
    with pytest.raises(error) as caught:
        call()
    assert is_told(caught.value, answer)
    return answer.error


def test_ten_run_the_eleventh_waits_and_each_can_be_stopped(answering, held_model, connect):
    wire = answering.account(plan="pro")
    client, prompt_id, other, idle = connect(wire), *(wire.add_prompt() for _ in range(3))
    assert wire.get("/usage")["optimizations"] == {"used": 0, "limit": 50, "running": 0}
    made = [start(wire, prompt_id, variantCount=1) for _ in range(10)]
    made.append(start(wire, other, variantCount=1))
    assert [one["status"] for one in made] == ["running"] * 10 + ["queued"]
    assert wire.get("/usage")["optimizations"] == {"used": 11, "limit": 50, "running": 10}
    for one, state in ((prompt_id, "running"), (other, "queued"), (idle, "idle")):
        for segment in ("prompts", "agents"):
            body = wire.get(f"/{segment}/{one}/status")
            assert differences(body, STATUS_VIEW) == []
            assert (body["optimizationState"], body["lastOptimized"]) == (state, None)
        assert same(client.prompts.status(one), body)
    running, waiting = (wire.get(f"/optimizations/{made[at]['id']}") for at in (0, 10))
    assert differences(running, OPTIMIZATION_LISTED) == []
    assert (running["status"], running["completedAt"]) == ("running", None)
    progress = running["results"]["progress"]
    assert (progress["stage"], progress["passesDone"], progress["fraction"]) == ("preparing", 0, 0)
    assert progress["conversationsMax"] > 0
    assert differences(waiting, OPTIMIZATION_LISTED) == []
    assert (waiting["results"], waiting["startedAt"]) == (None, None)
    listed = {one["id"]: one for one in wire.get("/optimizations?limit=100")["data"]}
    for whole in (running, waiting):
        path = f"/optimizations/{whole['id']}"
        assert listed[whole["id"]] == brief(whole)
        assert same(client.optimizations.get(whole["id"]), wire.get(path))
        assert wire.get(f"{path}/variants") == {"data": []}
        assert wire.get(f"{path}/simulations")["data"] == []
    before = [wire.get(f"/prompts/{one}") for one in (prompt_id, other)]
    waiting = start(wire, other, variantCount=1)
    assert wire.ask("POST", f"/optimizations/{made[1]['id']}/stop").status == 200
    # The one that has waited longest has the place of what was stopped.
    assert wire.get(f"/optimizations/{made[10]['id']}")["status"] == "running"
    for one, status in ((made[0], "running"), (made[1], "stopped"), (waiting, "queued")):
        for body in (None, {"variantId": "var_none"}):
            error = refused(
                wire,
                f"/optimizations/{one['id']}/apply",
                errors.InvalidState,
                lambda one=one: client.optimizations.apply(one["id"]),
                body,
            )
            assert error == {
                "code": "INVALID_STATE",
                "message": f"The optimization is {status}; a variant can be applied once it is completed",
                "details": {"status": status},
            }
    assert [wire.get(f"/prompts/{one}") for one in (prompt_id, other)] == before
    for one in (waiting, *made):
        wire.ask("POST", f"/optimizations/{one['id']}/stop", {"reason": "☎"})
    for one in (made[0], waiting):
        stopped = wire.get(f"/optimizations/{one['id']}")
        assert (stopped["status"], stopped["stopReason"], stopped["results"]) == ("stopped", "☎", None)
        assert shapes.time(stopped["completedAt"])
        assert (stopped["startedAt"] is None) == (one is waiting)
        assert same(client.optimizations.get(one["id"]), stopped)
    # What was stopped was used, and has optimized nothing.
    assert wire.get("/usage")["optimizations"] == {"used": 12, "limit": 50, "running": 0}
    assert differences(wire.get("/usage"), USAGE) == []
    for one in (prompt_id, other):
        body = wire.get(f"/prompts/{one}/status")
        assert (body["optimizationState"], body["lastOptimized"]) == ("idle", None)
    told = outbox(answering.database, wire)
    assert [kind for kind, subject, _ in told if subject == waiting["id"]] == ["optimization.stopped"]
    kinds = Counter(kind for kind, _, _ in told)
    assert kinds == {"optimization.started": 11, "optimization.stopped": 12}


def test_a_rehearsal_that_completed_without_a_winner(wire, client, database):
    body = tiny(wire)
    path = f"/optimizations/{body['id']}"
    assert differences(body, OPTIMIZATION) == []
    results = body["results"]
    assert (results["winnerSelected"], results["winningVariantId"]) == (False, None)
    assert results["explanation"]
    assert (results["rehearsal"], body["rehearsal"]) == (True, True)
    assert same(client.optimizations.get(body["id"]), body)
    # It is told twice.
    (started, completed) = outbox(database, wire)
    assert [started[:2], completed[:2]] == [
        ("optimization.started", body["id"]),
        ("optimization.completed", body["id"]),
    ]
    assert started[2] == {
        "optimizationId": body["id"],
        "promptId": body["promptId"],
        "status": "running",
        # Nothing of the account's general settings: this leaves the house.
        "settings": {"mode": "exploratory", "variantCount": 1, **body["settings"]},
        "startedAt": body["startedAt"],
    }
    seconds = datetime.fromisoformat(body["completedAt"]) - datetime.fromisoformat(body["startedAt"])
    told = completed[2].pop("results")
    assert completed[2] == {
        "optimizationId": body["id"],
        "promptId": body["promptId"],
        "duration": pytest.approx(seconds.total_seconds(), abs=0.002),
        "completedAt": body["completedAt"],
    }
    assert (told["winner"], told["improvementPercentage"], told["winnerSelected"]) == (None, None, False)
    # Nothing is chosen in somebody's name, and a rehearsal is applied only where that is accepted.
    error = refused(
        wire, f"{path}/apply", errors.InvalidState, lambda: client.optimizations.apply(body["id"])
    )
    assert (error["code"], set(error["details"])) == ("INVALID_STATE", {"variantId"})
    named = wire.get(f"{path}/variants")["data"][1]["id"]
    for wanted in ({"variant_id": named}, {"content": "Put together by hand."}):
        error = refused(
            wire,
            f"{path}/apply",
            errors.InvalidState,
            lambda wanted=wanted: client.optimizations.apply(body["id"], **wanted),
            {"variantId" if "variant_id" in wanted else "content": next(iter(wanted.values()))},
        )
        assert error["code"] == "INVALID_STATE"
        assert error["details"] == {"acceptRehearsal": "needed, because the optimization was a rehearsal"}
    applied = client.optimizations.apply(body["id"], variant_id=named, accept_rehearsal=True)
    assert applied.applied_variant_id == named
    # What has ended cannot be stopped.
    before = wire.get(path)
    error = refused(
        wire,
        f"{path}/stop",
        errors.InvalidState,
        lambda: client.optimizations.stop(body["id"], reason="late"),
        {"reason": "late"},
    )
    assert error == {
        "code": "INVALID_STATE",
        "message": "The optimization is completed; only a queued or running one can be stopped",
        "details": {"status": "completed"},
    }
    assert wire.get(path) == before


def test_a_failed_one_says_why_and_can_neither_be_applied_nor_stopped(answering, connect):
    wire = answering.account()
    answering.model.fault = lambda _asked: Say({"error": {"message": "no such model"}}, status=404)
    try:
        found = ended(wire, start(wire, wire.add_prompt())["id"])
    finally:
        answering.model.fault = None
    assert differences(found, OPTIMIZATION_LISTED) == []
    assert (found["status"], found["results"]) == ("failed", None)
    assert found["failure"]
    assert same(connect(wire).optimizations.get(found["id"]), found)
    for action in ("apply", "stop"):
        answer = wire.ask("POST", f"/optimizations/{found['id']}/{action}")
        assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
        assert answer.error["details"] == {"status": "failed"}
