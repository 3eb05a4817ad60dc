from __future__ import annotations

import json

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
    records = [{"id": "s-1", "conversations": TURNS}, {"id": 2, "conversations": TURNS, "source": "x"}]
    reading = transcripts.read(written(name, records))
    assert reading.format == "sharegpt"
    assert [c.source_id for c in reading.conversations] == ["s-1", "2"]
    assert [said(c) for c in reading.conversations] == [SAID, SAID]
    assert reading.dropped == {"source": 1}


def test_role_and_content_and_a_system_field_are_read_too(written, said):
    record = {
        "conversations": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello", "weight": 1},
        ],
        "system": "Help.",
        "model": "m",
    }
    reading = transcripts.read(written("a.json", [record]))
    (conversation,) = reading.conversations
    assert said(conversation) == [("system", "Help."), ("user", "Hi"), ("assistant", "Hello")]
    assert (conversation.llm_model, conversation.source_id) == ("m", None)
    assert reading.dropped == {"conversations[].weight": 1}


def test_a_bad_record_is_reported_and_the_rest_goes_in(written):
    records = [
        {"conversations": [{"from": "ghost", "value": "boo"}]},
        {"conversations": [{"from": "human", "value": "Hi"}]},
        {"conversations": []},
    ]
    reading = transcripts.read(written("a.jsonl", records))
    assert [(p.line, p.message.split(";")[0]) for p in reading.problems] == [
        (1, "message 1 has the role 'ghost'"),
        (3, "the conversation has no messages"),
    ]
    assert json.loads(reading.conversations[0].content)["messages"] == [{"role": "user", "content": "Hi"}]
