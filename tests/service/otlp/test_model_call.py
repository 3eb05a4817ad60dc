"""Every form in which instrumentations write what was said to a model, and what is no call of one."""

from __future__ import annotations

import json

import pytest

from promptlift.schema.spans.model_call import ModelCall, is_model_call, read_call
from promptlift.service.otlp.decode import read_json
from support.spans import as_json, chat, span

NEW = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o"}
OLD = {"gen_ai.system": "openai", "gen_ai.request.model": "gpt-4o"}
ARGUMENTS = '{"location": "Paris"}'
HISTORY = [
    {"role": "user", "parts": [{"type": "text", "content": "Weather in Paris?"}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "reasoning", "content": "I should look."},
            {"type": "tool_call", "id": "c1", "name": "get_weather", "arguments": {"location": "Paris"}},
        ],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "rainy, 57°F"}]},
]
ANSWERS = [
    {"role": "assistant", "parts": [{"type": "text", "content": "It rains."}], "finish_reason": "stop"},
    {"role": "assistant", "parts": [{"type": "text", "content": "Rain."}], "finish_reason": "stop"},
]
INSTRUCTIONS = [{"type": "text", "content": "You help."}]
OPENAI_HISTORY = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": [{"type": "text", "text": "Weather in Paris?"}]},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "function": {"name": "get_weather", "arguments": ARGUMENTS}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "rainy, 57°F"},
]
DETAILS = {
    "gen_ai.system_instructions": INSTRUCTIONS,
    "gen_ai.input.messages": HISTORY,
    "gen_ai.output.messages": ANSWERS,
}
CALLS = json.dumps(OPENAI_HISTORY[2]["tool_calls"])
NUMBERED = {
    "gen_ai.prompt.0.role": "system",
    "gen_ai.prompt.0.content": "You help.",
    "gen_ai.prompt.1.role": "user",
    "gen_ai.prompt.1.content": "Weather in Paris?",
    "gen_ai.prompt.2.role": "assistant",
    "gen_ai.prompt.2.tool_calls.0.id": "c1",
    "gen_ai.prompt.2.tool_calls.0.name": "get_weather",
    "gen_ai.prompt.2.tool_calls.0.arguments": ARGUMENTS,
    "gen_ai.prompt.3.role": "tool",
    "gen_ai.prompt.3.content": "rainy, 57°F",
    "gen_ai.completion.0.role": "assistant",
    "gen_ai.completion.0.content": "It rains.",
    "gen_ai.completion.1.content": "Rain.",
}
OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.model_name": "gpt-4o",
    "llm.input_messages.0.message.role": "system",
    "llm.input_messages.0.message.content": "You help.",
    "llm.input_messages.1.message.role": "user",
    "llm.input_messages.1.message.contents.0.message_content.type": "text",
    "llm.input_messages.1.message.contents.0.message_content.text": "Weather in Paris?",
    "llm.input_messages.2.message.role": "assistant",
    "llm.input_messages.2.message.tool_calls.0.tool_call.function.name": "get_weather",
    "llm.input_messages.2.message.tool_calls.0.tool_call.function.arguments": ARGUMENTS,
    "llm.input_messages.3.message.role": "tool",
    "llm.input_messages.3.message.content": "rainy, 57°F",
    "llm.output_messages.0.message.role": "assistant",
    "llm.output_messages.0.message.content": "It rains.",
}
FORMS = {
    "attributes, JSON (1.37 and later)": span(1, {**NEW, **{k: json.dumps(v) for k, v in DETAILS.items()}}),
    "attributes, structured (1.37 and later)": span(1, {**NEW, **DETAILS}),
    "an event with details (1.37 and later)": span(
        1, NEW, events=[("gen_ai.client.inference.operation.details", DETAILS)]
    ),
    "an event a message (1.28 to 1.36)": span(
        1,
        OLD,
        events=[
            ("gen_ai.system.message", {"gen_ai.system": "openai", "content": "You help."}),
            ("gen_ai.user.message", {"gen_ai.system": "openai", "content": "Weather in Paris?"}),
            ("gen_ai.assistant.message", {"gen_ai.system": "openai", "tool_calls": CALLS}),
            ("gen_ai.tool.message", {"gen_ai.system": "openai", "content": "rainy, 57°F", "id": "c1"}),
            ("gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": {"content": "It rains."}}),
            ("gen_ai.choice", {"index": 1, "finish_reason": "stop", "message": {"content": "Rain."}}),
        ],
    ),
    "an event a message, JSON in one attribute": span(
        1,
        OLD,
        events=[
            *(
                (f"gen_ai.{one['role']}.message", {"gen_ai.event.content": json.dumps(one)})
                for one in OPENAI_HISTORY
            ),
            ("gen_ai.choice", {"gen_ai.event.content": json.dumps({"message": {"content": "It rains."}})}),
        ],
    ),
    "events with JSON (before 1.28)": span(
        1,
        OLD,
        events=[
            ("gen_ai.content.prompt", {"gen_ai.prompt": json.dumps(OPENAI_HISTORY)}),
            (
                "gen_ai.content.completion",
                {"gen_ai.completion": json.dumps([{"role": "assistant", "content": "It rains."}])},
            ),
        ],
    ),
    "numbered attributes (OpenLLMetry)": span(1, {**OLD, "llm.request.type": "chat", **NUMBERED}),
    "numbered attributes (OpenInference)": span(1, OPENINFERENCE),
}


def read(document) -> ModelCall | None:
    (one,) = read_json(as_json(document), pytest.fail)
    assert is_model_call(one)
    return read_call(one, now=0)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_says_the_same(form):
    call = read(FORMS[form])
    assert call.system == "You help."
    assert [tuple(turn) for turn in call.input] == [
        ("user", "Weather in Paris?"),
        ("assistant", '[tool call] get_weather({"location":"Paris"})'),
        ("system", "[tool result] rainy, 57°F"),
    ]
    assert [tuple(turn) for turn in call.output] == [("assistant", "It rains.")]
    assert call.model == "gpt-4o"
    assert ModelCall.load(call.dump()) == call


@pytest.mark.parametrize(
    "known",
    [
        {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t"},
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.request.model": "m"},
        {"openinference.span.kind": "CHAIN", "gen_ai.request.model": "m"},
        {"llm.request.type": "embedding", "gen_ai.request.model": "e"},
        {"http.request.method": "POST"},
    ],
)
def test_other_spans_are_no_calls_of_a_model(known):
    (one,) = read_json(as_json(span(1, known)), pytest.fail)
    assert not is_model_call(one)


def test_a_call_without_content_says_nothing():
    assert read(span(1, NEW)) is None


@pytest.mark.parametrize(
    ("known", "conversation"),
    [
        ({"gen_ai.conversation.id": "c-1", "session.id": "s-1"}, "c-1"),
        ({"session.id": "s-1"}, "s-1"),
        ({"traceloop.association.properties.session_id": "t-1"}, "t-1"),
        ({"gen_ai.conversation.id": "c\x00-1"}, "c-1"),
        ({}, None),
    ],
)
def test_the_conversation_is_what_the_application_says(known, conversation):
    assert read(chat(1, [("user", "Hi")], "Hello", **known)).conversation == conversation


def test_a_call_with_a_number_beyond_64_bits_is_kept():
    said = {"role": "assistant", "tool_calls": [{"function": {"name": "pay", "arguments": {"cents": 2**70}}}]}
    call = read(span(1, NEW, events=[("gen_ai.choice", {"message": said})]))
    assert str(2**70) in call.output[0].text
