"""One hostile span costs itself alone, whatever its keys, its values and its nesting are."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select

from promptlift.schema.limits import PLANS
from promptlift.service.otlp.decode import read_json, read_protobuf
from promptlift.service.otlp.receive import Received, receive
from promptlift.service.store.accounts import Caller
from promptlift.service.store.tables import metadata
from support.spans import request
from support.stranger_records import (
    hostile,
    hostile_in_protobuf,
    in_protobuf,
    numbered_span,
    span_in_protobuf,
    written,
)

traced_calls = metadata.tables["traced_calls"]

TWENTY = settings(
    max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def neighbours_kept(world, read, raw):
    """Which of the good spans of a body are kept."""
    received = Received()
    caller = Caller(world.account, PLANS["enterprise"], "key")
    receive(
        world.database, caller, read(raw, received.reject), received, prompt=world.prompt_id, quiet_seconds=0
    )
    assert bool(received.rejected) == bool(received.problem)
    received.problem.encode()
    with world.database.write() as connection:
        calls = [json.loads(row.data) for row in connection.execute(select(traced_calls.c.data))]
        connection.execute(delete(traced_calls))
    return {number for number in (1, 2) if any(["user", f"good {number}"] in call["input"] for call in calls)}


@TWENTY
@given(st.data())
@pytest.mark.slow
def test_a_hostile_span_in_json_costs_no_neighbour(world, data):
    bad = data.draw(hostile(numbered_span(3)))
    raw = json.dumps(request(numbered_span(1), "@bad@", numbered_span(2))).replace('"@bad@"', written(bad))
    assert neighbours_kept(world, read_json, raw.encode()) == {1, 2}


@TWENTY
@given(st.data())
def test_a_hostile_span_in_protobuf_costs_no_neighbour(world, data):
    raw = in_protobuf(span_in_protobuf(1), data.draw(hostile_in_protobuf()), span_in_protobuf(2))
    assert neighbours_kept(world, read_protobuf, raw) == {1, 2}
