"""Webhooks, deliveries and events, on the wire and through the client. Their receivers do not exist here."""

from __future__ import annotations

import pytest

from agreement.covered import covers, same
from promptlift.client.reads import events
from promptlift.client.transport import Task
from promptlift.errors import NotFound, ValidationError
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


@covers("POST /webhooks")
def test_create_webhook(wire, client):
    body = add(wire, description="ours ☎")
    assert differences(body, WEBHOOK_CREATED) == []
    assert (body["url"], body["events"], body["status"]) == (
        URL,
        ["conversation.created", "prompt.deleted"],
        "active",
    )
    created = client.webhooks.create(url=URL, events=["prompt.deleted"], description="theirs")
    assert set(created.to_wire()) == set(body)
    assert created.secret not in (None, body["secret"])
    assert created.secret not in repr(created)
    assert len(created.secret) >= 40


@covers("GET /webhooks")
def test_list_webhooks(wire, client):
    first, second = add(wire), add(wire, description="d", events=list(EVENT_KINDS) * 2)
    body = wire.get("/webhooks")
    assert set(body) == {"data"}
    assert [one["id"] for one in body["data"]] == [second["id"], first["id"]]
    for one in body["data"]:
        assert differences(one, WEBHOOK_LISTED) == []
    assert [one["description"] for one in body["data"]] == ["d", None]
    assert body["data"][0]["events"] == list(EVENT_KINDS)
    assert first["secret"] not in str(body)
    assert same(client.webhooks.list(), body)


@covers("DELETE /webhooks/{id}")
def test_delete_webhook(wire, client):
    first, second = add(wire), add(wire)
    answer = wire.ask("DELETE", f"/webhooks/{first['id']}")
    assert (answer.status, answer.body) == (200, {"success": True, "message": "Webhook deleted"})
    assert client.webhooks.delete(second["id"]).to_wire() == answer.body
    assert wire.get("/webhooks") == {"data": []}
    missing = wire.ask("DELETE", f"/webhooks/{first['id']}")
    assert (missing.status, missing.error["code"], missing.error["message"]) == (
        404,
        "NOT_FOUND",
        "Webhook not found",
    )


@covers("POST /webhooks/{id}/test")
def test_test_webhook(wire, client):
    webhook = add(wire)
    answer = wire.ask("POST", f"/webhooks/{webhook['id']}/test")
    assert answer.status == 200
    assert differences(answer.body, WEBHOOK_TESTED) == []
    assert (answer.body["success"], answer.body["statusCode"]) == (False, None)
    assert answer.body["problem"].startswith("No answer: ")
    assert set(client.webhooks.test(webhook["id"]).to_wire()) == set(answer.body)
    assert wire.get(f"/webhooks/{webhook['id']}/deliveries")["data"] == []


@covers("POST /webhooks/{id}/resume")
def test_resume_webhook(wire, client):
    webhook = add(wire)
    answer = wire.ask("POST", f"/webhooks/{webhook['id']}/resume")
    assert (answer.status, answer.body) == (200, wire.get("/webhooks")["data"][0])
    assert same(client.webhooks.resume(webhook["id"]), answer.body)


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
    assert same(client.events.list(), listed_events)
    assert wire.get("/events?type=prompt.updated")["data"] == []
    assert wire.get("/events?type=prompt.deleted&limit=1&offset=1")["data"] == listed_events["data"][1:2]
    assert client.events.list(kind="prompt.deleted", limit=2).pagination.total == 3


@covers("GET /events")
def test_pages_of_events_go_on_where_the_one_before_ended(wire, client, monkeypatch):
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
    # What reads all of them goes by cursor too: 7 in pages of 2, and each once.
    monkeypatch.setattr(events, "_PAGE_ROWS", 2)
    task = Task()
    read = events.read_events(client.transport, kind="prompt.deleted", newest=None, task=task)
    assert (len(read.rows), read.complete, task.requests) == (7, True, 4)
    assert len({row["id"] for row in read.rows}) == 7


