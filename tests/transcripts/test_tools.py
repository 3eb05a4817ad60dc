"""Exports of more tools: one small file for each shape, made up here."""

from __future__ import annotations

import json

import pytest

from promptlift import transcripts
from support.spans import chat

SYSTEM = "You are kind."
HELLO = [("user", "Hi"), ("assistant", "Hello")]
CHAT = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Hi"}]
ANSWER = {"role": "assistant", "content": "Hello"}
CALLED = [
    ("user", "Find it"),
    ("assistant", '[tool call] find({"q": 1})'),
    ("system", "[tool result] it"),
    ("assistant", "Here it is"),
]


def batch(*spans):
    service = {"key": "service.name", "value": {"stringValue": "shop"}}
    return {
        "resourceSpans": [{"resource": {"attributes": [service]}, "scopeSpans": [{"spans": list(spans)}]}]
    }


def printed():
    """A span as the SDK prints it."""
    said = {"gen_ai.input.messages": json.dumps(CHAT[1:]), "gen_ai.output.messages": json.dumps([ANSWER])}
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


def mlflow_span(kind, asked, answered, **more):
    attributes = {"mlflow.spanType": kind, "mlflow.spanInputs": asked, "mlflow.spanOutputs": answered, **more}
    return {
        "name": "step",
        "context": {"trace_id": "0xab", "span_id": "0x1"},
        "parent_id": None,
        "start_time": 1_767_607_200_000_000_000,
        "end_time": 1_767_607_200_200_000_000,
        "status_code": "OK",
        "attributes": {name: json.dumps(value) for name, value in attributes.items()},
    }


MLFLOW = {
    "info": {
        "trace_id": "tr-1",
        "trace_metadata": {"mlflow.trace.session": "s-1", "mlflow.trace.user": "u-1", "shop": "north"},
        "tags": {"mlflow.linkedPrompts": '[{"name": "support", "version": "4"}]'},
    },
    "data": {
        "spans": [
            mlflow_span(
                "CHAT_MODEL",
                {"messages": CHAT, "model": "m-1"},
                {"choices": [{"message": ANSWER}]},
                **{"mlflow.chat.tokenUsage": {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}},
            )
        ]
    },
}
WEAVE = {
    "id": "1",
    "op_name": "weave:///team/shop/op/openai.chat.completions.create:abc",
    "trace_id": "t-1",
    "parent_id": None,
    "thread_id": "s-1",
    "started_at": "2026-01-05T10:00:00Z",
    "ended_at": "2026-01-05T10:00:00.200Z",
    "inputs": {"model": "m-1", "messages": CHAT},
    "output": {"choices": [{"message": ANSWER}], "model": "m-1"},
    "summary": {"usage": {"m-1": {"prompt_tokens": 9, "completion_tokens": 2, "requests": 1}}},
    "attributes": {"shop": "north"},
    "wb_user_id": "u-1",
}
HELICONE = {
    "request_id": "r-1",
    "request_body": {"model": "m-1", "messages": CHAT},
    "response_body": {"choices": [{"message": ANSWER}]},
    "request_created_at": "2026-01-05T10:00:00Z",
    "response_created_at": "2026-01-05T10:00:01Z",
    "delay_ms": 200,
    "prompt_tokens": 9,
    "completion_tokens": 2,
    "costUSD": 0.5,
    "request_user_id": "u-1",
    "request_properties": {"Helicone-Session-Id": "s-1", "shop": "north"},
    "response_model": "m-1",
}
RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1_767_607_200,
    "model": "m-1",
    "instructions": SYSTEM,
    "output": [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
    ],
    "usage": {"input_tokens": 9, "output_tokens": 2},
    "user": "u-1",
    "metadata": {"shop": "north"},
}
LANGFUSE_TRACE = {
    "id": "t-1",
    "timestamp": "2026-01-05T10:00:00Z",
    "name": "support",
    "input": None,
    "output": None,
    "sessionId": "s-1",
    "userId": "u-1",
    "metadata": {"shop": "north"},
    "observations": [
        {
            "id": "o-1",
            "type": "GENERATION",
            "startTime": "2026-01-05T10:00:00Z",
            "endTime": "2026-01-05T10:00:00.200Z",
            "model": "m-1",
            "input": CHAT,
            "output": ANSWER,
            "usageDetails": {"input": 9, "output": 2},
            "calculatedTotalCost": 0.5,
        }
    ],
}
TRACES = {
    "otlp": batch(
        chat(
            1,
            [("user", "Hi")],
            "Hello",
            system=SYSTEM,
            **{"session.id": "s-1", "shop": "north", "user.id": "u-1"},
        )
    ),
    "mlflow": MLFLOW,
    "weave": WEAVE,
    "helicone": HELICONE,
    "openai-responses": {"request": {"model": "m-1", "input": "Hi"}, "response": RESPONSE},
    "langfuse": LANGFUSE_TRACE,
}


