"""Exports of tools that have no tests of their own, and the refusals of what holds no conversations."""

from __future__ import annotations

import json

import pytest

from promptlift import transcripts

HELLO = [("user", "Hi"), ("assistant", "Hello")]


def printed():
    """A span as the SDK prints it."""
    said = {
        "gen_ai.input.messages": json.dumps([{"role": "user", "content": "Hi"}]),
        "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": "Hello"}]),
    }
    return {
        "name": "chat",
        "context": {"trace_id": f"0x{1:032x}", "span_id": f"0x{1:016x}"},
        "start_time": "2026-01-05T10:00:00.000000Z",
        "end_time": "2026-01-05T10:00:00.200000Z",
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.conversation.id": "c-1",
            "shop": "north",
            **said,
        },
        "events": [],
        "status": {"status_code": "UNSET"},
        "resource": {"attributes": {"service.name": "shop"}},
    }


def test_spans_that_an_sdk_prints_are_read(written, said):
    reading = transcripts.read(written("a.json", printed()))
    (found,) = reading.conversations
    assert (reading.format, found.source_id, found.latency_ms) == ("otlp", "c-1", 200)
    assert said(found) == HELLO
    assert found.metadata["shop"] == "north"
    assert reading.prompt_names == ["shop"]


def test_the_export_of_claude_keeps_title_times_and_attached_text(written, said):
    at = "2026-01-05T10:00:00.000000Z"
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
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "tool_use", "name": "find", "input": {"q": 1}},
                    {"type": "tool_result", "content": [{"type": "text", "text": "it"}]},
                    {"type": "text", "text": "Hello"},
                ],
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


@pytest.mark.parametrize(("role", "other"), [("end-user", "admin"), ("Visitor", "bot")])
def test_roles_of_help_desks_are_known_in_tables(written, said, role, other):
    table = f"ticket_id,author_type,comment\n1,{role},Hi\n1,{other},Hello\n"
    reading = transcripts.read(written("a.csv", table), columns={"role": "author_type", "text": "comment"})
    assert (reading.format, [said(one) for one in reading.conversations]) == ("rows", [HELLO])


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
