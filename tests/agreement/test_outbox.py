"""Events are written with the change that they tell of, once each, with the payload of the specification."""

from __future__ import annotations

import json
from collections import Counter

from sqlalchemy import select

from promptlift.schema import events as schema
from promptlift.service.store.tables import events


def outbox(database, wire):
    """Kind, subject and payload of every event of an account, in order."""
    with database.read() as connection:
        rows = connection.execute(
            select(events).where(events.c.account_id == wire.account).order_by(events.c.seq)
        ).all()
    assert len({row.id for row in rows}) == len(rows)
    for row in rows:
        wired = {
            "id": row.id,
            "type": row.type,
            "timestamp": "2026-01-01T00:00:00Z",
            "data": json.loads(row.data),
        }
        assert not schema.read(json.dumps(wired)).data.model_extra
    return [(row.type, row.subject_id, json.loads(row.data)) for row in rows]


def test_a_logged_conversation_and_its_insights_are_told_once_each(wire, database):
    prompt_id = wire.add_prompt()
    ids = [wire.log(prompt_id, status="abandoned", idempotencyKey=f"k{n}") for n in range(5)]
    for n in range(5):
        again = {wire.scheme.link: prompt_id, "content": "User: hi", "idempotencyKey": f"k{n}"}
        assert wire.ask("POST", "/conversations", again).status == 200
    wire.wait_for_insights(prompt_id)
    told = outbox(database, wire)
    assert Counter(kind for kind, _, _ in told) == {"conversation.created": 5, "insights.generated": 5}
    for one in ids:
        row = wire.get(f"/conversations/{one}")
        (created,) = [
            data for kind, subject, data in told if (kind, subject) == ("conversation.created", one)
        ]
        assert created == {
            "conversationId": one,
            "promptId": prompt_id,
            "status": "abandoned",
            "createdAt": row["createdAt"],
        }
        (generated,) = [
            data for kind, subject, data in told if (kind, subject) == ("insights.generated", one)
        ]
        assert generated == {
            "conversationId": one,
            "promptId": prompt_id,
            "insightsId": generated["insightsId"],
            "summary": row["insights"]["summary"],
            "sentiment": row["insights"]["sentiment"],
        }
        assert generated["insightsId"].startswith("ins_")


def test_a_changed_text_is_told_and_another_change_is_not(wire, database):
    prompt_id = wire.add_prompt()
    path = f"/{wire.scheme.segment}/{prompt_id}"
    for change in ({"name": "Other"}, {"status": "draft"}, {"content": "You help."}, {}):
        assert wire.ask("PATCH", path, change).status == 200
    assert outbox(database, wire) == []
    answer = wire.ask("PATCH", path, {"content": "You help a lot."})
    assert outbox(database, wire) == [
        (
            "prompt.updated",
            prompt_id,
            {
                "promptId": prompt_id,
                "promptName": "Other",
                "updateType": "manual",
                "appliedAt": answer.body["updatedAt"],
            },
        )
    ]
