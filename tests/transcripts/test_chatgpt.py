from __future__ import annotations

import json

from promptlift import transcripts


def node(name, parent, role=None, text="", kind="text", **fields):
    if role is None:
        return name, {"id": name, "parent": parent, "message": None}
    parts = {"parts": text} if isinstance(text, list) else {"parts": [text]}
    content = {"content_type": kind, **(parts if kind in ("text", "multimodal_text") else {"text": text})}
    metadata = {"model_slug": "gpt-x"} if role == "assistant" else {}
    message = {"id": name, "author": {"role": role}, "content": content, "recipient": "all", "weight": 1.0}
    return name, {"id": name, "parent": parent, "message": message | {"metadata": metadata} | fields}


def export(*nodes, current, **fields):
    return {
        "title": "Parcel",
        "conversation_id": "c-1",
        "mapping": dict(nodes),
        "current_node": current,
    } | fields


def test_the_branch_that_was_shown_is_the_conversation(written, said):
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "f"}
    data = export(
        node("root", None),
        node("s", "root", "system", "", metadata={"is_visually_hidden_from_conversation": True}),
        node("u", "s", "user", "Hi", create_time=1764684257.205804),
        node("old", "u", "assistant", "First try"),
        node("old2", "old", "user", "No!"),
        node("new", "u", "assistant", "Hello"),
        node("think", "new", "assistant", "hm", kind="thoughts"),
        node("call", "think", "assistant", '{"q": 1}', kind="code", recipient="find"),
        node("out", "call", "tool", "42", kind="execution_output"),
        node("named", "out", "assistant", "find(2)", kind="code", recipient="find"),
        node("img", "named", "user", [picture, "what is it?"], kind="multimodal_text"),
        node("empty", "img", "assistant", ""),
        current="empty",
        is_archived=False,
        plugin_ids=None,
    )
    reading = transcripts.read(written("conversations.json", [data]))
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
    assert [one.get("model") for one in content["messages"][:2]] == [None, "gpt-x"]
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
    assert reading.notes == []


def test_broken_trees_are_problems_and_the_rest_goes_in(written):
    data = [
        export(node("a", "b", "user", "Hi"), node("b", "a", "user", "Ho"), current="a"),
        export(node("u", None, "user", "Hi"), current="u"),
        export(node("u", None, "user", "Hi"), current="gone"),
        export(node("u", None, "ghost", "Hi"), current="u"),
        export(node("root", None), current="root"),
    ]
    reading = transcripts.read(written("a.jsonl", data))
    assert [c.line for c in reading.conversations] == [2]
    assert [(p.line, p.message.split("; known")[0]) for p in reading.problems] == [
        (1, "the mapping has a cycle"),
        (3, "current_node is not in the mapping, so it is not known which branch was shown"),
        (4, "message u has the role 'ghost'"),
        (5, "the conversation has no messages; nothing to import"),
    ]
