"""Every endpoint: the wire has exactly the fields of the specification, and the client gives the same values."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from agreement.covered import both, both_schemes, covers, same
from support import shapes
from support.service_process import wait_until
from support.shapes import differences
from support.shapes.conversations import CONVERSATION, CONVERSATION_CREATED, CONVERSATION_LISTED, INSIGHTS
from support.shapes.prompts import (
    AGENT_INSIGHTS_VIEW,
    INSIGHTS_VIEW,
    PROMPT,
    PROMPT_CREATED,
    PROMPT_LISTED,
    PROMPT_UPDATED,
    STATUS_VIEW,
)

pytestmark = both_schemes
HAPPY = "User: How do I reset my password?\nAssistant: Click on Forgot password.\nUser: Great, that worked, thank you!"
ANGRY = "User: This is terrible, it never works!\nAssistant: I cannot help with that.\nUser: Awful. I want a human."


@pytest.fixture
def root(wire):
    return f"/{wire.scheme.segment}"


@pytest.fixture
def judged(wire):
    """A prompt with three conversations that have insights, and their ids."""
    prompt_id = wire.add_prompt(objective="Solve the customer's problem.")
    start = datetime.now(UTC) - timedelta(days=2)
    timed = {
        "messages": [
            {"role": "user", "content": "Where is my order?", "timestamp": start.isoformat()},
            {
                "role": "assistant",
                "content": "It arrives today.",
                "timestamp": (start + timedelta(seconds=4)).isoformat(),
            },
        ]
    }
    ids = [
        wire.log(prompt_id, HAPPY),
        wire.log(prompt_id, ANGRY, status="abandoned"),
        wire.log(prompt_id, json.dumps(timed), llmModel="my-own-model", companyName="Ümlaut GmbH"),
    ]
    wire.wait_for_insights(prompt_id)
    return prompt_id, ids


@covers(*both("POST", ""))
def test_create_prompt(wire, client, root):
    sent = {
        "name": "Support ☎",
        "content": "You are\nkind.",
        "llmModel": "gpt-4o",
        "description": "d",
        "tags": ["a", "b c"],
        "temperature": 0.5,
        "maxTokens": 100,
        "objective": "o",
    }
    answer = wire.ask("POST", root, sent)
    assert answer.status == 201
    assert differences(answer.body, PROMPT_CREATED) == []
    assert answer.body["status"] == "active"
    kept = wire.get(f"{root}/{answer.body['id']}")
    assert {**kept, **sent} == kept

    created = client.prompts.create(
        name="Support ☎",
        content="You are\nkind.",
        llm_model="gpt-4o",
        description="d",
        tags=["a", "b c"],
        temperature=0.5,
        max_tokens=100,
        objective="o",
    )
    assert set(created.to_wire()) == set(answer.body)
    again = wire.get(f"{root}/{created.id}")
    for name in ("id", "createdAt", "updatedAt"):
        again.pop(name), kept.pop(name)
    assert again == kept


@covers(*both("GET", ""))
def test_list_prompts(wire, client, root):
    ids = [wire.add_prompt(tags=[f"t{n % 2}"], description=f"d{n}") for n in range(3)]
    body = wire.get(root)
    assert differences(body["pagination"], shapes.PAGINATION) == []
    assert set(body) == {"data", "pagination"}
    assert [item["id"] for item in body["data"]] == ids[::-1]
    for item in body["data"]:
        assert differences(item, PROMPT_LISTED) == []
    assert body["pagination"] == {"total": 3, "limit": 20, "offset": 0}
    assert same(client.prompts.list(), body)
    tagged = wire.get(f"{root}?tags=t0,none&limit=1&offset=1&status=active")
    assert [item["id"] for item in tagged["data"]] == [ids[0]]
    assert tagged["pagination"] == {"total": 2, "limit": 1, "offset": 1}
    assert same(client.prompts.list(tags=["t0", "none"], limit=1, offset=1, status="active"), tagged)


@covers(*both("GET", ""))
def test_list_prompts_with_their_completion(wire, client, root, judged):
    """Beyond the specification; over all time and by week, the same weeks for all prompts of a page."""
    prompt_id, _ = judged
    empty = wire.add_prompt()
    body = wire.get(f"{root}?includeCompletion=true")
    assert [item["id"] for item in body["data"]] == [empty, prompt_id]
    for item in body["data"]:
        assert differences(item, PROMPT_LISTED) == []
    assert same(client.prompts.list(include_completion=True), body)
    nothing, some = (item["completion"] for item in body["data"])
    status = wire.get(f"{root}/{prompt_id}/status") if wire.scheme.name == "prompt" else None
    assert (some["conversations"], some["withInsights"], some["judged"]) == (3, 3, 3)
    assert some["rate"] == pytest.approx(100 * some["completed"] / 3)
    assert status is None or some["rate"] == status["metrics"]["taskCompletionRate"]
    assert some["rateLow"] < some["rate"] < some["rateHigh"]
    assert (some["basis"], nothing["basis"]) == ("words", None)
    assert [week["from"] for week in some["weeks"]] == [week["from"] for week in nothing["weeks"]]
    assert len(some["weeks"]) == 8
    assert [week["judged"] for week in some["weeks"]] == [0] * 7 + [3]
    assert some["weeks"][-1]["completed"] == some["completed"]
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    ends = datetime.fromisoformat(some["weeks"][-1]["from"]) + timedelta(days=7)
    assert ends - today in (timedelta(days=1), timedelta(0))  # the day may have changed meanwhile
    assert (nothing["rate"], nothing["judged"], nothing["rateLow"]) == (None, 0, None)
    assert all("completion" not in item for item in wire.get(root)["data"])


@covers(*both("GET", "/{id}"))
def test_get_prompt(wire, client, root):
    for fields in (
        {},
        {"tags": ["x"], "temperature": 2, "maxTokens": 1, "objective": "o", "description": "d"},
    ):
        prompt_id = wire.add_prompt(**fields)
        body = wire.get(f"{root}/{prompt_id}")
        assert differences(body, PROMPT) == []
        assert {**body, **fields} == body
        assert same(client.prompts.get(prompt_id), body)
    # A prompt is the same under both names.
    assert wire.get(f"/prompts/{prompt_id}") == wire.get(f"/agents/{prompt_id}")
    assert wire.get("/prompts")["data"] == wire.get("/agents")["data"]


@covers(*both("PATCH", "/{id}"))
def test_update_prompt(wire, client, root):
    prompt_id = wire.add_prompt(tags=["x"], temperature=1, description="d")
    before = wire.get(f"{root}/{prompt_id}")
    answer = wire.ask("PATCH", f"{root}/{prompt_id}", {"name": "New", "temperature": None, "status": "draft"})
    assert answer.status == 200
    assert differences(answer.body, PROMPT_UPDATED) == []
    after = wire.get(f"{root}/{prompt_id}")
    assert after == {
        **before,
        "name": "New",
        "temperature": None,
        "status": "draft",
        "updatedAt": answer.body["updatedAt"],
    }
    changed = client.prompts.update(prompt_id, content="Other", tags=[], llm_model="gpt-4o-mini")
    assert set(changed.to_wire()) == set(answer.body)
    again = wire.get(f"{root}/{prompt_id}")
    assert {name for name in again if again[name] != after[name]} <= {
        "content",
        "tags",
        "llmModel",
        "updatedAt",
    }
    assert (again["content"], again["tags"], again["llmModel"]) == ("Other", [], "gpt-4o-mini")
    assert changed.content == "Other"


@covers(*both("DELETE", "/{id}"))
def test_delete_prompt(wire, client, root):
    first, second = wire.add_prompt(), wire.add_prompt()
    conversation = wire.log(first)
    answer = wire.ask("DELETE", f"{root}/{first}")
    assert answer.status == 200
    assert differences(answer.body, shapes.DONE) == []
    assert answer.body == {"success": True, "message": f"{wire.scheme.noun} deleted"}
    assert wire.ask("GET", f"{root}/{first}").status == 404
    assert wire.get(f"/conversations/{conversation}")["promptId"] == first
    done = client.prompts.delete(second)
    assert done.to_wire() == answer.body
    assert wire.get(root)["data"] == []


@covers(*both("GET", "/{id}/status"))
def test_prompt_status(wire, client, root, judged):
    prompt_id, _ = judged
    body = wire.get(f"{root}/{prompt_id}/status")
    assert differences(body, STATUS_VIEW) == []
    assert body["id"] == prompt_id
    assert body["metrics"]["conversationCount"] == 3
    assert 0 <= body["metrics"]["taskCompletionRate"] <= 100
    assert -1 <= body["metrics"]["avgSentiment"] <= 1
    assert same(client.prompts.status(prompt_id), body)


@covers(*both("GET", "/{id}/insights"))
def test_prompt_insights(wire, client, root, judged):
    for query, days in [("", 30), ("?days=7", 7), ("?days=90", 90), ("?days=all", None)]:
        prompt_id, ids = judged
        body = wire.get(f"{root}/{prompt_id}/insights{query}")
        shape = INSIGHTS_VIEW if wire.scheme.name == "prompt" else AGENT_INSIGHTS_VIEW
        assert differences(body, shape) == []
        assert body[wire.scheme.link] == prompt_id
        # "all" begins with the first conversation, which started a little more than two days ago.
        assert body["period"]["days"] == (3 if days is None else days)
        assert body["summary"] == {
            "totalConversations": 3,
            "completedConversations": 2,
            "abandonedConversations": 1,
            "completionRate": pytest.approx(200 / 3),
        }
        judged_views = [wire.get(f"/conversations/{one}/insights") for one in ids]
        metrics = body["metrics"]
        completed = [view["taskCompleted"] for view in judged_views]
        assert metrics["taskCompletion"]["rate"] == pytest.approx(100 * sum(completed) / 3)
        assert metrics["sentiment"]["average"] == pytest.approx(
            sum(v["sentimentScore"] for v in judged_views) / 3
        )
        assert metrics["sentiment"]["distribution"] == {
            name: sum(view["sentiment"] == name for view in judged_views)
            for name in ("positive", "neutral", "negative")
        }
        assert metrics["avgResponseTime"] == pytest.approx(4.0)
        assert metrics["avgConversationLength"] == pytest.approx(8 / 3)
        typed = client.prompts.insights(prompt_id, days="all" if days is None else days)
        expected = wire.get(f"{root}/{prompt_id}/insights{query}")
        assert typed.prompt_id == prompt_id
        got = typed.to_wire()
        for view in (got, expected):
            view.pop("period")
            view.pop("promptId", None), view.pop("agentId", None)
        assert got == expected


@covers(*both("POST", "/{id}/insights/regenerate"), "POST /conversations/{id}/insights/regenerate")
def test_regenerate_insights(wire, client, root, judged):
    prompt_id, ids = judged
    for path, again, some in (
        (f"{root}/{prompt_id}", lambda: client.agents.regenerate_insights(prompt_id), ids),
        (f"/conversations/{ids[0]}", lambda: client.conversations.regenerate_insights(ids[0]), ids[:1]),
    ):
        before = {one: wire.get(f"/conversations/{one}/insights")["createdAt"] for one in some}
        answer = wire.ask("POST", f"{path}/insights/regenerate")
        assert answer.status == 200
        assert (answer.body["success"], answer.body["queued"]) == (True, len(some))
        wait_until(
            lambda before=before: all(
                wire.get(f"/conversations/{one}/insights")["createdAt"] > seen for one, seen in before.items()
            ),
            what="new insights",
        )
        assert again().to_wire() == answer.body


@covers(*both("GET", "/{id}/step-failures"))
def test_step_failures(wire, client, root, judged):
    prompt_id, ids = judged
    body = wire.get(f"{root}/{prompt_id}/step-failures")
    assert body["period"]["days"] == 30
    assert [(one["turn"], one["reached"]) for one in body["turns"]] == [(1, 3), (2, 2)]
    assert body["conversations"] == body["analysed"] == 3
    failed = sum(not wire.get(f"/conversations/{one}/insights")["taskCompleted"] for one in ids)
    assert body["totalFailures"] == failed
    for part in ("steps", "turns"):
        assert sum(one["failures"] for one in body[part]) == failed
    reached = [wire.get(f"/conversations/{one}/insights")["steps"] for one in ids]
    for step in body["steps"]:
        assert step["reached"] == sum(step["step"] in steps for steps in reached)
    typed = client.agents.step_failures(prompt_id)
    assert typed.prompt_id == prompt_id
    assert typed.to_wire()["steps"] == body["steps"]


@covers("POST /conversations")
def test_create_conversation(wire, client):
    prompt_id = wire.add_prompt()
    link = wire.scheme.link
    sent = {
        link: prompt_id,
        "content": HAPPY,
        "status": "in_progress",
        "llmModel": "anything at all",
        "companyName": "Ümlaut",
        "idempotencyKey": "k1",
    }
    answer = wire.ask("POST", "/conversations", sent)
    assert answer.status == 201
    assert differences(answer.body, {**CONVERSATION_CREATED, link: shapes.text}) == []
    assert set(answer.body) == {"id", link, "status", "createdAt"}
    assert (answer.body[link], answer.body["status"]) == (prompt_id, "in_progress")
    again = wire.ask("POST", "/conversations", sent)
    assert (again.status, again.body) == (200, answer.body)
    kept = wire.get(f"/conversations/{answer.body['id']}")
    assert {**kept, **sent} == kept
    created = client.conversations.create(
        prompt_id=prompt_id,
        content=HAPPY,
        status="in_progress",
        llm_model="anything at all",
        company_name="Ümlaut",
        idempotency_key="k1",
    )
    assert same(created, answer.body)
    plain = wire.ask("POST", "/conversations", {link: prompt_id, "content": HAPPY})
    assert plain.body["status"] == "completed"


@covers("GET /conversations")
def test_list_conversations(wire, client, judged):
    prompt_id, ids = judged
    waiting = wire.add_prompt()
    link = wire.scheme.link
    body = wire.get("/conversations")
    assert set(body) == {"data", "pagination"}
    assert differences(body["pagination"], shapes.PAGINATION) == []
    for item in body["data"]:
        assert differences(item, CONVERSATION_LISTED) == []
        assert not {"content", "insights"} & set(item)
    assert [item["id"] for item in body["data"]] == ids[::-1]
    assert body["pagination"] == {"total": 3, "limit": 20, "offset": 0}
    assert same(client.conversations.list(), body)
    wanted = wire.get(f"/conversations?{link}={prompt_id}&status=abandoned&hasInsights=true&limit=5&offset=0")
    assert [item["id"] for item in wanted["data"]] == [ids[1]]
    assert wanted["pagination"] == {"total": 1, "limit": 5, "offset": 0}
    typed = client.conversations.list(
        prompt_id=prompt_id, status="abandoned", has_insights=True, limit=5, offset=0
    )
    assert same(typed, wanted)
    assert wire.get(f"/conversations?{link}={waiting}")["data"] == []
    assert wire.get("/conversations?hasInsights=false")["data"] == []
    body = wire.get("/conversations?includeInsights=true&includeContent=true")
    for item in body["data"]:
        assert differences(item, CONVERSATION) == []
        assert item["insights"] == wire.get(f"/conversations/{item['id']}/insights")
    assert body["data"][2]["content"] == HAPPY
    assert same(client.conversations.list(include_insights=True, include_content=True), body)


@covers("GET /conversations/{id}", "GET /conversations/{id}/insights")
def test_get_conversation(wire, client, judged):
    prompt_id, ids = judged
    for one, content in zip(ids, (HAPPY, ANGRY), strict=False):
        body = wire.get(f"/conversations/{one}")
        assert differences(body, CONVERSATION) == []
        assert (body["promptId"], body["agentId"]) == (prompt_id, prompt_id)
        assert body["content"] == content
        assert body["insights"]["conversationId"] == one
        assert same(client.conversations.get(one), body)
        assert wire.get(f"/conversations/{one}?includeInsights=true") == body
        without = wire.get(f"/conversations/{one}?includeInsights=false")
        assert without == {name: value for name, value in body.items() if name != "insights"}
        assert same(client.conversations.get(one, include_insights=False), without)
    timed, untimed = wire.get(f"/conversations/{ids[2]}"), wire.get(f"/conversations/{ids[0]}")
    sent = [message["timestamp"] for message in json.loads(timed["content"])["messages"]]
    assert [timed["startedAt"][:23], timed["endedAt"][:23]] == [moment[:23] for moment in sent]
    assert untimed["startedAt"] == untimed["endedAt"] == untimed["createdAt"]
    late = {"messages": [{"role": "user", "content": "Hi", "timestamp": "2099-01-01T00:00:00Z"}]}
    ahead = wire.get(f"/conversations/{wire.log(prompt_id, json.dumps(late))}")
    assert ahead["startedAt"] == ahead["endedAt"] == ahead["createdAt"]
    for one in ids:
        body = wire.get(f"/conversations/{one}/insights")
        assert differences(body, INSIGHTS) == []
        assert body["conversationId"] == one
        assert -1 <= body["sentimentScore"] <= 1
        assert 0 <= body["quality"] <= 100
        assert body["analyser"] == "lexicon"
        assert same(client.conversations.insights(one), body)
