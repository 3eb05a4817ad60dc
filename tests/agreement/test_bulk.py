"""Many conversations with one request: each as if it were logged alone, all of them or none when it is cut. It is our offer."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
from urllib.parse import urlsplit

from agreement.covered import both_schemes, covers, same
from promptlift.schema import limits
from promptlift.service import clock
from promptlift.service.store import conversations

PATH = "/conversations/bulk"
GZIP = {"Content-Encoding": "gzip"}
LINES = {"Content-Type": "application/x-ndjson"}


def rows(wire, prompt_id, count=3, **fields):
    return [
        {wire.scheme.link: prompt_id, "content": f"User: {n}", "idempotencyKey": f"k{n}", **fields}
        for n in range(count)
    ]


def total(wire):
    return wire.get("/conversations")["pagination"]["total"]


@both_schemes
@covers("POST /conversations/bulk")
def test_log_many_conversations(wire, client):
    prompt_id = wire.add_prompt()
    answer = wire.ask("POST", PATH, {"conversations": rows(wire, prompt_id, status="abandoned")})
    assert answer.status == 200
    for index, row in enumerate(answer.body["data"]):
        assert (row["index"], row["created"], row["status"]) == (index, True, "abandoned")
        assert wire.get(f"/conversations/{row['id']}")["content"] == f"User: {index}"
    assert [one["type"] for one in wire.get("/events?type=conversation.created")["data"]] == [
        "conversation.created"
    ] * 3
    found = client.conversations.log_many(
        [{"content": f"User: {n}", "idempotency_key": f"k{n}"} for n in range(3)], prompt_id=prompt_id
    )
    assert same(found, {"data": [{**row, "created": False} for row in answer.body["data"]]})
    more = client.conversations.log_many(
        [{"content": "User: x"}] * (limits.BULK_ROWS + 1), prompt_id=prompt_id
    )
    assert [row.index for row in more.data] == list(range(limits.BULK_ROWS + 1))
    assert len({row.id for row in more.data}) == limits.BULK_ROWS + 1
    assert total(wire) == wire.get("/usage")["conversations"]["used"] == limits.BULK_ROWS + 4


def test_each_is_refused_with_the_words_of_a_single_request_and_the_others_are_kept(wire):
    prompt_id = wire.add_prompt()
    good = rows(wire, prompt_id, 1)[0]
    bad = [
        {**good, wire.scheme.link: "prm_none"},
        {name: value for name, value in good.items() if name != wire.scheme.link},
        {wire.scheme.link: prompt_id},
        {**good, "status": "gone"},
        {**good, "content": "no labels"},
        {**good, "content": "User: " + "x" * limits.CONTENT_BYTES},
        {**good, "idempotencyKey": ""},
        {"promptId": prompt_id, "agentId": "prm_other", "content": "User: hi"},
        7,
        None,
    ]
    for number, one in enumerate(bad):
        if isinstance(one, dict) and one.get("idempotencyKey"):
            one["idempotencyKey"] = f"bad{number}"
    answer = wire.ask("POST", PATH, {"conversations": [*bad, good]})
    assert answer.status == 200
    *refused, kept = answer.body["data"]
    assert kept["created"]
    for one, row in zip(bad[:-2], refused[:-2], strict=True):
        alone = wire.ask("POST", "/conversations", one)
        assert (row["error"], row["created"]) == (alone.error, False)
    assert [row["error"]["details"] for row in refused[-2:]] == [{"body": "must be an object"}] * 2
    assert total(wire) == 1


def test_the_same_key_is_one_conversation_in_one_request_and_in_several(wire):
    prompt_id = wire.add_prompt()
    alone = wire.log(prompt_id, idempotencyKey="k1")
    body = {"conversations": [*rows(wire, prompt_id), *rows(wire, prompt_id)]}
    first, second = (wire.ask("POST", PATH, body).body["data"] for _ in range(2))
    assert [row["created"] for row in first] == [True, False, True, False, False, False]
    assert first[1]["id"] == alone
    assert [row["id"] for row in first[:3]] == [row["id"] for row in first[3:]]
    assert second == [{**row, "created": False} for row in first]
    assert total(wire) == 3


def test_a_former_state_is_replaced_and_a_key_outlives_its_24_hours(new_account, database):
    wire = new_account()
    prompt_id = wire.add_prompt()

    def log(*contents, **fields):
        body = [{"promptId": prompt_id, "sourceId": "s", "content": one, **fields} for one in contents]
        rows = wire.ask("POST", PATH, {"conversations": body}).body["data"]
        return [(row["created"], row["updated"], row["status"]) for row in rows]

    assert log("User: a", status="in_progress", idempotencyKey="k") == [(True, False, "in_progress")]
    made = wire.get("/conversations")["data"][0]["id"]
    assert log("User: a", status="completed", idempotencyKey="k") == [(False, True, "completed")]
    # States of one conversation in one request follow each other; another conversation with its id is added.
    states = ("User: a\nAssistant: b", "User: a", "User: a\nAssistant: b\nUser: c", "User: other")
    assert [row[:2] for row in log(*states)] == [(False, True), (False, False), (False, True), (True, False)]
    assert wire.get(f"/conversations/{made}")["content"] == states[2]
    with database.write() as connection:
        conversations.drop_expired_keys(connection, now=clock.now() + 365 * clock.DAY)
    assert log("User: a", status="completed", idempotencyKey="k") == [(False, False, "completed")]
    assert total(wire) == 2


def test_the_quota_takes_what_fits(new_account):
    wire = new_account(plan="free")
    prompt_id = wire.add_prompt()
    made = [one | {"idempotencyKey": f"q{n}"} for n, one in enumerate(rows(wire, prompt_id, 499))]
    assert all(row["created"] for row in wire.ask("POST", PATH, {"conversations": made}).body["data"])
    again = wire.ask("POST", PATH, {"conversations": [*rows(wire, prompt_id, 3), made[0]]}).body["data"]
    assert [row["created"] for row in again] == [True, False, False, False]
    assert [row["error"] and row["error"]["code"] for row in again] == [
        None,
        "LIMIT_EXCEEDED",
        "LIMIT_EXCEEDED",
        None,
    ]
    assert again[1]["error"]["details"]["limit"] == again[1]["error"]["details"]["used"] == 500


def test_a_body_may_be_lines_and_may_be_compressed(new_account):
    for packed in [False, True]:
        for in_lines in [False, True]:
            wire = new_account()
            made = rows(wire, wire.add_prompt())
            text = (
                "\n".join(map(json.dumps, made)) + "\n\n" if in_lines else json.dumps({"conversations": made})
            )
            raw = gzip.compress(text.encode()) if packed else text.encode()
            headers = {**(GZIP if packed else {}), **(LINES if in_lines else {})}
            answer = wire.ask("POST", PATH, raw=raw, headers=headers)
            assert [row["created"] for row in answer.body["data"]] == [True] * 3
    # Of lines that were cut, the whole ones are kept.
    wire = new_account()
    text = "\n".join(map(json.dumps, rows(wire, wire.add_prompt())))
    *kept, cut = wire.ask("POST", PATH, raw=text[:-5].encode(), headers=LINES).body["data"]
    assert [row["created"] for row in kept] == [True, True]
    assert cut["error"]["details"] == {"body": "is not valid JSON"}


def test_a_body_that_is_none_is_refused_as_a_whole(new_account):
    for raw, headers, status in (
        (gzip.compress(b'{"conversations": []}', mtime=0)[:-6], GZIP, 400),
        (2 * gzip.compress(b'{"conversations": []}', mtime=0), GZIP, 400),
        (b"plain", GZIP, 400),
        (b"{}", {"Content-Encoding": "br"}, 415),
        (gzip.compress(bytes(limits.BULK_BODY_BYTES + 1), mtime=0), GZIP, 413),
        (bytes(limits.BULK_BODY_BYTES + 1), {}, 413),
        (json.dumps({"conversations": [{}] * (limits.BULK_ROWS + 1)}).encode(), {}, 400),
        (b'{"conversations": {}}', {}, 400),
        (b"[]", {}, 400),
        (b"{}", {}, 400),
        (b"", {}, 400),
        (b"{}", {"Content-Type": "text/csv"}, 415),
    ):
        wire = new_account()
        assert wire.ask("POST", PATH, raw=raw, headers=headers).status == status
        assert wire.ask("POST", PATH, {"conversations": []}).body == {"data": []}


def test_a_request_that_is_cut_off_keeps_nothing_and_comes_again_whole(new_account):
    wire = new_account()
    body = json.dumps({"conversations": rows(wire, wire.add_prompt(), 40)}).encode()
    parts = urlsplit(wire.base_url)
    for cut in (1, len(body) // 2, len(body) - 1):
        with socket.create_connection((parts.hostname, parts.port)) as sent:
            sent.sendall(
                f"POST {parts.path}{PATH} HTTP/1.1\r\nHost: {parts.netloc}\r\nAuthorization: Bearer {wire.key}\r\n"
                f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body[:cut]
            )
            sent.shutdown(socket.SHUT_WR)
            while sent.recv(4096):
                pass
    assert total(wire) == 0
    # Sent whole, and its answer is lost.
    connection = http.client.HTTPConnection(parts.netloc)
    connection.request("POST", parts.path + PATH, body, {"Authorization": f"Bearer {wire.key}"})
    connection.sock.shutdown(socket.SHUT_RD)
    connection.close()
    again = wire.ask("POST", PATH, raw=body).body["data"]
    assert all(row["error"] is None for row in again)
    assert total(wire) == 40
