"""Files whose records are of several formats: that of most of them is taken."""

from __future__ import annotations

import pytest

from promptlift import transcripts

PLAIN = {"messages": [{"role": "user", "content": "x"}]}
TOOLS = {"messages": [{"role": "tool", "content": "x"}]}
OWN = {"messages": [{"role": "user", "content": "x", "tokens": 3}]}
ROW = {"conversation_id": "a", "role": "user", "content": "x"}


@pytest.mark.parametrize(
    ("records", "file", "name"),
    [
        ([PLAIN], "a.json", "openai"),
        ([PLAIN, TOOLS], "a.jsonl", "openai"),
        ([TOOLS, OWN, TOOLS], "a.jsonl", "openai"),
        ([{**PLAIN, "metadata": {"reward": 1}}], "a.jsonl", "openai"),
        ([{**PLAIN, "metadata": {"userId": "u"}}], "a.jsonl", "structured"),
        ([PLAIN, OWN], "a.jsonl", "structured"),
        ([PLAIN, ROW, ROW], "a.jsonl", "rows"),
        ([PLAIN, PLAIN, ROW], "a.jsonl", "openai"),
        ([{"a": 1}, {"conversations": [{"from": "human", "value": "x"}]}], "a.jsonl", "sharegpt"),
        ([{"run_type": "chain", "inputs": {}}], "a.jsonl", "langsmith"),
        ([{"attributes.llm.model_name": "m"}], "a.jsonl", "phoenix"),
        ('"Role";"Text"\nuser;x\n', "a.csv", "rows"),
        ("User: role, content\n", "a.csv", "plain"),
    ],
)
def test_the_format_is_that_of_most_records(written, records, file, name):
    assert transcripts.read(written(file, records)).format == name
