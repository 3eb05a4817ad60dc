"""Webhooks, deliveries and events, on the wire and through the client. Their receivers do not exist here."""

from __future__ import annotations

import pytest

import promptlift
from agreement.covered import covers, same
from promptlift.errors import NotFound
from promptlift.schema.events import EVENT_KINDS
from support.service_process import wait_until
from support.shapes import differences
from support.shapes.webhooks import DELIVERY, EVENT, WEBHOOK_CREATED, WEBHOOK_LISTED, WEBHOOK_TESTED

URL = "https://hooks.invalid/a?b=c"


@pytest.fixture
def wire(new_account):
    """Webhooks have no scheme of their own."""
    return new_account()


def add(wire, **changes):
    body = {"url": URL, "events": ["conversation.created", "prompt.deleted"], **changes}
    answer = wire.ask("POST", "/webhooks", body)
    assert answer.status == 201, answer
    return answer.body


@covers("POST /webhooks", "GET /webhooks", "DELETE /webhooks/{id}")
@covers("POST /webhooks/{id}/test", "POST /webhooks/{id}/resume")
def test_a_webhook_is_created_listed_tested_and_deleted(wire, client):
    first = add(wire)
    assert differences(first, WEBHOOK_CREATED) == []
    assert (first["url"], first["events"], first["status"]) == (
        URL,
        ["conversation.created", "prompt.deleted"],
        "active",
    )
    second = client.webhooks.create(url=URL, events=list(EVENT_KINDS) * 2, description="theirs ☎")
    assert set(second.to_wire()) == set(first)
    assert second.secret not in (None, first["secret"])
    assert second.secret not in repr(second)
    assert len(second.secret) >= 40
    body = wire.get("/webhooks")
    assert [one["id"] for one in body["data"]] == [second.id, first["id"]]
    for one in body["data"]:
        assert differences(one, WEBHOOK_LISTED) == []
    assert [one["description"] for one in body["data"]] == ["theirs ☎", None]
    assert body["data"][0]["events"] == list(EVENT_KINDS)
    assert first["secret"] not in str(body)
    assert same(client.webhooks.list(), body)

    path = f"/webhooks/{first['id']}"
    tested = wire.ask("POST", f"{path}/test")
    assert tested.status == 200
    assert differences(tested.body, WEBHOOK_TESTED) == []
    assert (tested.body["success"], tested.body["statusCode"]) == (False, None)
    assert tested.body["problem"].startswith("No answer: ")
    assert set(client.webhooks.test(first["id"]).to_wire()) == set(tested.body)
    assert wire.get(f"{path}/deliveries")["data"] == []
    resumed = wire.ask("POST", f"{path}/resume")
    assert (resumed.status, resumed.body) == (200, body["data"][1])
    assert same(client.webhooks.resume(first["id"]), resumed.body)

    deleted = wire.ask("DELETE", path)
    assert (deleted.status, deleted.body) == (200, {"success": True, "message": "Webhook deleted"})
    assert client.webhooks.delete(second.id).to_wire() == deleted.body
    assert wire.get("/webhooks") == {"data": []}
    missing = wire.ask("DELETE", path)
    assert (missing.status, missing.error["code"], missing.error["message"]) == (
        404,
        "NOT_FOUND",
        "Webhook not found",
    )


