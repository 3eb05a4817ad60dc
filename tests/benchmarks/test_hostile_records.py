"""5,000 generated hostile records and spans over all formats: none may end a file or a batch, or cost a good neighbour.

Run with ``pytest tests/benchmarks/test_hostile_records.py -m benchmark -s``.
"""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from promptlift import transcripts
from promptlift.schema.spans.model_call import is_model_call, read_call
from promptlift.service.otlp.decode import read_json
from support.spans import request
from support.stranger_records import RECORDS, hostile, numbered_span, written

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


def spans_read(data):
    bad = written(data.draw(hostile(numbered_span(3))))
    raw = json.dumps(request(numbered_span(1), "@bad@", numbered_span(2))).replace('"@bad@"', bad)
    said = []
    for one in read_json(raw.encode(), lambda _: None):
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
    run("/v1/traces", 500, spans_read, {1, 2})
    print(dict(count))
    assert (count["uncaught"], count["neighbours lost"]) == (0, 0)
    assert count["records and spans"] >= 5_000
