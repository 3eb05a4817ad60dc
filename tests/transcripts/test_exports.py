"""The exports of other tools on real conversations: counts against the manifest, texts against the originals."""

from __future__ import annotations

import json
from functools import cache

import pytest

from promptlift import transcripts
from support.shared_data import CONVERSATION_FILES, SHARED, load, needs_shared

pytestmark = needs_shared

EXPORTS = SHARED / "exports"
MANIFEST = json.loads((EXPORTS / "manifest.json").read_text()) if SHARED.is_dir() else {}
TRACES = (
    "langfuse-observations.jsonl",
    "langsmith-runs.jsonl",
    "langsmith-runs.parquet",
    "phoenix-spans.jsonl",
)
TRACES += ("phoenix-spans.parquet",)
FORMAT_OF = {
    "openai": "openai",
    "sharegpt": "sharegpt",
    "chatgpt": "chatgpt",
    "messages": "rows",
    "langfuse-o": "langfuse",
    "langfuse-s": "langfuse-scores",
    "langsmith": "langsmith",
    "phoenix": "phoenix",
}


@cache
def originals():
    return {record["sourceId"]: record for name in CONVERSATION_FILES for record in load(name)}


@cache
def read(name):
    return transcripts.read(EXPORTS / name)


def original(item, *, tools=True):
    turns = [(m["role"], m["content"]) for m in originals()[item["id"]]["messages"]]
    # System messages of the originals are results of tools.
    return turns if tools else [t for t in turns if t[0] != "system" and not t[1].startswith("[tool call]")]


@pytest.mark.parametrize("name", sorted(name for name in MANIFEST if not name.startswith("plain/")))
def test_every_export_has_the_conversations_of_the_manifest(name, said):
    reading = read(name)
    assert reading.problems == []
    assert reading.format == next(known for start, known in FORMAT_OF.items() if name.startswith(start))
    if name == "langfuse-scores.jsonl":
        assert reading.conversations == []
        return
    found = reading.conversations
    assert len(found) == len(MANIFEST[name])
    if found[0].source_id is not None:
        by_id = {conversation.source_id: conversation for conversation in found}
        found = [by_id[item.get("conversation_id", item["id"])] for item in MANIFEST[name]]
    if name not in TRACES and name != "openai-finetune-tools.jsonl":
        # There the manifest counts what the source has, before tool calls are taken apart.
        assert [len(said(c)) for c in found] == [item["messages"] for item in MANIFEST[name]]


@pytest.mark.parametrize("name", ["messages.csv", "messages.parquet"])
@pytest.mark.slow
def test_rows_are_the_originals_with_times_models_and_tokens(name):
    reading = read(name)
    for conversation in reading.conversations:
        source = originals()[conversation.source_id]
        expected = [{k: v for k, v in m.items() if v is not None} for m in source["messages"]]
        assert json.loads(conversation.content)["messages"] == expected
        assert (conversation.status, conversation.llm_model) == (source["status"], source["llmModel"])


@pytest.mark.parametrize(
    ("name", "tools"),
    [("openai-finetune-tools.jsonl", True), ("openai-finetune-simple.jsonl", False), ("sharegpt.json", True)],
)
def test_chats_are_the_originals_after_their_system_prompt(name, tools, said):
    reading = read(name)
    for conversation, item in zip(reading.conversations, MANIFEST[name], strict=True):
        first, *turns = said(conversation)
        assert first[0] == "system"
        assert turns == original(item, tools=tools)


@pytest.mark.parametrize("name", TRACES)
def test_traces_are_the_originals_up_to_the_last_call(name, said):
    by_id = {c.source_id: c for c in read(name).conversations}
    answered = 0
    for item in MANIFEST[name]:
        expected, found = original(item), by_id[item["id"]]
        assert said(found) == expected[: len(expected) - item["notInTrace"]]
        sources = originals()[item["id"]]["messages"]
        for message, source in zip(json.loads(found.content)["messages"], sources, strict=False):
            if "timestamp" in message:
                answered += 1
                for known in ("timestamp", "model", "tokens"):
                    assert message.get(known) == source.get(known)
    assert answered >= 98  # one for every record of the file


def test_plain_texts_are_the_originals(said):
    for name in (name for name in MANIFEST if name.startswith("plain/")):
        (item,) = MANIFEST[name]
        reading = read(name)
        assert (reading.format, reading.problems) == ("plain", [])
        (conversation,) = reading.conversations
        expected = original(item, tools=False)
        if "multiline" not in name:
            # That export writes every turn on one line.
            expected = [(role, " ".join(text.split())) for role, text in expected]
        assert said(conversation) == expected


def test_chatgpt_has_what_users_and_assistants_said(said):
    by_id = {c.source_id: c for c in read("chatgpt-conversations.json").conversations}
    for item in MANIFEST["chatgpt-conversations.json"]:
        found = said(by_id[item["conversation_id"]])
        # That export writes the calls of one reply as one message, and none of a reply that has text too.
        assert [t for t in found if not t[1].startswith("[tool call]")] == [
            t for t in original(item) if not t[1].startswith("[tool call]")
        ]


@pytest.mark.parametrize("name", ["tau2-retail", "uss-sgd"])
@pytest.mark.slow
def test_every_real_conversation_is_read_byte_for_byte(name, said):
    reading = transcripts.read(SHARED / f"{name}.jsonl.gz")
    assert (reading.format, reading.problems) == ("structured", [])
    for conversation, record in zip(reading.conversations, load(name), strict=True):
        assert conversation.source_id == record["sourceId"]
        assert said(conversation) == [(m["role"], m["content"]) for m in record["messages"]]
        assert conversation.status == record["status"]
    assert reading.dropped["truth"] == len(reading.conversations)


def test_conversations_over_a_limit_are_reported_and_those_at_it_go_in():
    reading = transcripts.read(SHARED / "too-large.jsonl.gz")
    expected = [record["metadata"]["expectStatus"] for record in load("too-large")]
    assert [p.line for p in reading.problems] == [
        line for line, s in enumerate(expected, start=1) if s == 413
    ]
    assert [c.line for c in reading.conversations] == [
        line for line, s in enumerate(expected, start=1) if s != 413
    ]
