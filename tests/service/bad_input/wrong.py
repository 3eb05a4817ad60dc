"""Wrong values for every field of every body and query, and the words that refuse them, from the models' own schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from promptlift.schema.endpoints import ENDPOINTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from promptlift.schema.endpoints import Endpoint

TIME = "must be an ISO 8601 time such as 2026-01-31T09:30:00Z"
WITH_BODY: tuple[Endpoint[Any], ...] = tuple(row for row in ENDPOINTS.values() if row.body is not None)
WITH_QUERY: tuple[Endpoint[Any], ...] = tuple(row for row in ENDPOINTS.values() if row.query is not None)
_OF_TYPE = {
    "string": (5, "must be a string"),
    "integer": (2.5, "must be a whole number"),
    "number": ([], "must be a number"),
    "boolean": ("yes", "must be true or false"),
    "array": ({}, "must be a list"),
    "object": ([], "must be an object"),
}
Wrong = tuple[str, Any, str]


def one_of(schema: dict[str, Any]) -> str:
    """What a value that is not in a list of words is told."""
    words = schema["enum"]
    return f"must be one of {', '.join(words)}"


def wrong_bodies(endpoint: Endpoint[Any]) -> Iterator[Wrong]:
    """Bodies with one wrong field each: its dotted path, the body, and what is said of it."""
    assert endpoint.body is not None
    schemas = _Schemas(endpoint.body.model_json_schema())
    # A required link and a list of rows that are checked one by one are no part of the schema.
    extra = {endpoint.either[0]: "none"} if endpoint.either else {}
    skipped = f"{endpoint.lines}["
    for path, value, said in schemas.wrong(schemas.root):
        if not (endpoint.lines and path.startswith(skipped)):
            yield path, {**extra, **value}, said


def wrong_queries(endpoint: Endpoint[Any]) -> Iterator[tuple[str, str, str]]:
    """Parameters, wrong values of them, and what is said of them."""
    assert endpoint.query is not None
    for name, declared in endpoint.query.model_json_schema()["properties"].items():
        schema = _without_null(declared)
        kind, (low, high) = schema["type"], (schema.get("minimum"), schema.get("maximum", 2**53))
        if "enum" in schema:
            yield name, "novel", one_of(schema)
        elif kind == "boolean":
            yield name, "1", "must be true or false"
        elif kind == "integer":
            yield from (
                (name, one, f"must be a whole number from {low} to {high}") for one in (f"{low - 1}", "x")
            )
        elif kind == "number":
            yield from ((name, one, f"must be a number from {low:g} to {high:g}") for one in ("100", "x"))
        elif schema.get("format") == "date-time":
            yield name, "soon", TIME
        elif name == "cursor":
            yield name, "x", "must be the nextCursor of a page of this list"
        elif kind == "string":
            yield name, "a\x00", "must not contain a NUL character"
            most = schema.get("maxLength", 10_000)
            yield name, "a" * (most + 1), f"must have at most {most} characters"


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    options = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return options[0] if len(options) == 1 else schema


class _Schemas:
    """A schema with its definitions: values that fit, and values that do not."""

    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root

    def bare(self, schema: dict[str, Any]) -> dict[str, Any]:
        schema = _without_null(schema)
        reference = schema.get("$ref") or next((one["$ref"] for one in schema.get("allOf", ())), None)
        return self.root["$defs"][reference.rpartition("/")[2]] if reference else schema

    def right(self, schema: dict[str, Any]) -> Any:
        schema = self.bare(schema)
        if "enum" in schema or "const" in schema:
            return schema.get("const", schema.get("enum", [None])[0])
        kind = schema.get("type")
        if kind == "object":
            properties = schema.get("properties", {})
            found = {name: self.right(properties[name]) for name in schema.get("required", ())}
            return (
                found or {"x": self.right(schema["additionalProperties"])}
                if schema.get("minProperties")
                else found
            )
        if kind == "array":
            return [self.right(schema["items"])] * schema.get("minItems", 0)
        return {"string": "x", "integer": 1, "number": 1, "boolean": True}.get(str(kind), 1)

    def wrong(self, schema: dict[str, Any]) -> Iterator[Wrong]:
        """Objects of this schema with one wrong field each."""
        whole = self.right(schema)
        for name in schema.get("required", ()):
            yield name, {key: one for key, one in whole.items() if key != name}, "Required field"
        if schema.get("additionalProperties") is False:
            yield "novel", {**whole, "novel": 1}, "Unknown field"
        for name, field in schema["properties"].items():
            for path, value, said in self.of_field(self.bare(field)):
                yield f"{name}{path}", {**whole, name: value}, said

    def of_field(self, schema: dict[str, Any]) -> Iterator[Wrong]:
        if "enum" in schema or "const" in schema:
            yield "", "novel", one_of({"enum": schema.get("enum", [schema.get("const")])})
            return
        kind = schema.get("type")
        if kind is None:
            return
        value, said = _OF_TYPE[kind]
        yield "", value, TIME if schema.get("format") == "date-time" else said
        if kind == "string":
            yield from self._of_text(schema)
        elif kind in ("integer", "number"):
            yield from self._of_number(schema)
        elif kind == "array":
            yield from self._of_list(schema)
        elif "properties" in schema:
            for path, inner, words in self.wrong(schema):
                yield f".{path}", inner, words

    def _of_text(self, schema: dict[str, Any]) -> Iterator[Wrong]:
        if most := schema.get("maxLength"):
            yield "", "x" * (most + 1), f"must have at most {most} characters"
        if schema.get("minLength") == 1:
            yield "", "", "must not be empty"

    def _of_number(self, schema: dict[str, Any]) -> Iterator[Wrong]:
        step = 1 if schema["type"] == "integer" else 0.001
        for bound, away, words in (
            ("minimum", -step, "must be at least"),
            ("exclusiveMinimum", 0, "must be greater than"),
            ("maximum", step, "must be at most"),
        ):
            if bound in schema:
                limit = schema[bound]
                yield "", limit + away, f"{words} {int(limit) if limit == int(limit) else limit}"

    def _of_list(self, schema: dict[str, Any]) -> Iterator[Wrong]:
        items = self.bare(schema["items"])
        if most := schema.get("maxItems"):
            yield "", [self.right(items)] * (most + 1), f"must have at most {most} entries"
        if schema.get("minItems") == 1:
            yield "", [], "must not be empty"
        for path, value, said in self.of_field(items):
            yield f"[1]{path}", [self.right(items), value], said
