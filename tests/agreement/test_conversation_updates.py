"""Conversations that change after they were logged: found by their ids, and updated. All of it is our offer."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from agreement.covered import both, both_schemes, covers, same
from agreement.test_outbox import outbox
from promptlift import errors
from support.service_process import wait_until
from support.shapes import differences
from support.shapes.conversations import CONVERSATION_LISTED

ASKED = "User: How do I reset my password?"
SOLVED = f"{ASKED}\nAssistant: Click on Forgot password.\nUser: Great, that worked, thank you!"


def content_hash(text):
    return hashlib.sha256(text.encode()).hexdigest()


def timed(*seconds):
    start = datetime(2026, 3, 1, 12, tzinfo=UTC)
    messages = [
        {
            "role": ("user", "assistant")[turn % 2],
            "content": f"turn {turn}",
            "timestamp": (start + timedelta(seconds=after)).isoformat(),
        }
        for turn, after in enumerate(seconds)
    ]
    return json.dumps({"messages": messages})


@both_schemes
@covers("PATCH /conversations/{id}")
def test_update_conversation(wire, client):
    prompt_id = wire.add_prompt()
    one = wire.log(prompt_id, timed(0), status="in_progress", sourceId="s-1")
    wire.wait_for_insights(prompt_id)
    before = wire.get(f"/conversations/{one}")
    answer = wire.ask(
        "PATCH", f"/conversations/{one}", {"content": timed(0, 4, 9), "status": "completed", "unknown": 1}
    )
    assert answer.status == 200
    assert differences(answer.body, CONVERSATION_LISTED) == []
    kept = wire.get(f"/conversations/{one}")
    assert kept["content"] == timed(0, 4, 9)
    assert (kept["status"], kept["sourceId"]) == ("completed", "s-1")
    assert kept["startedAt"] == before["startedAt"] == "2026-03-01T12:00:00.000Z"
    assert kept["endedAt"] == "2026-03-01T12:00:09.000Z"
    assert {name: kept[name] for name in ("createdAt", "llmModel", "idempotencyKey")} == {
        name: before[name] for name in ("createdAt", "llmModel", "idempotencyKey")
    }
    wire.wait_for_insights(prompt_id)
    view = wire.get(f"/{wire.scheme.segment}/{prompt_id}/insights?days=all")
    assert view["metrics"]["avgConversationLength"] == 3
    assert view["metrics"]["avgResponseTime"] == 4
    updated = client.conversations.update(one, content=timed(0, 4, 9), status="completed")
    assert same(updated, {**answer.body, "hasInsights": True})


def test_the_insights_of_the_old_text_are_gone_at_once_and_those_of_the_new_one_come(wire, database):
    prompt_id = wire.add_prompt()
    one = wire.log(prompt_id, ASKED)
    wire.wait_for_insights(prompt_id)
    assert wire.get(f"/conversations/{one}/insights")["taskCompleted"] is False
    answer = wire.ask("PATCH", f"/conversations/{one}", {"content": SOLVED})
    assert answer.body["hasInsights"] is False
    wire.wait_for_insights(prompt_id)
    assert wire.get(f"/conversations/{one}/insights")["taskCompleted"] is True
    assert wire.get("/usage")["conversations"]["used"] == 1
    kinds = Counter(kind for kind, *_ in outbox(database, wire))
    assert kinds == {"conversation.created": 1, "insights.generated": 2}


def test_a_new_status_keeps_the_insights_and_an_update_to_what_is_there_changes_nothing(wire):
    prompt_id = wire.add_prompt()
    one = wire.log(prompt_id, SOLVED, status="in_progress")
    wire.wait_for_insights(prompt_id)
    insights = wire.get(f"/conversations/{one}/insights")
    wire.ask("PATCH", f"/conversations/{one}", {"status": "abandoned"})
    kept = wire.get(f"/conversations/{one}")
    assert (kept["status"], kept["hasInsights"], kept["insights"]) == ("abandoned", True, insights)
    for body in ({}, {"content": SOLVED}, {"status": "abandoned"}):
        answer = wire.ask("PATCH", f"/conversations/{one}", body)
        assert (answer.status, answer.body["hasInsights"]) == (200, True)
        assert wire.get(f"/conversations/{one}") == kept


def test_another_content_than_expected_is_not_replaced(wire, client):
    one = wire.log(wire.add_prompt(), ASKED)
    path = f"/conversations/{one}"
    right, wrong = content_hash(ASKED), content_hash("User: else")
    answer = wire.ask("PATCH", path, {"content": SOLVED, "ifContentHash": wrong})
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")
    with pytest.raises(errors.InvalidState):
        client.conversations.update(one, content=SOLVED, if_content_hash=wrong)
    assert wire.get(path)["content"] == ASKED
    # The second is the same request again, whose answer was lost.
    for _ in range(2):
        assert wire.ask("PATCH", path, {"content": SOLVED, "ifContentHash": right}).status == 200
    assert wire.get(path)["content"] == SOLVED


@covers(*both("POST", "/{id}/conversations/lookup"))
def test_lookup_conversations(wire, client):
    prompt_id, other = wire.add_prompt(), wire.add_prompt()
    plain = wire.log(prompt_id, ASKED)
    first = wire.log(prompt_id, ASKED, sourceId="s-1", status="in_progress")
    second = wire.log(prompt_id, SOLVED, sourceId="s-1")
    elsewhere = wire.log(other, ASKED, sourceId="s-1")
    path = f"/{wire.scheme.segment}/{prompt_id}/conversations/lookup"
    body = {"ids": [plain, elsewhere, "cnv_none"], "sourceIds": ["s-1", "s-2"]}
    answer = wire.ask("POST", path, body)
    assert answer.status == 200
    assert answer.body == {
        "data": [
            {"id": second, "sourceId": "s-1", "status": "completed", "contentHash": content_hash(SOLVED)},
            {"id": first, "sourceId": "s-1", "status": "in_progress", "contentHash": content_hash(ASKED)},
            {"id": plain, "sourceId": None, "status": "completed", "contentHash": None},
        ]
    }
    found = client.conversations.lookup(prompt_id, ids=body["ids"], source_ids=body["sourceIds"])
    assert same(found, answer.body)
    assert wire.ask("POST", path, {}).body == {"data": []}


def test_a_source_id_may_be_given_later_and_is_found_then(wire):
    prompt_id = wire.add_prompt()
    one = wire.log(prompt_id, ASKED)
    wire.wait_for_insights(prompt_id)
    assert wire.ask("PATCH", f"/conversations/{one}", {"sourceId": "s-9"}).body["sourceId"] == "s-9"
    path = f"/{wire.scheme.segment}/{prompt_id}/conversations/lookup"
    (found,) = wire.ask("POST", path, {"sourceIds": ["s-9"]}).body["data"]
    assert (found["id"], found["contentHash"]) == (one, content_hash(ASKED))
    wire.ask("PATCH", f"/conversations/{one}", {"content": SOLVED})
    (found,) = wire.ask("POST", path, {"sourceIds": ["s-9"]}).body["data"]
    assert found["contentHash"] == content_hash(SOLVED)


def test_many_updates_of_one_conversation_at_once_leave_one_of_them(wire):
    from concurrent.futures import ThreadPoolExecutor

    prompt_id = wire.add_prompt()
    one = wire.log(prompt_id, ASKED)
    expected = {"content": SOLVED, "ifContentHash": content_hash(ASKED)}

    def update(number):
        body = {**expected, "content": f"{SOLVED}\nAssistant: {number}"}
        return wire.ask("PATCH", f"/conversations/{one}", body).status

    with ThreadPoolExecutor(16) as pool:
        statuses = list(pool.map(update, range(16)))
    assert sorted(statuses) == [200] + [409] * 15
    wait_until(lambda: wire.get(f"/conversations/{one}")["hasInsights"], what="judged anew")
