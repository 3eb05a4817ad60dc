"""The OpenAPI description of the service, made from the table of endpoints."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue, models_json_schema

from promptlift._version import __version__
from promptlift.schema.columns import docstring
from promptlift.schema.endpoints import ENDPOINTS
from promptlift.schema.model import ErrorBody
from promptlift.schema.prompts import PromptCreate, PromptUpdate
from promptlift.service.errors import STATUS_OF
from promptlift.service.llm.served import CATALOGUE
from promptlift.service.otlp.decode import PROTOBUF
from promptlift.service.routes.monitoring import METRICS
from promptlift.service.routes.otlp import LOGS, TRACES
from promptlift.service.settings import API_PATH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pydantic.json_schema import JsonSchemaMode
    from pydantic_core.core_schema import ModelSchema

    from promptlift.schema.endpoints import Endpoint
    from promptlift.schema.naming import Scheme
    from promptlift.schema.queries import QueryModel

    Model = tuple[Any, JsonSchemaMode]
    References = dict[Model, JsonSchemaValue]

_ALWAYS = ("INVALID_API_KEY", "RATE_LIMIT_EXCEEDED", "INTERNAL_ERROR", "SERVICE_UNAVAILABLE")
_WITH_BODY = ("VALIDATION_ERROR", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE")
# A malformed HTTP request never reaches its endpoint.
_BEFORE_ENDPOINT = (
    "VALIDATION_ERROR",
    "METHOD_NOT_ALLOWED",
    "PAYLOAD_TOO_LARGE",
)
_ETAG = {"description": "Identifies this answer, for If-None-Match", "schema": {"type": "string"}}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_IF_NONE_MATCH = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "schema": {"type": "string"},
    "description": "Beyond the specification: the ETag of an answer that the client has",
}
_ERROR: Model = (ErrorBody, "serialization")
_JSON = "application/json"
_REFUSED = {"$ref": "#/components/schemas/ErrorBody"}


class _Described(GenerateJsonSchema):
    """Describes fields by their docstrings."""

    def model_schema(self, schema: ModelSchema) -> JsonSchemaValue:
        described = super().model_schema(schema)
        for name, field in schema["cls"].model_fields.items():
            if text := docstring(schema["cls"], name):
                described["properties"][field.alias or name]["description"] = text
        return described


def description() -> JsonSchemaValue:
    """Describe all served endpoints."""
    document = openapi_document(ENDPOINTS.values())
    document["paths"] |= _beside_the_table()
    return document


def openapi_document(endpoints: Iterable[Endpoint[Any]]) -> JsonSchemaValue:
    """Describe endpoints as an OpenAPI 3.1 document."""
    rows = list(endpoints)
    references, schemas = _schemas(rows)
    paths: dict[str, JsonSchemaValue] = {}
    for row in rows:
        for scheme in row.served_schemes():
            operations = paths.setdefault(API_PATH + row.path_in(scheme), {})
            operations[row.method.lower()] = _operation(row, scheme, references)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Prompt Optimization Service", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"apiKey": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"apiKey": []}],
    }


def _schemas(rows: list[Endpoint[Any]]) -> tuple[References, JsonSchemaValue]:
    """Return a reference to every model, and the schemas that they refer to."""
    models: dict[Model, None] = {_ERROR: None}
    for row in rows:
        models[row.answer, "serialization"] = None
        if row.body is not None:
            models[row.body, "validation"] = None
    references, definitions = models_json_schema(
        list(models), ref_template="#/components/schemas/{model}", schema_generator=_Described
    )
    schemas = definitions["$defs"]
    for schema in schemas.values():
        for field in schema["properties"].values():
            # Absent and null differ in some bodies, and an answer has no defaults.
            if field.get("default", ...) is None:
                del field["default"]
    for body in (PromptCreate, PromptUpdate):
        if body.__name__ in schemas:
            schemas[body.__name__]["properties"]["llmModel"] |= {
                "description": "A name of the catalogue (the examples), one that the configured endpoint lists, or one of "
                "PROMPTLIFT_MODELS",
                "examples": sorted(CATALOGUE),
            }
    return references, dict(sorted(schemas.items()))


def _operation(row: Endpoint[Any], scheme: Scheme, references: References) -> JsonSchemaValue:
    article = "an" if scheme.name[0] in "aeiou" else "a"
    summary = row.summary.format(noun=scheme.name, a_noun=f"{article} {scheme.name}")
    operation: JsonSchemaValue = {
        "summary": summary if row.is_specified(scheme) else f"{summary} (beyond the specification)",
        "operationId": row.operation_in(scheme),
        "parameters": [
            *([_ID] if row.has_id else []),
            *_query_parameters(row.query),
            *([_IF_NONE_MATCH] if row.method == "GET" else []),
        ],
    }
    if row.body is not None:
        operation["requestBody"] = {
            "required": not row.body_optional,
            "content": _json(references[row.body, "validation"]) | _lines(row),
        }
    operation["responses"] = _responses(row, references)
    return operation


def _lines(row: Endpoint[Any]) -> JsonSchemaValue:
    if row.lines is None:
        return {}
    described = f"An entry of `{row.lines}` on each line; may be compressed, with Content-Encoding: gzip"
    return {"application/x-ndjson": {"schema": {"type": "string", "description": described}}}


def _responses(row: Endpoint[Any], references: References) -> JsonSchemaValue:
    answer, error = references[row.answer, "serialization"], references[_ERROR]
    responses: JsonSchemaValue = {
        str(status): {"description": "Success", "content": _json(answer)}
        for status in (row.status, *row.also)
    }
    if row.method == "GET":
        responses[str(row.status)]["headers"] = {"ETag": _ETAG}
        responses["304"] = {"description": "The answer identified by If-None-Match is still current"}
    by_status: dict[int, list[str]] = {}
    for code in _codes(row):
        by_status.setdefault(STATUS_OF[code], []).append(code)
    for status, codes in sorted(by_status.items()):
        responses[str(status)] = {"description": " or ".join(codes), "content": _json(error)}
    refused = ", ".join(f"{STATUS_OF[code]} {code}" for code in _BEFORE_ENDPOINT)
    responses["default"] = {
        "description": f"The request is malformed HTTP: {refused}",
        "content": _json(error),
    }
    return responses


def _codes(row: Endpoint[Any]) -> tuple[str, ...]:
    """Return the error codes of an endpoint: its own, and those implied by its input."""
    codes = [*_ALWAYS, *row.errors]
    if row.body is not None:
        codes += _WITH_BODY
    if row.query is not None:
        codes.append("VALIDATION_ERROR")
    if row.has_id:
        codes.append("NOT_FOUND")
    return tuple(dict.fromkeys(codes))


def _query_parameters(query: type[QueryModel] | None) -> list[JsonSchemaValue]:
    if query is None:
        return []
    described = query.model_json_schema(schema_generator=_Described)
    return [
        {
            "name": name,
            "in": "query",
            "required": name in described.get("required", ()),
            "schema": _parameter_schema(schema),
            "description": schema["description"],
        }
        for name, schema in described["properties"].items()
    ]


def _parameter_schema(schema: JsonSchemaValue) -> JsonSchemaValue:
    """Return the schema of a present parameter: absence is not a value in a query."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind != {"type": "null"}]
    known = {name: value for name, value in schema.items() if name not in ("anyOf", "title", "description")}
    if known.get("default", ...) in (None, []):
        del known["default"]
    return {**known, **(kinds[0] if kinds else {})}


