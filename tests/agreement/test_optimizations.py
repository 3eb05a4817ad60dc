"""Every endpoint of optimizations: exactly the fields of the specification and ours, the same through the client."""

from __future__ import annotations

import json

import pytest

from agreement.covered import both_schemes, covers, same
from promptlift.service.simulations.personas import library
from support import shapes
from support.answering_model import PROMPT
from support.optimizing import brief, ended, make_tiny, start, tiny
from support.service_process import wait_until
from support.shapes import differences
from support.shapes.optimizations import (
    APPLIED,
    OPTIMIZATION,
    OPTIMIZATION_ASKED_FOR,
    OPTIMIZATION_LISTED,
    ORIGINAL,
    RESULTS,
    RESULTS_MEASURED,
    RESULTS_PREPARING,
    SIMULATION,
    STOPPED,
    VARIANT,
    WINNER,
)
from support.shapes.prompts import VERSION

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
    assert differences(answer.body, {**OPTIMIZATION_ASKED_FOR, link: shapes.text}) == []
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
    fresh = start(wire, prompt_id)
    assert (fresh["mode"], fresh["variantCount"]) == ("exploratory", 3)
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


def test_two_without_a_seed_have_different_ones(new_account):
    wire = new_account()
    make_tiny(wire)
    prompt_id = wire.add_prompt()
    seeds = {wire.get(f"/optimizations/{start(wire, prompt_id, seed=None)['id']}")["seed"] for _ in range(2)}
    assert len(seeds) == 2
    assert all(0 <= seed < 2**53 for seed in seeds)


def test_both_links_may_be_given_when_they_are_the_same(new_account):
    wire = new_account()
    make_tiny(wire)
    prompt_id = wire.add_prompt()
    answer = wire.ask("POST", "/optimizations", {"promptId": prompt_id, "agentId": prompt_id})
    assert (answer.status, answer.body["promptId"]) == (201, prompt_id)
    assert "agentId" not in answer.body


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
    assert differences(body, {**OPTIMIZATION, "results": RESULTS}) == []
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


def test_get_an_optimization_without_a_winner(wire, client):
    body = tiny(wire)
    assert differences(body, OPTIMIZATION) == []
    results = body["results"]
    assert (results["winnerSelected"], results["winningVariantId"]) == (False, None)
    assert results["explanation"]
    assert (results["rehearsal"], body["rehearsal"]) == (True, True)
    assert same(client.optimizations.get(body["id"]), body)


def test_get_one_that_runs_one_that_waits_and_one_that_was_stopped(answering, held_model, connect):
    wire = answering.account()
    client, prompt_id = connect(wire), wire.add_prompt()
    made = [start(wire, prompt_id, variantCount=1) for _ in range(11)]
    assert [one["status"] for one in made] == ["running"] * 10 + ["queued"]
    running, waiting = (wire.get(f"/optimizations/{made[at]['id']}") for at in (0, 10))
    unmeasured = {**OPTIMIZATION, "results": RESULTS_PREPARING}
    assert differences(running, unmeasured) == []
    assert (running["status"], running["completedAt"]) == ("running", None)
    progress = running["results"]["progress"]
    assert (progress["stage"], progress["passesDone"], progress["fraction"]) == ("preparing", 0, 0)
    assert progress["conversationsMax"] > 0
    null = shapes.one_of(None)
    assert differences(waiting, {**OPTIMIZATION, "results": null, "startedAt": null}) == []
    assert waiting["status"] == "queued"
    listed = {one["id"]: one for one in wire.get("/optimizations?limit=100")["data"]}
    for whole in (running, waiting):
        assert listed[whole["id"]] == brief(whole)
        assert same(client.optimizations.get(whole["id"]), wire.get(f"/optimizations/{whole['id']}"))
        assert wire.get(f"/optimizations/{whole['id']}/variants") == {"data": []}
        assert wire.get(f"/optimizations/{whole['id']}/simulations")["data"] == []
    for one in made[::-1]:
        assert wire.ask("POST", f"/optimizations/{one['id']}/stop", {"reason": "☎"}).status == 200
    for one in (made[0], made[10]):
        stopped = wire.get(f"/optimizations/{one['id']}")
        assert (stopped["status"], stopped["stopReason"], stopped["results"]) == ("stopped", "☎", None)
        assert shapes.time(stopped["completedAt"])
        assert (stopped["startedAt"] is None) == (one is made[10])
        assert same(client.optimizations.get(one["id"]), stopped)


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
        original, *others = wire.get(f"{path}/variants")["data"]
        assert differences(original, ORIGINAL) == []
        for one in others:
            assert differences(one, VARIANT) == []
    finally:
        answering.model.delay = 0.0
    client = connect(wire)
    assert client.optimizations.stop(made["id"]).status == "stopped"
    stopped = wire.get(path)
    assert differences(stopped, {**OPTIMIZATION, "results": RESULTS}) == []
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
    for item in body["data"]:
        assert differences(item, SIMULATION) == []
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


def test_simulations_carry_their_transcript_where_it_is_asked_for(won, connect):
    wire = won.wire
    body = wire.get(f"{won.path}/simulations?includeContent=true&limit=3")
    for item in body["data"]:
        assert differences(item, {**SIMULATION, "content": shapes.text}) == []
        messages = json.loads(item["content"])["messages"]
        assert messages[0] == {"role": "user", "content": item["scenario"]["opening"]}
    assert same(connect(wire).optimizations.simulations(won.id, include_content=True, limit=3), body)
    assert wire.get(f"{won.path}/simulations?includeContent=false")["data"][0].keys() == set(SIMULATION)


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


def test_a_failed_one_says_why(answering, connect):
    from support.stub_endpoint import Say

    wire = answering.account()
    answering.model.fault = lambda _asked: Say({"error": {"message": "no such model"}}, status=404)
    try:
        found = ended(wire, start(wire, wire.add_prompt())["id"])
    finally:
        answering.model.fault = None
    assert differences(found, {**OPTIMIZATION, "results": shapes.one_of(None)}) == []
    assert found["status"] == "failed"
    assert found["failure"]
    assert same(connect(wire).optimizations.get(found["id"]), found)
