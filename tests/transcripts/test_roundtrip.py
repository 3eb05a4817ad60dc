"""What is written as an export comes back the same, and nothing that is JSON breaks the reader."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from promptlift import transcripts

QUICK = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])

lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=60)


@QUICK
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant"]), lines), min_size=1, max_size=8),
    st.sampled_from([("User", "Assistant"), ("Human", "AI"), ("Customer", "Agent")]),
)
def test_plain_text_comes_back(written, said, turns, pair):
    labels = dict(zip(["user", "assistant"], pair, strict=True))
    text = "\n".join(f"{labels[role]}: {line}" for role, line in turns)
    reading = transcripts.read(written("a.txt", text.encode()), format="plain")
    assert [said(c) for c in reading.conversations] == [turns]


FIELDS = st.sampled_from([
    "messages", "content", "role", "metadata", "status", "conversations", "from", "value", "mapping", "id",
    "current_node", "parent", "message", "author", "parts", "run_type", "inputs", "outputs", "extra",
    "type", "input", "output", "trace_id", "span_kind", "attributes", "tool_calls", "function",
    "timestamp", "tokens", "attributes.llm.input_messages", "usage_details", "kwargs", "choices", "tags",
    "context", "text", "data", "message.role", "message.contents", "conversation_id", "turn", "model",
    "createdAt", "session_id", "eval", "samples", "scores", "contents", "request", "response",
    "candidates", "items", "comments", "tickets", "source", "conversation_parts", "requester_id", "body",
    "html_body", "via", "object", "instructions", "custom_id", "preferred_output", "observations",
    "dataset_id", "usage", "resourceSpans", "scopeSpans", "spans", "traceId", "spanId", "resource",
    "events", "name", "key", "info", "trace_metadata", "op_name", "started_at", "summary", "request_id",
    "request_body", "chat_messages", "sender", "annotations", "result", "prompt", "error", "arguments",
])  # fmt: skip
VALUES = st.sampled_from(
    ["user", "assistant", "tool", "llm", "LLM", "GENERATION", "human", "a", "", "{", '["x"]', "1"]
)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | VALUES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(FIELDS, inner, max_size=5),
    max_leaves=25,
)
FORMATS = [name for name in transcripts.FORMATS if name != "plain"]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(
    st.lists(st.dictionaries(FIELDS, anything, max_size=6) | anything, min_size=1, max_size=3),
    st.sampled_from([None, *FORMATS]),
)
def test_whatever_the_json_is_the_reader_answers(written, records, name):
    reading = transcripts.read(written("a.jsonl", records), format=name)
    for conversation in reading.conversations:
        assert json.loads(conversation.content)["messages"]
    for problem in reading.problems:
        assert str(problem)
