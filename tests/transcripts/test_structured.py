from __future__ import annotations

import json

import pytest

from promptlift import transcripts

HELLO = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello 😀"}]
SAID = [("user", "Hi"), ("assistant", "Hello 😀")]


def conversation(**fields):
    return {"messages": HELLO, "metadata": {"channel": "web", "plan": "gold"}, **fields}


@pytest.mark.parametrize(
    ("name", "data", "lines"),
    [
        ("one.json", conversation(), [1]),
        ("many.json", [conversation(), conversation(), conversation()], [2, 18, 34]),
        ("lines.jsonl", [conversation(), conversation()], [1, 2]),
        ("lines.jsonl.gz", [conversation(), conversation()], [1, 2]),
        ("no-suffix", json.dumps([conversation()] * 2), [1, 1]),
        (
            "pretty-several",
            json.dumps(conversation(), indent=1) + "\n\n" + json.dumps(conversation()),
            [1, 18],
        ),
        ("bom.json", ("\ufeff" + json.dumps(conversation())).encode(), [1]),
        ("crlf.jsonl", json.dumps(conversation()) + "\r\n\r\n" + json.dumps(conversation()), [1, 3]),
    ],
)
def test_every_layout_of_json_is_read_with_its_lines(written, said, name, data, lines):
    reading = transcripts.read(written(name, data))
    assert reading.format == "structured"
    assert [c.line for c in reading.conversations] == lines
    assert all(said(c) == SAID for c in reading.conversations)
    assert json.loads(reading.conversations[0].content)["metadata"] == {"channel": "web", "plan": "gold"}
    assert (reading.problems, reading.dropped, reading.notes) == ([], {}, [])


def test_records_like_the_api_takes_them_are_read(written, said):
    inner = json.dumps({"messages": HELLO, "metadata": {"userId": 42}, "extra": 1})
    records = [
        {
            "content": inner,
            "status": "completed",
            "llmModel": "m-1",
            "companyName": "Acme",
            "idempotencyKey": "k1",
        },
        {"content": "User: Hi\nAssistant: Hello 😀", "status": "Abandoned", "id": "c-2", "promptId": "p"},
    ]
    reading = transcripts.read(written("a.jsonl", records))
    first, second = reading.conversations
    assert reading.format == "structured"
    assert said(first) == said(second) == SAID
    assert (first.status, first.llm_model, first.company_name, first.key) == (
        "completed",
        "m-1",
        "Acme",
        "k1",
    )
    assert (second.status, second.source_id, second.key) == ("abandoned", "c-2", None)
    assert json.loads(first.content)["metadata"] == {"userId": "42"}
    assert reading.dropped == {"promptId": 1, "content.extra": 1}


def test_fields_are_kept_or_dropped_and_counted(written):
    message = {"role": "assistant", "content": "x", "timestamp": "2026-01-05T10:00:00+02:00", "model": "m"}
    odd = {"role": "user", "content": "x", "timestamp": "yesterday", "tokens": -1, "model": 3, "name": "ann"}
    records = [
        {"messages": [{**message, "tokens": 7}]},
        conversation(createdAt="2026-02-03T04:05:06Z", truth={"taskCompleted": True}, score=None),
        {"messages": [odd], "status": "resolved", "metadata": {"sessionId": ["a"], "n": None}},
    ]
    reading = transcripts.read(written("a.jsonl", records))
    found = [json.loads(one.content) for one in reading.conversations]
    assert found[0] == {"messages": [{**message, "timestamp": "2026-01-05T08:00:00.000Z", "tokens": 7}]}
    assert [m.get("timestamp") for m in found[1]["messages"]] == ["2026-02-03T04:05:06.000Z", None]
    assert found[2] == {"messages": [{"role": "user", "content": "x"}]}
    assert reading.notes == [
        "Conversations that have a time but none in their messages, so the first message was given it: 1."
    ]
    assert "taskCompleted" not in reading.conversations[1].content
    assert reading.dropped == {
        "truth": 1,
        "messages[].name": 1,
        "messages[].timestamp (not a time)": 1,
        "messages[].tokens (not a count)": 1,
        "messages[].model (not text)": 1,
        "metadata.sessionId (not text)": 1,
        "status ('resolved' is not one of completed, abandoned, in_progress)": 1,
    }


def test_openai_tools_are_folded_into_three_roles(written, said):
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "é"}'}}
    second = {"id": "c2", "type": "function", "function": {"name": "count", "arguments": {"n": [1]}}}
    messages = [
        {"role": "developer", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "Looking.", "tool_calls": [call, second]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
        {"role": "tool", "tool_call_id": "c2", "content": None},
        {"role": "assistant", "content": None, "function_call": {"name": "old", "arguments": "{}"}},
        {"role": "function", "name": "old", "content": "1"},
        {"role": "assistant", "content": None, "refusal": "I cannot."},
        {"role": "assistant", "content": None},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]},
        {"role": "assistant", "content": ["Wait.", {"type": "tool_use", "name": "f", "input": {"a": 1}}]},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "ok"}]}]},
    ]
    reading = transcripts.read(written("a.jsonl", [{"messages": messages, "tools": [{}]}]))
    assert reading.format == "openai"
    assert said(reading.conversations[0]) == [
        ("system", "Be kind."),
        ("user", "a\nb"),
        ("assistant", "Looking."),
        ("assistant", '[tool call] find({"q": "é"})'),
        ("assistant", '[tool call] count({"n": [1]})'),
        ("system", "[tool result] found"),
        ("system", "[tool result] "),
        ("assistant", "[tool call] old({})"),
        ("system", "[tool result] 1"),
        ("assistant", "I cannot."),
        ("user", ""),
        ("assistant", "Wait."),
        ("assistant", '[tool call] f({"a": 1})'),
        ("system", "[tool result] ok"),
    ]
    assert reading.dropped == {
        "messages[].tool_calls[].id": 2,
        "messages[].tool_call_id": 2,
        "messages[].name": 1,
        "messages[] (without text)": 1,
        "messages[].content[] (image_url)": 1,
        "tools": 1,
    }