@covers("GET /webhooks/{id}/deliveries", "GET /events")
def test_deliveries_and_events(wire, client):
    webhook = add(wire)
    add(wire, events=["optimization.started"])
    prompts = [wire.add_prompt() for _ in range(3)]
    for one in prompts:
        wire.ask("DELETE", f"/prompts/{one}")
    path = f"/webhooks/{webhook['id']}/deliveries"
    wait_until(lambda: all(one["attempts"] for one in wire.get(path)["data"]), what="all are attempted")
    listed = wire.get(path)
    assert listed["pagination"] == {"total": 3, "limit": 20, "offset": 0}
    for one in listed["data"]:
        assert differences(one, DELIVERY) == []
        assert (one["status"], one["attempts"], one["eventType"]) == ("pending", 1, "prompt.deleted")
        assert one["problem"].startswith("No answer: ")
        assert one["nextAttemptAt"] > one["attemptedAt"]
    assert same(client.webhooks.deliveries(webhook["id"]), listed)
    assert same(
        client.webhooks.deliveries(webhook["id"], limit=1, offset=2), wire.get(f"{path}?limit=1&offset=2")
    )
    listed_events = wire.get("/events")
    assert [one["data"]["promptId"] for one in listed_events["data"]] == prompts[::-1]
    assert [one["id"] for one in listed_events["data"]] == [one["eventId"] for one in listed["data"]]
    for one in listed_events["data"]:
        assert differences(one, EVENT) == []
        assert set(one["data"]) == {"promptId", "deletedAt"}
    assert same(client.events.list(), listed_events)
    assert wire.get("/events?type=prompt.updated")["data"] == []
    assert wire.get("/events?type=prompt.deleted&limit=1&offset=1")["data"] == listed_events["data"][1:2]
    assert client.events.list(kind="prompt.deleted", limit=2).pagination.total == 3


@covers("GET /events")
def test_pages_of_events_go_on_where_the_one_before_ended(wire, client):
    """Whatever is added above meanwhile: nothing comes twice, and the counted total stays that of the first page."""
    prompts = [wire.add_prompt() for _ in range(5)]
    for one in prompts:
        wire.ask("DELETE", f"/prompts/{one}")
    found, path = [], "/events?type=prompt.deleted&limit=2"
    page = wire.get(path)
    while True:
        assert page["pagination"]["total"] == 5
        found += [one["data"]["promptId"] for one in page["data"]]
        cursor = page["pagination"].get("nextCursor")
        if cursor is None:
            break
        wire.ask("DELETE", f"/prompts/{wire.add_prompt()}")
        assert same(
            client.events.list(kind="prompt.deleted", limit=2, cursor=cursor),
            wire.get(f"{path}&cursor={cursor}"),
        )
        page = wire.get(f"{path}&cursor={cursor}")
    assert found == prompts[::-1]
    for wrong in ("x", "MS4", "LTEuMw", "%C3%A9", ""):
        refused = wire.ask("GET", f"/events?cursor={wrong}")
        assert (refused.status, set(refused.error["details"])) == (400, {"cursor"})


def test_an_account_has_at_most_a_hundred_webhooks(wire):
    for _ in range(100):
        add(wire, url="https://93.184.216.34/")
    answer = wire.ask("POST", "/webhooks", {"url": URL, "events": ["prompt.deleted"]})
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")


def test_tables_of_events_webhooks_and_deliveries(wire):
    webhook = add(wire)
    with promptlift.connect(wire.base_url, wire.key, progress=False) as lift:
        assert {"event_id", "type", "happened_at", "conversation_id"} < set(lift.events().columns)
        prompt_id = wire.add_prompt()
        ids = [wire.log(prompt_id) for _ in range(5)]
        wire.wait_for_insights(prompt_id)
        table = lift.events("conversation.created", newest=None)
        assert table["conversation_id"].tolist() == ids[::-1]
        assert set(table["prompt_id"]) == {prompt_id}
        assert table["data"][0]["conversationId"] == ids[-1]
        assert table.attrs["promptlift"]["complete"]
        few = lift.events(newest=3)
        facts = few.attrs["promptlift"]
        assert (len(few), facts["total"], facts["complete"]) == (3, 10, False)
        assert lift.webhooks()["webhook_id"].tolist() == [webhook["id"]]
        assert lift.webhooks.deliveries(webhook["id"])["event_id"].tolist() == table["event_id"].tolist()
        with pytest.raises(NotFound, match="Webhook not found"):
            lift.webhooks.deliveries("none")
