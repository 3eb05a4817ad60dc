"""Every error of optimizations: exactly what is told, and the exception that it becomes."""

from __future__ import annotations

import pytest

from agreement.test_errors import IDS, same
from promptlift import errors
from support.optimizing import ended, make_tiny, start, tiny

REQUIRED = "Required field"


@pytest.fixture
def prompt_id(wire):
    return wire.add_prompt()


def test_each_field_of_a_trigger_is_told_by_its_path(wire, client, prompt_id):
    for fields, details in (
        ({"mode": "fast"}, {"mode": "must be one of exploratory, validation"}),
        ({"variantCount": 0}, {"variantCount": "must be at least 1"}),
        ({"variantCount": 6}, {"variantCount": "must be at most 5"}),
        ({"variantCount": "3"}, {"variantCount": "must be a whole number"}),
        ({"intent": "faster"}, {"intent": "must be an object"}),
        ({"intent": {"targetImprovements": "x"}}, {"intent.targetImprovements": "must be a list"}),
        ({"intent": {"targetImprovements": [1]}}, {"intent.targetImprovements[0]": "must be a string"}),
        ({"intent": {"hypothesis": 1}}, {"intent.hypothesis": "must be a string"}),
        ({"personaIds": "p"}, {"personaIds": "must be a list"}),
        ({"personaIds": [""]}, {"personaIds[0]": "must not be blank"}),
        ({"personaIds": []}, {"personaIds": "must not be empty; leave it out to draw from all personas"}),
        ({"personaIds": ["nobody"]}, {"personaIds[0]": "no such persona"}),
        ({"seed": -1}, {"seed": "must be at least 0"}),
        ({"seed": 2**53}, {"seed": f"must be at most {2**53 - 1}"}),
        (
            {"mode": 1, "variantCount": 2.5, "seed": None, "personaIds": [None]},
            {
                "mode": "must be one of exploratory, validation",
                "variantCount": "must be a whole number",
                "personaIds[0]": "must be a string",
            },
        ),
    ):
        answer = wire.ask("POST", "/optimizations", {wire.scheme.link: prompt_id, **fields})
        assert (answer.status, answer.error["code"]) == (400, "VALIDATION_ERROR")
        assert answer.error["details"] == details
        assert wire.get("/optimizations")["pagination"]["total"] == 0
        assert wire.get("/usage")["optimizations"]["used"] == 0


def test_a_prompt_is_needed(wire):
    for body in ({}, {"mode": "validation"}, {"promptId": None}, {"promptId": None, "agentId": None}):
        answer = wire.ask("POST", "/optimizations", body)
        assert (answer.status, answer.error["details"]) == (400, {"promptId": REQUIRED})
    answer = wire.ask("POST", "/optimizations", {"variantCount": 9})
    assert answer.error["details"] == {"promptId": REQUIRED, "variantCount": "must be at most 5"}


def test_two_links_that_differ_are_refused(wire, prompt_id):
    body = {"promptId": prompt_id, "agentId": wire.add_prompt()}
    answer = wire.ask("POST", "/optimizations", body)
    assert (answer.status, answer.error["details"]) == (
        400,
        {"agentId": "must be the same as promptId, or absent"},
    )


def test_a_prompt_that_is_not_there_cannot_be_optimized(wire, client):
    gone = wire.add_prompt()
    assert wire.ask("DELETE", f"/{wire.scheme.segment}/{gone}").status == 200
    for prompt_id in ("prm_none", gone):
        answer = wire.ask("POST", "/optimizations", {wire.scheme.link: prompt_id})
        assert (answer.status, answer.error) == (
            404,
            {"code": "NOT_FOUND", "message": f"{wire.scheme.noun} not found"},
        )
        with pytest.raises(errors.NotFound) as caught:
            client.optimizations.create(prompt_id=prompt_id)
        assert same(caught.value, answer)
    assert wire.get("/usage")["optimizations"]["used"] == 0


def test_hostile_ids_are_not_found(client):
    for identifier in IDS:
        for call in (
            client.optimizations.get,
            client.optimizations.variants,
            client.optimizations.simulations,
            client.optimizations.apply,
            client.optimizations.stop,
            client.personas.get,
            client.personas.delete,
            client.prompts.versions,
        ):
            with pytest.raises(errors.NotFound) as caught:
                call(identifier)
            assert (caught.value.status, caught.value.code) == (404, "NOT_FOUND")


