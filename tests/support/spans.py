"""OTLP trace requests for tests, in JSON and, through the library that exporters use, in protobuf."""

from __future__ import annotations

import json
from typing import Any

START = 1_790_000_000_000


def value(content: Any) -> dict[str, Any]:
    """A value as JSON of protobuf writes it."""
    if isinstance(content, list | tuple):
        return {"arrayValue": {"values": [value(one) for one in content]}}
    if isinstance(content, dict):
        return {"kvlistValue": {"values": attributes(content)}}
    names = {bool: "boolValue", int: "intValue", float: "doubleValue", str: "stringValue"}
    kind = type(content)
    return {names[kind]: str(content) if kind is int else content} if kind in names else {}


def attributes(known: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": value(content)} for name, content in known.items()]


def span(
    number: int,
    known: dict[str, Any],
    *,
    trace: int = 1,
    events: list[tuple[str, dict[str, Any]]] = (),
    at: int | None = None,
    failed: bool = False,
) -> dict[str, Any]:
    """A span that begins ``at`` milliseconds after START and takes 500."""
    begun = START + (1_000 * number if at is None else at)
    return {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": "chat gpt-4o",
        "startTimeUnixNano": str(begun * 1_000_000),
        "endTimeUnixNano": str((begun + 500) * 1_000_000),
        "attributes": attributes(known),
        "events": [{"name": name, "attributes": attributes(body)} for name, body in events],
        "status": {"code": 2} if failed else {},
    }


def chat(
    number: int,
    history: list[tuple[str, str]],
    answer: str | None = None,
    *,
    trace: int = 1,
    system: str | None = None,
    at: int | None = None,
    **known: Any,
) -> dict[str, Any]:
    """A call of a model in the form of the newest conventions."""
    said: dict[str, Any] = {"gen_ai.input.messages": json.dumps([message(*one) for one in history])}
    if answer is not None:
        said["gen_ai.output.messages"] = json.dumps(
            [{**message("assistant", answer), "finish_reason": "stop"}]
        )
    if system is not None:
        said["gen_ai.system_instructions"] = json.dumps([{"type": "text", "content": system}])
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.response.model": "gpt-4o-2024",
        "gen_ai.usage.input_tokens": 20,
        "gen_ai.usage.output_tokens": 7,
    }
    return span(number, {**about, **said, **known}, trace=trace, at=at, failed=answer is None)


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def request(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> dict[str, Any]:
    """A whole request."""
    about = {"service.name": "shop"} if resource is None else resource
    group = {"resource": {"attributes": attributes(about)}, "scopeSpans": [{"spans": list(spans)}]}
    return {"resourceSpans": [group]}


def as_json(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> bytes:
    return json.dumps(request(*spans, resource=resource)).encode()


def as_protobuf(*spans: dict[str, Any], resource: dict[str, Any] | None = None) -> bytes:
    import base64

    from google.protobuf import json_format
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    document = request(*spans, resource=resource)
    # The one place where JSON of OTLP is not JSON of protobuf: identifiers are in hexadecimal.
    for one in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for name in ("traceId", "spanId"):
            one[name] = base64.b64encode(bytes.fromhex(one[name])).decode()
    return json_format.ParseDict(document, ExportTraceServiceRequest()).SerializeToString()