@pytest.mark.parametrize("name", list(TRACES))
def test_a_call_of_each_tool_is_a_conversation_with_what_is_known(written, said, name):
    reading = transcripts.read(written("a.jsonl", [TRACES[name]]))
    assert (reading.format, reading.problems) == (name, [])
    (found,) = reading.conversations
    assert said(found) == HELLO
    assert [prompt.text for prompt in reading.system_prompts] == [SYSTEM]
    assert found.metadata["userId"] == "u-1"
    assert found.metadata["shop"] == "north"
    if name != "otlp":
        assert found.llm_model == "m-1"
        assert (found.input_tokens, found.output_tokens) == (9, 2)
    if name in ("mlflow", "weave", "helicone", "langfuse"):
        assert (found.source_id, found.latency_ms) == ("s-1", 200)
    assert reading.model_calls == 1


def test_pages_of_the_langfuse_api_are_read(written, said):
    page = {"data": [LANGFUSE_TRACE], "meta": {"page": 1, "totalItems": 1}}
    reading = transcripts.read(written("a.json", page))
    assert reading.format == "langfuse"
    assert [said(one) for one in reading.conversations] == [HELLO]
    assert reading.conversations[0].cost == 0.5


def test_a_linked_prompt_of_mlflow_names_the_prompt(written):
    reading = transcripts.read(written("a.json", MLFLOW))
    (found,) = reading.conversations
    assert (found.prompt_name, found.prompt_version) == ("support", "4")


def test_spans_that_an_sdk_prints_are_read(written, said):
    reading = transcripts.read(written("a.json", printed()))
    (found,) = reading.conversations
    assert (reading.format, found.source_id, found.latency_ms) == ("otlp", "c-1", 200)
    assert said(found) == HELLO
    assert found.metadata["shop"] == "north"
    assert reading.prompt_names == ["shop"]


def test_spans_without_content_are_counted_and_the_step_is_named(written):
    reading = transcripts.read(written("a.json", batch(chat(1, []))))
    assert reading.conversations == []
    assert reading.dropped == {"spans without content": 1}
    assert any("CAPTURE_MESSAGE_CONTENT" in note for note in reading.notes)


def test_helicone_without_bodies_names_the_option(written):
    reading = transcripts.read(written("a.jsonl", [{**HELICONE, "request_body": None}]))
    assert "--include-body" in reading.problems[0].message


def test_calls_of_functions_of_the_responses_api_are_tool_calls(written, said):
    asked = [
        {"role": "user", "content": [{"type": "input_text", "text": "Find it"}]},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "name": "find", "arguments": '{"q": 1}', "call_id": "c"},
        {"type": "function_call_output", "call_id": "c", "output": "it"},
    ]
    answer = [
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Here it is"}]}
    ]
    record = {"custom_id": "7", "body": {"model": "m-1", "input": asked}}
    answered = {"custom_id": "7", "response": {"status_code": 200, "body": {**RESPONSE, "output": answer}}}
    reading = transcripts.read(
        written("a.jsonl", [record, answered, {"custom_id": "8", "response": {"body": {}}}])
    )
    assert reading.format == "openai-batch"
    assert [said(one) for one in reading.conversations] == [CALLED]
    assert "'8' has no request" in reading.problems[0].message