def test_only_a_completed_one_can_be_applied(answering, held_model, connect):
    wire = answering.account()
    client, prompt_id = connect(wire), wire.add_prompt()
    made = [start(wire, prompt_id)["id"] for _ in range(11)]
    before = wire.get(f"/prompts/{prompt_id}")
    states = {"running": made[0], "queued": made[10]}
    assert wire.ask("POST", f"/optimizations/{made[1]}/stop").status == 200
    states = {"running": made[0], "stopped": made[1]}
    waiting = start(wire, prompt_id)["id"]
    states["queued"] = waiting
    for status, one in states.items():
        for body in (None, {}, {"variantId": "var_none"}):
            answer = wire.ask("POST", f"/optimizations/{one}/apply", body)
            assert (answer.status, answer.error) == (
                409,
                {
                    "code": "INVALID_STATE",
                    "message": f"The optimization is {status}; a variant can be applied once it is completed",
                    "details": {"status": status},
                },
            )
        with pytest.raises(errors.InvalidState) as caught:
            client.optimizations.apply(one)
        assert same(caught.value, answer)
    assert wire.get(f"/prompts/{prompt_id}") == before
    for one in (*made, waiting):
        wire.ask("POST", f"/optimizations/{one}/stop")


def test_a_failed_one_can_neither_be_applied_nor_stopped(answering):
    from support.stub_endpoint import Say

    wire = answering.account()
    answering.model.fault = lambda _asked: Say({"error": {"message": "bad key"}}, status=401)
    try:
        found = ended(wire, start(wire, wire.add_prompt())["id"])
    finally:
        answering.model.fault = None
    assert found["status"] == "failed"
    for action in ("apply", "stop"):
        answer = wire.ask("POST", f"/optimizations/{found['id']}/{action}")
        assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
        assert answer.error["details"] == {"status": "failed"}


def test_without_a_winner_nothing_is_chosen_in_somebodys_name(wire, client):
    found = tiny(wire)
    path = f"/optimizations/{found['id']}"
    answer = wire.ask("POST", f"{path}/apply")
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
    assert set(answer.error["details"]) == {"variantId"}
    with pytest.raises(errors.InvalidState) as caught:
        client.optimizations.apply(found["id"])
    assert same(caught.value, answer)
    named = wire.get(f"{path}/variants")["data"][1]
    body = {"variantId": named["id"]}
    answer = wire.ask("POST", f"{path}/apply", body)
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
    assert answer.error["details"] == {"acceptRehearsal": "needed, because the optimization was a rehearsal"}
    with pytest.raises(errors.InvalidState) as caught:
        client.optimizations.apply(found["id"], variant_id=named["id"])
    assert same(caught.value, answer)
    applied = client.optimizations.apply(found["id"], variant_id=named["id"], accept_rehearsal=True)
    assert applied.applied_variant_id == named["id"]


def test_a_variant_of_another_optimization_is_refused(won, connect):
    wire = won.wire
    make_tiny(wire)
    other = ended(wire, start(wire, won.prompt_id, variantCount=2)["id"])
    foreign = wire.get(f"/optimizations/{other['id']}/variants")["data"][1]["id"]
    content = wire.get(f"/prompts/{won.prompt_id}")["content"]
    for variant_id in (foreign, "var_none", "", " ", "' OR 1=1 --", "☃"):
        answer = wire.ask("POST", f"{won.path}/apply", {"variantId": variant_id})
        assert (answer.status, set(answer.error["details"])) == (400, {"variantId"})
    with pytest.raises(errors.ValidationError) as caught:
        connect(wire).optimizations.apply(won.id, variant_id="☃")
    assert same(caught.value, answer)
    query = wire.ask("GET", f"{won.path}/simulations?variantId={foreign}")
    assert (query.status, query.error["details"]) == (
        400,
        {"variantId": "no such variant in this optimization"},
    )
    assert wire.get(f"/prompts/{won.prompt_id}")["content"] == content


