from __future__ import annotations

import pytest

from promptlift import transcripts

TURNS = [
    {"from": "system", "value": "Help."},
    {"from": "human", "value": "Hi"},
    {"from": "function_call", "value": 'find({"a": 1})'},
    {"from": "observation", "value": "[1]"},
    {"from": "function_call", "value": '{"name": "find", "arguments": {"b": "é"}}'},
    {"from": "tool", "value": "[2]"},
    {"from": "gpt", "value": "Done."},
]
SAID = [
    ("system", "Help."),
    ("user", "Hi"),
    ("assistant", '[tool call] find({"a": 1})'),
    ("system", "[tool result] [1]"),
    ("assistant", '[tool call] find({"b": "é"})'),
    ("system", "[tool result] [2]"),
    ("assistant", "Done."),
]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl.gz"])
def test_sharegpt_is_read_from_json_and_json_lines(written, said, name):
    records = [
        {"id": "s-1", "conversations": TURNS},
        {"conversations": [{"from": "ghost", "value": "boo"}]},
        {"id": 2, "conversations": TURNS, "source": "x"},
        {"conversations": []},
    ]
    reading = transcripts.read(written(name, records))
    assert reading.format == "sharegpt"
    assert [c.source_id for c in reading.conversations] == ["s-1", "2"]
    assert [said(c) for c in reading.conversations] == [SAID, SAID]
    assert reading.dropped == {"source": 1}
    assert [problem.message.split(";")[0] for problem in reading.problems] == [
        "message 1 has the role 'ghost'",
        "the conversation has no messages",
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"items": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]},
        {"conversations": [["Hi", "Hello"]]},
        {"instruction": "Hi", "input": "", "output": "Hello"},
        {"prompt": "Hi", "completion": "Hello"},
    ],
    ids=["items", "pairs", "instruction", "completion"],
)
def test_other_shapes_of_sharegpt_are_read(written, said, record):
    reading = transcripts.read(written("a.jsonl", [record]))
    assert (reading.format, said(reading.conversations[0])) == (
        "sharegpt",
        [("user", "Hi"), ("assistant", "Hello")],
    )
