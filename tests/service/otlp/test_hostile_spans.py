"""One hostile span costs itself alone, whatever its keys, its values and its nesting are."""

from __future__ import annotations

import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.trace.v1.trace_pb2 import Span as SpanMessage
from sqlalchemy import delete, select

from promptlift.service.otlp.decode import read_json, read_protobuf
from promptlift.service.otlp.receive import Received, receive
from promptlift.service.store.accounts import Caller
from promptlift.service.store.tables import traced_calls
from support.spans import as_protobuf, request
from support.stranger_records import KEYS, hostile, numbered_span, written

TWENTY = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def neighbours_kept(world, read, raw):
    """Which of the good spans of a body are kept."""
    received = Received()
    caller = Caller(world.account, "enterprise", "key")
    receive(
        world.database, caller, read(raw, received.reject), received, prompt=world.prompt_id, quiet_seconds=0
    )
    assert bool(received.rejected) == bool(received.problem)
    received.problem.encode()
    with world.database.write() as connection:
        calls = [json.loads(row.data) for row in connection.execute(select(traced_calls.c.data))]
        connection.execute(delete(traced_calls))
    return {number for number in (1, 2) if any(["user", f"good {number}"] in call["input"] for call in calls)}


def field(number, content):
    """A message within a message of protobuf."""
    size, length = len(content), bytearray()
    while size > 127:
        length.append(size & 127 | 128)
        size >>= 7
    return bytes([number << 3 | 2, *length, size]) + content


def in_protobuf(*spans):
    return field(1, field(2, b"".join(field(2, one) for one in spans)))


def span_in_protobuf(number):
    body = as_protobuf(numbered_span(number))
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

    return (
        ExportTraceServiceRequest.FromString(body)
        .resource_spans[0]
        .scope_spans[0]
        .spans[0]
        .SerializeToString()
    )


def deep(depth):
    """A span with an attribute of maps in maps, deeper than the library writes."""
    value = b""
    for _ in range(depth):
        value = field(6, field(1, field(1, b"a") + field(2, value)))
    return field(9, field(1, b"gen_ai.prompt") + field(2, value))


@TWENTY
@given(st.data())
def test_a_hostile_span_in_json_costs_no_neighbour(world, data):
    bad = data.draw(hostile(numbered_span(3)))
    raw = json.dumps(request(numbered_span(1), "@bad@", numbered_span(2))).replace('"@bad@"', written(bad))
    assert neighbours_kept(world, read_json, raw.encode()) == {1, 2}


@TWENTY
@given(st.data())
def test_a_hostile_span_in_protobuf_costs_no_neighbour(world, data):
    first, second, bad = map(span_in_protobuf, (1, 2, 3))
    deed = data.draw(st.sampled_from(["bytes", "depth", "names"]))
    if deed == "bytes":
        at = data.draw(st.integers(0, len(bad) - 1))
        bad = bad[:at] + data.draw(st.binary(max_size=8)) + bad[data.draw(st.integers(at, len(bad))) :]
    elif deed == "depth":
        bad += deep(data.draw(st.integers(1, 400)))
    else:
        message = SpanMessage.FromString(bad)
        message.attributes.add().key = data.draw(st.sampled_from([key for key in KEYS if key != "\ud83d"]))
        bad = message.SerializeToString()
    raw = in_protobuf(first, bad, second)
    assert neighbours_kept(world, read_protobuf, raw) == {1, 2}