def _json(schema: JsonSchemaValue) -> JsonSchemaValue:
    return {_JSON: {"schema": schema}}


def _beside_the_table() -> JsonSchemaValue:
    """Describe the endpoints for operators and for OpenTelemetry."""
    binary = {PROTOBUF: {"schema": {"type": "string", "format": "binary"}}}
    spans = {"required": True, "content": _json({"type": "object"}) | binary}
    partial = {"rejectedSpans": {"type": "string"}, "errorMessage": {"type": "string"}}
    received = _json(
        {"type": "object", "properties": {"partialSuccess": {"type": "object", "properties": partial}}}
    )

    def operation(
        name: str,
        summary: str,
        answer: JsonSchemaValue,
        *codes: str,
        also: Mapping[str, Any] = MappingProxyType({}),
        **options: Any,
    ) -> JsonSchemaValue:
        refused = {**_json(_REFUSED), **also}
        responses = {str(STATUS_OF[code]): {"description": code, "content": refused} for code in codes}
        if answer:
            responses["200"] = {"description": "Success", "content": {**answer, **also}}
        return {"summary": summary, "operationId": name, **options, "responses": responses}

    an_object: JsonSchemaValue = _json({"type": "object"})
    text = {"text/plain": {"schema": {"type": "string"}}}
    ready = "Whether the database answers and its tables are up to date"
    metrics = "Metrics for Prometheus; from another machine with a key (beyond the specification)"
    traces = "Receive spans of instrumented applications over OTLP/HTTP (beyond the specification)"
    logs = "Explain how to send messages in spans: logs are not read (beyond the specification)"
    to_all: JsonSchemaValue = {"security": []}
    otlp: JsonSchemaValue = {"requestBody": spans, "also": binary}
    return {
        "/healthz": {"get": operation("alive", "Whether the process is alive", an_object, **to_all)},
        "/readyz": {"get": operation("ready", ready, an_object, "SERVICE_UNAVAILABLE", **to_all)},
        "/openapi.json": {"get": operation("describe", "This description", an_object, **to_all)},
        METRICS: {"get": operation("get_metrics", metrics, text, *_ALWAYS)},
        TRACES: {"post": operation("receive_traces", traces, received, *_ALWAYS, *_WITH_BODY, **otlp)},
        LOGS: {
            "post": operation("receive_logs", logs, {}, *_ALWAYS, "NOT_FOUND", "PAYLOAD_TOO_LARGE", **otlp)
        },
    }
