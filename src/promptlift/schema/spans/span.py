"""A received span, independent of its encoding, and the reading of OTLP's JSON."""

from __future__ import annotations

import base64
import binascii
from collections import ChainMap
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from promptlift.schema.boundary import Boundary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# Status code of a span that failed.
ERROR: Final = 2


# The attribute with the content of an event, if it is not in separate attributes.
EVENT_BODY: Final = "gen_ai.event.content"


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span."""

    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """One operation of an application.

    Attributes
    ----------
    trace_id, span_id
        In lowercase hexadecimal.
    started_at, ended_at
        Milliseconds since 1970, UTC.
    attributes, resource
        Attributes of the operation, and of the application, as plain Python values.
    failed
        Whether the operation ended with an error.
    """

    trace_id: str
    span_id: str
    started_at: int
    ended_at: int
    attributes: Mapping[str, Any]
    resource: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    failed: bool = False

    @property
    def known(self) -> Mapping[str, Any]:
        """Attributes of the operation, falling back to those of the application; the shared resource is not copied."""
        return ChainMap(cast("dict[str, Any]", self.attributes), cast("dict[str, Any]", self.resource))


@dataclass(frozen=True, slots=True)
class LogRecord:
    """An event of a span that was logged instead of being attached to the span.

    Attributes
    ----------
    trace_id, span_id
        The span, in lowercase hexadecimal.
    at
        Milliseconds since 1970, UTC; 0 if unknown.
    event
        What happened.
    resource
        Attributes of the application.
    """

    trace_id: str
    span_id: str
    at: int
    event: SpanEvent
    resource: Mapping[str, Any] = field(default_factory=dict)


_NANOSECONDS: Final = 1_000_000


def spans_of(document: Any, reject: Callable[[str], object]) -> Iterator[Span]:
    """Yield the spans of an ``ExportTraceServiceRequest``, or of a line of a file exporter.

    Parameters
    ----------
    document
        The decoded JSON.
    reject
        Called with the reason for each span that cannot be read.
    """
    for span, resource in _read_each(document, ("resourceSpans", "scopeSpans", "spans"), reject):
        with Boundary(reject):
            yield Span(
                trace_id=_hexadecimal(span["traceId"], 16),
                span_id=_hexadecimal(span["spanId"], 8),
                started_at=int(span["startTimeUnixNano"]) // _NANOSECONDS,
                ended_at=int(span["endTimeUnixNano"]) // _NANOSECONDS,
                attributes=_json_attributes(span.get("attributes")),
                resource=resource,
                events=tuple(
                    SpanEvent(str(event.get("name") or ""), _json_attributes(event.get("attributes")))
                    for event in span.get("events") or ()
                ),
                failed=(span.get("status") or {}).get("code") in (ERROR, "STATUS_CODE_ERROR"),
            )


def log_records_of(document: Any, reject: Callable[[str], object]) -> Iterator[LogRecord]:
    """Yield the log records of an ``ExportLogsServiceRequest`` that belong to a span and name an event.

    Parameters
    ----------
    document
        The decoded JSON.
    reject
        Called with the reason for each record that cannot be read.
    """
    for record, resource in _read_each(document, ("resourceLogs", "scopeLogs", "logRecords"), reject):
        with Boundary(reject):
            attributes = _json_attributes(record.get("attributes"))
            name = record.get("eventName") or attributes.get("event.name")
            if not name or not record.get("traceId") or not record.get("spanId"):
                continue
            body = _json_value(record.get("body"))
            yield LogRecord(
                trace_id=_hexadecimal(record["traceId"], 16),
                span_id=_hexadecimal(record["spanId"], 8),
                at=int(record.get("timeUnixNano") or record.get("observedTimeUnixNano") or 0) // _NANOSECONDS,
                event=SpanEvent(str(name), attributes if body is None else {**attributes, EVENT_BODY: body}),
                resource=resource,
            )


def _read_each(
    document: Any, names: tuple[str, str, str], reject: Callable[[str], object]
) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield the items of the lists of a document, each with the attributes of its resource."""
    groups, scopes, items = names
    for group in document.get(groups) or ():
        with Boundary(reject):
            resource: dict[str, Any] = {}
            faults: list[str] = []
            with Boundary(faults.append):
                resource = _json_attributes((group.get("resource") or {}).get("attributes"))
            for scope in group.get(scopes) or ():
                with Boundary(reject):
                    for item in scope.get(items) or ():
                        if faults:
                            reject(f"its resource {faults[0]}")
                        else:
                            yield item, resource


def _hexadecimal(text: Any, size: int) -> str:
    """Return an identifier, which JSON has in hexadecimal of either case."""
    if len(binascii.unhexlify(text)) != size:
        raise ValueError(f"{text!r} is not an identifier of {size} bytes")
    return str(text).lower()


def _json_attributes(pairs: Any) -> dict[str, Any]:
    return {str(pair["key"]): _json_value(pair.get("value")) for pair in pairs or ()}


def _json_value(value: Any) -> Any:
    known = ((_JSON_VALUES[kind], content) for kind, content in (value or {}).items() if kind in _JSON_VALUES)
    return next((read(content) for read, content in known), None)


# Protobuf's JSON encodes 64-bit numbers, and numbers that JSON does not support, as strings.
_JSON_VALUES: Final[dict[str, Callable[[Any], Any]]] = {
    "stringValue": str,
    "boolValue": bool,
    "intValue": int,
    "doubleValue": float,
    "bytesValue": base64.b64decode,
    "arrayValue": lambda content: [_json_value(one) for one in content.get("values") or ()],
    "kvlistValue": lambda content: _json_attributes(content.get("values")),
}
