"""Read the body of an OTLP/HTTP request: compressed or not, JSON or protobuf."""

from __future__ import annotations

import contextlib
import json
import re
import zlib
from typing import TYPE_CHECKING, Any, Final

import orjson

from promptlift.errors import MissingExtra
from promptlift.schema import limits
from promptlift.schema.boundary import Boundary, Unreadable
from promptlift.schema.spans.span import ERROR, Span, SpanEvent, spans_of
from promptlift.service.errors import ApiException, invalid, too_large

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage


JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
_GZIP_WINDOW: Final = 16 + zlib.MAX_WBITS
_NANOSECONDS: Final = 1_000_000
# Far above the depth of spans, and far below the depth that crashes the decoder.
_MOST_DEPTH: Final = 200
_JSON_MARKS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]', re.DOTALL)


def decompress(raw: bytes, encoding: str, most: int = limits.OTLP_BODY_BYTES) -> bytes:
    """Undo the ``Content-Encoding`` of a body; the result is bounded.

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
    if not decoder.eof or decoder.unused_data:  # a second stream would be lost in silence
        raise invalid({"body": "must be one whole gzip stream"}, "The body is not one whole gzip stream")
    return plain


def read_json(raw: bytes, reject: Callable[[str], object]) -> list[Span]:
    """Read the spans of an ``ExportTraceServiceRequest`` in JSON.

    Parameters
    ----------
    raw
        The body.
    reject
        Called with the reason for each span that cannot be read.

    Raises
    ------
    ApiException
        ``VALIDATION_ERROR`` under ``body``.
    """
    try:
        document = _document(raw or b"{}")
    except orjson.JSONDecodeError as error:
        problem = f"is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        raise invalid({"body": problem}, "The body is not valid JSON") from None
    groups = document.get("resourceSpans") if isinstance(document, dict) else 0
    if groups is not None and not isinstance(groups, list):
        raise invalid({"body": "is not an OTLP trace request in JSON"}, "The body is not OTLP")
    return list(spans_of(document, reject))


def _document(raw: bytes) -> Any:
    """Decode JSON, tolerating defects that affect single spans only."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        # Invalid UTF-8, halves of surrogate pairs, numbers with thousands of digits, values nested too
        # deeply.
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(_shallow(raw).decode(errors="surrogateescape"), parse_int=float)
        raise


def _shallow(raw: bytes) -> bytes:
    """Return JSON with ``null`` in place of values that are nested too deeply."""
    pieces, depth, kept = [], 0, 0
    for mark in _JSON_MARKS.finditer(raw):
        if mark[0] in b"{[":
            depth += 1
            if depth == _MOST_DEPTH:
                pieces += [raw[kept : mark.start()], b"null"]
        elif mark[0] in b"}]":
            if depth == _MOST_DEPTH:
                kept = mark.end()
            depth -= 1
    return b"".join([*pieces, raw[kept:]])


def read_protobuf(raw: bytes, reject: Callable[[str], object]) -> list[Span]:
    """Read the spans of an ``ExportTraceServiceRequest`` in protobuf.

    Parameters
    ----------
    raw
        The body.
    reject
        Called with the reason for each span that cannot be read.

    Raises
    ------
    ApiException
        ``UNSUPPORTED_MEDIA_TYPE`` when the extra for protobuf is not installed, ``VALIDATION_ERROR`` under ``body``.
    """
    try:
        from google.protobuf.message import DecodeError  # noqa: PLC0415 - an extra
        from opentelemetry.proto.resource.v1.resource_pb2 import Resource  # noqa: PLC0415 - an extra
        from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage  # noqa: PLC0415 - an extra
    except ImportError:
        missing = MissingExtra("OTLP in protobuf", "otlp")
        raise ApiException(
            "UNSUPPORTED_MEDIA_TYPE",
            f"{missing} where the service runs, or have the application send JSON "
            "(OTEL_EXPORTER_OTLP_PROTOCOL=http/json, where its SDK can)",
        ) from None
    try:
        groups = [
            (list(_inside(group, 1)), [span for scope in _inside(group, 2) for span in _inside(scope, 2)])
            for group in _inside(raw, 1)
        ]
    except DecodeError as error:
        raise invalid(
            {"body": f"is not an OTLP trace request in protobuf: {error}"}, "The body is not OTLP"
        ) from None
    spans = []
    for about, raw_spans in groups:
        resource: dict[str, Any] = {}
        faults: list[str] = []
        with Boundary(faults.append):
            resource = _attributes(Resource.FromString(b"".join(about)).attributes)
        for raw_span in raw_spans:
            if faults:
                reject(f"its resource {faults[0]}")
                continue
            with Boundary(reject):
                spans.append(_span(SpanMessage.FromString(raw_span), resource))
    return spans


def _inside(raw: bytes, number: int) -> Iterator[bytes]:
    """Yield the undecoded messages in a field of a message, so that a defect in one affects no other."""
    from google.protobuf.empty_pb2 import Empty  # noqa: PLC0415 - an extra
    from google.protobuf.message import DecodeError  # noqa: PLC0415 - an extra
    from google.protobuf.unknown_fields import UnknownFieldSet  # noqa: PLC0415 - an extra

    for field in UnknownFieldSet(Empty.FromString(raw)):
        if field.field_number == 0:
            raise DecodeError("a field has the number 0")
        if field.field_number == number and isinstance(field.data, bytes):
            yield field.data


def _span(span: SpanMessage, resource: dict[str, Any]) -> Span:
    if len(span.trace_id) != 16 or len(span.span_id) != 8:
        raise Unreadable("the span has no identifier")
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
