"""What is new to a reader: nothing is missed, whichever transaction is committed first, and nothing else is read."""

from __future__ import annotations

import random
import threading
from contextlib import ExitStack

import pytest
from sqlalchemy import select

from promptlift.service import clock
from promptlift.service.store import changes, conversation_updates, conversations
from promptlift.service.store.tables import conversations as table
from support.asking import query_of


def updated(filled, since, **filters):
    horizon = changes.horizon(filled.database)
    with filled.database.read() as connection:
        query = query_of(limit=100, **filters)
        rows, total = conversations.page(connection, filled.account, query, since=since)
        as_of = changes.as_of(connection, filled.account, horizon)
    assert len(rows) == min(total, 100)
    return [row.id for row in rows], as_of


def find(connection, filled, one):
    return conversations.find(connection, filled.account, one)


def test_a_clock_that_was_put_back_hides_nothing(filled, monkeypatch):
    filled.add_conversations("a")
    _, since = updated(filled, 1)
    monkeypatch.setattr(clock, "now", lambda: 5)
    filled.add_conversations("b")
    assert updated(filled, since)[0] == ["b"]


def test_a_transaction_that_began_before_a_look_and_ends_after_it_is_in_the_next_one(filled):
    """On PostgreSQL; on SQLite the second writer waits for the first."""
    if filled.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    filled.add_conversations("a", "b", "c")
    with filled.database.write() as early:
        conversation_updates.change(early, find(early, filled, "a"), {"title": "early"})
        with filled.database.write() as late:
            conversation_updates.change(late, find(late, filled, "b"), {"title": "late"})
        found, since = updated(filled, 1)
        assert "b" in found
    assert "a" in updated(filled, since)[0]


def test_a_younger_transaction_that_is_not_ended_yet_is_in_the_next_look(filled):
    """PostgreSQL's view does not name it: nothing younger has ended."""
    if filled.database.is_sqlite:
        pytest.skip("SQLite has one writer at a time")
    filled.add_conversations("a", "b", "c")
    with ExitStack() as younger_ends:
        with filled.database.write() as older:
            conversation_updates.change(older, find(older, filled, "a"), {"title": "older"})
            younger = younger_ends.enter_context(filled.database.write())
            conversation_updates.change(younger, find(younger, filled, "b"), {"title": "younger"})
            older.exec_driver_sql("SELECT pg_sleep(0.01)")  # a later time than the younger one's
            conversation_updates.change(older, find(older, filled, "c"), {"title": "older"})
        found, since = updated(filled, 1)
        assert {"a", "c"} <= set(found)
    assert "b" in updated(filled, since)[0]


def test_readers_between_any_transactions_see_every_change(filled):
    """Writers at once, and a reader that only ever asks for what is new: it ends with what is there."""
    ids = [f"c{number}" for number in range(8)]
    filled.add_conversations(*ids)
    seed = random.randrange(2**32)

    def write(number):
        choice = random.Random(f"{seed} {number}")
        for turn in range(10):
            with filled.database.write() as connection:
                one = choice.choice(ids[number::4])
                title = f"{number} {turn}"
                conversation_updates.change(connection, find(connection, filled, one), {"title": title})
                if choice.random() < 0.5:
                    connection.execute(select(table.c.id)).all()

    copy, since = {}, 1

    def look():
        nonlocal since
        horizon = changes.horizon(filled.database)
        with filled.database.read() as connection:
            rows, _ = conversations.page(connection, filled.account, query_of(limit=100), since=since)
            since = changes.as_of(connection, filled.account, horizon)
        copy.update({row.id: row.title for row in rows})

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        look()
    look()
    with filled.database.read() as connection:
        assert copy == dict(connection.execute(select(table.c.id, table.c.title)).all()), seed
