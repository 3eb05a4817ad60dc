"""The description of the API: made from the table of endpoints, complete, and valid JSON Schema."""

from __future__ import annotations

import json

import pytest

from promptlift.schema.endpoints import ENDPOINTS
from promptlift.service.routes.openapi import openapi_document
from support.wire import OFFERED, SPECIFIED

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


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(openapi_document(ENDPOINTS.values())))


@pytest.fixture(scope="module")
def described(document):
    """Every operation of the API with its endpoint."""
    return {
        endpoint: document["paths"][f"/api/v1{endpoint.split()[1]}"][endpoint.split()[0].lower()]
        for endpoint in SPECIFIED + OFFERED
    }


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


@pytest.mark.slow
def test_every_schema_is_json_schema_and_every_reference_leads_to_one(document):
    from jsonschema import Draft202012Validator

    schemas = document["components"]["schemas"]
    parameters = [
        one["schema"]
        for operations in document["paths"].values()
        for operation in operations.values()
        for one in operation["parameters"]
    ]
    for schema in (*schemas.values(), *parameters):
        Draft202012Validator.check_schema(schema)
    used = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert used == schemas.keys()


def test_a_body_is_described_and_required_where_it_is_needed(document, described):
    for endpoint, operation in described.items():
        body = operation.get("requestBody")
        if endpoint in WITHOUT or endpoint.split()[0] in ("GET", "DELETE"):
            assert body is None
            continue
        assert body["required"] is (endpoint not in OPTIONAL)
        name = body["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert document["components"]["schemas"][name]["properties"]


def test_every_answer_is_described_with_its_error(described):
    for endpoint, operation in described.items():
        answers = dict(operation["responses"])
        assert answers.keys() & {"200", "201"}
        assert {"401", "429", "500", "503"} <= answers.keys()
        assert ("404" in answers) or "{id}" not in endpoint
        unchanged = answers.pop("304", None)
        assert (unchanged is not None) == endpoint.startswith("GET ")
        for status, answer in answers.items():
            schema = answer["content"]["application/json"]["schema"]
            assert schema["$ref"].endswith("/ErrorBody") == (status >= "400")
            assert answer["description"]


def test_parameters_are_described_and_operations_have_names_of_their_own(described):
    for endpoint, operation in described.items():
        in_path = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
        assert in_path == (["id"] if "{id}" in endpoint else [])
        for one in operation["parameters"]:
            assert one["required"] == (one["in"] == "path")
            assert one["in"] == "path" or one["description"]
    assert len({one["operationId"] for one in described.values()}) == len(described)


def test_a_summary_is_english_in_both_schemes_and_marks_what_is_beyond_the_specification(described):
    assert described["GET /prompts/{id}"]["summary"] == "Get a prompt"
    assert described["GET /agents/{id}"]["summary"] == "Get an agent"
    assert described["GET /agents"]["summary"] == "List agents"
    for endpoint, operation in described.items():
        ours = operation["summary"].endswith(" (beyond the specification)")
        assert ours is (endpoint in OFFERED)
        assert "{" not in operation["summary"] + operation["operationId"]