def test_an_apply_that_was_meant_for_another_version_is_refused(won, connect):
    wire, path = won.wire, f"/{won.wire.scheme.segment}/{won.prompt_id}"
    seen = wire.get(f"{path}/versions")["data"][0]["id"]
    quicker = f"Somebody else was quicker, in {wire.scheme.name}."
    assert wire.ask("PATCH", path, {"content": quicker}).status == 200
    live = wire.get(f"{path}/versions")["data"][0]
    body = {"variantId": won.winner["id"], "ifVersionId": seen}
    answer = wire.ask("POST", f"{won.path}/apply", body)
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
    assert (answer.error["details"]["liveVersionId"], answer.error["details"]["liveOrigin"]) == (
        live["id"],
        "updated",
    )
    with pytest.raises(errors.InvalidState) as caught:
        connect(wire).optimizations.apply(won.id, variant_id=won.winner["id"], if_version_id=seen)
    assert same(caught.value, answer)
    assert wire.get(path)["content"] == quicker


def test_what_has_ended_cannot_be_stopped(wire, client):
    found = tiny(wire)
    answer = wire.ask("POST", f"/optimizations/{found['id']}/stop", {"reason": "late"})
    assert (answer.status, answer.error) == (
        409,
        {
            "code": "INVALID_STATE",
            "message": "The optimization is completed; only a queued or running one can be stopped",
            "details": {"status": "completed"},
        },
    )
    with pytest.raises(errors.InvalidState) as caught:
        client.optimizations.stop(found["id"], reason="late")
    assert same(caught.value, answer)
    assert wire.get(f"/optimizations/{found['id']}") == found


def test_the_quota_of_the_month_is_told_with_its_numbers(new_account, connect):
    wire = new_account("free")
    make_tiny(wire)
    prompt_id = wire.add_prompt()
    made = [start(wire, prompt_id, variantCount=1)["id"] for _ in range(10)]
    # What is refused for another reason does not count, and is told as that.
    assert wire.ask("POST", "/optimizations", {"promptId": "none"}).status == 404
    answer = wire.ask("POST", "/optimizations", {"promptId": prompt_id})
    assert (answer.status, answer.error["code"]) == (429, "LIMIT_EXCEEDED")
    period = wire.get("/usage")["period"]
    assert answer.error["details"] == {"limit": 10, "used": 10, "resetAt": period["end"]}
    with pytest.raises(errors.LimitExceeded) as caught:
        connect(wire).optimizations.create(prompt_id=prompt_id)
    assert same(caught.value, answer)
    assert (caught.value.limit, caught.value.used) == (10, 10)
    assert wire.get("/optimizations")["pagination"]["total"] == 10
    assert wire.get("/usage")["optimizations"]["used"] == 10
    for one in made:
        ended(wire, one)


def test_a_key_that_is_not_valid_opens_nothing(new_account, connect):
    found = tiny(new_account())
    stranger = new_account()
    stranger.key = "test_wrong_key_0123456789"
    client = connect(stranger)
    for call in (
        lambda: client.optimizations.create(prompt_id=found["promptId"]),
        client.optimizations.list,
        lambda: client.optimizations.get(found["id"]),
        lambda: client.optimizations.variants(found["id"]),
        lambda: client.optimizations.simulations(found["id"]),
        lambda: client.optimizations.apply(found["id"]),
        lambda: client.optimizations.stop(found["id"]),
    ):
        with pytest.raises(errors.InvalidApiKey):
            call()


def test_parameters_of_the_list_are_told_by_name(new_account):
    for query, name in (
        ("limit=0", "limit"),
        ("limit=101", "limit"),
        ("offset=-1", "offset"),
        ("status=done", "status"),
        ("status=", "status"),
        ("promptId=%00", "promptId"),
        ("agentId=a%00", "agentId"),
    ):
        answer = new_account().ask("GET", f"/optimizations?{query}")
        assert (answer.status, answer.error["code"]) == (400, "VALIDATION_ERROR")
        assert set(answer.error["details"]) == {name}


def test_parameters_of_the_simulations_are_told_by_name(won):
    for query, name in (
        ("limit=0", "limit"),
        ("offset=x", "offset"),
        ("stage=preparing", "stage"),
        ("taskCompleted=yes", "taskCompleted"),
        ("includeContent=1", "includeContent"),
        ("variantId=%00", "variantId"),
        ("variantId=none", "variantId"),
    ):
        answer = won.wire.ask("GET", f"{won.path}/simulations?{query}")
        assert (answer.status, answer.error["code"]) == (400, "VALIDATION_ERROR")
        assert set(answer.error["details"]) == {name}
