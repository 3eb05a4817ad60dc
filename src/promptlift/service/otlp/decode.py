"""Read the body of an OTLP/HTTP request: compressed or not, JSON or protobuf."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.errors import MissingExtra
from promptlift.schema import limits
from promptlift.schema.spans.otlp_json import spans_of
from promptlift.schema.spans.span import ERROR, Span, SpanEvent
from promptlift.schema.transcript import json_depth
from promptlift.service.errors import ApiException, invalid, too_large

if TYPE_CHECKING:
    from collections.abc import Iterable

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage

__all__ = ["JSON", "PROTOBUF", "decompress", "read_json", "read_protobuf"]

JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_NANOSECONDS: Final = 1_000_000


def decompress(raw: bytes, encoding: str, most: int = limits.OTLP_BODY_BYTES) -> bytes:
    """Undo the ``Content-Encoding`` of a body; what it becomes is bounded.

    Raises
    ------
    ApiException
        ``UNSUPPORTED_MEDIA_TYPE``, ``PAYLOAD_TOO_LARGE``, or ``VALIDATION_ERROR`` when it is not gzip.
    """
    if encoding in ("", "identity"):
        return raw
    if encoding != "gzip":
        raise ApiException("UNSUPPORTED_MEDIA_TYPE", "Send the body as it is or with Content-Encoding: gzip")
    decoder = zlib.decompressobj(_GZIP_WINDOW)
    try:
        plain = decoder.decompress(raw, most + 1)
    except zlib.error as error:
        raise invalid({"body": f"is not gzip: {error}"}, "The body is not gzip") from None
    if len(plain) > most:
        raise too_large("body", f"The body is over {most} bytes when it is decompressed")
    if not decoder.eof:
        raise invalid({"body": "is not gzip: it ends too early"}, "The body is not gzip")
    return plain


def read_json(raw: bytes) -> list[Span]:
    """Read the spans of an ``ExportTraceServiceRequest`` in JSON.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` under ``body``.
    """
    if json_depth(raw) > limits.JSON_DEPTH:
        raise invalid({"body": f"is nested deeper than {limits.JSON_DEPTH} levels"})
    try:
        return list(spans_of(orjson.loads(raw or b"{}")))
    except orjson.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        raise invalid({"body": problem}, "The body is not valid JSON") from None
    except (AttributeError, TypeError, ValueError, KeyError, OverflowError) as error:
        raise invalid(
            {"body": f"is not an OTLP trace request in JSON: {error}"}, "The body is not OTLP"
        ) from None


def read_protobuf(raw: bytes) -> list[Span]:
    """Read the spans of an ``ExportTraceServiceRequest`` in protobuf.

    Raises
    ------
    ApiException
        ``UNSUPPORTED_MEDIA_TYPE`` when the extra for protobuf is not installed, ``VALIDATION_ERROR`` under ``body``.
    """
    try:
        from google.protobuf.message import DecodeError  # noqa: PLC0415 - an extra
        from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (  # noqa: PLC0415 - an extra
            ExportTraceServiceRequest,
        )
    except ImportError:
        missing = MissingExtra("OTLP in protobuf", "otlp")
        raise ApiException(
            "UNSUPPORTED_MEDIA_TYPE",
            f"{missing} where the service runs, or have the application send JSON "
            "(OTEL_EXPORTER_OTLP_PROTOCOL=http/json, where its SDK can)",
        ) from None
    try:
        request = ExportTraceServiceRequest.FromString(raw)
    except DecodeError as error:
        raise invalid(
            {"body": f"is not an OTLP trace request in protobuf: {error}"}, "The body is not OTLP"
        ) from None
    spans = []
    for group in request.resource_spans:
        resource = _attributes(group.resource.attributes)
        for scope in group.scope_spans:
            spans += [_span(span, resource) for span in scope.spans]
    return spans


def _span(span: SpanMessage, resource: dict[str, Any]) -> Span:
    if len(span.trace_id) != 16 or len(span.span_id) != 8:
        raise invalid({"body": "holds a span without an identifier"}, "The body is not OTLP")
    return Span(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        started_at=span.start_time_unix_nano // _NANOSECONDS,
        ended_at=span.end_time_unix_nano // _NANOSECONDS,
        attributes=_attributes(span.attributes),
        resource=resource,
        events=tuple(SpanEvent(event.name, _attributes(event.attributes)) for event in span.events),
        failed=span.status.code == ERROR,
    )


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(one) for one in value.array_value.values]
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    return getattr(value, kind)
