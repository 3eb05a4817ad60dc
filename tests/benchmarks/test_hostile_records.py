"""5,000 generated hostile records and spans over all formats: none may end a file or a batch, or cost a good neighbour.

Run with ``pytest tests/benchmarks/test_hostile_records.py -m benchmark -s``.
"""

from __future__ import annotations

import contextlib
import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from promptlift import transcripts
from promptlift.errors import TranscriptError
from promptlift.schema.spans.model_call import is_model_call, read_call
from promptlift.service.otlp.decode import read_json, read_protobuf
from support.spans import request
from support.stranger_records import (
    RECORDS,
    hostile,
    hostile_in_protobuf,
    hostile_plain,
    in_protobuf,
    numbered_span,
    span_in_protobuf,
    written,
)

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(3_600)]
EXAMPLES = settings(
    database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck), deadline=None
)


def records_read(path, name, data):
    good = RECORDS[name]
    first, second = ([one] if isinstance(one, dict) else one for one in (good(1), good(2)))
    bad = [data.draw(hostile(one)) for one in (good(3) if name == "rows" else [good(3)])]
    path.write_text("\n".join(map(written, (*first, *bad, *second))), encoding="utf-8")
    found = transcripts.read(path, format=name).conversations
    return {number for number in (1, 2) for one in found if f"good {number}" in one.content}


def plain_read(path, data):
    """A file of plain text is one conversation: it has no neighbour to lose."""
    path.write_bytes(data.draw(hostile_plain()))
    with contextlib.suppress(TranscriptError):
        transcripts.read(path, format="plain")
    return set()


def in_json(data):
    bad = written(data.draw(hostile(numbered_span(3))))
    raw = json.dumps(request(numbered_span(1), "@bad@", numbered_span(2))).replace('"@bad@"', bad)
    return read_json(raw.encode(), lambda _: None)


def in_proto(data):
    raw = in_protobuf(span_in_protobuf(1), data.draw(hostile_in_protobuf()), span_in_protobuf(2))
    return read_protobuf(raw, lambda _: None)


def spans_read(spans):
    said = []
    for one in spans:
        if one.trace_id in (f"{1:032x}", f"{2:032x}"):
            assert is_model_call(one)
            said += [turn.text for turn in read_call(one, 0).input]
    return {number for number in (1, 2) if f"good {number}" in said}


def test_5000_hostile_records_and_spans(tmp_path):
    count: Counter[str] = Counter()

    def run(name, examples, read, wanted):
        @seed(21)
        @settings(EXAMPLES, max_examples=examples)
        @given(st.data())
        def check(data):
            count["records and spans"] += 1
            try:
                count["neighbours lost"] += len(wanted - read(data))
            except Exception as error:  # noqa: BLE001 - counted
                count["uncaught"] += 1
                print(name, repr(error)[:300])

        check()

    for name in RECORDS:
        wanted = set() if name == "langfuse-scores" else {1, 2}
        run(name, 215, lambda data, name=name: records_read(tmp_path / "a.jsonl", name, data), wanted)
    run("plain", 215, lambda data: plain_read(tmp_path / "a.txt", data), set())
    for name, spans in (("OTLP in JSON", in_json), ("OTLP in protobuf", in_proto)):
        run(name, 500, lambda data, spans=spans: spans_read(spans(data)), {1, 2})
    print(dict(count))
    assert (count["uncaught"], count["neighbours lost"]) == (0, 0)
    assert count["records and spans"] >= 5_000
