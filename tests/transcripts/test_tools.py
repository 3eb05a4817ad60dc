"""Exports of tools that have no tests of their own, and the refusals of what holds no conversations."""

from __future__ import annotations

import pytest

from promptlift import transcripts


def test_the_export_of_claude_keeps_title_times_and_attached_text(written, said):
    at = "2026-01-05T10:00:00.000000Z"
    called = {"type": "tool_use", "name": "find", "input": {"q": 1}}
    result = {"type": "tool_result", "content": [{"type": "text", "text": "it"}]}
    thought, answer = {"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hello"}
    record = {
        "uuid": "u",
        "name": "Greeting",
        "created_at": at,
        "account": {"uuid": "a"},
        "chat_messages": [
            {
                "sender": "human",
                "text": "Hi",
                "content": [{"type": "text", "text": "Hi"}],
                "created_at": at,
                "attachments": [{"file_name": "a.txt", "extracted_content": "words"}],
            },
            {
                "sender": "assistant",
                "text": "",
                "content": [thought, called, result, answer],
                "created_at": at,
            },
        ],
    }
    reading = transcripts.read(written("conversations.json", [record]))
    assert reading.format == "claude"
    (found,) = reading.conversations
    assert (found.source_id, found.title) == ("u", "Greeting")
    assert said(found) == [
        ("user", "Hi\n[a.txt]\nwords"),
        ("assistant", '[tool call] find({"q": 1})'),
        ("system", "[tool result] it"),
        ("assistant", "Hello"),
    ]
    assert reading.dropped == {"account": 1}


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ({"resourceMetrics": []}, "metrics of OpenTelemetry"),
        ({"requester_id": 1, "submitter_id": 2, "id": 3}, "tickets of Zendesk without their comments"),
        ({"object": "thread.run", "id": "r"}, "OpenAI's Assistants API"),
        ({"run_id": "r", "key": "k", "score": 1}, "feedback of LangSmith"),
        ({"who": "x", "what": "y"}, "--column role=NAME --column text=NAME --column conversation=NAME"),
    ],
)
def test_a_refusal_names_the_tool_and_one_step(written, record, words):
    (problem,) = transcripts.read(written("a.jsonl", [record])).problems
    assert words in problem.message
    assert "sharegpt" not in problem.message
