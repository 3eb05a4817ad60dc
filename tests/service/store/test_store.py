"""Prompts, conversations, idempotency keys, usage and accounts, on both databases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import func, select

from promptlift.service import clock
from promptlift.service.store import accounts, conversations
from promptlift.service.store.tables import conversation_contents
from support.asking import query_of
from support.databases import sqlite_only
from support.stored_rows import conversation_row

from .conftest import NOW


def page(filled, **filters):
    with filled.database.read() as connection:
        rows, total = conversations.page(connection, filled.account, query_of(**{"limit": 100, **filters}))
    return [row.id for row in rows], total


@sqlite_only
def test_usage_counts_in_calendar_months(filled):
    start, end = clock.billing_period(NOW)
    with filled.database.write() as connection:
        assert accounts.used_in_period(connection, filled.account, "conversations", now=NOW) == 0
        assert accounts.add_usage(connection, filled.account, "conversations", 3, now=start) == 3
        assert accounts.add_usage(connection, filled.account, "conversations", 4, now=end - 1) == 7
        assert accounts.add_usage(connection, filled.account, "conversations", 5, now=end) == 5
        assert accounts.add_usage(connection, filled.account, "tokens", 9, now=NOW) == 9
        assert accounts.used_in_period(connection, filled.account, "conversations", now=NOW) == 7
        assert accounts.used_in_period(connection, filled.account, "conversations", now=start - 1) == 0
        assert accounts.used_in_period(connection, filled.account, "tokens", now=NOW) == 9


def test_a_transcript_takes_less_room_than_its_text(filled):
    said = "User: Where is my order?\nAssistant: On its way. ü\x00\n" * 100
    with filled.database.write() as connection:
        row = conversation_row("c", filled.account, "prm_1", NOW)
        conversations.add(connection, [row], {"c": said.encode()})
        found = conversations.find(connection, filled.account, "c")
        stored = connection.scalar(select(func.length(conversation_contents.c.content)))
    assert (found.content.decode(), stored < len(said) / 10) == (said, True)


def test_no_request_is_lost_when_many_are_counted_at_once(filled):
    def count(_):
        with filled.database.write() as connection:
            return accounts.count_request(connection, filled.account, now=NOW)[0]

    with ThreadPoolExecutor(8) as pool:
        assert sorted(pool.map(count, range(40))) == list(range(1, 41))


def test_a_reader_sees_one_state_for_all_queries_of_an_answer(filled):
    filled.add_conversations("a")
    with filled.database.read() as connection:
        count = select(func.count()).select_from(conversations.conversations)
        assert connection.scalar(count) == 1
        filled.add_conversations("b")
        assert connection.scalar(count) == 1
    assert page(filled)[1] == 2