def test_a_bad_webhook_is_refused_by_field(wire, client):
    for changes, field in (
        ({"url": "http://hooks.invalid/"}, "url"),
        ({"url": "hooks.invalid"}, "url"),
        ({"url": ""}, "url"),
        ({"url": "https://"}, "url"),
        ({"url": 5}, "url"),
        ({"url": "https://user:pass@hooks.invalid/"}, "url"),
        ({"url": "https://hooks.invalid/ x"}, "url"),
        ({"url": "https://hooks.invalid:99999/"}, "url"),
        ({"url": f"https://hooks.invalid/{'x' * 2_048}"}, "url"),
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "https://localhost/"}, "url"),
        ({"events": []}, "events"),
        ({"events": ["prompt.created"]}, "events[0]"),
        ({"events": "prompt.deleted"}, "events"),
        ({"description": 5}, "description"),
    ):
        body = {"url": URL, "events": ["prompt.deleted"], **changes}
        answer = wire.ask("POST", "/webhooks", body)
        assert (answer.status, answer.error["code"], set(answer.error["details"])) == (
            400,
            "VALIDATION_ERROR",
            {field},
        )
        with pytest.raises(ValidationError):
            client.webhooks.create(**body)
        assert wire.get("/webhooks") == {"data": []}


def test_missing_fields_are_named(wire):
    answer = wire.ask("POST", "/webhooks", {})
    assert answer.error["details"] == {"url": "Required field", "events": "Required field"}


def test_a_list_of_a_kind_that_does_not_exist_is_refused(wire):
    assert set(wire.ask("GET", "/events?type=nothing").error["details"]) == {"type"}


def test_an_account_has_at_most_a_hundred_webhooks(wire):
    for _ in range(100):
        add(wire, url="https://93.184.216.34/")
    answer = wire.ask("POST", "/webhooks", {"url": URL, "events": ["prompt.deleted"]})
    assert (answer.status, answer.error["code"]) == (409, "INVALID_STATE")


def test_tables_of_events_webhooks_and_deliveries(wire):
    import promptlift

    webhook = add(wire)
    with promptlift.connect(wire.base_url, wire.key, progress=False) as lift:
        assert list(lift.events().columns) == [
            "event_id",
            "type",
            "happened_at",
            "prompt_id",
            "conversation_id",
            "optimization_id",
            "data",
            "warnings",
        ]
        prompt_id = wire.add_prompt()
        ids = [wire.log(prompt_id) for _ in range(105)]
        wire.wait_for_insights(prompt_id)
        table = lift.events("conversation.created", newest=None)
        assert table["conversation_id"].tolist() == ids[::-1]
        assert set(table["prompt_id"]) == {prompt_id}
        assert table["data"][0]["conversationId"] == ids[-1]
        assert table.attrs["promptlift"]["complete"]
        few = lift.events(newest=3)
        assert (len(few), few.attrs["promptlift"]["total"], few.attrs["promptlift"]["complete"]) == (
            3,
            210,
            False,
        )
        assert lift.webhooks()["webhook_id"].tolist() == [webhook["id"]]
        assert lift.webhooks.deliveries(webhook["id"])["event_id"].tolist() == table["event_id"].tolist()
        with pytest.raises(NotFound, match="Webhook not found"):
            lift.webhooks.deliveries("none")


def test_watched_events_are_those_that_come(wire, capsys):
    import promptlift

    prompt_id = wire.add_prompt()
    wire.log(prompt_id)
    wire.wait_for_insights(prompt_id)
    came = []
    with promptlift.connect(wire.base_url, wire.key, progress=False) as lift:

        def more(event):
            came.append(event.data["conversationId"])
            if len(came) < 3:
                wire.log(prompt_id)
            elif len(came) == 3:
                raise KeyboardInterrupt

        log_soon(wire, prompt_id)
        table = lift.events.watch(["conversation.created"], seconds=60, every=0.05, on_event=more)
        assert table["conversation_id"].tolist() == came[::-1]
        assert len(came) == 3
        log_soon(wire, prompt_id)
        lift.events.watch(["conversation.created"], seconds=2, every=0.05)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.split()[1] == "conversation.created"


def log_soon(wire, prompt_id):
    import threading

    threading.Timer(0.5, wire.log, [prompt_id]).start()
