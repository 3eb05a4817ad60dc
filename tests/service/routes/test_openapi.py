"""The description of the API: made from the table of endpoints, complete, and valid JSON Schema."""

from __future__ import annotations

import json

import pytest

from promptlift.schema.endpoints import ENDPOINTS
from promptlift.service.routes.openapi import openapi_document
from support.wire import OFFERED, SPECIFIED


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


@pytest.mark.slow
def test_every_schema_is_json_schema(document):
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


def test_fields_are_described_by_their_docstrings_inherited_and_aliased_ones_too(document):
    schemas = document["components"]["schemas"]
    for model, field, text in (
        ("Label", "promptId", "The prompt, or agent, to which it belongs."),  # of its base
        ("Simulation", "pass", "Number of the pass."),
        ("Pagination", "total", "Items in the whole list at the time of the request."),
    ):
        assert schemas[model]["properties"][field]["description"] == text
    entry = schemas["ConversationsCreate"]["properties"]["conversations"]["items"]
    assert entry["properties"]["title"]["description"] == "What the conversation is called."


def test_a_summary_is_english_in_both_schemes_and_marks_what_is_beyond_the_specification(described):
    assert described["GET /prompts/{id}"]["summary"] == "Get a prompt"
    assert described["GET /agents/{id}"]["summary"] == "Get an agent"
    assert described["GET /agents"]["summary"] == "List agents"
    for endpoint, operation in described.items():
        ours = operation["summary"].endswith(" (beyond the specification)")
        assert ours is (endpoint in OFFERED)
        assert "{" not in operation["summary"] + operation["operationId"]
