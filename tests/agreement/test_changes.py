"""A second read costs nothing it need not: what is new since the last one, and answers that are the same. All of it is our offer."""

from __future__ import annotations

from agreement.covered import covers, same
from promptlift.service.store import changes, conversations
from support.service_process import wait_until
from support.shapes import differences
from support.shapes.conversations import CONVERSATION_DELETED
from support.wire import SPECIFIED

EVER = "1970-01-01T00:00:00.000Z"


def ids(body):
    return [item["id"] for item in body["data"]]


def test_a_list_since_a_time_has_what_came_and_what_changed_and_says_what_to_ask_next(wire, client):
    prompt_id = wire.add_prompt()
    first, second = wire.log(prompt_id), wire.log(prompt_id)
    wire.wait_for_insights(prompt_id)
    plain = wire.get("/conversations")
    whole = wire.get(f"/conversations?updatedSince={EVER}")
    assert {**plain, "asOf": whole["asOf"]} == whole
    nothing = wire.get(f"/conversations?updatedSince={whole['asOf']}")
    assert nothing == {
        "data": [],
        "pagination": {"total": 0, "limit": 20, "offset": 0},
        "asOf": whole["asOf"],
    }
    wire.ask("PATCH", f"/conversations/{first}", {"title": "Another"})
    third = wire.log(prompt_id)
    news = wire.get(f"/conversations?updatedSince={whole['asOf']}&limit=1")
    assert (ids(news), news["pagination"]["total"]) == ([third], 2)
    rest = wire.get(f"/conversations?updatedSince={whole['asOf']}&limit=1&offset=1")
    assert ids(rest) == [first]
    wire.wait_for_insights(prompt_id)
    judged = client.conversations.list(updated_since=news["asOf"])
    assert [one.id for one in judged.data] == [third]
    assert client.conversations.list(updated_since=judged.as_of).data == []
    assert second in ids(plain)


def test_insights_that_must_say_less_now_are_all_read_again(wire):
    prompt_id = wire.add_prompt()
    ids_of_all = [wire.log(prompt_id), wire.log(prompt_id)][::-1]
    wire.wait_for_insights(prompt_id)
    since = wire.get(f"/conversations?updatedSince={EVER}")["asOf"]
    for value, found in (("passwords", ids_of_all), ("passwords", [])):
        wire.ask("PATCH", "/settings", {"general": {"excludedDataAndTopics": value}})
        body = wire.get(f"/conversations?updatedSince={since}&includeInsights=true")
        assert ids(body) == found
        assert wire.get(f"/conversations?updatedSince={since}")["data"] == []
        since = body["asOf"]


@covers("GET /conversations/deleted")
def test_deleted_conversations_are_listed(wire, client, database):
    prompt_id = wire.add_prompt()
    one = wire.log(prompt_id)
    as_of = wire.get(f"/conversations?updatedSince={EVER}")["asOf"]
    assert wire.get("/conversations/deleted")["data"] == []
    with database.write() as connection:
        changes.note_deleted(connection, [conversations.find(connection, wire.account, one)])
    body = wire.get(f"/conversations/deleted?deletedSince={as_of}&{wire.scheme.link}={prompt_id}")
    assert ids(body) == [one]
    assert differences(body["data"][0], CONVERSATION_DELETED) == []
    found = client.conversations.deleted(deleted_since=as_of)
    assert same(found.data[0], body["data"][0])
    assert client.conversations.deleted(deleted_since=found.as_of).data == []
    assert wire.get("/conversations/deleted?promptId=prm_other")["data"] == []


def test_an_answer_that_the_client_has_is_not_sent_again(new_account):
    for path in [row[4:] for row in SPECIFIED if row.startswith("GET ") and "{id}" not in row]:
        wire = new_account()
        first = wire.ask("GET", path)
        tag = first.headers["etag"]
        for given in (tag, f"W/{tag}", f'"other", {tag}', "*"):
            again = wire.ask("GET", path, headers={"If-None-Match": given})
            assert (again.status, again.raw, again.headers["etag"]) == (304, b"", tag)
        assert wire.ask("GET", path, headers={"If-None-Match": '"other"'}).body == first.body


def test_what_changed_has_another_tag(new_account):
    wire = new_account()
    prompt_id = wire.add_prompt()
    tag = wire.ask("GET", "/conversations").headers["etag"]
    known = {"If-None-Match": tag}
    assert wire.ask("GET", "/conversations", headers=known).status == 304
    one = wire.log(prompt_id)
    wait_until(lambda: wire.get(f"/conversations/{one}")["hasInsights"], what="judged")
    assert wire.ask("GET", "/conversations", headers=known).status == 200
    # A refusal has no tag, and asking for what is not there is no second read.
    missing = wire.ask("GET", "/conversations/none", headers={"If-None-Match": "*"})
    assert (missing.status, "etag" in missing.headers) == (404, False)
