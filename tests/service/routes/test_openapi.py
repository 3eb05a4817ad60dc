"""The description of the API: made from the table, complete, and valid as OpenAPI 3.1."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from promptlift.schema.endpoints import ENDPOINTS
from promptlift.service.routes.openapi import openapi_document

# What OpenAPI 3.1 asks of the parts that we write; the schemas of components are JSON Schema, which has its own check.
_CONTENT = {
    "type": "object",
    "required": ["application/json"],
    "additionalProperties": False,
    "properties": {
        "application/json": {
            "type": "object",
            "required": ["schema"],
            "properties": {"schema": {"type": "object"}},
        }
    },
}
_LINES = {"application/x-ndjson": {"type": "object", "required": ["schema"]}}
_BODY = {**_CONTENT, "properties": {**_CONTENT["properties"], **_LINES}}
_OPERATION = {
    "type": "object",
    "required": ["summary", "operationId", "parameters", "responses"],
    "additionalProperties": False,
    "properties": {
        "summary": {"type": "string", "minLength": 1},
        "operationId": {"type": "string", "pattern": "^[a-z_]+$"},
        "parameters": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "in", "required", "schema"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string"},
                    "in": {"enum": ["path", "query", "header"]},
                    "required": {"type": "boolean"},
                    "schema": {"type": "object"},
                    "description": {"type": "string", "minLength": 1},
                },
                "if": {"properties": {"in": {"const": "path"}}},
                "then": {"properties": {"required": {"const": True}}},
            },
        },
        "requestBody": {
            "type": "object",
            "required": ["required", "content"],
            "properties": {"required": {"type": "boolean"}, "content": _BODY},
        },
        "responses": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "patternProperties": {
                # It has no body, by HTTP.
                "^304$": {
                    "type": "object",
                    "required": ["description"],
                    "additionalProperties": False,
                    "properties": {"description": {"type": "string", "minLength": 1}},
                },
                "^([125][0-9][0-9]|30[^4]|3[1-9][0-9]|4[0-9][0-9]|default)$": {
                    "type": "object",
                    "required": ["description", "content"],
                    "properties": {"description": {"type": "string", "minLength": 1}, "content": _CONTENT},
                },
            },
        },
    },
}
OPENAPI = {
    "type": "object",
    "required": ["openapi", "info", "paths", "components", "security"],
    "additionalProperties": False,
    "properties": {
        "openapi": {"const": "3.1.0"},
        "info": {"type": "object", "required": ["title", "version"]},
        "paths": {
            "type": "object",
            "additionalProperties": False,
            "patternProperties": {
                "^/": {
                    "type": "object",
                    "additionalProperties": False,
                    "patternProperties": {"^(get|post|patch|delete)$": _OPERATION},
                }
            },
        },
        "components": {
            "type": "object",
            "required": ["schemas", "securitySchemes"],
            "properties": {
                "schemas": {"propertyNames": {"pattern": r"^[a-zA-Z0-9._-]+$"}},
                "securitySchemes": {"required": ["apiKey"]},
            },
        },
        "security": {"const": [{"apiKey": []}]},
    },
}


@pytest.fixture(scope="module")
def document():
    return json.loads(json.dumps(openapi_document(ENDPOINTS.values())))


def references(value):
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for inner in value.values():
            yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


@pytest.fixture(scope="module")
def validator():
    """JSON Schema as OpenAPI 3.1 has it, whose import takes a second."""
    from jsonschema import Draft202012Validator

    return Draft202012Validator


@pytest.mark.slow
def test_it_has_the_form_of_openapi(document, validator):
    problems = [
        f"{list(error.absolute_path)}: {error.message}" for error in validator(OPENAPI).iter_errors(document)
    ]
    assert problems == []


@pytest.mark.slow
def test_every_schema_is_json_schema_and_every_reference_leads_to_one(document, validator):
    schemas = document["components"]["schemas"]
    for schema in schemas.values():
        validator.check_schema(schema)
    used = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert used == schemas.keys()


@pytest.mark.slow
def test_parameters_are_json_schema_too(document, validator):
    for operations in document["paths"].values():
        for operation in operations.values():
            for one in operation["parameters"]:
                validator.check_schema(one["schema"])
                known = {"type", "enum", "minimum", "maximum", "default", "pattern", "format"}
                assert set(one["schema"]) <= known


def test_a_name_in_the_path_is_a_parameter_and_operations_have_names_of_their_own(document):
    names = Counter()
    for path, operations in document["paths"].items():
        for operation in operations.values():
            in_path = [one["name"] for one in operation["parameters"] if one["in"] == "path"]
            assert in_path == (["id"] if "{id}" in path else [])
            names[operation["operationId"]] += 1
    assert set(names.values()) == {1}


def test_what_is_beyond_the_specification_says_so(document):
    for row in ENDPOINTS.values():
        for scheme in row.served_schemes():
            operation = document["paths"][f"/api/v1{row.path_in(scheme)}"][row.method.lower()]
            ours = operation["summary"].endswith(" (beyond the specification)")
            assert ours is not row.is_specified(scheme)
            assert "{" not in operation["summary"] + operation["operationId"]


def test_a_summary_is_english_in_both_schemes(document):
    paths = document["paths"]
    assert paths["/api/v1/prompts/{id}"]["get"]["summary"] == "Get a prompt"
    assert paths["/api/v1/agents/{id}"]["get"]["summary"] == "Get an agent"
    assert paths["/api/v1/agents"]["get"]["summary"] == "List agents"
