"""The system prompts of an export: found in every format, counted by text, in the order in which they came into use."""

from __future__ import annotations

import json

from promptlift import transcripts

PROMPT = "You help. \r\n ☎  "
TALK = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
SYSTEM = {"role": "system", "content": PROMPT}


def langsmith(messages, **inputs):
    return {
        "id": "r1",
        "run_type": "llm",
        "trace_id": "t1",
        "inputs": {"messages": messages, **inputs},
        "outputs": {"messages": [TALK[1]]},
        "extra": {"metadata": {"thread_id": "c1"}},
        "end_time": "2026-10-01T00:00:00Z",
    }


RECORDS = [
    {"messages": [SYSTEM, *TALK]},
    {"messages": [{"role": "developer", "content": PROMPT}, *TALK]},
    {"messages": [{"role": "system", "content": [{"type": "text", "text": PROMPT}]}, *TALK]},
    {"system": PROMPT, "messages": TALK},
    {"system": [{"type": "text", "text": PROMPT}], "messages": TALK},
    {
        "system": PROMPT,
        "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}],
    },
    {"content": json.dumps({"messages": [SYSTEM, *TALK]})},
    langsmith([TALK[0]], system=PROMPT),
    langsmith([TALK[0]], instructions=PROMPT),
]


def test_the_system_prompt_is_found_as_it_stands(written):
    for record in RECORDS:
        reading = transcripts.read(written("a.jsonl", [record]))
        assert (reading.problems, "system" in reading.dropped) == ([], False)
        assert [(one.text, one.conversations) for one in reading.system_prompts] == [(PROMPT, 1)]


def test_what_is_no_system_prompt_is_not_taken_for_one(written):
    records = [
        {"messages": messages}
        for messages in (
            TALK,
            [*TALK, SYSTEM],
            [{"role": "tool", "content": "{}"}, *TALK],
            [{"role": "system", "content": "[tool result] {}"}, *TALK],
            [{"role": "system", "content": " \n"}, *TALK],
            [{"role": "system", "content": "null \x00"}, *TALK],
        )
    ]
    reading = transcripts.read(written("a.jsonl", records))
    assert len(reading.conversations) == len(records)
    found = reading.system_prompts
    assert (len(found), found.main, found.overlapping) == (0, None, False)
