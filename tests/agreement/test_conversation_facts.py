"""What is known about a conversation beside its content: metadata, title, tokens, cost, latency and tools. Our offer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

TEXT = "User: Where is my order?\nAssistant: On its way.\nUser: Thanks!"
FACTS = {
    "metadata": {"channel": "web", "seats": 5, "trial": False, "score": 0.5, "note": None},
    "title": "Where is my order?",
    "inputTokens": 120,
    "outputTokens": 30,
    "cost": 0.0125,
    "latencyMs": 812.5,
    "toolCalls": 2,
    "toolErrors": 1,
}
UNKNOWN = dict.fromkeys(FACTS)


def facts_of(item):
    return {name: item[name] for name in FACTS}


def message(role, content, after=None, **fields):
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    time = {} if after is None else {"timestamp": (start + timedelta(seconds=after)).isoformat()}
    return {"role": role, "content": content, **time, **fields}


def structured(*messages, **metadata):
    return json.dumps({"messages": list(messages), **({"metadata": metadata} if metadata else {})})


def test_what_is_logged_comes_back_in_the_list_and_the_detail_and_in_the_client(wire, client):
    prompt_id = wire.add_prompt()
    one = wire.log(prompt_id, TEXT, **FACTS)
    plain = wire.log(prompt_id, TEXT)
    listed = {item["id"]: item for item in wire.get(f"/conversations?{wire.scheme.link}={prompt_id}")["data"]}
    assert facts_of(listed[one]) == facts_of(wire.get(f"/conversations/{one}")) == FACTS
    assert facts_of(listed[plain]) == UNKNOWN
    assert listed[one]["messageCount"] == listed[plain]["messageCount"] == 3
    typed = client.conversations.get(one)
    assert (typed.cost, typed.input_tokens, typed.metadata) == (0.0125, 120, FACTS["metadata"])
    created = client.conversations.create(prompt_id=prompt_id, content=TEXT, metadata={"a": 1}, cost=2)
    assert facts_of(wire.get(f"/conversations/{created.id}")) == {**UNKNOWN, "metadata": {"a": 1}, "cost": 2}


def test_an_update_changes_what_it_gives_and_keeps_the_insights(wire):
    prompt_id = wire.add_prompt()
    one = wire.log(prompt_id, TEXT, **FACTS)
    wire.wait_for_insights(prompt_id)
    answer = wire.ask("PATCH", f"/conversations/{one}", {"metadata": {"channel": "app"}, "cost": 1.5})
    assert answer.status == 200
    assert facts_of(answer.body) == {**FACTS, "metadata": {"channel": "app"}, "cost": 1.5}
    assert wire.get(f"/conversations/{one}")["hasInsights"] is True
    refused = wire.ask("PATCH", f"/conversations/{one}", {"cost": None})
    assert (refused.status, list(refused.body["error"]["details"])) == (400, ["cost"])


def test_structured_content_says_what_was_not_given(wire):
    content = structured(
        message("user", "Where is it?", 0, tokens=10),
        message("assistant", '[tool call] find_order({"id": 7})', 2, tokens=20),
        message("system", "[tool result] Error: no such order", 3),
        message("assistant", "[tool call] find_order({})", 3),
        message("system", '[tool result] {"id": 7}', 3),
        message("assistant", "On its way.", 4, tokens=5),
        channel="web",
        user={"plan": "pro"},
        tags=["a", "b"],
        rows=[{"left": "out"}],
        long="x" * 600,
        sourceId="s-1",
    )
    prompt_id = wire.add_prompt()
    found = wire.get(f"/conversations/{wire.log(prompt_id, content)}")
    assert facts_of(found) == {
        **UNKNOWN,
        "metadata": {"channel": "web", "user.plan": "pro", "tags": "a, b", "long": "x" * 499 + "…"},
        "inputTokens": 10,
        "outputTokens": 25,
        "latencyMs": 2000,
        "toolCalls": 2,
        "toolErrors": 1,
    }
    given = wire.get(f"/conversations/{wire.log(prompt_id, content, **FACTS)}")
    assert facts_of(given) == FACTS


def test_a_conversation_that_grows_keeps_what_was_given_and_learns_what_the_new_content_says(wire):
    content = structured(message("user", "Hi", tokens=3), channel="web")
    one = wire.log(wire.add_prompt(), content, metadata={"plan": "pro", "channel": "app"}, cost=1)
    grown = structured(
        message("user", "Hi", tokens=3), message("assistant", "Hello", tokens=4), language="de"
    )
    answer = wire.ask("PATCH", f"/conversations/{one}", {"content": grown})
    assert facts_of(answer.body) == {
        **UNKNOWN,
        "metadata": {"plan": "pro", "channel": "app", "language": "de"},
        "cost": 1,
        "inputTokens": 3,
        "outputTokens": 4,
    }
