"""Every error that a client can meet: the body on the wire, and the exception that it becomes."""

from __future__ import annotations

import pytest

from promptlift import errors
from support.wire import METHODS, OFFERED, SPECIFIED, body_for, path_for

ENDPOINTS = SPECIFIED + OFFERED
BAD_KEY = "INVALID_API_KEY"
IDS = ("prm_none", "cnv_none", "x", "..", "%20", "a" * 500, "é", "' OR 1=1 --", "%00", "\u202e")

KINDS = {
    "prompts": "Prompt",
    "agents": "Agent",
    "conversations": "Conversation",
    "optimizations": "Optimization",
    "personas": "Persona",
    "actions": "Action",
    "webhooks": "Webhook",
    "benchmarks": "Benchmark",
    "scenario-sets": "Scenario set",
    "experiments": "Experiment",
    "judges": "Judge",
    "judge-runs": "Judge run",
}


def same(error, answer):
    """Whether an exception says what was on the wire."""
    body = answer.error
    return (error.status, error.code, error.message, error.details) == (
        answer.status,
        body["code"],
        body["message"],
        body.get("details", {}),
    )


def test_without_a_key_every_endpoint_refuses(new_account):
    for endpoint in ENDPOINTS:
        method, path = endpoint.split()
        wire = new_account()
        for header in (None, "Bearer not-a-key", f"Basic {wire.key}"):
            answer = wire.ask(method, path.replace("{id}", "x"), headers={"Authorization": header})
            assert (answer.status, answer.error["code"]) == (401, BAD_KEY)
            assert set(answer.error) == {"code", "message"}
            assert "invalid" in answer.error["message"]
            assert answer.headers["www-authenticate"] == "Bearer"


def test_a_wrong_key_is_the_clients_error_too(wire, connect):
    wire.key = "test_wrong_key_0123456789"
    answer = wire.ask("GET", "/account")
    with pytest.raises(errors.InvalidApiKey) as caught:
        connect(wire).account.get()
    assert same(caught.value, answer)
    assert wire.key not in str(caught.value)


def test_an_id_that_nobody_has_is_not_found_and_the_kind_is_named(new_account):
    for endpoint in [endpoint for endpoint in ENDPOINTS if "{id}" in endpoint]:
        method, path = endpoint.split()
        kind = KINDS[path.split("/")[1]]
        target = path_for(path).replace("{id}", "cnv_0123456789abcdef01234567")
        answer = new_account().ask(method, target, body_for(method, path))
        assert (answer.status, answer.body) == (
            404,
            {"error": {"code": "NOT_FOUND", "message": f"{kind} not found"}},
        )


def test_hostile_ids_are_not_found_by_the_client_either(client, wire):
    for identifier in IDS:
        for call in (
            client.prompts.get,
            client.prompts.status,
            client.prompts.insights,
            client.prompts.delete,
            client.conversations.get,
            client.conversations.insights,
            client.conversations.regenerate_insights,
            client.agents.step_failures,
            client.agents.regenerate_insights,
        ):
            with pytest.raises(errors.NotFound) as caught:
                call(identifier)
            assert (caught.value.status, caught.value.code) == (404, "NOT_FOUND")


def test_an_id_with_a_slash_is_not_another_endpoint(client, wire):
    for suffix in ["/status", "/insights", "/step-failures", "/../../account"]:
        prompt_id = wire.add_prompt()
        with pytest.raises(errors.NotFound):
            client.prompts.get(prompt_id + suffix)
        with pytest.raises(errors.NotFound):
            client.prompts.delete(prompt_id + suffix)
        assert client.prompts.get(prompt_id).id == prompt_id


def test_missing_fields_are_named_as_the_specification_says(wire):
    answer = wire.ask("POST", f"/{wire.scheme.segment}", {})
    assert answer.status == 400
    assert answer.error["code"] == "VALIDATION_ERROR"
    assert answer.error["details"] == dict.fromkeys(("name", "content", "llmModel"), "Required field")
    answer = wire.ask("POST", "/conversations", {})
    assert answer.error["details"] == dict.fromkeys(("promptId", "content"), "Required field")
    answer = wire.ask("POST", "/conversations", {"content": "User: hi"})
    assert answer.error["details"] == {"promptId": "Required field"}


def test_an_invalid_model_is_told_under_its_field(wire, client):
    body = {"name": "n", "content": "c", "llmModel": "gpt-44o"}
    answer = wire.ask("POST", f"/{wire.scheme.segment}", body)
    assert (answer.status, answer.error["code"]) == (400, "VALIDATION_ERROR")
    assert "did you mean gpt-4o" in answer.error["details"]["llmModel"]
    with pytest.raises(errors.ValidationError) as caught:
        client.prompts.create(name="n", content="c", llm_model="gpt-44o")
    assert same(caught.value, answer)


def test_another_method_is_refused_and_the_allowed_ones_are_named(new_account):
    for path in sorted({endpoint.split()[1] for endpoint in ENDPOINTS}):
        wire = new_account()
        # "bulk" is also an id that a benchmark could have, and a conversation, which could have "deleted" too.
        ids = [
            "GET /benchmarks/bulk",
            "GET /conversations/bulk",
            "PATCH /conversations/bulk",
            "PATCH /conversations/deleted",
        ]
        known = [*ENDPOINTS, *ids]
        allowed = [method for method in METHODS if f"{method} {path}" in known]
        for method in ("PUT", "OPTIONS", "TRACE", *(method for method in METHODS if method not in allowed)):
            answer = wire.ask(method, path.replace("{id}", "x"))
            assert (answer.status, answer.error["code"]) == (405, "METHOD_NOT_ALLOWED")
            assert answer.error["message"] == f"{method} is not possible here; allowed: {', '.join(allowed)}"
            assert answer.headers["allow"] == ", ".join(allowed)


def test_an_unknown_route_is_not_found_in_the_same_shape(new_account):
    for path in ["/", "", "/prompt", "/prompts/", "/prompts//status", "/webhooks/x/y", "/v1/prompts"]:
        answer = new_account().ask("GET", path)
        assert (answer.status, answer.body) == (
            404,
            {"error": {"code": "NOT_FOUND", "message": "No such path; the API lies under /api/v1"}},
        )
