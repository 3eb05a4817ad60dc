from __future__ import annotations

import json

from promptlift import transcripts


def node(name, parent, role=None, text="", **fields):
    if role is None:
        return name, {"id": name, "parent": parent, "children": [], "message": None}
    content = fields.pop("content", {"content_type": "text", "parts": [text]})
    metadata = {"model_slug": "gpt-x"} if role == "assistant" else {}
    message = {"id": name, "author": {"role": role}, "content": content, "recipient": "all", "weight": 1.0}
    return name, {
        "id": name,
        "parent": parent,
        "children": [],
        "message": message | {"metadata": metadata, "create_time": None} | fields,
    }


def export(*nodes, current, **fields):
    return [
        {"title": "Parcel", "conversation_id": "c-1", "mapping": dict(nodes), "current_node": current}
        | fields
    ]


def test_the_branch_that_was_shown_is_the_conversation(written, said):
    data = export(
        node("root", None),
        node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        node("u", "s", "user", "Hi", create_time=1764684257.205804),
        node("old", "u", "assistant", "First try"),
        node("old2", "old", "user", "No!"),
        node("new", "u", "assistant", "Hello"),
        node("think", "new", "assistant", content={"content_type": "thoughts", "thoughts": ["hm"]}),
        node(
            "call",
            "think",
            "assistant",
            content={"content_type": "code", "text": '{"q": 1}'},
            recipient="find",
        ),
        node("out", "call", "tool", content={"content_type": "execution_output", "text": "42"}),
        node(
            "named", "out", "assistant", content={"content_type": "code", "text": "find(2)"}, recipient="find"
        ),
        node(
            "img",
            "named",
            "user",
            content={
                "content_type": "multimodal_text",
                "parts": [{"content_type": "image_asset_pointer", "asset_pointer": "f"}, "what is it?"],
            },
        ),
        node("empty", "img", "assistant", ""),
        current="empty",
        is_archived=False,
        plugin_ids=None,
    )
    reading = transcripts.read(written("conversations.json", data))
    (conversation,) = reading.conversations
    assert reading.format == "chatgpt"
    assert said(conversation) == [
        ("user", "Hi"),
        ("assistant", "Hello"),
        ("assistant", '[tool call] find({"q": 1})'),
        ("system", "[tool result] 42"),
        ("assistant", "[tool call] find(2)"),
        ("user", "what is it?"),
    ]
    content = json.loads(conversation.content)
    assert content["messages"][0]["timestamp"] == "2025-12-02T14:04:17.205Z"
    assert content["messages"][1]["model"] == "gpt-x"
    assert "model" not in content["messages"][0]
    assert content["metadata"] == {"title": "Parcel"}
    assert (conversation.source_id, conversation.llm_model) == ("c-1", "gpt-x")
    assert reading.dropped == {
        "mapping[].message (hidden)": 1,
        "mapping[].message (thoughts)": 1,
        "mapping[].message (without text)": 1,
        "mapping[].message.content.parts[] (image_asset_pointer)": 1,
        "mapping[] (abandoned branches)": 2,
        "is_archived": 1,
    }
    assert reading.notes == ["Conversations with abandoned branches, which are not imported: 1."]


def test_broken_trees_are_problems_and_the_rest_goes_in(written):
    good = export(node("u", None, "user", "Hi"), current="u")
    circle = export(node("a", "b", "user", "Hi"), node("b", "a", "user", "Ho"), current="a")
    lost = export(node("u", None, "user", "Hi"), current="gone")
    odd = export(node("u", None, "ghost", "Hi"), current="u")
    nothing = export(node("root", None), current="root")
    reading = transcripts.read(written("a.jsonl", circle + good + lost + odd + nothing))
    assert [c.line for c in reading.conversations] == [2]
    assert [(p.line, p.message.split("; known")[0]) for p in reading.problems] == [
        (1, "the mapping has a cycle"),
        (3, "current_node is not in the mapping, so it is not known which branch was shown"),
        (4, "message u has the role 'ghost'"),
        (5, "the conversation has no messages; nothing to import"),
    ]
