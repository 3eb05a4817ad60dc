"""Idempotency keys: the same key gives the same conversation, per account, for 24 hours, also in a race."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import select, update

from promptlift.service.store.tables import idempotency_keys

HOURS_24 = 24 * 3600 * 1000


def body(wire, prompt_id, **fields):
    return {wire.scheme.link: prompt_id, "content": "User: hi", "idempotencyKey": "k", **fields}


def test_another_key_or_none_gives_another_conversation(wire):
    prompt_id = wire.add_prompt()
    ids = {
        wire.ask("POST", "/conversations", {**body(wire, prompt_id), "idempotencyKey": key}).body["id"]
        for key in ("k", "K", "k ", "ключ", "x" * 255, None, None)
    }
    assert len(ids) == 7


def test_another_account_may_use_the_same_key(new_account):
    answers = []
    for wire in (new_account(), new_account()):
        answers.append(wire.ask("POST", "/conversations", body(wire, wire.add_prompt())))
        assert wire.get("/conversations")["pagination"]["total"] == 1
    assert [answer.status for answer in answers] == [201, 201]
    assert answers[0].body["id"] != answers[1].body["id"]


def test_a_key_lives_for_24_hours(wire, database):
    prompt_id = wire.add_prompt()
    first = wire.ask("POST", "/conversations", body(wire, prompt_id))
    mine = idempotency_keys.c.account_id == wire.account
    created = wire.get(f"/conversations/{first.body['id']}")["createdAt"]
    with database.write() as connection:
        row = connection.execute(select(idempotency_keys).where(mine)).one()
    from promptlift.schema.model import from_wire_time
    from promptlift.service import clock

    assert row.expires_at == clock.from_datetime(from_wire_time(created)) + HOURS_24
    # 23 hours and 59 minutes later it still stands for its conversation; after 24 hours it is free again.
    for later, status in ((HOURS_24 - 60_000, 200), (HOURS_24, 201)):
        with database.write() as connection:
            connection.execute(update(idempotency_keys).where(mine).values(expires_at=row.expires_at - later))
        answer = wire.ask("POST", "/conversations", body(wire, prompt_id))
        assert answer.status == status
        assert (answer.body["id"] == first.body["id"]) == (status == 200)
    assert wire.get("/conversations")["pagination"]["total"] == 2


def test_in_a_race_of_many_writers_one_conversation_comes_to_be(wire):
    prompt_id = wire.add_prompt()
    start = threading.Barrier(32)

    def log(number):
        start.wait(timeout=30)
        return wire.ask("POST", "/conversations", body(wire, prompt_id, content=f"User: writer {number}"))

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(log, range(32)))
    assert sorted(answer.status for answer in answers) == [200] * 31 + [201]
    assert len({answer.raw for answer in answers}) == 1
    assert wire.get("/conversations")["pagination"]["total"] == 1
    assert wire.get("/usage")["conversations"]["used"] == 1
