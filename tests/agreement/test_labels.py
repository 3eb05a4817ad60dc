"""What people say of conversations: on the wire and through the client. All of it is our offer."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import update

from agreement.covered import covers, same
from promptlift.service.store import conversation_updates
from promptlift.service.store.tables import conversations
from support.hostile import ENCODABLE


def label(conversation_id, **values):
    return {
        "conversationId": conversation_id,
        "question": "task_completed",
        "value": "yes",
        "labeller": "ann",
        **values,
    }


def post(wire, *labels):
    return wire.ask("POST", "/labels", {"labels": list(labels)})


@pytest.fixture
def two(wire):
    """Two conversations of one prompt."""
    prompt_id = wire.add_prompt()
    return [wire.log(prompt_id), wire.log(prompt_id)]


@covers("POST /labels", "GET /labels")
def test_labels_are_kept_and_read(wire, client, two):
    first, second = two
    answer = post(
        wire,
        label(first, chance=0.25, drawId="draw_1", labelledAt="2026-11-01T08:00:00Z"),
        label(second, question="sentiment", value="negative", labeller="ben"),
    )
    assert answer.status == 200
    one, other = answer.body["data"]
    assert (one["chance"], one["drawId"], one["labelledAt"]) == (0.25, "draw_1", "2026-11-01T08:00:00.000Z")
    assert (other["chance"], other["drawId"], other["optimizationId"]) == (None, None, None)
    body = wire.get("/labels")
    assert body["data"] == [other, one]
    assert body["pagination"] == {"total": 2, "limit": 20, "offset": 0}
    assert same(client.labels.list(), body)
    for query, found in (
        ("question=sentiment", [other]), ("labeller=ann", [one]), ("drawId=draw_1", [one]),
        (f"conversationId={second}", [other]), (f"{wire.scheme.link}={one['promptId']}&limit=1&offset=1", [one]),
        ("optimizationId=opt_none", []), (f"{wire.scheme.link}=none", []),
    ):  # fmt: skip
        assert wire.get(f"/labels?{query}")["data"] == found
    made = client.labels.create(
        [{"conversation_id": first, "question": "q", "value": "no", "labeller": "eve"}]
    )
    assert made.data[0].value == "no"


def test_the_same_labels_twice_are_kept_once_and_an_answer_can_be_changed_and_removed(wire, two):
    first, second = two
    body = label(first, chance=0.5, drawId="draw_1"), label(second)
    once, twice = post(wire, *body).body, post(wire, *body).body
    assert once == twice
    assert wire.get("/labels")["pagination"]["total"] == 2
    # What is not said again stays: the chance is one of the draw, not of the answer.
    changed = post(wire, label(first, value="no")).body["data"][0]
    assert (changed["id"], changed["value"], changed["chance"]) == (once["data"][0]["id"], "no", 0.5)
    assert changed["drawId"] == "draw_1"
    assert post(wire, label(first, chance=None)).body["data"][0]["chance"] is None
    for value in (None, "", " "):
        assert post(wire, label(first, value=value)).body == {"data": [None]}
    assert [one["conversationId"] for one in wire.get("/labels")["data"]] == [second]
    # Within one request the last one counts.
    both = post(wire, label(first), label(first, value="no")).body["data"]
    assert both[0] == both[1]
    assert wire.get(f"/labels?conversationId={first}")["data"] == both[:1]


def test_all_labels_are_kept_or_none(wire, two, new_account):
    strange = new_account()
    foreign = strange.log(strange.add_prompt())
    answer = post(wire, label(two[0]), label("cnv_none"), label(foreign))
    assert (answer.status, answer.error["code"]) == (400, "VALIDATION_ERROR")
    assert set(answer.error["details"]) == {"labels[1].conversationId", "labels[2].conversationId"}
    assert wire.get("/labels")["data"] == []
    post(wire, label(two[0]))
    assert strange.get("/labels")["data"] == []


def test_hostile_answers_come_back_as_they_were(new_account):
    wire = new_account()
    one = wire.log(wire.add_prompt())
    for words in (text for text in ENCODABLE if "\x00" not in text and text.strip() and len(text) <= 200):
        kept = post(wire, label(one, question=words, value=words, labeller=words)).body["data"][0]
        assert [kept[name] for name in ("question", "value", "labeller")] == [words] * 3


def test_labels_go_with_their_conversation(new_account, database):
    wire = new_account()
    prompt_id = wire.add_prompt()
    gone, stays = wire.log(prompt_id), wire.log(prompt_id)
    wire.wait_for_insights(prompt_id)
    post(wire, label(gone), label(stays))
    with database.write() as connection:
        # Older than anything, as the operator's clearing finds it.
        connection.execute(update(conversations).filter_by(id=gone).values(started_at=1))
        assert conversation_updates.delete_conversations(connection, before=2, after_seq=0)[0] == 1
    assert [one["conversationId"] for one in wire.get("/labels")["data"]] == [stays]


def test_people_who_label_at_once_lose_nothing(new_account):
    wire = new_account()
    one = wire.log(wire.add_prompt())
    bodies = [label(one, labeller=f"p{number % 4}", question=f"q{number // 4}") for number in range(16)]
    threads = [threading.Thread(target=post, args=(wire, body)) for body in bodies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wire.get("/labels")["pagination"]["total"] == 16