def test_of_a_preference_pair_the_preferred_answer_is_taken(written, said):
    pair = {
        "input": {"messages": CHAT},
        "preferred_output": [ANSWER],
        "non_preferred_output": [{"role": "assistant", "content": "No"}],
    }
    reading = transcripts.read(written("a.jsonl", [pair]))
    assert reading.format == "openai-dpo"
    assert said(reading.conversations[0])[1:] == HELLO
    assert reading.dropped == {"non_preferred_output": 1}


def test_examples_of_a_langsmith_data_set_are_conversations(written, said):
    example = {"id": "e", "dataset_id": "d", "inputs": {"question": "Hi"}, "outputs": {"answer": "Hello"}}
    reading = transcripts.read(written("a.jsonl", [example]))
    assert (reading.format, said(reading.conversations[0])) == ("langsmith", HELLO)


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


def test_contents_of_gemini_are_read_with_their_calls(written, said):
    contents = [
        {"role": "user", "parts": [{"text": "Find it"}]},
        {"role": "model", "parts": [{"functionCall": {"name": "find", "args": {"q": 1}}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "find", "response": "it"}}]},
    ]
    record = {
        "request": {"contents": contents, "systemInstruction": {"role": "user", "parts": [{"text": SYSTEM}]}},
        "response": {
            "candidates": [{"content": {"role": "model", "parts": [{"text": "Here it is"}]}}],
            "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 2},
            "modelVersion": "gemini-2.5-flash",
        },
    }
    reading = transcripts.read(written("a.jsonl", [record]))
    (found,) = reading.conversations
    assert (reading.format, found.llm_model) == ("gemini", "gemini-2.5-flash")
    assert said(found) == [("system", SYSTEM), *CALLED]
    assert (found.input_tokens, found.output_tokens, found.tool_calls) == (9, 2, 1)


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
    assert (reading.format, said(reading.conversations[0])) == ("sharegpt", HELLO)


def test_tickets_and_conversations_of_help_desks_leave_notes_out(written, said):
    ticket = {
        "id": 7,
        "subject": "Order",
        "status": "solved",
        "requester_id": 1,
        "via": {"channel": "web"},
        "comments": [
            {"author_id": 1, "body": "Hi", "public": True, "created_at": "2026-01-05T10:00:00Z"},
            {"author_id": 2, "body": "secret", "public": False},
            {
                "author_id": 2,
                "html_body": "<p>Hello</p>",
                "public": True,
                "created_at": "2026-01-05T10:01:00Z",
            },
        ],
    }
    reading = transcripts.read(written("a.json", {"tickets": [ticket]}))
    (found,) = reading.conversations
    assert (reading.format, said(found), found.status) == ("zendesk", HELLO, "completed")
    assert (found.title, found.metadata["channel"]) == ("Order", "web")
    assert reading.dropped == {"comments[] (internal note)": 1}
    conversation = {
        "type": "conversation",
        "id": "9",
        "created_at": 1_767_607_200,
        "state": "closed",
        "source": {"type": "conversation", "body": "<p>Hi</p>", "author": {"type": "lead", "id": "u"}},
        "conversation_parts": {
            "conversation_parts": [
                {"part_type": "note", "body": "<p>secret</p>", "author": {"type": "admin"}},
                {"part_type": "comment", "body": "<p>Hello</p>", "author": {"type": "bot"}},
                {"part_type": "close", "body": None, "author": {"type": "admin"}},
            ]
        },
    }
    reading = transcripts.read(written("b.json", conversation))
    (found,) = reading.conversations
    assert (reading.format, said(found), found.source_id) == ("intercom", HELLO, "9")


@pytest.mark.parametrize("role", ["end-user", "visitor", "Visitor"])
@pytest.mark.parametrize("other", ["admin", "agent", "bot", "operator"])
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
