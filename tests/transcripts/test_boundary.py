"""One hostile record costs itself alone, whatever its keys and its nesting are."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlift import transcripts
from support.stranger_records import RECORDS, hostile, written

TEN = settings(
    max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)


def neighbours_read(path, name, record, *, array):
    """The good neighbours of a hostile record that are read."""
    good = RECORDS[name]
    before, after = ([one] if isinstance(one, dict) else one for one in (good(1), good(2)))
    records = [written(one) for one in (*before, *(record if name == "rows" else [record]), *after)]
    path.write_text(f"[{','.join(records)}]" if array else "\n".join(records), encoding="utf-8")
    reading = transcripts.read(path, format=name)
    return {number for number in (1, 2) for one in reading.conversations if f"good {number}" in one.content}


def check(data, name, path):
    """Draw a hostile record of a format, and read it between two good ones."""
    good = RECORDS[name](3)
    record = [data.draw(hostile(one)) for one in good] if name == "rows" else data.draw(hostile(good))
    read = neighbours_read(path / "a.json", name, record, array=data.draw(st.booleans()))
    assert read == (set() if name == "langfuse-scores" else {1, 2})


@pytest.mark.slow
@pytest.mark.parametrize("name", RECORDS)
def test_a_hostile_record_of_each_format_costs_no_neighbour(tmp_path, name):
    TEN(given(st.data())(lambda data: check(data, name, tmp_path)))()


def test_columns_of_one_row_are_not_those_of_the_next(written):
    rows = [{"role": "user", "content": "x"}, *RECORDS["rows"](1)]
    reading = transcripts.read(written("a.jsonl", rows), format="rows")
    assert [one.source_id for one in reading.conversations] == ["g1"]
    assert [problem.message for problem in reading.problems] == [
        "the row has no conversation_id; it is left out"
    ]


def test_an_element_of_an_array_that_no_value_can_be_made_of_costs_itself_alone(written):
    good = json.dumps(RECORDS["openai"](1))
    path = written("a.json", f'[{good}, {{"a": {"9" * 5_000}}}, {"[" * 5_000}{"]" * 5_000}, {good}]')
    reading = transcripts.read(path)
    assert (len(reading.conversations), len(reading.problems)) == (2, 2)
