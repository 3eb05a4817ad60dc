"""What ``/openapi.json`` says of requests: bodies, which of them may be left out, parameters and errors."""

from __future__ import annotations

from jsonschema import Draft202012Validator

from support.wire import OFFERED, SPECIFIED, description

ENDPOINTS = SPECIFIED + OFFERED
# Without a body these do the same as with an empty object.
OPTIONAL = {
    "POST /optimizations/{id}/apply",
    "POST /optimizations/{id}/stop",
    "POST /benchmarks/{id}/stop",
    "POST /judges/{id}/plan",
    "POST /judges/{id}/backfill",
    "POST /judge-runs/{id}/stop",
    "POST /actions/{id}/undo",
}
WITHOUT = {
    *(f"POST /{segment}/{{id}}/insights/regenerate" for segment in ("prompts", "agents", "conversations")),
    "POST /webhooks/{id}/test",
    "POST /webhooks/{id}/resume",
    "POST /benchmarks/{id}/resume",
    "POST /judge-runs/{id}/resume",
}


def described(service, endpoint):
    method, path = endpoint.split()
    return description(service.base_url)["paths"][f"/api/v1{path}"][method.lower()]


def test_a_body_is_described_and_required_where_it_is_needed(service):
    for endpoint in [one for one in ENDPOINTS if one.split()[0] in ("POST", "PATCH")]:
        body = described(service, endpoint).get("requestBody")
        if endpoint in WITHOUT:
            assert body is None
            return
        assert body["required"] is (endpoint not in OPTIONAL)
        name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        schema = description(service.base_url)["components"]["schemas"][name]
        Draft202012Validator.check_schema(schema)
        assert schema["properties"]


def test_what_reads_or_deletes_has_no_body(service):
    for endpoint in [one for one in ENDPOINTS if one.split()[0] in ("GET", "DELETE")]:
        assert "requestBody" not in described(service, endpoint)


def test_every_answer_is_described_with_its_error(service):
    for endpoint in ENDPOINTS:
        answers = dict(described(service, endpoint)["responses"])
        assert answers.keys() & {"200", "201"}
        assert {"401", "429", "500", "503"} <= answers.keys()
        assert ("404" in answers) or "{id}" not in endpoint
        unchanged = answers.pop("304", None)
        assert (unchanged is not None) == endpoint.startswith("GET ")
        for status, answer in answers.items():
            schema = answer["content"]["application/json"]["schema"]
            assert schema["$ref"].endswith("/ErrorBody") == (status >= "400")
            assert answer["description"]
        assert described(service, endpoint)["summary"]


def test_the_parameters_are_described_and_none_is_required(service):
    for endpoint, names in (
        ("GET /optimizations", {"promptId", "agentId", "status", "limit", "offset"}),
        (
            "GET /optimizations/{id}/simulations",
            {"variantId", "stage", "taskCompleted", "includeContent", "limit", "offset"},
        ),
        ("GET /personas", {"limit", "offset"}),
        ("GET /prompts/{id}/versions", {"limit", "offset"}),
        ("GET /agents/{id}/versions", {"limit", "offset"}),
    ):
        parameters = described(service, endpoint)["parameters"]
        assert {one["name"] for one in parameters if one["in"] == "query"} == names
        assert all(one["required"] == (one["in"] == "path") for one in parameters)
        assert all(one["description"] for one in parameters if one["in"] == "query")


def test_states_and_quotas_of_optimizations_are_described(service):
    for action in ("apply", "stop"):
        answers = described(service, f"POST /optimizations/{{id}}/{action}")["responses"]
        assert answers["409"]["description"] == "INVALID_STATE"
    answers = described(service, "POST /optimizations")["responses"]
    assert "LIMIT_EXCEEDED" in answers["429"]["description"]
    assert answers["404"]["description"] == "NOT_FOUND"


def test_no_two_endpoints_have_the_same_name(service):
    names = [described(service, endpoint)["operationId"] for endpoint in ENDPOINTS]
    assert len(names) == len(set(names))
